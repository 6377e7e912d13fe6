"""Proves a build: every component, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mase_hw.emit import Build
from mase_hw.hardware import Component, Design, Pipe
from mase_hw.prove.claims import Claim, NotProvedError
from mase_hw.prove.handshake import prove_handshake
from mase_hw.prove.netlist import Netlist, elaborate
from mase_hw.prove.timing import prove_timing
from mase_hw.prove.values import prove_values
from mase_hw.prove.widths import prove_widths
from mase_hw.prove.wiring import prove_wiring


@dataclass(frozen=True)
class Proof:
    """All claims of a design."""

    claims: tuple[Claim, ...]

    @property
    def proved(self) -> bool:
        return all(claim.status == "proved" for claim in self.claims)


def prove(build: Build, progress: Callable[[str], None] = lambda text: None) -> Proof:
    """Reads the RTL back and proves what can be proved; what cannot is listed as such."""
    progress("Yosys reads the RTL")
    design = build.design
    return prove_design(design, elaborate(build.rtl, design.name, [c.name for c in design.components]), progress)


def prove_design(
    design: Design, netlists: dict[str, Netlist], progress: Callable[[str], None] = lambda text: None
) -> Proof:
    claims = [_claim(design.name, "wiring", lambda: prove_wiring(design, netlists[""]))]
    for component in design.components:
        progress(f"{component.name}: {component.kind}")
        claims += _component(component, netlists[component.name])
    return Proof(tuple(claims))


def _component(component: Component, netlist: Netlist) -> Iterator[Claim]:
    name = component.name
    shared = not isinstance(component, Pipe) or component.interval > 1  # its adders serve several beats
    yield _claim(name, "timing", lambda: prove_timing(netlist))
    yield _claim(name, "handshake", lambda: prove_handshake(component, netlist))
    machines = []

    def values() -> str:
        method, machine = prove_values(component, netlist)
        machines.append(machine)
        return method

    yield _claim(name, "values", values)
    if machines:
        yield _claim(name, "widths", lambda: prove_widths(machines[0], accumulates=shared))


def _claim(component: str, about: str, attempt: Callable[[], str]) -> Claim:
    try:
        return Claim(component, about, "proved", attempt())
    except NotProvedError as error:
        return Claim(component, about, "refuted" if error.refuted else "open", "", str(error))
