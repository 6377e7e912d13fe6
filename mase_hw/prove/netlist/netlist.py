"""The emitted RTL read back by Yosys: every component as a flat netlist of words, the top as instances and wires."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit.manifest import expect_name, file_names
from mase_hw.interrupts import uninterrupted
from mase_hw.isolated import python_command, tool_environment
from mase_hw.limits import Limits, limits_for
from mase_hw.prove.netlist.work import MAX_TEXT, check_work

_log = logging.getLogger(__name__)

# A megabyte of emitted RTL takes some seconds, and some hundred megabytes.
SECONDS, MEGABYTES = (20, 120), (2000, 4000)

Net = int | str  # the number of a net, or the constant "0", "1" or "x"

_SCRIPT = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
top, out, inside, *files = sys.argv[1:]
names = files[files.index("--") + 1:]
files = files[:files.index("--")]
run = lambda command: ys.run_pass(command, design)
hidden = ["--blackboxed-module", inside] if inside else []
run(" ".join(["read_slang --keep-hierarchy --top", top, *hidden, *files]))
for name in names:
    run("setattr -mod -set keep_hierarchy 1 " + name)
run("proc")
run("flatten")
run("memory_collect")
run("check -assert")  # before what nobody reads is gone: a loop or a second driver there is none the better
run("opt_clean")
run("write_json " + out)
"""


@dataclass(frozen=True)
class Cell:
    """A cell with its parameters as integers, and the nets of its ports."""

    name: str
    type: str
    parameters: dict[str, int]
    ports: dict[str, tuple[Net, ...]]
    source: str

    def width(self, port: str) -> int:
        return len(self.ports[port])


@dataclass(frozen=True)
class Netlist:
    """One module, flat."""

    name: str
    ports: dict[str, tuple[Net, ...]]
    cells: tuple[Cell, ...]
    names: dict[str, tuple[Net, ...]] = field(default_factory=dict)  # of its own signals
    directions: dict[str, str] = field(default_factory=dict)  # of its ports

    @cached_property
    def drivers(self) -> dict[Net, tuple[Cell, str, int]]:
        """What drives each net: a cell, its port and the bit of it."""
        ports = ((cell, port) for cell in self.cells for port in ("Y", "Q", "RD_DATA") if port in cell.ports)
        return {net: (cell, port, k) for cell, port in ports for k, net in enumerate(cell.ports[port])}


def elaborate(
    files: Sequence[Path], top: str, components: Sequence[str], timeout: float | None = None
) -> dict[str, Netlist]:
    """The netlist of the top and of each component's instance `u_<component>`, by the component's name; top: ""."""
    if importlib.util.find_spec("pyosys") is None:
        text = f"pyosys: not installed for {sys.executable}"
        raise ProblemsError(Problem(text, hint="pip install 'mase-hw[prove]'"))
    kept = [f"*${top}.u_{expect_name(name)}" for name in components]
    modules = _modules(files, top, kept, timeout)
    found = {}
    for name, module in modules.items():
        found[component_of(name, top)] = netlist_of(name, module)
    missing = [f"u_{component}" for component in components if component not in found]
    others = sorted(found.keys() - {"", *components})
    if missing or others or len(found) != len(modules):
        what = f"has no {', '.join(missing)}" if missing else f"holds {', '.join(others) or 'a component twice'}"
        text = f"the top {top} {what}: its instances are not those of the design"
        raise ProblemsError(Problem(text, hint="emit the build again"))
    return found


def elaborate_around(files: Sequence[Path], top: str, inside: str, timeout: float | None = None) -> Netlist:
    """The netlist of a top in which the module `inside` is a cell: nothing but its ports is read."""
    return netlist_of(top, _modules(files, top, [], timeout, inside)[top])


