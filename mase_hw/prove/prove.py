"""Proves a build: every component, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mase_hw.emit import Build
from mase_hw.emit.axis import AxisTop
from mase_hw.emit.written import check_written
from mase_hw.ir import Component, Design, Pipe
from mase_hw.ops.linear.folded import LinearFolded
from mase_hw.prove.claims.axis import prove_axis
from mase_hw.prove.claims.bounds import check_bounds, check_input
from mase_hw.prove.claims.claim import Claim, NotProvedError, Reached
from mase_hw.prove.claims.handshake import Explored, is_chain, prove_handshake
from mase_hw.prove.claims.readers import Readers
from mase_hw.prove.claims.timing import prove_timing
from mase_hw.prove.claims.values import prove_values, unit
from mase_hw.prove.claims.widths import View, prove_widths
from mase_hw.prove.claims.wiring import prove_wiring
from mase_hw.prove.control.moves import moves_beats, prove_moves
from mase_hw.prove.folded.prove import FoldedProof
from mase_hw.prove.framed import FrameProof, of_frames
from mase_hw.prove.joined import joined
from mase_hw.prove.netlist.clocking import check_clocked
from mase_hw.prove.netlist.drivers import check_driven
from mase_hw.prove.netlist.netlist import Netlist, elaborate, elaborate_around
from mase_hw.prove.netlist.ports import check_ports, component_ports

LISTED = 16  # adders of a claim about widths, the widest; all of them were replayed


@dataclass(frozen=True)
class Proof:
    """All claims of a design."""

    claims: tuple[Claim, ...]

    @property
    def proved(self) -> bool:
        return all(claim.status == "proved" for claim in self.claims)


def prove(
    build: Build,
    progress: Callable[[str], None] = lambda text: None,
    finished: Callable[[Component], None] = lambda component: None,
    timeout: float | None = None,
) -> Proof:
    """Reads the RTL back and proves what can be proved; what cannot is listed as such. `timeout`: Yosys' seconds.

    RTL outside of the language is a Problem: no other claim would mean anything.
    """
    design = build.design
    progress("the RTL is read in its language")
    claims = [Claim(design.name, "language", "proved", check_written(build))]
    progress("Yosys reads the RTL")
    with Readers(design, build.rtl, build.axis) as readers:  # Verilator and a compiler are at work meanwhile
        netlists = elaborate(build.rtl, design.name, [c.name for c in design.components], timeout)
        claims += prove_design(design, netlists, progress, finished).claims
        wrapper = None
        if build.axis is not None:
            progress(f"{build.axis.module}: around {design.name}")
            wrapper = elaborate_around(build.rtl, build.axis.module, design.name, timeout)
            claims.append(claim_axis(design, build.axis, wrapper))
        progress("Verilator reads the RTL too")
        claims.append(_claim(design.name, "readers", lambda: readers.compare(netlists, wrapper)))
    return Proof(tuple(claims))


def claim_axis(design: Design, axis: AxisTop, top: Netlist) -> Claim:
    """The claim of the AXI4-Stream top around a design."""
    return _claim(axis.module, "axis", lambda: prove_axis(design, axis.inputs, axis.outputs, top))


def prove_design(
    design: Design,
    netlists: dict[str, Netlist],
    progress: Callable[[str], None] = lambda text: None,
    finished: Callable[[Component], None] = lambda component: None,
    *,
    any_input: bool = True,
) -> Proof:
    """`any_input`: what comes in may be any number of its type; a part of a design is given less."""

    def wiring() -> str:
        if any_input:
            check_input(design)
        return prove_wiring(design, netlists[""])

    claims = [_claim(design.name, "wiring", wiring)]
    for component in design.components:
        progress(f"{component.name}: {component.kind}")
        claims += prove_component(component, netlists[component.name])
        finished(component)
    unsure = [claim.component for claim in claims if claim.about == "handshake" and claim.status != "proved"]
    claims.insert(1, _claim(design.name, "progress", lambda: _progress(design, unsure)))
    return Proof(tuple(claims))


def _progress(design: Design, unsure: Sequence[str]) -> str:
    """No deadlock, whatever the stalls: the components' handshakes, each proved to be its model's, put together."""
    found = design.progress
    if not found.goes_on and not found.stuck:
        raise NotProvedError(
            f"the slowest run of the control models has not repeated itself after {found.beats:,} beats"
        )
    if not found.goes_on:
        raise NotProvedError(f"it stops; beats wait on {', '.join(found.stuck)}", refuted=True)
    if unsure:
        raise NotProvedError(f"the handshake of {', '.join(unsure)} is not proved to be that of its model")
    return f"the slowest run of the control models repeats itself after {found.beats:,} beats, so every run goes on"


def prove_component(component: Component, netlist: Netlist) -> list[Claim]:
    """All claims of one component, on its netlist."""
    return list(_component(component, netlist))


def _component(component: Component, netlist: Netlist) -> Iterator[Claim]:
    name = component.name
    try:
        check_ports(component_ports(component), netlist)
        check_driven(netlist)
        check_clocked(netlist)
    except NotProvedError as error:  # then nothing that follows would be about this netlist
        yield from (Claim(name, about, "open", "", str(error)) for about in ("timing", "handshake", "values"))
        return
    yield _claim(name, "timing", lambda: prove_timing(netlist))
    if moves_beats(component):
        yield from _moving(component, netlist)
    elif (proof := of_frames(component, netlist)) is not None:
        yield from _framed(component, proof)
    elif (text := _not_covered(component)) is not None:
        yield from (Claim(name, about, "open", "", text) for about in ("handshake", "values"))
    elif isinstance(component, LinearFolded):
        yield from _folded(component, netlist)
    else:
        yield from _computing(component, netlist)


def _not_covered(component: Component) -> str | None:
    """Why no argument is about a component; None where one is."""
    if len(component.inputs) > 1 and not isinstance(component, Pipe):
        return "a component with several inputs that is no join, fork or concatenation"
    if component.counts_positions:  # it has other vectors than those of its streams
        return f"no invariant of a {component.kind} over a frame is known"
    return None


def _moving(component: Component, netlist: Netlist) -> Iterator[Claim]:
    """Forks and concatenations: one argument for handshake and values."""

    def both() -> str:
        check_bounds(component)
        return prove_moves(component, netlist)

    found = _claim(component.name, "handshake", both)
    yield found
    yield replace(found, about="values")
    if found.status == "proved":  # every bit of data was followed through multiplexers alone
        yield Claim(component.name, "widths", "proved", "there is no adder of data")


def _framed(component: Component, proof: FrameProof) -> Iterator[Claim]:
    """What looks at positions of a frame: an invariant of its counters, of which the values follow."""

    def values() -> str:
        check_bounds(component)
        return proof.values()

    yield _claim(component.name, "handshake", proof.handshake)
    yield _claim(component.name, "values", values)
    yield _claim(component.name, "widths", proof.widths)


def _folded(component: LinearFolded, netlist: Netlist) -> Iterator[Claim]:
    """By an invariant; where that decides nothing, all states of its control are gone through."""
    claims = list(_framed(component, FoldedProof(component, netlist)))
    sure = all(claim.status == "proved" for claim in claims) or any(claim.status == "refuted" for claim in claims)
    yield from claims if sure else _computing(component, netlist)


def _computing(component: Component, netlist: Netlist) -> Iterator[Claim]:
    name = component.name
    shared = not is_chain(component) and len(component.inputs) == 1  # its adders serve several beats
    views = joined(component, netlist)
    explored: list[Explored | None] = []
    evaluated: list[View] = []

    def handshake() -> str:
        view, own = views[0]
        method, found = prove_handshake(unit(view), own)
        explored.append(found)
        return method

    def values() -> str:
        for view, own in views:
            check_bounds(view)
            method, symbolic = prove_values(unit(view), own, explored[0] if explored else None)
            evaluated.append(View(unit(view), own, symbolic))
        return method

    def widths() -> tuple[str, tuple[Reached, ...]]:
        return prove_widths(evaluated, accumulates=shared)

    yield _claim(name, "handshake", handshake)
    yield _claim(name, "values", values)
    if len(evaluated) == len(views):
        yield _claim(name, "widths", widths)


def _claim(component: str, about: str, attempt: Callable[[], str | tuple[str, tuple[Reached, ...]]]) -> Claim:
    try:
        found = attempt()
        method, adders = (found, ()) if isinstance(found, str) else found
        return Claim(component, about, "proved", method, adders=adders[:LISTED])
    except NotProvedError as error:
        return Claim(component, about, "refuted" if error.refuted else "open", "", str(error))
