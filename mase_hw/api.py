"""The Python API: `design = mase_hw.compile(model, config)`, then `design.emit(path)`, `design.simulate(x)`."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt
from torch import nn

from mase_hw.config import Config
from mase_hw.config_file import config_of, load_config
from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build, read_build
from mase_hw.flow import Prepared, prepare, write
from mase_hw.given_model import Model, checked_keys, made, model_option, project_of, unused_notes
from mase_hw.graph import MaseGraph
from mase_hw.ir import Design, Stream
from mase_hw.numerics import Fixed
from mase_hw.prove.prove import Proof
from mase_hw.simulate.check import Engine
from mase_hw.vectors import Results, Vectors

Settings = Mapping[str, Any] | str | Path
Progress = Callable[[str], None]
Given = npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike]  # samples of one input, or of each


def compile(model: Model | None = None, config: Settings | None = None) -> CompiledDesign:
    """Quantizes a model, chooses its hardware, and gives the design; nothing is written.

    `model` is a module (its weights of now are used, and it is left as it is), a class, or what a TOML's `model` may
    be: a registered name, "file.py:Class" or "file.onnx", relative to the current folder. Without it, the
    configuration's own `model` is taken. `config` is the path of a TOML, or a mapping with the keys of one; a TOML that
    names its model may also come alone: `compile("model.toml")`.

    What is wrong is a ProblemsError with the text that the command line prints.
    """
    if config is None and isinstance(model, str | Path) and str(model).endswith(".toml"):
        model, config = None, model
    given = model_option(model)
    if isinstance(config, Mapping):
        loaded = config_of(copy.deepcopy(checked_keys(config)), given, project_of(given))
    elif config is None:
        loaded = config_of({}, given, project_of(given))
    else:
        loaded = load_config(Path(config), given)
    module: nn.Module | None = None
    notes: tuple[str, ...] = ()
    if isinstance(model, nn.Module):
        module = copy.deepcopy(model).cpu()
        notes = unused_notes(loaded)
    elif isinstance(model, type):
        module = made(model)
    prepared = prepare(loaded, module, as_it_is=isinstance(model, nn.Module))
    files = loaded.sources
    if isinstance(config, Mapping) or config is None:
        files.pop("config")
    if isinstance(model, nn.Module | type):  # the configuration's own model is not used
        files = {what: file for what, file in files.items() if what in ("config", "checkpoint", "dataset")}
    if isinstance(model, nn.Module):
        files.pop("checkpoint", None)
    return CompiledDesign(prepared, files, (*notes, *prepared.notes))


class ShownProof(Proof):
    """A proof that shows itself in short, and in a notebook as a table of its claims."""

    def __repr__(self) -> str:
        return f"<proof: {sum(claim.status == 'proved' for claim in self.claims)} of {len(self.claims)} claims proved>"

    def _repr_html_(self) -> str:
        from mase_hw.notebook import proof_html

        return proof_html(self)


class CompiledDesign:
    """A model as hardware. In a notebook it shows itself as a diagram and a table."""

    def __init__(self, prepared: Prepared, sources: Mapping[str, Path], notes: tuple[str, ...] = ()) -> None:
        self.config: Config = prepared.config
        self.graph: MaseGraph = prepared.compiled.graph  # the quantized model, with metadata
        self.hardware: Design = prepared.compiled.design  # components and streams
        self.notes = notes  # what `mase-hw emit` prints as notes
        self.build: Build | None = None  # what was emitted last
        self._prepared, self._sources = prepared, dict(sources)
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._hidden: Build | None = None

    @property
    def name(self) -> str:
        """Of the top module."""
        return self.hardware.name

    @property
    def inputs(self) -> tuple[Stream, ...]:
        """The input streams, in the order of the top's ports: name, features, lanes, and the type as `fixed`."""
        return self.hardware.inputs

    @property
    def outputs(self) -> tuple[Stream, ...]:
        return self.hardware.outputs

    @property
    def input_type(self) -> Fixed:
        """Of the first input."""
        return self.hardware.inputs[0].fixed

    @property
    def output_type(self) -> Fixed:
        """Of the first output."""
        return self.hardware.outputs[0].fixed

    @property
    def interval(self) -> int | float:
        """Cycles per sample, exact, never stalled."""
        found = self.hardware.schedule.interval
        return int(found) if found.denominator == 1 else float(found)

    @property
    def latency(self) -> int:
        """Cycles from the first input beat taken until every output has offered one, exact, never stalled."""
        return self.hardware.schedule.latency

    @cached_property
    def cost(self) -> Cost:
        """LUT sites and cells, registers, DSP blocks and block RAMs, predicted."""
        return self.hardware.cost()

    def emit(self, path: str | Path | None = None, *, replace: bool = False) -> Build:
        """Writes the build folder, as `mase-hw emit --out PATH`; without a path to build/<project>.

        The build of another TOML is left alone, unless `replace` allows to replace it.
        """
        folder = Path("build") / self.config.project if path is None else Path(path)
        self.build = write(self._prepared, folder, self._sources, replace=replace)
        return self.build

    def run(self, x: Given, *, integers: bool = False) -> Results:
        """What the design computes for the samples `x`, by the integer reference.

        `x` is one sample or an array of them, in the model's shape or flat. Its numbers are real ones, quantized to
        the input's type as the model does; the result is in real numbers, one row for a sample. A model with several
        inputs takes a tuple of such arrays, or a mapping by the arguments' or the ports' names; one with several
        outputs gives a tuple.

        With `integers` the result is in integers of the output's type, and an `x` of an integer dtype is taken for
        integers of the input's type; one that the type does not hold is a Problem.
        """
        vectors = self._vectors.read(x, integers=integers)
        return self._vectors.results(self.hardware.results(*vectors.inputs), vectors, integers)

    def simulate(
        self, x: Given, *, integers: bool = False, engine: Engine = "native", stall: str = "all", seed: int = 0
    ) -> Results:
        """Runs the samples through the RTL and compares every integer with the reference; the same result as `run`.

        The RTL is that of the folder emitted last, else of a temporary one. `stall` is a stall pattern or "all" of
        them. A difference in values or cycles is a SimulationError.
        """
        from mase_hw.simulate.given import simulate_given

        vectors = self._vectors.read(x, integers=integers)
        results = simulate_given(self._written(), vectors.inputs, engine, stall, seed)
        return self._vectors.results(results, vectors, integers)

    def prove(self, progress: Progress = lambda text: None) -> ShownProof:
        """As `mase-hw prove`: claims for every input, and certificate.json in the build folder."""
        from mase_hw.prove.certificate import write_certificate
        from mase_hw.prove.prove import prove

        build = self._written()
        proof = prove(build, progress)
        write_certificate(build, proof)
        return ShownProof(proof.claims)

    def synth(
        self,
        target: str = "xcup",
        *,
        dsp: bool | None = None,
        flat: bool = False,
        progress: Progress = lambda text: None,
    ) -> dict[str, Any]:
        """As `mase-hw synth --json`: Yosys' cells, in all and per component; the report is in the build folder too."""
        from mase_hw.synth.measure import measure

        return measure(self._written(), target, dsp=dsp, flat=flat, progress=progress).content

    def report(self, html: str | Path | None = None) -> Path:
        """As `mase-hw report`: one HTML page about the build folder, by default in it."""
        from mase_hw.files import write_whole
        from mase_hw.report import document, render_page

        build = self._written()
        path = build.results_folder("report") / "index.html" if html is None else Path(html)
        write_whole(path, render_page(document(build)))
        return path

    @property
    def _vectors(self) -> Vectors:
        compiled = self._prepared.compiled
        return Vectors.of(compiled.layers, self.hardware)

    def _written(self) -> Build:
        """The folder that was emitted, if it still is what this design wrote; else one that goes away with it."""
        from mase_hw.simulate.whole import check_whole

        if self.build is not None:
            now = read_build(self.build.path)
            if now.manifest != self.build.manifest:
                hint = "emit this design again, or to another folder"
                raise ProblemsError(Problem(f"{now.path} is no longer what this design wrote", hint=hint))
            check_whole(now)
            return now
        if self._hidden is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="mase-hw-")
            self._hidden = write(self._prepared, Path(self._scratch.name) / self.config.project, self._sources)
        return self._hidden

    def __repr__(self) -> str:
        sides = [", ".join(_shape(s) for s in side) for side in (self.hardware.inputs, self.hardware.outputs)]
        ends = " -> ".join(sides)
        cost = f"{self.cost.logic} LUT sites, {self.cost.ff} FF, {self.cost.dsp} DSP, {self.cost.bram} BRAM predicted"
        return f"<{self.name}: {ends}, interval {self.interval}, latency {self.latency}, {cost}>"

    def _repr_html_(self) -> str:
        from mase_hw.notebook import design_html

        return design_html(self.hardware)


def _shape(stream: Stream) -> str:
    """What a sample of a port is: `4 x fixed(8, 4)`, `28 x 28 x 3 x fixed(8, 4)`."""
    return " x ".join(map(str, (*stream.frame, stream.features, stream.fixed)))
