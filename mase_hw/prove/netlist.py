"""The emitted RTL read back by Yosys: every component as a flat netlist of words, the top as instances and wires."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError

Net = int | str  # the number of a net, or the constant "0", "1" or "x"

_SCRIPT = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
top, out, *files = sys.argv[1:]
names = files[files.index("--") + 1:]
files = files[:files.index("--")]
run = lambda command: ys.run_pass(command, design)
run("read_slang --keep-hierarchy --top " + top + " " + " ".join(files))
for name in names:
    run("setattr -mod -set keep_hierarchy 1 " + name)
run("proc")
run("flatten")
run("memory_collect")
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


def elaborate(files: Sequence[Path], top: str, components: Sequence[str]) -> dict[str, Netlist]:
    """The netlist of the top and of each component's instance `u_<component>`, by the component's name; top: ""."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "netlist.json"
        names = [f"*${top}.u_{name}" for name in components]
        # By name, from their folder: Yosys splits a command at spaces, which the folder's path may have.
        here = files[0].parent
        command = [sys.executable, "-c", _SCRIPT, top, str(out), *(file.name for file in files), "--", *names]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True)
        if done.returncode or not out.exists():
            last = (done.stdout + done.stderr).strip().splitlines()[-3:]
            hint = "is the extra installed? pip install 'mase-hw[prove]'" if "pyosys" in done.stderr else None
            raise ProblemsError(Problem(f"Yosys cannot read the RTL of {top}: {' / '.join(last)}", hint=hint))
        modules = json.loads(out.read_text("utf-8"))["modules"]
    found = {}
    for name, module in modules.items():
        found[component_of(name, top)] = _netlist(name, module)
    missing = [component for component in components if component not in found]
    assert not missing, f"the netlist has no instance of {', '.join(missing)}"
    return found


def component_of(module: str, top: str) -> str:
    """The component whose instance `u_<component>` a module is; the top is none."""
    return module.partition("$")[2].removeprefix(f"{top}.u_")


def _netlist(name: str, module: dict[str, Any]) -> Netlist:
    cells = []
    for label, cell in sorted(module["cells"].items()):
        parameters = {key: _integer(value) for key, value in cell["parameters"].items()}
        ports = {port: tuple(nets) for port, nets in cell["connections"].items()}
        cells.append(Cell(label, cell["type"], parameters, ports, cell["attributes"].get("src", "")))
    ports = {port: tuple(value["bits"]) for port, value in module["ports"].items()}
    names = {label: tuple(value["bits"]) for label, value in module["netnames"].items()}
    return Netlist(name, ports, tuple(cells), names)


def _integer(value: Any) -> Any:
    return int(value, 2) if isinstance(value, str) and value and set(value) <= {"0", "1"} else value
