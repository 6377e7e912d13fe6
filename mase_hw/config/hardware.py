"""[passes.hardware] and [hardware]: how the nodes are built, and what the whole design is asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from mase_hw.config.entries import PerNode, parse_entries
from mase_hw.config.places import Places
from mase_hw.config.systemverilog import KEYWORDS
from mase_hw.config.table import Table, shown
from mase_hw.diagnostics import Collector, Place
from mase_hw.numerics import MAX_WIDTH

Implementation = Literal["auto", "unrolled", "serial", "folded"]
Interface = Literal["stream", "axis"]

IMPLEMENTATIONS: tuple[Implementation, ...] = ("auto", "unrolled", "serial", "folded")
INTERFACES: tuple[Interface, ...] = ("stream", "axis")
MAX_FIFO_DEPTH = 1 << 10  # the FIFO is read within the cycle, so it lives in LUT RAM
MAX_ADDERS_PER_STAGE = 64
MAX_OUTPUT_GROUPS = 8  # more would leave a table one bit of the inputs
OWN_KEYS = {
    **dict.fromkeys(("digit_bits", "output_groups"), "serial"),
    **dict.fromkeys(("array_in", "array_out", "use_dsp"), "folded"),
}
RESERVED = "mase"  # first word of the library's and the bench's module names

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class HardwareSpec:
    """How one node is built; None leaves the choice to the tool. A depth of 0 means no FIFO."""

    implementation: Implementation = "auto"
    data_in_parallelism: int | None = None
    data_out_parallelism: int | None = None
    data_in_fifo_depth: int = 0
    digit_bits: int | None = None  # serial: bits of every input in one cycle
    array_in: int | None = None  # folded: multipliers, inputs x outputs; they need not divide the layer
    array_out: int | None = None
    use_dsp: bool | None = None  # folded: the multipliers are DSP blocks
    output_groups: int | None = None  # serial: outputs that share tables, one group after the other


@dataclass(frozen=True)
class HardwareConfig(PerNode[HardwareSpec]):
    """The whole of [passes.hardware]; `for_node(name, op)` is what the pass asks."""


@dataclass(frozen=True)
class HardwareTarget:
    """The [hardware] table: the top module's name, its interface, and what the whole design is to reach or to keep.

    `adders_per_stage` and `solver_seconds` are the operators' own where they are None.
    """

    top: str
    interface: Interface = "stream"
    target_interval: int | None = None
    lut_budget: int | None = None
    dsp_budget: int | None = None
    bram_budget: int | None = None  # RAMB18; a RAMB36 counts as two
    adders_per_stage: int | None = None
    solver_seconds: float | None = None
    places: Places | None = field(default=None, compare=False, repr=False)

    @property
    def asks(self) -> bool:
        """Whether anything is asked of the whole design."""
        return any(wish is not None for wish in (self.target_interval, *self.budgets.values()))

    @property
    def budgets(self) -> dict[str, int | None]:
        """By the figure that each limits."""
        return {"logic": self.lut_budget, "dsp": self.dsp_budget, "bram": self.bram_budget}

    def where(self, key: str) -> Place | None:
        """The line of a key, for problems found later."""
        return self.places.of("hardware", key) if self.places else None


def parse_hardware(
    mapping: Mapping[str, Any],
    problems: Collector,
    places: Places | None = None,
    subject: str = "passes.hardware",
) -> HardwareConfig:
    """Reads the same shape as [passes.quantize]; without `default`, the tool decides."""
    by, default, entries = parse_entries(mapping, problems, places, subject, _spec)
    return HardwareConfig(by, default or HardwareSpec(), entries, subject, places)


def _spec(config: Table) -> HardwareSpec:
    config.only(HardwareSpec.__dataclass_fields__)
    spec = HardwareSpec(
        cast(Implementation, config.choice("implementation", "auto", IMPLEMENTATIONS)),
        config.integer("data_in_parallelism", None, 1),
        config.integer("data_out_parallelism", None, 1),
        config.integer("data_in_fifo_depth", 0, 0, MAX_FIFO_DEPTH) or 0,
        config.integer("digit_bits", None, 1, MAX_WIDTH),
        config.integer("array_in", None, 1),
        config.integer("array_out", None, 1),
        config.boolean("use_dsp", False) if "use_dsp" in config.values else None,
        config.integer("output_groups", None, 1, MAX_OUTPUT_GROUPS),
    )
    _check_together(config, spec)
    return spec


def _check_together(config: Table, spec: HardwareSpec) -> None:
    """Keys that belong to different implementations, in one table."""
    given = {key: owner for key, owner in OWN_KEYS.items() if getattr(spec, key) not in (None, False)}
    for key, owner in given.items():
        if spec.implementation not in ("auto", owner):
            text = f"{key} is for {owner} layers, and implementation = {shown(spec.implementation)}"
            config.problem(text, key, hint=f'delete {key}, or set implementation = "{owner}"')
    if spec.implementation == "auto" and len(set(given.values())) > 1:
        own, other = (next(key for key in given if given[key] == owner) for owner in ("serial", "folded"))
        text = f"{own} is for serial layers, and {other} for folded ones"
        config.problem(text, own, hint="delete one of the two")


def parse_target(
    mapping: Mapping[str, Any],
    problems: Collector,
    places: Places | None = None,
    project: str = "design",
    subject: str = "hardware",
) -> HardwareTarget:
    """`top` is made from the project's name when it is not given."""
    table = Table(mapping, tuple(subject.split(".")), problems, places)
    table.only([key for key in HardwareTarget.__dataclass_fields__ if key != "places"])
    fallback = identifier_from(project)
    top = table.string("top", fallback) or fallback
    reason = why_no_identifier(table.values["top"]) if isinstance(table.values.get("top"), str) else None
    if reason:
        hint = f"for example {identifier_from(table.values['top'])}"
        table.problem(f"top = {shown(table.values['top'])} {reason}", "top", hint=hint)
        top = fallback
    interface = cast(Interface, table.choice("interface", "stream", INTERFACES))
    return HardwareTarget(
        top,
        interface,
        table.integer("target_interval", None, 1),
        table.integer("lut_budget", None, 0),
        table.integer("dsp_budget", None, 0),
        table.integer("bram_budget", None, 0),
        table.integer("adders_per_stage", None, 1, MAX_ADDERS_PER_STAGE),
        _seconds(table),
        places,
    )


def _seconds(table: Table) -> float | None:
    seconds = table.number("solver_seconds", None)
    if seconds is not None and not 0 < seconds < math.inf:
        table.problem(f"solver_seconds = {shown(seconds)} is out of range", "solver_seconds", hint="more than 0")
        return None
    return seconds


def why_no_identifier(name: str) -> str | None:
    """Why `name` cannot name a SystemVerilog module; None when it can."""
    if not _IDENTIFIER.fullmatch(name):
        return "is not a SystemVerilog identifier"
    if name in KEYWORDS:
        return "is a SystemVerilog keyword"
    if name == RESERVED or name.startswith(f"{RESERVED}_"):
        return f"is reserved: names that begin with {RESERVED} are those of the library"
    return None


def identifier_from(name: str) -> str:
    """A legal module name as near to `name` as can be."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "design"
    if made[0].isdigit():
        made = f"m_{made}"
    if made == RESERVED or made.startswith(f"{RESERVED}_"):
        made = f"top_{made}"
    return f"{made}_top" if made in KEYWORDS else made
