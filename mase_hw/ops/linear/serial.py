"""linear, serial: the inputs come digit by digit to one adder graph or to tables; a vector every so many digits.

Groups of outputs can share the tables: then all digits come once for each group, and each group is one beat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mase_hw.adders import ADDERS_PER_STAGE, SOLVER_SECONDS, AdderGraph, solve
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.serial import SerialShape, serial_cost
from mase_hw.ir.component import REGISTERED, THROUGH, Instance, ReadyPaths
from mase_hw.ir.control import Control
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import Alignment, matrix_bounds
from mase_hw.ops.linear.adder_text import unused_bits
from mase_hw.ops.linear.matrix import Matrix
from mase_hw.ops.linear.serial_control import SerialControl
from mase_hw.ops.linear.serial_end import End, Total, grouped_end, single_end
from mase_hw.ops.linear.serial_plan import (
    Digits,
    Feed,
    Row,
    by_row,
    digits_of,
    feed_of,
    graph_rows,
    table_rows,
    table_terms,
)
from mase_hw.ops.linear.serial_text import SerialText, group_name

TABLES = "tables"
TABLES_BITS = 2  # digits of so few bits are not worth a look for a graph


@dataclass(frozen=True, eq=False)
class LinearSerial(Matrix):
    """`matrix @ x + bias`, all inputs in one beat, a group of outputs in one beat, a vector every `interval` cycles."""

    kind = "linear_serial"
    digit_bits: int
    adders_per_stage: int
    solver: str  # how the graph was found, or that there are tables instead
    adds: Integers  # the adder graph of the matrix, as arrays; empty where there are tables
    outs: Integers
    terms: Integers  # the tables: (row, table, input, bit of its digit); empty where there is a graph

    @property
    def groups(self) -> int:
        return self.output.beats

    @cached_property
    def digits(self) -> Digits:
        return digits_of(self.input, self.matrix, self.digit_bits)

    @cached_property
    def feed(self) -> Feed | None:
        """The adder graph in stages, where there is one."""
        if self.solver == TABLES:
            return None
        graph = AdderGraph.from_arrays(self.input.features, self.adds, self.outs)
        return feed_of(graph, self.digits, self.adders_per_stage)

    @cached_property
    def rows(self) -> list[Row]:
        if self.feed:
            return graph_rows(self.matrix, self.digits, self.feed.encoding)
        weights, bias = by_row(self.matrix, self.groups), by_row(self.bias >> self.product_shift, self.groups)
        return table_rows(weights, bias, self.digits, self.terms, self.adders_per_stage)

    @cached_property
    def stages(self) -> int:
        """Stages from the digits to the accumulators, which are in the last."""
        if self.feed:
            return self.feed.stages
        return 1 + max(row.chain_stages(self.adders_per_stage) for row in self.rows)

    @cached_property
    def hold(self) -> bool:
        """Whether the finished sums get a register of their own before they are requantized."""
        return self.late_levels + 1 > self.adders_per_stage

    @property
    def late_levels(self) -> int:
        """Additions in a row in the last stage."""
        if self.feed is None:
            return max(row.late_adds() for row in self.rows)
        levels = self.feed.encoding.graph.depth + (self.digits.count > 1)
        return levels - (self.feed.cuts[-1] if self.feed.cuts else 0)

    @property
    def interval(self) -> int:
        return self.digits.count * self.groups

    @property
    def latency(self) -> int:
        return self.digits.count + self.stages + self.hold

    @property
    def ready_paths(self) -> ReadyPaths:
        return REGISTERED if self.digits.count > 1 else THROUGH

    def control(self) -> Control:
        return SerialControl(self.digits.count, self.stages + self.hold, self.groups)

    def offsets(self, row: int) -> list[int]:
        """What the finished sum of a row lacks, for each group."""
        pairs = zip(self.rows[row].constants, range(row, len(self.matrix), len(self.rows)), strict=True)
        return [(constant << self.product_shift) + int(self.bias[j]) for constant, j in pairs]

    @cached_property
    def constants_differ(self) -> bool:
        """Whether what the finished sums lack depends on the group."""
        return any(len(set(self.offsets(row))) > 1 for row in range(len(self.rows)))

    @cached_property
    def ends(self) -> list[End]:
        """How the rows' finished sums become results."""
        return [self._end(row) for row in range(len(self.rows))]

    def _end(self, row: int) -> End:
        own, offsets = self.text.endings[row], self.offsets(row)
        total = Total(f"sum{row}_q" if self.hold else f"sum{row}", own.width, self.product_shift, own.signed)
        parameters = self.requantize_parameters(offsets[0], *range(row, len(self.matrix), len(self.rows)))
        if self.groups > 1:
            group = "done_group_q" if self.hold else group_name(self.stages - 1)
            return grouped_end(row, total, parameters, offsets, group)
        y = self.output
        return single_end(total, parameters, (y.lo[row], y.hi[row]))

    @cached_property
    def text(self) -> SerialText:
        return SerialText(self.digits, self.rows, self.feed, self.adders_per_stage, self.stages, self.constants_differ)

    def instance(self) -> Instance:
        text = self.text
        values = {
            "digits": self.digits.count,
            "groups": self.groups,
            "last_group": group_name(self.stages - 1),
            "constants_differ": self.constants_differ,
            "digit_bits": self.digit_bits,
            "inputs": text.shift_registers(),
            "unused": unused_bits(self.digits.inputs, self.input),
            "unused_sums": text.unused,
            "stages": text.stages,
            "endings": text.endings,
            "lanes": self.ends,
            "equations": [
                [self.equation(j) for j in range(row, len(self.matrix), len(self.rows))]
                for row in range(len(self.rows))
            ],
            "hold": self.hold,
            "step": self.finish,
            "adders": len(self.adds),
            "tables": sum(len(row.feed) + len(row.late) for row in self.rows),
            "solver": self.solver,
        }
        return Instance(template="linear_serial", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        d, stages = self.digits, self.text.stages
        shape = SerialShape(
            digits=d.count,
            groups=self.groups,
            stages=self.stages,
            adders_per_stage=self.adders_per_stage,
            late_levels=self.late_levels,
            hold=self.hold,
            group_held=self.hold and self.constants_differ,
            inputs=tuple((d.inputs.wires[i].width, d.width(i)) for i in d.live),
            luts=sum(row.luts(d.bits) for row in self.rows) + (self.feed.encoding.luts if self.feed else 0),
            sums=tuple((total.adder, total.bare) for stage in stages for total in stage.sums),
            accumulators=tuple((end.acc_width, end.width) for end in self.text.endings),
            registers=sum(register.width for stage in stages for register in stage.registers),
        )
        return serial_cost(shape, [end.cost for end in self.ends])


def serial(
    name: str,
    x: Stream,
    matrix: Integers,
    bias: Integers,
    alignment: Alignment,
    result: Result | None,
    *,
    digit_bits: int,
    groups: int = 1,
    adders_per_stage: int = ADDERS_PER_STAGE,
    solver_seconds: float = SOLVER_SECONDS,
) -> LinearSerial:
    """`matrix @ x + bias`, the bias at the accumulator's binary point; `digit_bits` bits of every input at a time.

    The outputs come in `groups` beats.
    """
    assert digit_bits >= 1
    assert len(matrix) % groups == 0
    assert x.lanes == x.features
    exact = matrix_bounds(x, matrix << alignment.product_shift, bias)
    out, step = result_stream(f"{name}_out", len(matrix) // groups, exact, alignment.frac, result, frame=x.frame)
    digits = digits_of(x, matrix, digit_bits)
    none = AdderGraph(x.features, (), ()).to_arrays()
    terms = table_terms(matrix, digits, adders_per_stage, groups)
    shift = alignment.product_shift

    def made(solver: str, adds: Integers, outs: Integers, terms: Integers) -> LinearSerial:
        ends = ((x,), (out,))
        return LinearSerial(
            name, *ends, matrix, bias, shift, digit_bits, adders_per_stage, solver, adds, outs, terms, finish=step
        )

    found = [made(TABLES, *none, terms)]
    if digit_bits > TABLES_BITS and groups == 1:
        solution = solve(matrix, *digits.bounds, solver_seconds)
        found.append(made(solution.method, *solution.graph.to_arrays(), terms[:0]))
    return min(found, key=lambda component: component.cost().sites)
