"""Design to executable, without make and without perl: Verilator, one compilation, one link, all cached."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from mase_hw import resources
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.emit.manifest import expect_name, file_names
from mase_hw.emit.private import origin
from mase_hw.isolated import tool_environment
from mase_hw.limits import Limits, limits_for
from mase_hw.simulate import cache as store
from mase_hw.simulate.process import Finished, run, run_all
from mase_hw.simulate.toolchain import Toolchain, find

Trace = Literal["none", "vcd", "fst"]

EXECUTABLE = "simulator"
# Registers that reset leaves alone start with random bits, so that a design that reads them is seen.
VERILATE = (
    *("--cc", "--prefix", "Vtop", "--timing", "--timescale", "1ns/1ns", "--vpi", "--assert", "-Wno-fatal"),
    "-Werror-USERFATAL",  # a module's own $fatal on a bad parameter
    *("--x-assign", "unique", "--x-initial", "unique"),
    *("--output-split", "20000", "--output-split-cfuncs", "2000"),
)
# gcc's combiner takes quadratic time on the long expressions that Verilator writes for wide words, unless temporaries
# stay temporaries: the folded jsc-s builds in 7 s instead of 27 s, and runs no slower.
COMPILE = ("-std=c++20", "-O1", "-fno-tree-ter", "-w")
# What Verilator may take for RTL, and the compiler for what Verilator wrote.
SECONDS, MEGABYTES = (60, 240), (4000, 4000)
COMPILE_SECONDS, COMPILE_MEGABYTES = 3600, 8000
# Above this many bytes of generated C++ the units are compiled side by side, the ones that run once with -O0.
ONE_UNIT = 2_000_000
_MESSAGE = re.compile(r"^%(Error|Warning)(?:-(\w+))?: (?:(.+?):(\d+):(?:\d+:)? )?(.*)$")


def build(
    files: Sequence[Path], top: str, cache: Path | None = None, trace: Trace = "none", tools: Toolchain | None = None
) -> Path:
    """An executable that simulates module `top` under cocotb; the one in the cache if nothing has changed."""
    tools = tools or find()
    texts = [path.read_bytes() for path in files]
    names = file_names(files)
    flags = [*VERILATE, *_trace_flags(trace), "--top-module", expect_name(top)]
    parts: tuple[str | bytes, ...] = (*tools.identity(), *flags, *COMPILE, *names, *texts)
    parts += tuple(_header_texts(trace))
    folder = store.root(cache) / "designs"

    def make(aside: Path) -> None:
        runtime = _runtime(tools, trace, cache)
        work = aside / "work"
        work.mkdir()
        # Copies, so that the executable's messages say `linear.sv:12` whatever folder it was first built from.
        for path, text in zip(files, texts, strict=True):
            (work / path.name).write_bytes(text)
        done = run(
            [str(tools.verilator), *flags, "--Mdir", "cc", *names],
            cwd=work,
            env=verilator_env(tools),
            limits=verilator_limits(texts),
        )
        if done.code != 0:
            raise ProblemsError(*problems(done, files, "Error"))
        _compile_design(tools, trace, work, runtime, aside / EXECUTABLE)
        shutil.rmtree(work)

    place = store.entry(folder, store.key(parts), make)
    store.prune(folder)
    return place / EXECUTABLE


def lint(files: Sequence[Path], top: str, tools: Toolchain | None = None) -> list[Problem]:
    """What `verilator --lint-only -Wall` says, warnings and errors alike; an empty list is a clean design."""
    tools = tools or find()
    options = ("--lint-only", "-Wall", "--timing", "--timescale", "1ns/1ns", "--top-module", expect_name(top))
    names = file_names(files)
    with tempfile.TemporaryDirectory(prefix="mase-hw-lint-") as folder:  # it looks for modules in the current one
        for path, name in zip(files, names, strict=True):
            (Path(folder) / name).write_bytes(path.read_bytes())
        done = run([str(tools.verilator), *options, *names], cwd=Path(folder), env=verilator_env(tools))
    return problems(done, files, "Error|Warning") if done.code else []


def verilator_limits(texts: Sequence[bytes]) -> Limits:
    return limits_for(map(len, texts), SECONDS, MEGABYTES)


def verilator_env(tools: Toolchain) -> dict[str, str]:
    return tool_environment({"VERILATOR_ROOT": str(tools.verilator_root)})


def _trace_flags(trace: Trace) -> list[str]:
    return {"none": [], "vcd": ["--trace-vcd"], "fst": ["--trace-fst"]}[trace]


def _compile_flags(tools: Toolchain, trace: Trace) -> list[str]:
    include = tools.verilator_root / "include"
    defines = {
        "VERILATOR": 1,
        "VM_COVERAGE": 0,
        "VM_SC": 0,
        "VM_TIMING": 1,
        "VM_TRACE": int(trace != "none"),
        "VM_TRACE_VCD": int(trace == "vcd"),
        "VM_TRACE_FST": int(trace == "fst"),
        "VM_TRACE_SAIF": 0,
    }
    return [
        *COMPILE,
        *(f"-D{name}={value}" for name, value in defines.items()),
        *([f"-I{folder}"] if (folder := _headers(trace)) else []),
        f"-I{include}",
        f"-I{include / 'vltstd'}",
    ]


def _headers(trace: Trace) -> Path | None:
    """Our own lz4.h and zlib.h for Verilator's FST writer: no machine needs the libraries, and all write the same."""
    return resources.sim() / "fst" if trace == "fst" else None


