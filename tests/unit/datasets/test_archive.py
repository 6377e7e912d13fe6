"""Archives are unpacked below one folder, or not at all."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from mase_hw.datasets.archive import unpack, unpacked
from mase_hw.diagnostics import ProblemsError

GOOD = {"set/one": b"1", "set/deep/two": b"22", "./three": b""}


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", content: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, len(content), 0o4777
    return info, content


def pack(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return path


def good(path: Path, mode: str = "w:gz") -> Path:
    return pack(path, member("set", tarfile.DIRTYPE), *(member(k, content=v) for k, v in GOOD.items()), mode=mode)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w"])
def test_good(mode: str, tmp_path: Path) -> None:
    archive = good(tmp_path / "a.tar.gz", mode)
    unpack(archive, tmp_path / "out")
    assert everything(tmp_path / "out") == {"set/deep/two": b"22", "set/one": b"1", "three": b""}
    assert not (tmp_path / "out" / "set" / "one").stat().st_mode & 0o4111  # neither set-uid nor executable


def test_unpacked_once_and_kept_by_content(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = unpacked(good(tmp_path / "a.tar.gz"))
    assert first.parent == cache
    moved = (tmp_path / "a.tar.gz").rename(tmp_path / "b.tar.gz")
    with monkeypatch.context() as patch:
        patch.setattr("mase_hw.datasets.archive.unpack", None)  # it would fail if it were called
        assert unpacked(moved) == first
    other = unpacked(pack(tmp_path / "a.tar.gz", member("x", content=b"y")))
    assert other != first
    assert everything(other) == {"x": b"y"}
    assert sorted(os.listdir(cache)) == sorted([first.name, other.name])


def test_interrupted(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(archive: Path, into: Path, limit: int) -> None:
        (into / "half").touch()
        raise KeyboardInterrupt

    archive = good(tmp_path / "a.tar.gz")
    with monkeypatch.context() as patch:
        patch.setattr("mase_hw.datasets.archive.unpack", stop)
        with pytest.raises(KeyboardInterrupt):
            unpacked(archive)
    assert os.listdir(cache) == []
    assert len(everything(unpacked(archive))) == 3


HOSTILE = {
    "has an absolute path": [member("/tmp/mase_hw_escaped", content=b"x")],
    "has an absolute path ": [member("C:/escaped", content=b"x")],
    "has an absolute path  ": [member("\\\\host\\share\\escaped", content=b"x")],
    "leads out of the folder": [member("../escaped", content=b"x")],
    "leads out of the folder ": [member("set/../../escaped", content=b"x")],
    "leads out of the folder  ": [member("set\\..\\..\\escaped", content=b"x")],
    "leads out of the folder   ": [member("..", tarfile.DIRTYPE)],
    "is a link to '../secret'": [member("link", tarfile.SYMTYPE, "../secret"), member("link", content=b"x")],
    "is a link to '..'": [member("link", tarfile.SYMTYPE, ".."), member("link/escaped", content=b"x")],
    "is a link to '/etc/passwd'": [member("link", tarfile.LNKTYPE, "/etc/passwd")],
    "is a link to 'set/one'": [member("link", tarfile.LNKTYPE, "set/one")],
    "is neither a file nor a folder": [member("pipe", tarfile.FIFOTYPE)],
    "is neither a file nor a folder ": [member("disk", tarfile.BLKTYPE)],
    "is neither a file nor a folder  ": [member("null", tarfile.CHRTYPE)],
}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile(text: str, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    archive = pack(tmp_path / "a.tar.gz", *(member(k, content=v) for k, v in GOOD.items()), *HOSTILE[text])
    (tmp_path / "in" / "here").mkdir(parents=True)
    for run in (lambda: unpack(archive, tmp_path / "in" / "here"), lambda: unpacked(archive)):
        with pytest.raises(ProblemsError) as caught:
            run()
        name = HOSTILE[text][0][0].name
        assert f"a.tar.gz is refused: its member {name!r} {text.strip()}\n" in str(caught.value)
        assert "hint: nothing was unpacked" in str(caught.value)
    # Not even the members before it are there.
    assert everything(tmp_path) == {"a.tar.gz": archive.read_bytes(), "secret": b"secret"}
    assert os.listdir(cache) == []
    assert not Path("/tmp/mase_hw_escaped").exists()


def problem(archive: Path, into: Path, limit: int = 10**6) -> str:
    with pytest.raises(ProblemsError) as caught:
        unpack(archive, into, limit)
    return str(caught.value)


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack(tmp_path / "a.tar.gz", member("zeros", content=bytes(10**6 + 1)))
    assert bomb.stat().st_size < 3000
    assert "it holds more than 1000000 bytes" in problem(bomb, tmp_path / "out")
    monkeypatch.setattr("mase_hw.datasets.archive._MEMBERS", 2)
    assert "or 2 members" in problem(good(tmp_path / "b.tar.gz"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_damaged(tmp_path: Path) -> None:
    whole = pack(tmp_path / "a.tar.gz", member("x", content=os.urandom(5000))).read_bytes()
    for number, data in enumerate((b"", b"hello", whole[:9], whole[:2000], whole[:-20][:3000])):
        archive = tmp_path / f"{number}.tar.gz"
        archive.write_bytes(data)
        assert f"{number}.tar.gz is no archive, or it is damaged" in problem(archive, tmp_path / "out")


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = good(tmp_path / "a.tar.gz")
    monkeypatch.setenv("MASE_HW_CACHE", str(archive))
    with pytest.raises(ProblemsError, match="cannot be unpacked into"):
        unpacked(archive)
