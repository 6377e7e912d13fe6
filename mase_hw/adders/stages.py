"""Where the registers of an adder graph go: after so many additions, at the levels where the fewest bits are alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mase_hw.adders.encode import Encoding

ADDERS_PER_STAGE = 4  # additions between two registers, unless the user says otherwise


@dataclass(frozen=True)
class Pipeline:
    """An encoded graph in stages. Level `l` of the graph is computed in stage `stage(l)`, counted from 0.

    `finish[j]` says whether output `j` has one more addition after its node, that of its constant.
    """

    encoding: Encoding
    finish: tuple[bool, ...]
    out_width: int  # bits of a finished output
    cuts: tuple[int, ...]  # the last level of every stage but the last

    @property
    def stages(self) -> int:
        return len(self.cuts) + 1

    def stage(self, level: int) -> int:
        return sum(level > cut for cut in self.cuts)

    def node_stage(self, node: int) -> int:
        return self.stage(self.encoding.graph.levels[node])

    def out_stage(self, j: int) -> int:
        """In which stage output `j` is finished."""
        node = self.encoding.graph.outputs[j].node
        return 0 if node is None else self.stage(self.encoding.graph.levels[node] + self.finish[j])

    @cached_property
    def last_read(self) -> list[int]:
        """For each node the last stage that reads it."""
        graph = self.encoding.graph
        last = [0] * len(graph.levels)
        for k, add in enumerate(graph.adds, graph.inputs):
            for node in (add.a, add.b):
                last[node] = max(last[node], self.node_stage(k))
        for j, out in enumerate(graph.outputs):
            if out.node is not None:
                last[out.node] = max(last[out.node], self.out_stage(j))
        return last

    @property
    def register_bits(self) -> int:
        """Flip-flops of data: nodes between stages, and finished outputs up to the end."""
        wires = self.encoding.wires
        nodes = sum(wires[n].width * max(0, last - self.node_stage(n)) for n, last in enumerate(self.last_read))
        finished = sum(self.stages - self.out_stage(j) for j in range(len(self.finish)))
        return nodes + finished * self.out_width


def pipeline(encoding: Encoding, finish: Sequence[bool], out_width: int, per_stage: int) -> Pipeline:
    """As few stages as `per_stage` additions allow, cut where the fewest bits are alive."""
    levels, outputs = encoding.graph.levels, encoding.graph.outputs
    ends = [0 if out.node is None else levels[out.node] + more for out, more in zip(outputs, finish, strict=True)]
    total = max(1, *ends)
    alive = _alive(encoding, finish, out_width, ends, total)
    stages = -(-total // per_stage)
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}  # by the last cut: bits so far, cuts
    for left in range(stages - 1, 0, -1):
        reached: dict[int, tuple[int, tuple[int, ...]]] = {}
        for last, (bits, cuts) in best.items():
            for cut in range(max(last + 1, total - left * per_stage), min(last + per_stage, total - left) + 1):
                found = (bits + alive[cut], (*cuts, cut))
                reached[cut] = min(reached.get(cut, found), found)
        best = reached
    return Pipeline(encoding, tuple(finish), out_width, min(best.values())[1])


def _alive(encoding: Encoding, finish: Sequence[bool], out_width: int, ends: Sequence[int], total: int) -> list[int]:
    """Bits that a register after each level has to hold."""
    graph = encoding.graph
    last = list(graph.levels)  # the last level at which each node is read
    for k, add in enumerate(graph.adds, graph.inputs):
        for node in (add.a, add.b):
            last[node] = max(last[node], graph.levels[k])
    for end, out in zip(ends, graph.outputs, strict=True):
        if out.node is not None:
            last[out.node] = max(last[out.node], end)
    steps = [0] * (total + 2)
    for node, (made, read) in enumerate(zip(graph.levels, last, strict=True)):
        steps[made] += encoding.wires[node].width
        steps[read] -= encoding.wires[node].width
    for end in ends:
        steps[end] += out_width
    alive, bits = [], 0
    for step in steps[:total]:
        bits += step
        alive.append(bits)
    return alive
