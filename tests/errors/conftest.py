"""The desk: a fresh folder for each test, and one whole build that tests copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from desk import Desk


@pytest.fixture(scope="session")
def small_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the desk's model."""
    folder = tmp_path_factory.mktemp("small")
    desk = Desk(folder)
    here = Path.cwd()
    os.chdir(folder)
    try:
        ran = desk.run("emit", "model.toml")
    finally:
        os.chdir(here)
    assert ran.code == 0, ran
    return folder / "build" / "model"


@pytest.fixture
def desk(tmp_path: Path, small_build: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, small_build)
