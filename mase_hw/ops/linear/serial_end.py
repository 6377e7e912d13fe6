"""How a finished sum of a serial linear becomes a result: its constant, and the one requantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.cost.xilinx.serial import grouped_constant
from mase_hw.ir.finish import Long


@dataclass(frozen=True)
class Added:
    """The sum with its group's constant, in a signal of its own."""

    name: str
    width: int
    text: str
    meaning: str
    unused: str  # bits of the sum above what is proven of the result, or nothing


@dataclass(frozen=True)
class End:
    """What the template writes for a row: parameters of `mase_requantize`, what it reads, and what that needs."""

    source: str
    parameters: Mapping[str, Any]
    cost: Cost
    added: Added | None = None


@dataclass(frozen=True)
class Total:
    """A finished sum as it is kept: it lacks `zeros` low bits, which are 0."""

    name: str
    width: int
    zeros: int
    signed: bool

    @property
    def bits(self) -> int:
        return self.width + self.zeros

    @property
    def sign(self) -> str:
        """What stands above its highest bit."""
        return f"{self.name}[{self.width - 1}]" if self.signed else "1'b0"

    @property
    def text(self) -> str:
        """Its bits, to be written between braces."""
        return f"{self.name}, {self.zeros}'b0" if self.zeros else self.name


def single_end(total: Total, parameters: Mapping[str, Any], result: tuple[int, int]) -> End:
    """The requantize adds the constant; `result` are its bounds."""
    source = f"{total.sign}, {total.text}" if total.width else "1'b0"
    cost = requantize_cost(parameters, operand=0 if total.signed else total.bits, result=result)
    return End(source, {"InWidth": total.bits + 1 if total.width else 1, **parameters}, cost)


def grouped_end(row: int, total: Total, parameters: Mapping[str, Any], offsets: Sequence[int], group: str) -> End:
    """The constant depends on the group, and the half that rounding adds is in it."""
    half = 1 << parameters["Shift"] - 1 if parameters["HalfEven"] else 0
    given = {**parameters, "Offset": Long(-half)}
    size = parameters["SumWidth"]
    constants = [offset + half for offset in offsets]
    text, varying = _by_group(constants, size, group)
    above, missing = size - total.bits, max(0, total.bits - size)
    operand = f"{size}'({total.name})"
    if total.signed and above > 0:
        operand = f"{{{{{above}{{{total.sign}}}}}, {total.text}}}"
    elif total.zeros:
        operand = f"({operand} << {total.zeros})"
    added = f"{operand} + {text}" if total.width else text
    meaning = "; ".join(f"{constant:+d}" for constant in constants)
    unused = f"{total.name}[{total.width - 1}:{max(0, total.width - missing)}]" if total.width and missing else ""
    cost = requantize_cost(given)
    driven = size if total.signed else min(total.bits, size)
    cost += grouped_constant(size, varying, driven, rest=cost.depth)
    return End("", {"InWidth": size, **given}, cost, Added(f"n{row}", size, added, meaning, unused))


def _by_group(constants: Sequence[int], width: int, group: str) -> tuple[str, int]:
    """The group's constant as an expression, and how many of its bits depend on the group."""
    mask = (1 << width) - 1
    words = [f"{constant & mask:0{width}b}" for constant in constants]
    bits, varying = [], 0
    for column in zip(*words, strict=True):
        values = "".join(reversed(column))
        if len(set(values)) == 1:
            bits.append(f"1'b{values[0]}")
        else:
            bits.append(f"1'({len(values)}'b{values} >> {group})")
            varying += 1
    return "{" + ", ".join(bits) + "}", varying
