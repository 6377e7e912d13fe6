"""Builds that somebody has changed so that they are proved and wrong: each is refused, or not proved, or does no harm.

Whatever the change, these hold for every attack: nothing is proved whose simulation differs from the software; no
command ends in a traceback; nothing outside of the build is written, and so no code of the build's has run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from of_files import FILES
from of_frames import FRAMES
from of_hardware import HARDWARE
from of_language import LANGUAGE
from of_size import SIZE
from of_time import LATE, TIME
from of_weights import WEIGHTS
from victims import VICTIMS, Attack, emit

from mase_hw.cli import main

ATTACKS = (*LANGUAGE, *HARDWARE, *TIME, *FRAMES, *WEIGHTS, *SIZE, *FILES)
OTHERS = (
    ("sim", "--engine", "native", "--vectors", "50"),
    ("synth",),
    ("export", "--to", "fusesoc"),
    ("mutate", "--count", "1", "--jobs", "1"),
    ("report",),
    ("verify",),
)
SECONDS = 120  # after which a process hangs; it takes one or two


@pytest.fixture(scope="session")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build of each kind."""
    folder = tmp_path_factory.mktemp("victims")
    for name in VICTIMS:
        emit(name, folder / name)
    return folder


def run_command(*arguments: str) -> tuple[int, str]:
    """Exit code, and what was said; whatever is raised besides comes through."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(list(arguments))
        except SystemExit as error:
            return int(error.code or 0), said.getvalue()
    return 0, said.getvalue()


def run_alone(*arguments: str, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-P", "-m", "mase_hw", *arguments]  # -P: as the installed command has it
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def listed(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain(text: str) -> str:
    """In one line, as tables and messages are folded."""
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("victim", VICTIMS)
def test_what_is_attacked_is_proved(victim: str, victims: Path, tmp_path: Path) -> None:
    build = shutil.copytree(victims / victim, tmp_path / "net")
    code, said = run_command("prove", str(build))
    assert code == 0, said


def often(attack: Attack) -> bool:
    """Whether it is among those that are tried whenever the tests are run: some of every kind."""
    return attack not in LATE and zlib.crc32(attack.name.encode()) % 12 == 0


@pytest.mark.slow
@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if often(attack)], ids=lambda attack: attack.name)
def test_attack(attack: Attack, victims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_attack(attack, victims, tmp_path, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if not often(attack)], ids=lambda attack: attack.name)
def test_every_attack(attack: Attack, victims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_attack(attack, victims, tmp_path, monkeypatch)


def check_attack(attack: Attack, victims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = shutil.copytree(victims / attack.victim, tmp_path / "net")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("as it was\n")
    attack.change(build, outside)
    before = listed(outside)
    place = tmp_path / "elsewhere"  # commands write beside the current folder by default
    place.mkdir()
    monkeypatch.chdir(place)

    def run(*arguments: str) -> tuple[int, str]:
        return run_alone(*arguments, folder=build) if attack.alone else run_command(*arguments)

    code, said = run("prove", str(build))
    claims = re.search(r"\d+ of \d+ claims proved", said)
    end = "harmless" if code == 0 else "not proved" if claims else "refused"
    assert end == attack.end, said
    assert re.search(attack.says, plain(said)), said
    assert "error" in said or end != "refused", said
    assert listed(outside) == before
    if end == "harmless":  # then the simulation says so too
        code, said = run("sim", str(build), "--engine", "native", "--vectors", "500")
        assert code == 0, said
    elif end == "refused" and (build / "manifest.json").exists():
        for command, *options in OTHERS:
            code, said = run(command, str(build), *options)
            assert code in (0, 1, 2), f"{command}: {said}"
            assert listed(outside) == before, command


def test_attacks_have_names_of_their_own() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
