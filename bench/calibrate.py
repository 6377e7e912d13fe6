"""Measures the cost model against Yosys: `python bench/calibrate.py` synthesizes the grid, `--check` only compares.

`cost_grid.json` beside this file holds what was measured, with the SHA-256 of the RTL it was measured on. What is there
for the same RTL is not synthesized again, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cost_grid import COUNTS, Config, design, grid, half

from mase_hw.cost.cost import Cost
from mase_hw.emit import render
from mase_hw.ir import Design, Pipe
from mase_hw.synth import synthesize

GRID = Path(__file__).with_name("cost_grid.json")
HALVES = ("fit", "held_out")
RELATIVE = (
    "sites",
    "lut",
    "ff",
    "carry",
)  # errors in parts of what was measured; of the others in cells, and in levels
ABSOLUTE = ("lutram", "dsp", "bram", "depth")
SMALL = 20  # cells: of a component with fewer, the error counts as that of one with so many
TIMEOUT = 600.0


@dataclass(frozen=True)
class Error:
    """How far predictions are off."""

    count: int
    mean: float  # of the sizes of errors
    worst: float  # with its sign: positive where too much was predicted
    bias: float  # the mean with signs


@dataclass(frozen=True)
class Compared:
    """A component of the grid: what was measured once, what is predicted today."""

    name: str
    kind: str
    half: str
    measured: Cost
    predicted: Cost
    stale: bool  # the RTL has changed since

    def error(self, figure: str) -> float:
        measured, predicted = getattr(self.measured, figure), getattr(self.predicted, figure)
        scale = max(SMALL, measured) if figure in RELATIVE else 1
        return float((predicted - measured) / scale)


def compare(stored: Mapping[str, Any]) -> list[Compared]:
    """Every stored component against today's prediction. The configurations are those that were stored."""
    found = []
    for name, entry in stored["components"].items():
        made = design(entry["config"])
        stale = sha256(made) != entry["rtl_sha256"]
        measured = Cost(**entry["measured"])
        found.append(Compared(name, entry["config"]["kind"], half(name), measured, predict(made), stale))
    return found


def predict(made: Design) -> Cost:
    """The top of a pipe has one gate beside it, which makes its enable."""
    return made.cost() + Cost(lut=any(isinstance(component, Pipe) for component in made.components))


def error_of(compared: Iterable[Compared], figure: str) -> Error | None:
    """Over the components that have the figure, or are said to have it."""
    used = [c for c in compared if getattr(c.measured, figure) or getattr(c.predicted, figure)]
    errors = [c.error(figure) for c in used]
    if not errors:
        return None
    sizes = [abs(error) for error in errors]
    return Error(len(errors), sum(sizes) / len(sizes), max(errors, key=abs), sum(errors) / len(errors))


def read_grid() -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(GRID.read_text("utf-8"))
    except FileNotFoundError:
        return {"yosys": "", "components": {}}
    return content


def sha256(made: Design) -> str:
    texts = (f"{name}\n{text}" for name, text in render(made).items())
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def measure(config: Config, made: Design) -> tuple[Cost, str]:
    """The cells of the design and its depth, and the tool that counted."""
    with tempfile.TemporaryDirectory(prefix="mase-hw-calibrate-") as folder:
        files = []
        for name, text in render(made).items():
            files.append(Path(folder) / name)
            files[-1].write_text(text, encoding="utf-8")
        done = synthesize(files, made.name, dsp=config["kind"].endswith("_dsp"), timeout=TIMEOUT)
    assert done.total.depth == done.depth
    return done.total, done.tool


def fill(kinds: Sequence[str] = ()) -> None:
    """Synthesizes what is missing, of these kinds alone if any are named; those to fit first.

    The file is written after each.
    """
    stored = read_grid()
    known, wanted = stored["components"], grid()
    kept = {}
    for name in sorted(wanted, key=lambda name: half(name) != "fit"):
        config, made = wanted[name], design(wanted[name])
        digest = sha256(made)
        entry = known.get(name)
        if kinds and config["kind"] not in kinds:
            if entry:
                kept[name] = entry
            continue
        if not entry or entry["config"] != config or entry["rtl_sha256"] != digest:
            cost, stored["yosys"] = measure(config, made)
            entry = {"config": config, "rtl_sha256": digest, "measured": asdict(cost)}
            print(f"{name}: {cost}", flush=True)
        kept[name] = entry
        stored["pyosys"] = version("pyosys")
        stored["components"] = {**{k: known[k] for k in known if k in wanted}, **kept}
        write(stored, list(wanted))


def write(stored: Mapping[str, Any], order: list[str]) -> None:
    """One line for each component, in the grid's order."""
    entries = stored["components"]
    lines = [f"    {json.dumps(name)}: {json.dumps(entries[name])}" for name in order if name in entries]
    head = "".join(f"  {json.dumps(key)}: {json.dumps(stored[key])},\n" for key in ("yosys", "pyosys"))
    text = "{\n" + head + '  "components": {\n' + ",\n".join(lines) + "\n  }\n}\n"
    aside = GRID.with_suffix(".part")
    aside.write_text(text, encoding="utf-8")
    aside.replace(GRID)


def show(compared: list[Compared], halves: Iterable[str], each: bool) -> None:
    for side in halves:
        chosen = [c for c in compared if c.half == side]
        print(f"\n{side}: {len(chosen)} components; mean and worst error, in % for {', '.join(RELATIVE)}")
        print(f"{'':12}" + "".join(f"{figure:>16}" for figure in (*RELATIVE, *ABSOLUTE)))
        for kind in (*COUNTS, "all"):
            of_kind = [c for c in chosen if kind in (c.kind, "all")]
            print(f"{kind:12}" + "".join(f"{_cell(of_kind, figure):>16}" for figure in (*RELATIVE, *ABSOLUTE)))
        for c in chosen if each else ():
            pairs = [f"{f} {getattr(c.measured, f)}/{getattr(c.predicted, f)}" for f in (*RELATIVE, *ABSOLUTE)]
            print(f"{c.name:14} measured/predicted: " + ", ".join(pairs))
    stale = [c.name for c in compared if c.stale]
    if stale:
        print(f"\nthe RTL has changed since these were measured: {', '.join(stale)}")


def _cell(compared: list[Compared], figure: str) -> str:
    error = error_of(compared, figure)
    if error is None:
        return "-"
    if figure in RELATIVE:
        return f"{100 * error.mean:.1f} {100 * error.worst:+.0f}"
    return f"{error.mean:.2f} {error.worst:+.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only, without Yosys")
    parser.add_argument("--half", choices=HALVES, help="show one half only: to fit, look at `fit` alone")
    parser.add_argument("--each", action="store_true", help="show every component")
    parser.add_argument(
        "--kind", action="append", choices=tuple(COUNTS), help="measure this kind only; may be repeated"
    )
    arguments = parser.parse_args()
    if not arguments.check:
        fill(arguments.kind or ())
    show(compare(read_grid()), [arguments.half] if arguments.half else HALVES, arguments.each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