def _modules(
    files: Sequence[Path], top: str, kept: Sequence[str], timeout: float | None, inside: str = ""
) -> dict[str, Any]:
    """All modules that Yosys writes; those that are `kept` are not made part of others."""
    # What goes into a command of Yosys is a name: it splits commands at spaces, and has some that start a shell.
    expect_name(top)
    if inside:
        expect_name(inside)
    names = file_names(files)
    with tempfile.TemporaryDirectory(prefix="mase-hw-yosys-") as place:
        folder = Path(place)
        out = folder / "netlist.json"
        for file, name in zip(files, names, strict=True):
            (folder / name).write_bytes(file.read_bytes())
        command = python_command("-c", _SCRIPT, top, out.name, inside, *names, "--", *kept)
        limits = limits_for((file.stat().st_size for file in files), SECONDS, MEGABYTES)
        if timeout is not None:
            limits = replace(limits, seconds=ceil(timeout) + 1)
        code, said = _run(command, folder, timeout, limits)
        if code < 0:
            text = f"Yosys cannot read the RTL of {top} with {limits}"
            raise ProblemsError(Problem(text, hint="give it more time with --timeout"))
        if code or not out.exists():
            last = " / ".join(said.strip().splitlines()[-3:])
            raise ProblemsError(Problem(f"Yosys cannot read the RTL of {top}: {last}"))
        if out.stat().st_size > MAX_TEXT:
            raise ProblemsError(Problem(f"the netlist of {top} has more than {MAX_TEXT:,} bytes"))
        found: dict[str, Any] = json.loads(out.read_text("utf-8"))["modules"]
        check_work(found, top)
        return found


def _run(command: Sequence[str], folder: Path, timeout: float | None, limits: Limits) -> tuple[int, str]:
    """Exit code and output of a child that never outlives us: not after the time limit, nor after Ctrl-C."""
    _log.debug("%s  (in %s)", shlex.join(command), folder)
    with tempfile.TemporaryFile() as log:
        child: subprocess.Popen[bytes] | None = None
        try:
            with uninterrupted():  # or a child that has just started would be lost
                child = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=tool_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                limits.of_child(child.pid)
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            text = f"Yosys did not read the RTL within {timeout:g} seconds, and was ended"
            raise ProblemsError(Problem(text, hint="give it more with --timeout, or leave that out")) from None
        finally:
            if child is not None and child.poll() is None:
                with contextlib.suppress(ProcessLookupError):  # it may end by itself just now
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        log.seek(0)
        return child.returncode, log.read().decode("utf-8", errors="replace")


def component_of(module: str, top: str) -> str:
    """The component whose instance `u_<component>` a module is; the top is none."""
    return module.partition("$")[2].removeprefix(f"{top}.u_")


def netlist_of(name: str, module: dict[str, Any]) -> Netlist:
    cells = []
    for label, cell in sorted(module["cells"].items()):
        parameters = {key: _integer(value) for key, value in cell["parameters"].items()}
        ports = {port: tuple(nets) for port, nets in cell["connections"].items()}
        cells.append(Cell(label, cell["type"], parameters, ports, cell["attributes"].get("src", "")))
    ports = {port: tuple(value["bits"]) for port, value in module["ports"].items()}
    names = {label: tuple(value["bits"]) for label, value in module["netnames"].items()}
    directions = {port: value["direction"] for port, value in module["ports"].items()}
    return Netlist(name, ports, tuple(_read_alone(cells, ports)), names, directions)


def _read_alone(cells: Sequence[Cell], ports: Mapping[str, Sequence[Net]]) -> Iterator[Cell]:
    """The cells, sums without upper bits that nothing reads: those below are the sum of the bits below."""
    read = {net for nets in ports.values() for net in nets}
    read |= {net for cell in cells for port, nets in cell.ports.items() if port != "Y" for net in nets}
    for cell in cells:
        if cell.type in ("$add", "$sub"):
            sums = cell.ports["Y"]
            width = max((k + 1 for k, net in enumerate(sums) if net in read), default=1)
            parameters = {**cell.parameters, "Y_WIDTH": width}
            yield replace(cell, ports={**cell.ports, "Y": sums[:width]}, parameters=parameters)
        else:
            yield cell


def _integer(value: Any) -> Any:
    return int(value, 2) if isinstance(value, str) and value and set(value) <= {"0", "1"} else value
