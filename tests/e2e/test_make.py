"""The Makefile: its targets, what each calls, and what it says to somebody without a usable Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
TARGETS = {
    "sim": ('mase-hw emit "examples/digits/model.toml"', 'mase-hw sim "examples/digits/model.toml"'),
    "test": ("ruff check .", "bin/mypy", 'python -m pytest -n 3 -m "not nightly"'),
    "test-all": ("ruff check .", "bin/mypy", "python -m pytest -n 3"),
    "lint": ("ruff format --check .", "ruff check .", "bin/mypy"),
    "browser": ("apt-get install -y --no-install-recommends chromium",),
    "check": ("ruff format --check .", "ruff check .", "bin/mypy", 'pytest -n 3 -m "not slow and not nightly"'),
    "bench": ("python bench/run.py",),
    "bench-hardware": ("python bench/hardware.py",),
    "fuzz": ("python bench/fuzz.py",),
    "docs": ("mkdocs build --strict",),
    "clean": ("rm -rf build dist",),
    "help": ("echo",),
}
INSTALL = "-m pip install --quiet --constraint constraints.txt --editable"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """What make looks at in a fresh clone: no .venv."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(CHECKOUT / name, tmp_path)
    return tmp_path


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Variables of a make that runs the tests would be handed on.
    clean = ("MAKE", "MFLAGS", "PYTHON", "MODEL", "SIM", "TEST", "BENCH", "FUZZ", "JOBS")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(clean)}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _python(folder: Path, before: str) -> Path:
    """A command that is this Python after the statement `before`."""
    path = folder / "strange-python"
    program = f"import sys; {before}; exec(sys.argv[1])"
    path.write_text(f"#!/bin/sh\n[ $1 = -c ] && exec '{sys.executable}' -c '{program}' \"$2\"\nexit 9\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", TARGETS)
def test_target_calls(target: str, fresh: Path) -> None:
    done = _make(fresh, "-n", target)
    assert done.returncode == 0, done.stderr
    assert [call for call in TARGETS[target] if call not in done.stdout] == []


def test_help_lists_every_target_and_is_the_default(fresh: Path) -> None:
    done = _make(fresh, "help")
    assert re.findall(r"^make ([\w-]+) ", done.stdout, re.MULTILINE) == list(TARGETS)
    assert _make(fresh).stdout == done.stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(phony.split()) == set(TARGETS)


def test_sim_installs_only_what_it_needs(fresh: Path) -> None:
    calls = _make(fresh, "-n", "sim").stdout
    assert calls.count(INSTALL) == 1
    assert f"{INSTALL} ." in calls
    assert "[dev]" not in calls
    assert f"{INSTALL} '.[dev]'" in _make(fresh, "-n", "test").stdout


def test_nothing_is_installed_twice(fresh: Path) -> None:
    place = fresh / ".venv"
    (place / "bin").mkdir(parents=True)
    for name in ("bin/pip", ".base", ".dev"):
        (place / name).touch()
    assert "pip install" not in _make(fresh, "-n", "sim", "test").stdout
    os.utime(fresh / "pyproject.toml", (2**32, 2**32))
    assert _make(fresh, "-n", "sim", "test").stdout.count("pip install") == 2


def test_variables_reach_the_commands(fresh: Path) -> None:
    calls = _make(fresh, "-n", "sim", "MODEL=my nets/a.toml", "SIM=--seed 3").stdout
    assert 'mase-hw emit "my nets/a.toml"' in calls
    assert 'mase-hw sim "my nets/a.toml" --seed 3' in calls
    assert 'pytest -n 1 -m "not nightly" -k relu' in _make(fresh, "-n", "test", "JOBS=1", "TEST=-k relu").stdout


def test_clean_keeps_the_environment_unless_asked(fresh: Path) -> None:
    kept, removed = fresh / ".venv" / "lib" / "__pycache__", fresh / "mase_hw" / "__pycache__"
    for folder in (kept, removed, fresh / "build" / "digits"):
        folder.mkdir(parents=True)
    done = _make(fresh, "clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert kept.is_dir()
    assert not removed.exists()
    assert not (fresh / "build").exists()
    assert _make(fresh, "clean", "VENV_TOO=1").returncode == 0
    assert not (fresh / ".venv").exists()


def test_python_that_is_not_there(fresh: Path) -> None:
    done = _make(fresh, "sim", "PYTHON=no-such-python")
    assert done.returncode != 0
    said = "no-such-python is not found; mase-hw needs Python 3.11 or newer: make PYTHON=..."
    assert done.stderr.splitlines()[0] == said


def test_python_that_is_too_old(fresh: Path) -> None:
    python = _python(fresh, "sys.version_info = (3, 10, 4)")
    done = _make(fresh, "sim", f"PYTHON={python}")
    assert done.returncode != 0
    said = f"mase-hw needs Python 3.11 or newer and {python} is 3.10; name another one: make PYTHON=python3.11"
    assert done.stderr.splitlines()[0] == said
    assert not (fresh / ".venv").exists()


def test_python_without_venv(fresh: Path) -> None:
    """As some distributions split it."""
    python = _python(fresh, 'sys.modules["ensurepip"] = None')
    done = _make(fresh, "sim", f"PYTHON={python}")
    assert done.returncode != 0
    said = f"{python} comes without venv: apt install python3-venv, or name another one: make PYTHON=..."
    assert done.stderr.splitlines()[0] == said


def test_ci_runs_the_test_command() -> None:
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = [line.strip() for line in script.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert "make test" in lines
    assert any(line.startswith("set -e") for line in lines), "a failing step must fail the run"
