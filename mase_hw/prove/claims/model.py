"""Model: the integers that a build's RTL is compared with are those of its TOML and its checkpoint."""

from __future__ import annotations

import numpy as np

from mase_hw.ir import Component, Design
from mase_hw.ir.branches import Fork
from mase_hw.ir.meaning import Meaning, Most, Repeated, Weighted, Windows
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import Claim, NotProvedError
from mase_hw.prove.words.reference import rows_of


def claim_model(design: Design, again: Design, sources: str) -> Claim:
    """The claim of a build's design; `again` is what `sources` give now."""
    try:
        count = compare(design, again)
    except NotProvedError as error:
        return Claim(design.name, "model", "refuted", "", f"{error}, quantized again from {sources}")
    text = f"made again from {sources}: the same layers, types and roundings, the same {count:,} integers"
    return Claim(design.name, "model", "proved", text)


def compare(design: Design, again: Design) -> int:
    """How many weights and constants two designs share; raises at the first thing in which they compute otherwise.

    How they are built does not matter, nor what stands between their layers.
    """
    mine, theirs = ([c for c in each.components if not isinstance(c, Plumbing | Fork)] for each in (design, again))
    names = [[component.name for component in each] for each in (mine, theirs)]
    if names[0] != names[1]:
        raise NotProvedError(f"it has {', '.join(names[0])}, and not {', '.join(names[1])}")
    for a, b in zip(mine, theirs, strict=True):
        for of_a, of_b in zip(a.inputs, b.inputs, strict=True):
            if _made_by(design, of_a.name) != _made_by(again, of_b.name):
                read = _made_by(design, of_a.name), _made_by(again, of_b.name)
                raise NotProvedError(f"{a.name}: it reads {read[0]}, and not {read[1]}")
    ends = [[_made_by(each, y.name) for y in each.outputs] for each in (design, again)]
    if ends[0] != ends[1]:
        raise NotProvedError(f"it returns {', '.join(ends[0])}, and not {', '.join(ends[1])}")
    return sum(_compare(a, b) for a, b in zip(mine, theirs, strict=True))


def _made_by(design: Design, stream: str) -> str:
    """The component that computes what a stream carries, or the input of the design: through all that moves beats."""
    while (writer := design.writers.get(stream)) is not None:
        if not isinstance(writer, Plumbing | Fork):
            return writer.name
        stream = writer.input.name
    return stream


def _compare(a: Component, b: Component) -> int:
    for what, of_a, of_b in (
        ("data_in", [x.fixed for x in a.inputs], [x.fixed for x in b.inputs]),
        ("data_out", a.output.fixed, b.output.fixed),
        ("rounding", *(_rounding(each) for each in (a, b))),
    ):
        if of_a != of_b:
            raise NotProvedError(f"{a.name}: {what} is {_shown(of_a)}, and not {_shown(of_b)}")
    mine, other = a.meaning(), b.meaning()
    if isinstance(mine, Windows | Most | Repeated):
        if _said(mine) != _said(other):
            raise NotProvedError(f"{a.name}: it means {mine}, and not {other}")
        return 0
    (factors, constants), (wanted, moved) = _rows(a), _rows(b)
    return _same(f"{a.name}: factor", factors, wanted) + _same(f"{a.name}: constant", constants, moved)


def _said(meaning: Meaning | None) -> object:
    """A meaning whatever the lanes are."""
    return (meaning.taps, meaning.lanes * meaning.blocks) if isinstance(meaning, Most) else meaning


def _rows(component: Component) -> tuple[Integers, Integers]:
    """Factors and constants of a component: of a sum over taps, [channels, taps]."""
    meaning = component.meaning()
    if isinstance(meaning, Weighted):
        return meaning.factors.swapaxes(1, 2).reshape(len(meaning.constants), -1), meaning.constants
    return rows_of(component)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rounding(component: Component) -> str:
    """All of the last step but the sums that it is given, which follow from the factors."""
    step = component.finish
    if step is None:
        return "none"
    by = f", divided by {step.divisor}" if step.divisor > 1 else ""
    return f"{step.rounding.value} from {step.frac} bits to {step.fixed}{by}{', not below 0' if step.rectify else ''}"


def _same(what: str, mine: Integers, wanted: Integers) -> int:
    if mine.shape != wanted.shape:
        raise NotProvedError(f"{what}s are {list(mine.shape)}, and not {list(wanted.shape)}")
    places = np.argwhere(mine != wanted)
    if len(places):
        at = tuple(int(k) for k in places[0])
        more = f" ({len(places):,} of {mine.size:,} differ)"
        raise NotProvedError(f"{what} {list(at)} is {int(mine[at])}, and not {int(wanted[at])}{more}")
    return int(mine.size)
