"""What the README shows of the digits, of one's own model and of Python: run as it stands, compared line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(heading: str, language: str) -> list[str]:
    """The fenced blocks of a section."""
    (section,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """With tables as wide as into a file: pytest loads readline, and that sets COLUMNS."""
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = (sys.executable, *command)
    return subprocess.run(command, cwd=cwd, env=plain, capture_output=True, text=True, check=False, timeout=600)


def lines(text: str) -> list[str]:
    """Without the spaces that pad a table."""
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.nightly
def test_the_digits_are_as_shown(tmp_path: Path) -> None:
    """Emitted and simulated, design and components: each count, each prediction, each accuracy."""
    model = ROOT / "examples" / "digits" / "model.toml"
    said = []
    for command in ("emit", "sim"):
        done = run("-m", "mase_hw", command, str(model), cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        said += [*lines(done.stdout), ""]
    (shown, *_) = blocks("Two commands", "text")
    assert said == [*lines(shown), ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two files that the README asks for."""
    made = tmp_path_factory.mktemp("own")
    (model,) = blocks("Your own model in five minutes", "python")
    (config,) = blocks("Your own model in five minutes", "toml")
    (made / "classifier.py").write_text(model, encoding="utf-8")
    (made / "model.toml").write_text(config, encoding="utf-8")
    return made


@pytest.mark.slow
def test_emit_and_sim_say_what_is_shown(folder: Path) -> None:
    (console,) = blocks("Your own model in five minutes", "console")
    shown = re.findall(r"^\$ mase-hw (.*?)\n(.*?)(?=^\$|\Z)", console, re.DOTALL | re.MULTILINE)
    assert [command for command, _ in shown] == ["emit model.toml", "sim build/classifier"]
    for command, text in shown:
        done = run("-m", "mase_hw", *command.split(), cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        said = [line for line in lines(done.stdout) if line]
        wanted = [line for line in lines(text) if line]
        if "..." in wanted:  # lines are left out
            gap = wanted.index("...")
            wanted[gap : gap + 1] = said[gap : gap + 1 + len(said) - len(wanted)]
        assert said == wanted


@pytest.mark.slow
def test_explore_finds_what_is_shown(folder: Path) -> None:
    done = run("-m", "mase_hw", "explore", "model.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    table, _ = blocks("Your own model in five minutes", "text")
    said = lines(done.stdout)
    assert [line for line in lines(table) if line.strip() not in {row.strip() for row in said}] == []
    rows = [line for line in said if re.match(r" +\d+ ", line)]
    assert f"finds {len(rows)} in all" in README


def test_mistakes_are_told_as_shown(folder: Path) -> None:
    text = (folder / "model.toml").read_text("utf-8")
    bad = text.replace("weight_width = 6\n", "weight_width = 60\n") + 'intreface = "stream"\n'
    (folder / "bad.toml").write_text(bad, encoding="utf-8")
    done = run("-m", "mase_hw", "emit", "bad.toml", cwd=folder)
    assert done.returncode == 1
    _, shown = blocks("Your own model in five minutes", "text")
    assert lines(done.stderr)[: len(lines(shown))] == lines(shown)


@pytest.mark.slow
def test_python_prints_what_its_comments_say(tmp_path: Path) -> None:
    program, _ = blocks("From Python", "python")
    done = run("-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == re.findall(r"^# (.*)", program, re.MULTILINE)
    assert (tmp_path / "tiny" / "manifest.json").is_file()


def test_passes_can_be_called_one_by_one(tmp_path: Path) -> None:
    _, program = blocks("From Python", "python")
    done = run("-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in lines(done.stdout)] == ["placeholder", "linear", "relu", "linear", "output"]
