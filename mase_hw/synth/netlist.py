"""Reads the netlist that Yosys wrote and counts its cells. What is missing in it is an error, never a zero."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.synth.cells import KINDS, kind_of, units
from mase_hw.synth.depth import LoopError, longest_path
from mase_hw.synth.results import Usage
from mase_hw.synth.sites import bare_carries
from mase_hw.synth.targets import instance

AGAIN = "run it again; if that does not help, `pip install --force-reinstall pyosys`"


@dataclass(frozen=True)
class Netlist:
    """The modules that are left after mapping: the top, and the components that were kept."""

    tool: str
    top: str
    modules: Mapping[str, Any]

    def whole(self) -> Usage:
        """The usage of a flat netlist."""
        if len(self.modules) != 1:
            extra = ", ".join(sorted(set(self.modules) - {self.top}))
            raise _partial(f"{self.top} was not flattened: {extra} is left")
        return _usage(self.top, self.modules[self.top], self.modules)

    def component(self, name: str) -> Usage:
        """The usage of a component that was kept."""
        cells = self.modules[self.top]["cells"]
        if instance(name) not in cells:
            hint = "emit the build again, so that its RTL and its manifest are of one piece"
            raise ProblemsError(Problem(f"{self.top} has no instance {instance(name)} of component {name}", hint=hint))
        module = cells[instance(name)]["type"]
        if module not in self.modules:
            raise _partial(f"module {module} of component {name} is not in the netlist")
        return _usage(name, self.modules[module], self.modules)

    def outside(self) -> Usage:
        """The usage of the top without its components."""
        return _usage(self.top, self.modules[self.top], self.modules)


def read_netlist(path: Path, top: str) -> Netlist:
    """The netlist at `path`, which must be whole and have a module `top`."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise _partial("Yosys ended without an error and without a netlist") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise _partial(f"Yosys left a netlist that is cut off: {error}") from None
    modules = document.get("modules", {})
    if top not in modules:
        raise _partial(f"Yosys left a netlist without the module {top}")
    return Netlist(document.get("creator", "Yosys"), top, modules)


def count(cells: Mapping[str, int]) -> Cost:
    """Cells by kind, from cells by type; of carry chains that take sites nothing is known here."""
    sums = dict.fromkeys(KINDS, 0)
    for cell, number in cells.items():
        kind = kind_of(cell)
        if kind is not None:
            sums[kind] += number * units(cell)
    return Cost(**sums)


def _usage(name: str, module: Mapping[str, Any], modules: Mapping[str, Any]) -> Usage:
    inner = {key: {**cell, "is_module": cell["type"] in modules} for key, cell in module["cells"].items()}
    cells = Counter(cell["type"] for cell in inner.values() if not cell["is_module"])
    try:
        path = longest_path({**module, "cells": inner})
    except LoopError as net:
        hint = "a register must break every loop; `mase-hw sim` lints the RTL"
        raise ProblemsError(Problem(f"{name}: logic feeds itself through {net}", hint=hint)) from None
    cost = count(cells)
    cost = replace(cost, sites=cost.lut + bare_carries(module), depth=path.levels)
    return Usage(cost, dict(sorted(cells.items())), path)


def _partial(what: str) -> ProblemsError:
    return ProblemsError(Problem(f"synthesis: {what}", hint=AGAIN))
