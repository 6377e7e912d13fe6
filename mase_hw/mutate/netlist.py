"""Netlist mutants: Yosys draws them on the netlist that it reads from the files, each with its place in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.subject import Subject
from mase_hw.mutate.work import yosys
from mase_hw.mutate.yosys import SELECT

_PLACE = re.compile(r"-src (\S+?):(\d+)\.")
_OPTION = re.compile(r"-(mode|cell|port|portbit|wire|wirebit) (\S+)")
_MODES = {
    "inv": "is inverted",
    "const0": "is always 0",
    "const1": "is always 1",
    "cnot0": "is inverted while another bit of it is 0",
    "cnot1": "is inverted while another bit of it is 1",
}


def shares(subjects: Mapping[str, Subject], count: int) -> dict[str, int]:
    """How many mutants each component gets: evenly, the first ones one more."""
    names = [name for name in subjects if name]
    each, rest = divmod(count, len(names))
    return {name: each + (k < rest) for k, name in enumerate(names) if each + (k < rest)}


def netlist_mutants(subject: Subject, count: int, seed: int, folder: Path) -> list[Mutant]:
    """Mutants of a component; their netlists, and one text that holds them all, are left in `folder`."""
    files = subject.write(folder)
    job = {
        "job": "list",
        "files": [file.name for file in files],
        "top": subject.design.name,
        "component": subject.component,
        "module": subject.module,
        "count": count,
        "seed": seed,
    }
    said = yosys(job, folder)
    if not (folder / "all.v").exists():
        last = " / ".join(said.strip().splitlines()[-3:])
        hint = "is the extra installed? pip install 'mase-hw[mutate]'" if "pyosys" in said else None
        raise ProblemsError(Problem(f"Yosys cannot mutate {subject.component}: {last}", hint=hint))
    lines = (folder / "list.txt").read_text("utf-8").splitlines()
    _write_outer(subject, folder, len(lines).bit_length())
    return [_mutant(subject, line) for line in lines]


def _mutant(subject: Subject, line: str) -> Mutant:
    places = _PLACE.findall(line)
    # The last place is that of the cell, those before it are those of the wire.
    file, number = places[-1] if places else (f"{subject.module}.sv", "1")
    said = dict(_OPTION.findall(line))
    wire = f", on {said['wire']}[{said['wirebit']}]," if "wire" in said else ""
    what = f"bit {said['portbit']} of port {said['port']} of a cell{wire} {_MODES[said['mode']]}"
    return Mutant("netlist", said["mode"], file, int(number), what, component=subject.component, command=line)


def _write_outer(subject: Subject, folder: Path, width: int) -> None:
    """A top around a netlist that holds many mutants: which of them is awake is read from a file when a run starts."""
    text = subject.texts[f"{subject.design.name}.sv"]
    header = text[text.index("module ") : text.index(");") + 2]
    place = json.dumps(str(folder / "selected.hex"))
    outer = [
        header,
        "  logic [31:0] selected[1];",
        f"  initial $readmemh({place}, selected);",
        f"  {subject.design.name}_inner u_inner (.*, .{SELECT}(selected[0][{width - 1}:0]));",
        "endmodule",
    ]
    (folder / "outer").mkdir(exist_ok=True)
    (folder / "outer" / f"{subject.design.name}.sv").write_text("\n".join(outer) + "\n", encoding="utf-8")