def _header_texts(trace: Trace) -> list[bytes]:
    folder = _headers(trace)
    return [path.read_bytes() for path in sorted(folder.glob("*.h"))] if folder else []


def _runtime(tools: Toolchain, trace: Trace, cache: Path | None) -> Path:
    """Verilator's runtime as objects, and a precompiled header: nine tenths of a build, done once per flag set."""
    flags = _compile_flags(tools, trace)
    names = ["verilated", "verilated_dpi", "verilated_vpi", "verilated_timing", "verilated_threads"]
    names += {"none": [], "vcd": ["verilated_vcd_c"], "fst": ["verilated_fst_c"]}[trace]

    def make(aside: Path) -> None:
        headers = ["verilated.h", "verilated_vpi.h", "verilated_timing.h", "verilated_dpi.h", "verilated_syms.h"]
        headers += {"none": [], "vcd": ["verilated_vcd_c.h"], "fst": ["verilated_fst_c.h"]}[trace]
        (aside / "runtime.h").write_text("".join(f'#include "{name}"\n' for name in headers), encoding="utf-8")
        jobs = [
            ["-c", str(tools.verilator_root / "include" / f"{name}.cpp"), "-o", str(aside / f"{name}.o")]
            for name in names
        ]
        if tools.cxx.precompiles:
            header = aside / "runtime.h"
            jobs.append(["-x", "c++-header", str(header), "-o", f"{header}.gch"])
        compile_all(tools, [[*flags, *job] for job in jobs])

    name = store.key([*tools.identity(), *flags, *names, *_header_texts(trace)])
    folder = store.root(cache) / "runtime"
    place = store.entry(folder, name, make, lock=True)
    store.prune(folder, keep=6)  # a precompiled header is 100 MB
    return place


def _compile_design(tools: Toolchain, trace: Trace, work: Path, runtime: Path, target: Path) -> None:
    flags = [*_compile_flags(tools, trace), f"-I{work / 'cc'}", "-include", str(runtime / "runtime.h")]
    sources = [*sorted((work / "cc").glob("*.cpp")), tools.cocotb_main]
    if sum(path.stat().st_size for path in sources) <= ONE_UNIT:
        unit = work / "unit.cc"
        unit.write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
        jobs: list[tuple[Path, list[str]]] = [(unit, [])]
    else:
        jobs = [(path, ["-O0"] if path.stem.endswith("__Slow") else []) for path in sources]
    objects = [str(work / f"{path.stem}.o") for path, _ in jobs]
    compile_all(
        tools,
        [
            [*flags, *more, "-x", "c++", "-c", str(path), "-o", out]
            for (path, more), out in zip(jobs, objects, strict=True)
        ],
    )
    libs = tools.cocotb_libs
    link = [*objects, *(str(path) for path in sorted(runtime.glob("*.o"))), "-o", str(target), "-pthread"]
    link += [f"-L{libs}", "-lcocotbvpi_verilator", f"-Wl,-rpath,{libs}"]
    compile_all(tools, [link])


def compile_all(tools: Toolchain, jobs: Sequence[Sequence[str]]) -> None:
    """Runs the compiler once per job, side by side; the first failure is the Problem."""
    limits = limits_for((), (COMPILE_SECONDS, 0), (COMPILE_MEGABYTES, 0))
    ended = run_all([[*tools.cxx.command, *job] for job in jobs], at_once=os.cpu_count() or 1, limits=limits)
    for job, done in zip(jobs, ended, strict=True):
        if done.code != 0:
            lines = done.text.strip().splitlines()
            errors = [line for line in lines if "error" in line.lower()] or lines
            raise ProblemsError(
                Problem(
                    f"C++ compiler: {tools.cxx.version} failed with exit code {done.code}",
                    hint="it must know C++20 with coroutines (g++ 10, clang++ 16 or later); "
                    "another one can be named in $CXX",
                    notes=(*errors[:5], f"command: {shlex.join([*tools.cxx.command, *job])}"),
                )
            )


def problems(done: Finished, files: Sequence[Path], kinds: str) -> list[Problem]:
    """Verilator's messages as Problems that point into the user's files, not into our copies."""
    known = {path.name: origin(path) for path in files}
    found = []
    for line in done.text.splitlines():
        match = _MESSAGE.match(line)
        if not match or not re.fullmatch(kinds, match[1]) or match[5].startswith("Exiting due to"):
            continue
        where = Place(known.get(Path(match[3]).name, Path(match[3])), int(match[4])) if match[3] else None
        found.append(Problem(f"verilator{': ' + match[2] if match[2] else ''}: {match[5]}", where))
    if done.code < 0:
        return [Problem("verilator: ended, as the RTL takes it more time or memory than its size allows")]
    return found or [Problem(f"verilator: exit code {done.code}", notes=tuple(done.tail(5).splitlines()))]
