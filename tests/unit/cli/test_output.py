"""--quiet, --verbose, --json and NO_COLOR, for every command."""

from __future__ import annotations

import json
import logging
import shutil
import tomllib
from pathlib import Path

import click
import pytest
from rich.table import Table
from support import with_offset
from torch import Tensor, nn

from mase_hw.cli import COMMANDS, Commands, cli, main
from mase_hw.cli.console import Output, output
from mase_hw.cli.doctor import EXTRAS
from mase_hw.emit import read_build, write_build

TABLES = (
    "new",
    "export",
    "report",
    "mutate",
    "train",
    "test",
    "transform",
    "search",
    "explore",
    "emit",
    "sim",
    "synth",
    "prove",
    "verify",
    "doctor",
    "show",
)
TOML = """\
model = "net.py:Net"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 4
data_in_frac_width = 2
weight_width = 4
weight_frac_width = 2
bias_width = 4
bias_frac_width = 2
"""
NET = """\
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(3, 2))
"""
NOTE = "note: no load_name in net.toml: the weights are random, from seed 0\n"


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support import eight_bit, randomized

    from mase_hw.flow import compile_model

    path = tmp_path_factory.mktemp("output") / "tiny"
    write_build(path, compile_model(randomized(Tiny()), (3,), eight_bit(), top="tiny").design, {}, None)
    return path


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    (tmp_path / "net.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


def commands() -> dict[str, click.Command]:
    assert isinstance(cli, Commands)
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_has_them() -> None:
    for name, command in commands().items():
        options = [flag for parameter in command.params for flag in parameter.opts]
        for flag in ("--quiet", "--verbose", *(["--json"] if name in TABLES else [])):
            assert options.count(flag) == 1, (name, flag)
        assert command.get_short_help_str(200) == COMMANDS[name] or name == "search"


def test_emit(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["emit", "net.toml"])
    said, err = capsys.readouterr()
    assert said.startswith(NOTE)
    assert "total" in said
    last = "written: build/net   next: mase-hw sim build/net\n"
    assert said.endswith(last)
    main(["emit", "net.toml", "--quiet"])
    assert capsys.readouterr() == (last, "")
    main(["--quiet", "emit", "net.toml"])
    assert capsys.readouterr() == (last, "")
    main(["emit", "net.toml", "--json"])
    said, err = capsys.readouterr()
    content = json.loads(said)
    assert err == NOTE
    assert content["build"] == "build/net"
    assert content["nodes"] == read_build(desk / "build/net").manifest["nodes"]
    assert content["notes"] == [NOTE.removeprefix("note: ").rstrip()]
    main(["emit", "net.toml", "--json", "--quiet"])
    assert capsys.readouterr() == (said, "")


def test_export(emitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    main(["export", str(emitted), "--to", "ipxact", "--out", str(out), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert (content["to"], content["top"], content["written"]) == ("ipxact", "tiny", str(out))
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == {
        *content["files"],
        "export.json",
    }
    main(["export", str(emitted), "--to", "ipxact", "--out", str(out), "--quiet"])
    assert capsys.readouterr() == (f"written: {out}\n", "")


def test_problem_leaves_stdout_empty(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "net.toml").write_text("model = 3\n", encoding="utf-8")
    for flags in ([], ["--json"], ["--quiet"], ["--verbose"]):
        with pytest.raises(SystemExit) as ended:
            main(["emit", "net.toml", *flags])
        assert ended.value.code == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("net.toml:1: error: model = 3 is not a string")


def test_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--quiet", "--verbose"])
    assert ended.value.code == 1
    assert "contradict" in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--json"])
    content = json.loads(capsys.readouterr().out)
    assert content["ready"] == (ended.value.code == 0)
    assert {"name", "found", "version", "get", "optional"} == set(content["tools"][0])


def test_doctor_names_extras_that_exist(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    for package, (extra, _) in EXTRAS.items():
        assert any(line.startswith(package) for line in project["optional-dependencies"][extra])
    monkeypatch.setitem(EXTRAS, "no-such-package", ("none", "nothing"))
    with pytest.raises(SystemExit):
        main(["doctor"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("no-such-package"))
    assert line.split(maxsplit=1)[1] == "absent   pip install 'mase-hw[none]' for nothing"


@pytest.mark.slow
def test_sim(emitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = Path(shutil.copytree(emitted, tmp_path / "tiny"))
    arguments = ["sim", str(build), "--engine", "native", "--vectors", "10"]
    main([*arguments, "--json"])
    content = json.loads(capsys.readouterr().out)
    assert content["passed"]
    [bench] = content["benches"]
    assert [pattern["pattern"] for pattern in bench["patterns"]] == ["none", "gaps", "pressure", "both"]
    outputs = [s for pattern in bench["patterns"] for s in pattern["streams"] if s["role"] == "output"]
    assert all(s["compared"] == s["equal"] == bench["vectors"] * 2 for s in outputs)
    main([*arguments, "--quiet"])
    assert capsys.readouterr() == ("passed: every integer of the output equals the software reference\n", "")
    file = next(build.glob("rtl/tiny_fc.sv"))
    file.write_text(with_offset(file.read_text("utf-8"), 64), encoding="utf-8")
    for flag in ("--json", "--quiet", "--verbose"):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, flag])
        assert ended.value.code == 1
        out, err = capsys.readouterr()
        if flag == "--json":
            assert not json.loads(out)["passed"]
            assert json.loads(out)["benches"][0]["failures"]
        else:
            assert out.splitlines()[-1] == "FAILED: design"
            assert "  FAILED design: " in out
        assert ("mase_hw.simulate.process: " in err and "verilator" in err) == (flag == "--verbose")
    assert logging.getLogger("mase_hw").handlers == []


def test_no_color(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    Output().final("bad", style="red")
    assert capsys.readouterr().out == "\x1b[31mbad\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    Output().final("bad", style="red")
    assert capsys.readouterr().out == "bad\n"


def test_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert output() == Output()  # outside of a command
    table = Table("a")
    table.add_row("[b]")
    for told, out, err in (
        (Output(), ("note: n", "[b]", "[line]", "[last]"), ()),
        (Output(quiet=True), ("[last]",), ()),
        (Output(json=True), ('{\n  "x": 1\n}\n',), ("note: n",)),
        (Output(json=True, quiet=True), ('{\n  "x": 1\n}\n',), ()),
    ):
        told.notes(["n"])
        told.show(table)
        told.line("[line]")
        told.document({"x": 1})
        told.final("[last]")
        said = capsys.readouterr()
        assert all(part in said.out for part in out)
        assert said.out.count("\n") == (len(out) + 4 if len(out) > 1 else out[0].count("\n") or 1)
        assert said.err == "".join(f"{part}\n" for part in err)
