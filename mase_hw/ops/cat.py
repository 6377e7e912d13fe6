"""cat: vectors side by side; each part is cast to one type first, nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from mase_hw.config.hardware import HardwareSpec
from mase_hw.ir import Component, Stream
from mase_hw.ir.branches import concat
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.choice import Choice, Wide
from mase_hw.ops.examples import example_stream
from mase_hw.ops.operator import Operator, Options, Site, Wish, divisors
from mase_hw.ops.pages import Built, Page


class CatOperator(Operator):
    """The features of several results in one vector. Left unquantized, it hands its reader's type on to each part."""

    name = "cat"
    functions = ("torch.cat", "torch.concat", "torch.concatenate")
    signature = ("tensors", "dim")
    quantized = "mase_hw.modules.joins:CatInteger"
    onnx = ("Concat",)
    hands_on = True
    rounds = False

    def casts(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
        """All parts have one type: the layer's own, its reader's, or the narrowest that holds every part exactly."""
        spec = layer.spec
        if spec.rounding is not None and spec.data_in is not None:
            return [Result(spec.data_in, spec.rounding)] * len(inputs)
        return [result or Result(hull([x.fixed for x in inputs]), Rounding.FLOOR)] * len(inputs)

    def candidates(self, site: Site, spec: HardwareSpec, wish: Wish) -> Iterable[Choice]:
        total, common, depth = sum(site.features), gcd(*site.features), spec.data_in_fifo_depth
        asked, out = spec.data_in_parallelism, spec.data_out_parallelism
        narrow = [p for p in divisors(common) if asked in (None, p)]
        found: list[Choice] = [Choice(p, out or p, depth) for p in narrow]
        if asked in (None, total) or not found:
            found.append(Wide(total, out or total, depth))
        return found

    def lanes(self, site: Site, choice: Choice) -> tuple[tuple[int, ...], int]:
        if isinstance(choice, Wide):
            return site.features, sum(site.features)
        p = choice.data_in_parallelism
        return (p,) * len(site.inputs), p

    def cycles(self, site: Site, choice: Choice) -> int:
        return 1 if isinstance(choice, Wide) else sum(site.features) // choice.data_in_parallelism

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        return concat(layer.name, inputs)

    def page(self) -> Page:
        return Page(
            "cat",
            "torch.cat, torch.concat along the features",
            ("z = [x, y]",),
            ("data_in: of every part; left out, the reader's; without either the narrowest that holds all parts",),
            (
                Built(
                    "stream",
                    "one part's beats after the other's, through one register",
                    "features / lanes",
                    "1",
                    lambda: concat("cat", [example_stream(2), example_stream(2, "data_in_1")]),
                ),
                Built(
                    "wide",
                    "a join: whole vectors side by side in one beat",
                    "1",
                    "1",
                    lambda: concat("cat", [example_stream(4), example_stream(4, "data_in_1")]),
                ),
            ),
        )


def hull(types: Sequence[Fixed]) -> Fixed:
    """The narrowest type that holds every number of each of these types."""
    frac = max(fixed.frac for fixed in types)
    lo = min(fixed.lo << (frac - fixed.frac) for fixed in types)
    hi = max(fixed.hi << (frac - fixed.frac) for fixed in types)
    signed = lo < 0
    width = max((~lo).bit_length(), hi.bit_length()) + 1 if signed else hi.bit_length()
    return Fixed(width, frac, signed)
