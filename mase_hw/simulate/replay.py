"""What Verilator makes of a design, replayed on recorded inputs: every watched signal is compared in every cycle."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw import resources
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit.manifest import expect_name, file_names
from mase_hw.simulate import cache as store
from mase_hw.simulate.native_build import LIBRARY, compile_flags, header_of, runtime_of
from mase_hw.simulate.process import run
from mase_hw.simulate.toolchain import find
from mase_hw.simulate.verilate import compile_all, problems, verilator_env, verilator_limits

DRIVER = "replay_driver.cpp"
VERILATE = (
    *("--cc", "--prefix", "Vtop", "--no-timing", "--no-assert", "-Wno-fatal", "-Werror-USERFATAL", "-O1"),
    *("--x-assign", "unique", "--x-initial", "unique", "--output-split", "0"),
)
# Some ten thousand cycles are run: code is written quickly here, and need not be quick. As a pragma where there is the
# header that was compiled before, with another option; as an option where there is none, which is quicker still.
_QUICK = '#pragma GCC optimize ("O0")\n'
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Driven:
    """A port of the top that is put there, of so many bits."""

    port: str
    width: int


@dataclass(frozen=True)
class Watched:
    """A signal by its place under the top, such as `u_fc1.data_out_0`; looked at only while `when` is high."""

    place: str
    width: int
    when: str = ""

    @property
    def text(self) -> str:
        seen = f"dut.{self.place}"
        return f"{seen} & {{{self.width}{{dut.{self.when}}}}}" if self.when else seen


@dataclass(frozen=True)
class Difference:
    """The first cycle in which something differs, and all that was seen in it instead."""

    cycle: int
    got: Words


def words(bits: int) -> int:
    """Words of 64 bits; two at least, so that Verilator has an array of them."""
    return max(2, -(-bits // 64))


def harness(name: str, top: str, clock: str, driven: Sequence[Driven], watched: Sequence[Watched]) -> str:
    """A module around the top with one wide input and one wide output: what is put there, what is seen, lowest first.

    The streams' checks are in it, as in every simulation; their assertions are not compiled.
    """
    ends = np.cumsum([0, *(each.width for each in driven)]).tolist()
    joined = [f".{each.port}(given[{at} +: {each.width}])" for each, at in zip(driven, ends, strict=False)]
    given, seen = 64 * words(ends[-1]), 64 * words(sum(each.width for each in watched))
    rest = seen - sum(each.width for each in watched)
    parts = [*([f"{rest}'d0"] if rest else []), *(each.text for each in reversed(watched))]
    return (
        f"module {name} (input logic clk, input logic [{given - 1}:0] given, output logic [{seen - 1}:0] seen);\n"
        f"  {top} #(.CheckStreams(1'b1)) dut (.{clock}(clk), {', '.join(joined)});\n"
        "  assign seen = {\n    " + ",\n    ".join(parts) + "\n  };\nendmodule\n"
    )


def build_replay(files: Sequence[Path], name: str, text: str, cache: Path | None = None) -> Path:
    """The library of a harness around these files; the one in the cache if nothing has changed."""
    tools = find()
    code = resources.sim() / DRIVER
    sources = dict(zip(file_names(files), (path.read_bytes() for path in files), strict=True)) | {
        f"{name}.sv": text.encode()
    }
    flags = [*VERILATE, "--top-module", expect_name(name)]
    key = store.key(
        [*tools.identity(), *flags, *compile_flags(tools), _QUICK, *sources, *sources.values(), code.read_bytes()]
    )
    folder = store.root(cache) / "libraries"

    def make(aside: Path) -> None:
        work = aside / "work"
        work.mkdir()
        for file, content in sources.items():
            (work / file).write_bytes(content)
        command = [str(tools.verilator), *flags, "--Mdir", "cc", *sources]
        done = run(command, work, verilator_env(tools), verilator_limits(list(sources.values())))
        if done.code != 0:
            raise ProblemsError(*problems(done, files, "Error"))
        runtime = runtime_of(tools, cache)
        units = [*sorted((work / "cc").glob("*.cpp")), code]
        (work / "unit.cc").write_text("".join([_QUICK, *(f'#include "{path}"\n' for path in units)]), encoding="utf-8")
        header = header_of(tools, cache, once=True)
        more = [] if header.with_name(f"{header.name}.gch").exists() else ["-O0"]
        command = [*compile_flags(tools), *more, "-include", str(header), f"-I{work / 'cc'}"]
        compile_all(tools, [[*command, "-x", "c++", "-c", str(work / "unit.cc"), "-o", str(work / "unit.o")]])
        objects = [work / "unit.o", *sorted(runtime.glob("*.o"))]
        link = ["-shared", "-o", str(aside / LIBRARY), *map(str, objects), "-pthread", "-Wl,-Bsymbolic"]
        compile_all(tools, [link])
        shutil.rmtree(work)

    place = store.entry(folder, key, make)
    store.prune(folder, keep=50)
    return place / LIBRARY


class Replay:
    """A loaded library."""

    def __init__(self, path: Path) -> None:
        self._calls: Any = ctypes.CDLL(str(path))
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._calls.mase_replay.argtypes = [pointer, pointer, number, number, number, number, pointer]
        self._calls.mase_replay.restype = number
        self._calls.mase_replay_message.argtypes, self._calls.mase_replay_message.restype = [], ctypes.c_char_p

    def run(self, given: Words, seen: Words, first: int, seed: int, *, random: bool) -> Difference | str | None:
        """One run, `[cycles, words]` of inputs and of what is to be seen from cycle `first` on.

        None where all is equal; a text where the design stopped the simulation.
        """
        assert given.flags.c_contiguous
        assert seen.flags.c_contiguous
        got = np.zeros(seen.shape[1], np.uint64)
        at = self._calls.mase_replay(
            given.ctypes.data, seen.ctypes.data, len(given), first, seed, int(random), got.ctypes.data
        )
        if at == -2:
            text: bytes = self._calls.mase_replay_message()
            return text.decode("utf-8", errors="replace")
        return None if at < 0 else Difference(int(at), got)
