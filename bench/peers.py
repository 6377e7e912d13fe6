"""The other generators of unrolled nets, da4ml and alkaid, fed with the same integers through their own interfaces."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from nets import Net

TOP = "peer"
CHECKED = 20_000  # random vectors
ADDERS = ("shift_adder", "ternary_adder")  # modules whose output gets `(* keep *)`
_OUTPUT = re.compile(r"\boutput (\[BW_OUT-1:0\] out\b)")


@dataclass(frozen=True)
class Pipelining:
    """How many cycles each peer gets, in its own terms."""

    da4ml_cutoff: float  # the longest delay of a stage, in adders
    alkaid_stages: int


@dataclass(frozen=True)
class Written:
    """A peer's design on disk."""

    cycles: int  # as the peer counts them: its stages, without the registers at the inputs
    exact: bool
    plain: list[Path]
    kept: list[Path]


def title(name: str) -> str:
    return f"{name} {version(name)}"


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def da4ml(net: Net, folder: Path, pipelining: Pipelining) -> tuple[Any, int]:
    """Traces, solves and writes; gives the peer's own model and its stages."""
    from da4ml.codegen import RTLModel
    from da4ml.trace import FixedVariableArrayInput, comb_trace
    from da4ml.trace.pipeline import to_pipeline

    inputs = FixedVariableArrayInput((net.inputs,))
    logic = comb_trace(inputs, _forward(net, inputs))
    pipeline = to_pipeline(logic, pipelining.da4ml_cutoff, verbose=False)
    RTLModel(pipeline, TOP, folder, flavor="verilog", print_latency=False).write()
    return logic, len(pipeline.solutions)


def alkaid(net: Net, folder: Path, pipelining: Pipelining) -> tuple[Any, int]:
    """The same with alkaid."""
    from alkaid.codegen import RTLModel
    from alkaid.trace import FVArrayInput, trace

    inputs = FVArrayInput((net.inputs,))
    logic = trace(inputs, _forward(net, inputs))
    RTLModel(logic, folder, TOP, flavor="verilog", n_stages=pipelining.alkaid_stages, print_latency=False).write()
    return logic, pipelining.alkaid_stages


PEERS: dict[str, Callable[[Net, Path, Pipelining], tuple[Any, int]]] = {"da4ml": da4ml, "alkaid": alkaid}


def _forward(net: Net, inputs: Any) -> Any:
    """The net in either peer's symbolic arrays. Saturating to a type without a sign is the ReLU as well."""
    b, f = net.width, net.frac
    assert net.norm is None
    x = inputs.quantize(1, b - 1 - f, f)
    for k, (weight, bias) in enumerate(net.layers):
        x = x @ (weight / 2.0**f) + bias / 2.0**f
        if k + 1 < len(net.layers):
            x = x.quantize(0, b - f, f, "SAT", "TRN")
    return x.quantize(1, b - 1 - f, f, "SAT", "TRN") if net.narrow else x


def write(name: str, net: Net, folder: Path, pipelining: Pipelining) -> Written:
    """The peer's design, as it writes it and with `(* keep *)` on the sums, checked by the peer's own emulation."""
    logic, cycles = PEERS[name](net, folder / "plain", pipelining)
    kept = keep_sums(folder)
    x = net.vectors(CHECKED)
    frac = net.frac if net.narrow else 2 * net.frac
    y = np.asarray(logic.predict(x / 2.0**net.frac)) * 2.0**frac
    exact = bool(np.array_equal(y.reshape(len(x), -1), net.reference(x)))
    return Written(cycles, exact, _sources(folder / "plain"), kept)


def keep_sums(folder: Path) -> list[Path]:
    """The sources in `plain` once more in `kept`, with `(* keep *)` on the outputs of adders."""
    shutil.copytree(folder / "plain", folder / "kept", dirs_exist_ok=True)
    for adder in ADDERS:
        path = folder / "kept" / "src" / "static" / f"{adder}.v"
        if path.exists():
            text, count = _OUTPUT.subn(r"(* keep *) output \1", path.read_text("utf-8"))
            assert count == 1, f"{path}: no output to keep"
            path.write_text(text, encoding="utf-8")
    return _sources(folder / "kept")


def _sources(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("src/**/*.v")) if not path.name.endswith("_wrapper.v")]
