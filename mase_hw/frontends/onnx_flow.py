"""What flows between the layers of an ONNX file, and what is told of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mase_hw.config.quantize import QuantSpec
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.numerics import MAX_FRAC, MAX_WIDTH, Fixed, signed_width

FLOAT32_BITS = 24  # whole numbers up to 2**24 are exact in float32, in whatever order they are added


@dataclass(frozen=True)
class Flow:
    """What flows between two layers: integers of `lo..hi` in units of 2**-frac. `fixed`: the type that was given."""

    frac: int
    lo: int
    hi: int
    fixed: Fixed | None = None

    @staticmethod
    def of(fixed: Fixed) -> Flow:
        return Flow(fixed.frac, fixed.lo, fixed.hi, fixed)

    def rectified(self) -> Flow:
        return Flow(self.frac, max(self.lo, 0), max(self.hi, 0), self.fixed)

    def within(self, fixed: Fixed) -> Flow:
        """After a quantizer; a ReLU before it leaves nothing negative."""
        return Flow(fixed.frac, max(fixed.lo, 0) if self.lo >= 0 else fixed.lo, fixed.hi, fixed)

    @property
    def type(self) -> Fixed | None:
        """The type of all of it, if one of ours is wide enough."""
        if self.fixed is not None:
            return self.fixed
        width = signed_width(self.lo, self.hi)
        return Fixed(width, self.frac) if width <= MAX_WIDTH and abs(self.frac) <= MAX_FRAC else None


@dataclass
class Types:
    """What was found: a spec for each layer, and notes for the user."""

    specs: dict[str, QuantSpec] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def long_sums(name: str, bits: int) -> str:
    """The note on sums that float32 may round."""
    text = f"{name}: its sums can take {bits} bits: hardware is exact, and what adds them in float32"
    return f"{text} (24 bits), as ONNX runtimes do, may round"


def toml_lines(name: str, arguments: Sequence[str]) -> str:
    """The TOML that gives a layer's arguments their types."""
    lines = ['[passes.quantize]\nby = "name"', f"[passes.quantize.{name}.config]", 'name = "integer"']
    return "\n".join([*lines, *(f"{item}_width = 8\n{item}_frac_width = 4" for item in arguments)])


def overridden(placed: Placed, asked: QuantSpec, said: Mapping[str, Fixed | None]) -> list[str]:
    """A line for each type of the file that the TOML replaced."""
    own = {
        "data_in": placed.quant_in.fixed if placed.quant_in else None,
        **said,
        "data_out": placed.quant_out.fixed if placed.quant_out else None,
    }
    notes = [
        f"{placed.step.name}: the TOML's {name} {given} stands in place of the file's {own[name]}"
        for name in own
        if (given := getattr(asked, name)) is not None and own[name] not in (None, given)
    ]
    rule = placed.rounding
    if rule is not None and asked.rounding is not None and asked.rounding is not rule:
        notes.append(f'{placed.step.name}: the TOML\'s "{asked.rounding}" stands in place of the file\'s "{rule}"')
    return notes
