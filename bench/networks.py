"""Whole networks that were emitted: predicted beside measured cells, and the time of a proof beside Yosys' elaboration.

    mase-hw emit resnet8.toml --out build/resnet8     # then, as far as there is time: sim, synth
    python bench/networks.py build/resnet8 [--prove]

Cells are those of `mase-hw synth`, where it has been run. CPU seconds are those of the process and its children.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measure import seconds

from mase_hw.emit import Build, read_build
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design

FIGURES = ("sites", "lut", "lutram", "ff", "dsp", "bram")
MEASURED = Path("report") / "synth-xcup.json"


def cells(build: Build) -> list[str]:
    """Predicted cells, and the measured ones."""
    cost = build.design.cost()
    found = ["predicted " + ", ".join(f"{getattr(cost, name):,} {name}" for name in FIGURES)]
    file = build.path / MEASURED
    if file.is_file():
        total = json.loads(file.read_text("utf-8"))["total"]
        found.append("measured  " + ", ".join(f"{total[name]:,} {name}" for name in FIGURES if name in total))
    return found


def proof(build: Build) -> list[str]:
    """How long it takes, and what is not proved."""
    design, taken = build.design, dict[str, float]()
    with seconds(taken, "yosys"):
        netlists = elaborate(build.rtl, design.name, [component.name for component in design.components])
    with seconds(taken, "proof"):
        found = prove_design(design, netlists)
    open_claims = [claim for claim in found.claims if claim.status != "proved"]
    ratio = taken["proof"] / taken["yosys"]
    told = f"Yosys reads the RTL in {taken['yosys']:.1f} s, the proof takes {taken['proof']:.1f} s, {ratio:.2f} of it: "
    told += f"{len(found.claims) - len(open_claims)} of {len(found.claims)} claims proved"
    return [told, *(f"  not proved: {claim.component} {claim.about}: {claim.detail}" for claim in open_claims)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", type=Path)
    parser.add_argument("--prove", action="store_true", help="prove them, after Yosys has read them")
    asked = parser.parse_args()
    for path in asked.builds:
        build = read_build(path)
        timing = build.design.schedule
        print(f"{path}: interval {timing.interval}, latency {timing.latency}")
        for line in (*cells(build), *(proof(build) if asked.prove else ())):
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
