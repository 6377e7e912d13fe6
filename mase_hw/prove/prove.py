"""Proves a build: every component, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mase_hw.emit import Build
from mase_hw.emit.axis import AxisTop
from mase_hw.ir import Component, Design
from mase_hw.prove.claims.axis import prove_axis
from mase_hw.prove.claims.bounds import check_bounds, check_input
from mase_hw.prove.claims.claim import Claim, NotProvedError, Reached
from mase_hw.prove.claims.handshake import Explored, is_chain, prove_handshake
from mase_hw.prove.claims.timing import prove_timing
from mase_hw.prove.claims.values import prove_values, unit
from mase_hw.prove.claims.widths import prove_widths
from mase_hw.prove.claims.wiring import prove_wiring
from mase_hw.prove.netlist.clocking import check_clocked, check_ports
from mase_hw.prove.netlist.netlist import Netlist, elaborate, elaborate_around
from mase_hw.prove.words.symbolic import Symbolic

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
    """Reads the RTL back and proves what can be proved; what cannot is listed as such. `timeout`: Yosys' seconds."""
    progress("Yosys reads the RTL")
    design = build.design
    netlists = elaborate(build.rtl, design.name, [c.name for c in design.components], timeout)
    found = prove_design(design, netlists, progress, finished)
    if build.axis is None:
        return found
    progress(f"{build.axis.module}: around {design.name}")
    top = elaborate_around(build.rtl, build.axis.module, design.name, timeout)
    return Proof((*found.claims, claim_axis(design, build.axis, top)))


def claim_axis(design: Design, axis: AxisTop, top: Netlist) -> Claim:
    """The claim of the AXI4-Stream top around a design."""
    return _claim(axis.module, "axis", lambda: prove_axis(design, (axis.input,), (axis.output,), top))


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
        claims += _component(component, netlists[component.name])
        finished(component)
    return Proof(tuple(claims))


def _component(component: Component, netlist: Netlist) -> Iterator[Claim]:
    name = component.name
    shared = not is_chain(component)  # its adders serve several beats
    looked_at = unit(component)
    explored: list[Explored | None] = []
    evaluated: list[Symbolic] = []

    def handshake() -> str:
        method, found = prove_handshake(looked_at, netlist)
        explored.append(found)
        return method

    def values() -> str:
        check_bounds(component)
        method, symbolic = prove_values(looked_at, netlist, explored[0] if explored else None)
        evaluated.append(symbolic)
        return method

    try:
        check_ports(component, netlist)
        check_clocked(netlist)
    except NotProvedError as error:  # then nothing that follows would be about this netlist
        yield from (Claim(name, about, "open", "", str(error)) for about in ("timing", "handshake", "values"))
        return
    yield _claim(name, "timing", lambda: prove_timing(netlist))
    yield _claim(name, "handshake", handshake)
    yield _claim(name, "values", values)
    if evaluated:
        yield _claim(name, "widths", lambda: prove_widths(looked_at, evaluated[0], netlist, accumulates=shared))


def _claim(component: str, about: str, attempt: Callable[[], str | tuple[str, tuple[Reached, ...]]]) -> Claim:
    try:
        found = attempt()
        method, adders = (found, ()) if isinstance(found, str) else found
        return Claim(component, about, "proved", method, adders=adders[:LISTED])
    except NotProvedError as error:
        return Claim(component, about, "refuted" if error.refuted else "open", "", str(error))
