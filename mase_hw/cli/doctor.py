"""`mase-hw doctor`: which tools are there."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from mase_hw.cli.console import json_option, output
from mase_hw.simulate.toolchain import tools


@click.command("doctor", short_help="Say which tools are there, and how to get the others.")
@json_option
def command() -> None:
    """Say, one line per tool, whether it is there, in which version, or how to get it.

    Ends with 1 if something that `mase-hw sim` needs is missing.
    """
    found = tools()
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
