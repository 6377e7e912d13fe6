"""Model: what a build's RTL is compared with is what its TOML and its checkpoint say, every number of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import zip_longest

import numpy as np

from mase_hw.emit import Reals
from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.branches import Fork
from mase_hw.ir.finish import Finish
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics.codes import Affine, Codes
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import Claim, NotProvedError


def claim_model(design: Design, again: Design, sources: str, reals: tuple[Reals, Reals] | None = None) -> Claim:
    """The claim of a build's design; `again` is what `sources` give now, and `reals` are those of both."""
    try:
        if reals is not None:
            _compare_reals(*reals)
        count = compare(design, again)
    except NotProvedError as error:
        text = f"{error}, quantized again from {sources}"
        return Claim(design.name, "model", "refuted" if error.refuted else "open", "", text)
    text = f"made again from {sources}: the same layers, types and roundings, the same {count:,} integers"
    return Claim(design.name, "model", "proved", text)


def compare(design: Design, again: Design) -> int:
    """How many weights and constants two designs share; raises at the first thing in which they compute otherwise.

    How they are built does not matter, nor what stands between their layers.
    """
    mine, theirs = ([c for c in each.components if not isinstance(c, Plumbing | Fork)] for each in (design, again))
    _expect("it has", [c.name for c in mine], [c.name for c in theirs])
    for a, b in zip(mine, theirs, strict=True):
        _expect(f"{a.name}: it reads", _sources(design, a.inputs), _sources(again, b.inputs))
    _expect("it returns", _sources(design, design.outputs), _sources(again, again.outputs))
    count = sum(_compare(a, b) for a, b in zip(mine, theirs, strict=True))
    for what in ("inputs", "outputs"):  # behind the last component, beats may be moved as another type
        _expect(f"its {what} are", *(_typed(getattr(each, what)) for each in (design, again)))
    return count


def _expect(what: str, mine: Sequence[str], wanted: Sequence[str]) -> None:
    if mine != wanted:
        raise _other(f"{what} {', '.join(mine)}, and not {', '.join(wanted)}")


def _other(text: str) -> NotProvedError:
    return NotProvedError(text, refuted=True)


def _sources(design: Design, streams: Sequence[Stream]) -> list[str]:
    return [_made_by(design, stream.name) for stream in streams]


def _made_by(design: Design, stream: str) -> str:
    """The component that computes what a stream carries, or the input of the design: through all that moves beats."""
    while (writer := design.writers.get(stream)) is not None:
        if not isinstance(writer, Plumbing | Fork):
            place = [y.name for y in writer.outputs].index(stream)
            return writer.name if len(writer.outputs) == 1 else f"output {place} of {writer.name}"
        stream = writer.input.name
    return stream


def _typed(streams: Sequence[Stream]) -> list[str]:
    """All of streams but how many lanes a beat has, and what is proved by itself."""
    return [" x ".join(map(str, (*x.frame, x.features, x.fixed))) for x in streams]


def _compare(a: Component, b: Component) -> int:
    _expect(f"{a.name}: data_in is", _typed(a.inputs), _typed(b.inputs))
    _expect(f"{a.name}: data_out is", _typed(a.outputs), _typed(b.outputs))
    _expect(f"{a.name}: rounding is", *([_rounding(each.finish)] for each in (a, b)))
    mine, wanted = a.meaning(), b.meaning()
    if type(mine) is not type(wanted):
        raise _other(f"{a.name}: it means a {type(mine).__name__}, and not a {type(wanted).__name__}")
    if mine is None or not is_dataclass(mine):
        raise NotProvedError(f"{a.name} states nothing that can be compared as its meaning")
    return sum(_same(f"{a.name}: {field.name}", getattr(mine, field.name), getattr(wanted, field.name))
               for field in fields(mine))  # fmt: skip


def _same(what: str, mine: object, wanted: object) -> int:
    """How many integers two fields of a meaning share: there is no field that does not count."""
    if isinstance(mine, Finish | None) and isinstance(wanted, Finish | None):
        _expect(f"{what} is", [_rounding(mine)], [_rounding(wanted)])
        return 0
    if isinstance(mine, np.ndarray) and isinstance(wanted, np.ndarray):
        return _same_array(what, mine, wanted)
    if isinstance(mine, tuple) and isinstance(wanted, tuple) and len(mine) == len(wanted):
        named = [f"{what} {k}" if len(mine) > 1 else what for k in range(len(mine))]
        return sum(_same(name, *pair) for name, *pair in zip(named, mine, wanted, strict=True))
    if mine != wanted:
        raise _other(f"{what} is {mine}, and not {wanted}")
    return 0


def _same_array(what: str, mine: Integers, wanted: Integers) -> int:
    if mine.shape != wanted.shape:
        raise _other(f"{what} are {list(mine.shape)}, and not {list(wanted.shape)}")
    places = np.argwhere(mine != wanted)
    if len(places):
        at = tuple(int(k) for k in places[0])
        more = f" ({len(places):,} of {mine.size:,} differ)"
        raise _other(f"{what.removesuffix('s')} {list(at)} is {int(mine[at])}, and not {int(wanted[at])}{more}")
    return int(mine.size)


def _rounding(step: Finish | None) -> str:
    """All of the last step but the sums that it is given, which follow from the factors."""
    if step is None:
        return "none"
    by = f", divided by {step.divisor}" if step.divisor > 1 else ""
    return f"{step.rounding.value} from {step.frac} bits to {step.fixed}{by}{', not below 0' if step.rectify else ''}"


def _compare_reals(mine: Reals, wanted: Reals) -> None:
    """How real numbers become the integers of the inputs, and which output is which."""
    _expect("its inputs are rounded as", *([each.value for each in side.roundings] for side in (mine, wanted)))
    for what in ("codes", "values"):
        for k, (own, other) in enumerate(zip_longest(getattr(mine, what), getattr(wanted, what))):
            port = f"data_{'in' if what == 'codes' else 'out'}_{k}"
            _expect(f"{port}: scale and zero point are", *([_said(each)] for each in (own, other)))
    for what in ("input_orders", "output_orders"):
        orders, others = ([_order(order) for order in getattr(side, what)] for side in (mine, wanted))
        if orders != others:
            raise _other(f"{what} are not those of the model")


def _said(each: Codes | Affine | None) -> str:
    """All that makes integers of real numbers, or real numbers of integers."""
    return "none" if each is None else ", ".join(f"{key} {value}" for key, value in each.manifest().items())


def _order(order: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if order is None or order == tuple(range(len(order))) else order
