"""Projects for Vivado and Quartus, written by edalize; neither tool has to be there."""

from __future__ import annotations

import importlib.util
import logging
import tempfile
from pathlib import Path
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.export.block import Block
from mase_hw.export.constraints import clock_constraint

# The start of a device's name says its family, which a Quartus project has to name.
FAMILIES = {
    "5CE": "Cyclone V",
    "5CG": "Cyclone V",
    "5CS": "Cyclone V",
    "5AG": "Arria V",
    "5SG": "Stratix V",
    "10AX": "Arria 10",
    "10AS": "Arria 10",
    "10CL": "Cyclone 10 LP",
    "10CX": "Cyclone 10 GX",
    "10M": "MAX 10",
    "1SG": "Stratix 10",
    "1SX": "Stratix 10",
    "AGF": "Agilex 7",
    "AGI": "Agilex 7",
    "A5E": "Agilex 5",
    "EP4CE": "Cyclone IV E",
    "EP4CGX": "Cyclone IV GX",
}
# A block in the middle of a system has more ports than a device has pins, and none of them is a pin.
OUT_OF_CONTEXT = """# {top} is built as a block, without pins: its ports are not I/O buffers.
# For a whole chip, leave this file out and add the pins.
set_property -name {{STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS}} -value {{-mode out_of_context}} -objects [get_runs synth_1]
"""
VIRTUAL_PINS = """# {top} is built as a block, without pins: all ports but the clock are virtual.
# For a whole chip, leave this file out and add the pins.
set_instance_assignment -name VIRTUAL_PIN ON -to *
set_instance_assignment -name VIRTUAL_PIN OFF -to {clock}
"""


def find_edalize() -> None:
    """A Problem where it is not installed."""
    if importlib.util.find_spec("edalize") is None:
        hint = "pip install 'mase-hw[export]'"
        raise ProblemsError(Problem("edalize: not installed; it writes Vivado and Quartus projects", hint=hint))


def vivado_project(block: Block, part: str, megahertz: float) -> dict[str, bytes]:
    """File name to content of a project that `make` or `vivado -source TOP.tcl` opens."""
    find_edalize()
    from edalize.flows.vivado import Vivado

    more = {
        f"{block.top}.xdc": ("xdc", clock_constraint(block, megahertz)),
        "out_of_context.tcl": ("tclSource", OUT_OF_CONTEXT.format(top=block.top)),
    }

    def configure(edam: dict[str, Any], folder: str) -> None:
        Vivado({**edam, "flow_options": {"part": part}}, folder).configure()

    return _configured(block, more, configure)


def quartus_project(block: Block, device: str, family: str, megahertz: float) -> dict[str, bytes]:
    """File name to content of a project that `make` or `quartus_sh -t TOP.tcl` opens."""
    find_edalize()
    from edalize.edatool import get_edatool

    more = {
        f"{block.top}.sdc": ("SDC", clock_constraint(block, megahertz)),
        "virtual_pins.tcl": ("tclSource", VIRTUAL_PINS.format(top=block.top, clock=block.clock)),
    }

    def configure(edam: dict[str, Any], folder: str) -> None:
        options = {"quartus": {"family": family, "device": device}}
        get_edatool("quartus")({**edam, "tool_options": options}, folder).configure()

    return _configured(block, more, configure)


def family_of(device: str) -> str | None:
    """The family of a Quartus device, by the start of its name."""
    known = [start for start in FAMILIES if device.upper().startswith(start)]
    return FAMILIES[max(known, key=len)] if known else None


def _configured(block: Block, more: dict[str, tuple[str, str]], configure: Any) -> dict[str, bytes]:
    """What edalize writes into a folder that holds the sources, with the sources."""
    files = [
        {"name": name, "file_type": "systemVerilogSource" if modern else "verilogSource-2001"}
        for name, modern in block.sources
    ]
    files += [{"name": name, "file_type": kind} for name, (kind, _) in more.items()]
    edam = {"name": block.top, "toplevel": block.top, "files": files}
    logging.getLogger("edalize").setLevel(logging.ERROR)  # it warns where the vendor's tool is not there
    with tempfile.TemporaryDirectory(prefix="mase-hw-export-") as folder:
        ours = {name: text.encode() for name, (_, text) in more.items()} | block.contents()
        for name, content in ours.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        configure(edam, folder)
        found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}
