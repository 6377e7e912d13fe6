"""Design to shared library: Verilator, then one object per component and one for the rest, kept by content."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mase_hw import resources
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit.manifest import expect_name, file_names
from mase_hw.simulate import cache as store
from mase_hw.simulate.native_units import FORM, PREFIX, split
from mase_hw.simulate.process import run
from mase_hw.simulate.toolchain import Toolchain, find
from mase_hw.simulate.verilate import compile_all, problems, verilator_env, verilator_limits

LIBRARY = "design.so"
DRIVER = "native_driver.cpp"
# Registers that reset leaves alone start with random bits. Without -fno-dfg the names of temporaries in one component
# depend on the other components, and no object would be found again.
VERILATE = (
    *("--cc", "--prefix", PREFIX, "--no-timing", "--assert", "-Wno-fatal", "-fno-dfg"),
    "-Werror-USERFATAL",
    *("--x-assign", "unique", "--x-initial", "unique"),
    *("--output-split", "20000", "--output-split-cfuncs", "2000"),
)
COMPILE = ("-std=c++20", "-O1", "-fno-tree-ter", "-w", "-fPIC", "-fvisibility=hidden")
RUNTIME = ("verilated", "verilated_threads")
_HEADERS = ("verilated.h", "verilated_syms.h")
_HEADER = "runtime.h"
_KEEP_RUNTIMES = 12
_DEFINES = {
    "VERILATOR": 1,
    "VM_COVERAGE": 0,
    "VM_SC": 0,
    "VM_TIMING": 0,
    "VM_TRACE": 0,
    "VM_TRACE_VCD": 0,
    "VM_TRACE_FST": 0,
    "VM_TRACE_SAIF": 0,
    "VL_USER_FINISH": 1,
    "VL_USER_STOP": 1,
    "VL_USER_FATAL": 1,  # the driver's, which do not end the process
}
_KEEP_UNITS = 2000


@dataclass(frozen=True)
class Built:
    """A library, and which units had to be compiled for it (none, where the library itself was in the cache)."""

    library: Path
    compiled: tuple[str, ...]
    units: int


def build_library(files: Sequence[Path], top: str, cache: Path | None = None, tools: Toolchain | None = None) -> Built:
    """A library that simulates module `top`; the one in the cache if nothing has changed."""
    tools = tools or find()
    driver = resources.sim() / DRIVER
    texts = [path.read_bytes() for path in (*files, driver)]
    flags = [*VERILATE, "--top-module", expect_name(top)]
    names = file_names(files)
    key = store.key([FORM, *tools.identity(), *flags, *compile_flags(tools), *names, *texts])
    folder = store.root(cache) / "libraries"
    compiled: list[str] = []
    total = 0

    def make(aside: Path) -> None:
        nonlocal total
        work = aside / "work"
        work.mkdir()
        for path, text in zip(files, texts, strict=False):
            (work / path.name).write_bytes(text)
        (work / "apart.vlt").write_text(_kept_apart(files, top), encoding="utf-8")
        command = [str(tools.verilator), *flags, "--Mdir", "cc", "apart.vlt", *names]
        done = run(command, work, verilator_env(tools), verilator_limits(texts))
        if done.code != 0:
            raise ProblemsError(*problems(done, files, "Error"))
        units = split(work / "cc", driver)
        total = len(units.apart) + 1
        runtime = runtime_of(tools, cache)
        objects, fresh = _objects(tools, units.apart, units.rest, work, header_of(tools, cache), cache)
        compiled.extend(fresh)
        link = ["-shared", "-o", str(aside / LIBRARY), *map(str, objects), *map(str, sorted(runtime.glob("*.o")))]
        compile_all(tools, [[*link, "-pthread", "-Wl,-Bsymbolic"]])
        shutil.rmtree(work)

    place = store.entry(folder, key, make)
    store.prune(folder, keep=50)
    return Built(place / LIBRARY, tuple(compiled), total)


def build_tool(source: str, cache: Path | None = None, tools: Toolchain | None = None) -> Path:
    """A library made of one file of `sim/`, compiled once on a machine."""
    tools = tools or find()
    code = resources.sim() / source
    flags = ["-std=c++20", "-O2", "-w", "-fPIC", "-fvisibility=hidden", "-shared"]

    def make(aside: Path) -> None:
        compile_all(tools, [[*flags, str(code), "-o", str(aside / LIBRARY)]])

    folder = store.root(cache) / "runtime"
    key = store.key([*tools.identity(), *flags, code.read_bytes()])
    return store.entry(folder, key, make, lock=True) / LIBRARY


def _kept_apart(files: Sequence[Path], top: str) -> str:
    """Verilator's orders not to dissolve the components into the top; library modules are small and may dissolve."""
    modules = [path.stem for path in files if path.stem != top and not path.stem.startswith("mase_")]
    return "`verilator_config\n" + "".join(f'no_inline -module "{module}"\n' for module in modules)


