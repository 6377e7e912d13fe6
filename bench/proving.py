"""The proof part of `bench/verify.py`: CPU seconds of whole proofs, against those of Yosys' elaboration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import Group, seconds
from nets import Net

from mase_hw.emit import Build, read_build
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design

LIMIT = 10.0  # an unrolled design's proof, as a ratio to its elaboration


def _layers(net: Net, keys: str, last: str | None = None) -> str:
    """The same keys for every layer; others for the last, which may be too small for them."""
    text = '[passes.hardware]\nby = "name"\n'
    for k in range(len(net.layers)):
        own = last if last is not None and k == len(net.layers) - 1 else keys
        text += f"[passes.hardware.fc{k + 1}.config]\n{own}"
    return text


def designs(net: Net) -> dict[str, str]:
    """How the net is built, by name: the hardware tables of its TOML."""
    folded = 'implementation = "folded"\narray_in = 4\narray_out = {}\n'
    outputs = net.layers[-1][0].shape[1]
    found = {
        "unrolled": "[hardware]\ntarget_interval = 1\n",
        "folded 4x8": _layers(net, folded.format(8), folded.format(min(8, outputs))),
    }
    for bits in (1, 2, 4):
        found[f"serial, digits of {bits} bits"] = _layers(net, f'implementation = "serial"\ndigit_bits = {bits}\n')
    return found


def _emit(net: Net, hardware: str, folder: Path) -> Build:
    file = net.write(folder, hardware)
    command = [sys.executable, "-m", "mase_hw", "emit", str(file), "--out", str(folder / "build")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return read_build(folder / "build")


def proofs(net: Net, folder: Path) -> list[Group]:
    """A group for each design; what is not proved is named in its row."""
    found = []
    for name, hardware in designs(net).items():
        build = _emit(net, hardware, folder / name.replace(" ", "_").replace(",", ""))
        design, taken = build.design, dict[str, float]()
        with seconds(taken, "yosys"):
            netlists = elaborate(build.rtl, design.name, [component.name for component in design.components])
        with seconds(taken, "proof"):
            proof = prove_design(design, netlists)
        count = sum(claim.status == "proved" for claim in proof.claims)
        wrong = [f"{claim.component} {claim.about}" for claim in proof.claims if claim.status != "proved"]
        said = f"{count} of {len(proof.claims)} claims proved{': not ' + ', '.join(wrong) if wrong else ''}"
        if name == "unrolled":
            said += f"; at most {LIMIT:g} to reach"
        group = Group(f"prove: {net.name}, {name}", "Yosys reads the RTL", taken["yosys"])
        group.add(f"the proof: {said}", taken["proof"])
        found.append(group)
    return found
