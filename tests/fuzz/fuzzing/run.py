"""One case through the public flow: files, emit, simulation, proof, certificate; and what became of it."""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from fuzzing.cases import Case
from fuzzing.files import real_inputs, write_case
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build
from mase_hw.flow import Prepared, prepare, write
from mase_hw.prove.certificate import verify, write_certificate
from mase_hw.prove.prove import prove
from mase_hw.samples import quantize_inputs, run_quantized
from mase_hw.simulate import lint
from mase_hw.simulate.check import AXIS, DESIGN, SimRequest, check

Status = Literal["passed", "refused", "failed"]
WORST = ("values", "handshake", "timing", "wiring", "widths")  # of several false claims the one that a failure names
AXIS_VECTORS = 16  # Python drives them, byte by byte
SECONDS = 300  # of this process: a step that takes longer is a failure of its own kind


@dataclass(frozen=True)
class Result:
    """What became of a case. `kind` says which step failed, `detail` how; `claims` counts them by status."""

    status: Status
    kind: str = ""
    detail: str = ""
    claims: Counter[str] = field(default_factory=Counter)
    opened: tuple[str, ...] = ()  # claims that could not be decided


class CaseFailedError(Exception):
    """A step of a case went wrong."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind}: {detail}")


def run_case(case: Case, folder: Path) -> Result:
    """All steps, the simulation by the command's own benches: the whole design, every stream, every stall pattern."""
    try:
        built = emit_case(case, folder)
        if isinstance(built, Result):
            return built
        simulate_alone(case, built)
        simulate_axis(case, built)
        return prove_case(built)
    except CaseFailedError as error:
        return Result("failed", error.kind, error.detail)


def emit_case(case: Case, folder: Path, top: str = "net") -> Build | Result:
    """The build, or the refusal: problems with a text each, and no build folder."""
    with step("emit"):
        toml, out = write_case(case, folder, top), folder / "build"
        try:
            prepared = prepare(config := load_config(toml))
            if len(case.shapes) > 1:  # with one input, what is written has gone through the data set
                _compare(case, prepared)
            return write(prepared, out, config.sources)
        except ProblemsError as error:
            texts = [str(problem) for problem in error.problems]
            left = sorted(path.name for path in folder.iterdir() if path.name not in WRITTEN)
            if left or not texts or not all(problem.message for problem in error.problems):
                raise CaseFailedError("refusal", f"left {left}, said {texts}") from None
            return Result("refused", "", error.problems[0].message)


def _compare(case: Case, prepared: Prepared) -> None:
    """Samples of every input through the quantized torch model and through the integers."""
    made, samples = prepared.compiled, real_inputs(case, 24)
    x = quantize_inputs(made.layers, samples)
    y = run_quantized(made.graph, made.layers, made.design, samples)
    for got, wanted in zip(y, made.design.results(*x), strict=True):
        assert np.array_equal(got, wanted), "the quantized torch model and the integer reference differ"


WRITTEN = ("model.toml", "model.py", "weights.pt", "weights.ckpt", "weights.safetensors")


def simulate_alone(case: Case, build: Build, only: str | None = DESIGN) -> None:
    """As `mase-hw sim` does, after Verilator's `-Wall`, under which emitted files are clean."""
    with step("lint"):
        found = lint(build.rtl, build.design.name)
        if found:
            raise CaseFailedError("lint", str(found[0]))
    with step("sim"):
        for checked in check(build, SimRequest(case.vectors, case.sim_seed, only=only)):
            if not checked.outcome.passed:
                raise CaseFailedError("sim", f"{checked.name}: {checked.outcome.failures[0].rstrip()}")


def simulate_axis(case: Case, build: Build) -> None:
    """The AXI4-Stream top of a build that has one, after its own lint."""
    if build.axis is None:
        return
    with step("axis lint"):
        found = lint(build.rtl, build.axis.module)
        if found:
            raise CaseFailedError("lint", str(found[0]))
    with step("axis sim"):
        for checked in check(build, SimRequest(min(case.vectors, AXIS_VECTORS), case.sim_seed, only=AXIS)):
            if not checked.outcome.passed:
                raise CaseFailedError("axis sim", checked.outcome.failures[0].rstrip())


def prove_case(build: Build) -> Result:
    """A claim may be open; none may be false. The certificate must say so of this very build."""
    with step("prove"):
        proof = prove(build)
        refuted = [claim for claim in proof.claims if claim.status == "refuted"]
        if refuted:
            worst = min(refuted, key=lambda claim: WORST.index(claim.about) if claim.about in WORST else -1)
            text = f"{worst.component}: {worst.detail} ({len(refuted)} of {len(proof.claims)} claims are false)"
            raise CaseFailedError(f"{worst.about} refuted", text)
        opened = tuple(f"{c.about} of {c.component}: {c.detail}" for c in proof.claims if c.status == "open")
    with step("certificate"):
        write_certificate(build, proof)
        try:
            verify(build)
        except ProblemsError as error:
            said = len(error.problems)
            if not opened or any(not problem.message.startswith("not proved") for problem in error.problems):
                raise CaseFailedError("certificate", f"{len(opened)} claims are open, and it says: {error}") from None
            assert said >= len(opened), f"{len(opened)} open claims, {said} problems"
        else:
            if opened:
                raise CaseFailedError("certificate", f"verified, with {len(opened)} open claims")
    return Result("passed", claims=Counter(claim.status for claim in proof.claims), opened=opened)


@contextlib.contextmanager
def step(kind: str) -> Iterator[None]:
    """A traceback in this step is a failure of the case: anything may be raised, and nothing may pass unseen."""
    try:
        yield
    except (CaseFailedError, TimeoutError):
        raise
    except ProblemsError as error:  # emit's own are refusals; nobody made a mistake in what comes after it
        raise CaseFailedError(kind, f"a Problem where none can be: {error}") from error
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno} {where.name})"
        raise CaseFailedError(f"traceback in {kind}", text) from error


def within(seconds: int, work: Callable[[], Result], what: str = "") -> Result:
    """The result, or a failure; one of the kind `time` is a step that does not end.

    Seconds are those of the processor, so that a busy machine makes no failures. Simulators have watchdogs.
    """

    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    except TimeoutError:
        return Result("failed", "time", f"{what}: no end within {seconds} s" if what else f"no end within {seconds} s")
    except CaseFailedError as error:
        return Result("failed", error.kind, error.detail)
    finally:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one that is on its way must not end the process
        signal.setitimer(signal.ITIMER_PROF, 0)