def compile_flags(tools: Toolchain) -> list[str]:
    include = tools.verilator_root / "include"
    defines = [f"-D{name}={value}" for name, value in _DEFINES.items()]
    return [*COMPILE, *defines, f"-I{include}", f"-I{include / 'vltstd'}"]


def runtime_of(tools: Toolchain, cache: Path | None) -> Path:
    """Verilator's runtime as an object: one for all of its files, so that their headers are read once."""
    flags = compile_flags(tools)
    text = "".join(f'#include "{name}.cpp"\n' for name in RUNTIME)

    def make(aside: Path) -> None:
        (aside / "runtime.cc").write_text(text, encoding="utf-8")
        compile_all(tools, [[*flags, "-c", str(aside / "runtime.cc"), "-o", str(aside / "runtime.o")]])

    folder = store.root(cache) / "runtime"
    place = store.entry(folder, store.key([*tools.identity(), *flags, text]), make, lock=True)
    store.prune(folder, keep=_KEEP_RUNTIMES)
    return place


def header_of(tools: Toolchain, cache: Path | None, *, once: bool = False) -> Path:
    """Verilator's headers as one, precompiled. `once`: only if it is there; making it costs as much as four uses."""
    flags = compile_flags(tools)

    def make(aside: Path) -> None:
        header = aside / _HEADER
        header.write_text("".join(f'#include "{name}"\n' for name in _HEADERS), encoding="utf-8")
        if tools.cxx.precompiles:
            compile_all(tools, [[*flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"]])

    folder, key = store.root(cache) / "runtime", store.key([*tools.identity(), *flags, *_HEADERS])
    if once and not (folder / key).is_dir():
        return tools.verilator_root / "include" / _HEADERS[-1]
    place = store.entry(folder, key, make, lock=True)
    store.prune(folder, keep=_KEEP_RUNTIMES)
    return place / _HEADER


def _objects(
    tools: Toolchain, apart: dict[str, str], rest: str, work: Path, header: Path, cache: Path | None
) -> tuple[list[Path], list[str]]:
    """An object for each unit; those of components from the cache where their text is known."""
    flags = [*compile_flags(tools), "-include", str(header), "-x", "c++", "-c"]
    folder = store.root(cache) / "units"
    places = {name: folder / store.key([*tools.identity(), *flags, text]) for name, text in apart.items()}
    fresh = [name for name, place in places.items() if not place.is_dir()]
    jobs = []
    for name in fresh:
        (work / f"{name}.cc").write_text(apart[name], encoding="utf-8")
        jobs.append([*flags, str(work / f"{name}.cc"), "-o", str(work / f"{name}.o")])
    (work / "rest.cc").write_text(rest, encoding="utf-8")
    jobs.append([*flags, f"-I{work / 'cc'}", str(work / "rest.cc"), "-o", str(work / "rest.o")])
    compile_all(tools, jobs)
    for name, place in places.items():  # a unit that was there is marked as used
        store.entry(folder, place.name, partial(_keep, work / f"{name}.o"))
    if folder.is_dir():
        store.prune(folder, keep=_KEEP_UNITS)
    return [*(place / "unit.o" for place in places.values()), work / "rest.o"], fresh


def _keep(compiled: Path, aside: Path) -> None:
    shutil.copyfile(compiled, aside / "unit.o")
