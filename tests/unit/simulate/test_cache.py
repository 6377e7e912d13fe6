"""The cache: whole entries only, the most recently used kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mase_hw.simulate import cache


def test_an_entry_is_made_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "x").write_text("made")

    for lock in (False, True, False):
        assert (cache.entry(tmp_path, "one", make, lock) / "x").read_text() == "made"
    assert len(calls) == 1


def test_a_failed_entry_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry(tmp_path, "one", fail)
    assert list(tmp_path.iterdir()) == []


def test_who_comes_second_takes_what_the_first_made(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "x").write_text("second")
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "x").write_text("first")

    assert (cache.entry(tmp_path, "one", make) / "x").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_prune_keeps_the_most_recent_and_removes_old_halves(tmp_path: Path) -> None:
    for age, name in enumerate(["new", "older", "oldest", ".half"]):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (2e9 - age, 2e9 - age))
    (tmp_path / ".stale").mkdir()
    os.utime(tmp_path / ".stale", (0, 0))
    cache.prune(tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".half", "new", "older"]


def test_the_key_tells_parts_apart() -> None:
    assert cache.key(["ab", "c"]) != cache.key(["a", "bc"])
    assert cache.key(["ab", b"c"]) == cache.key(["ab", "c"])


def test_the_root_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASE_HW_CACHE", str(tmp_path))
    assert cache.root() == tmp_path
    assert cache.root(tmp_path / "given") == tmp_path / "given"
