"""[passes.hardware] and [hardware]: how the nodes are built, and what the whole design is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from mase_hw.config.entries import PerNode, parse_entries
from mase_hw.config.places import Places
from mase_hw.config.systemverilog import KEYWORDS
from mase_hw.config.table import Table, shown
from mase_hw.diagnostics import Collector

Implementation = Literal["auto", "unrolled", "folded"]
Interface = Literal["stream"]

IMPLEMENTATIONS: tuple[Implementation, ...] = ("auto", "unrolled", "folded")
INTERFACES: tuple[Interface, ...] = ("stream",)
MAX_FIFO_DEPTH = 1 << 10  # the FIFO is read within the cycle, so it lives in LUT RAM
RESERVED = "mase"  # first word of the library's and the bench's module names

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class HardwareSpec:
    """How one node is built; None leaves the choice to the tool. A depth of 0 means no FIFO."""

    implementation: Implementation = "auto"
    data_in_parallelism: int | None = None
    data_out_parallelism: int | None = None
    data_in_fifo_depth: int = 0


@dataclass(frozen=True)
class HardwareConfig(PerNode[HardwareSpec]):
    """The whole of [passes.hardware]; `for_node(name, op)` is what the pass asks."""


@dataclass(frozen=True)
class HardwareTarget:
    """The [hardware] table: the top module's name, its interface, and cycles per inference to reach."""

    top: str
    interface: Interface = "stream"
    target_interval: int | None = None


def parse_hardware(
    mapping: Mapping[str, Any],
    found: Collector,
    places: Places | None = None,
    subject: str = "passes.hardware",
) -> HardwareConfig:
    """Reads the same shape as [passes.quantize]; without `default`, the tool decides."""
    by, default, entries = parse_entries(mapping, found, places, subject, _spec)
    return HardwareConfig(by, default or HardwareSpec(), entries, subject, places)


def _spec(config: Table) -> HardwareSpec:
    config.only(HardwareSpec.__dataclass_fields__)
    return HardwareSpec(
        cast(Implementation, config.choice("implementation", "auto", IMPLEMENTATIONS)),
        config.integer("data_in_parallelism", None, 1),
        config.integer("data_out_parallelism", None, 1),
        config.integer("data_in_fifo_depth", 0, 0, MAX_FIFO_DEPTH) or 0,
    )


def parse_target(
    mapping: Mapping[str, Any],
    found: Collector,
    places: Places | None = None,
    project: str = "design",
    subject: str = "hardware",
) -> HardwareTarget:
    """`top` is made from the project's name when it is not given."""
    table = Table(mapping, tuple(subject.split(".")), found, places)
    table.only(HardwareTarget.__dataclass_fields__)
    fallback = identifier_from(project)
    top = table.string("top", fallback) or fallback
    reason = why_no_identifier(table.values["top"]) if isinstance(table.values.get("top"), str) else None
    if reason:
        hint = f"for example {identifier_from(table.values['top'])}"
        table.problem(f"top = {shown(table.values['top'])} {reason}", "top", hint=hint)
        top = fallback
    interface = cast(Interface, table.choice("interface", "stream", INTERFACES))
    return HardwareTarget(top, interface, table.integer("target_interval", None, 1))


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
