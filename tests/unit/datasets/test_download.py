"""A download is whole and checked, or leaves nothing."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import IO

import pytest
from web import Web

from mase_hw.datasets.download import DownloadError, download, fetch_bytes, temporary_folder, write_whole

CONTENT = os.urandom(700_000)  # more than two chunks
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def url(web: Web) -> str:
    web.files["/file.gz"] = CONTENT
    return f"{web.url}/file.gz"


def test_download(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = download(url, tmp_path / "deep" / "file.gz", MD5.upper())
    assert place.read_bytes() == CONTENT
    assert os.listdir(place.parent) == ["file.gz"]
    assert place.stat().st_mode & 0o777 == 0o644
    assert capsys.readouterr().out == ""
    assert fetch_bytes(url) == CONTENT


def refused(url: str, folder: Path, md5: str | None = MD5, limit: int = 10**9) -> str:
    with pytest.raises(DownloadError) as caught:
        download(url, folder / "file.gz", md5, limit)
    assert not folder.exists() or os.listdir(folder) == []
    return str(caught.value)


def test_what_goes_wrong(url: str, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    assert refused(url, folder, "0" * 32) == f"the download of {url} is damaged: its MD5 is {MD5}, not {'0' * 32}"
    assert refused(url, folder, limit=500_000) == f"{url} is larger than 500000 bytes"
    assert refused(f"{web.url}/other", folder) == f"{web.url}/other answers 404 Not Found"
    assert refused("file:///etc/passwd", folder) == "file:///etc/passwd is neither http nor https"
    for cut in (0, 400_000, len(CONTENT) - 1):
        web.cut["/file.gz"] = cut
        assert f"the download of {url} broke off after {cut} of {len(CONTENT)} bytes" == refused(url, folder, None)
    monkeypatch.setenv("MASE_HW_OFFLINE", "1")
    assert refused(url, folder) == "MASE_HW_OFFLINE forbids to download it"


def test_no_server(web: Web, tmp_path: Path) -> None:
    with socket.socket() as held:  # a port that nobody listens on
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/x"
        assert refused(url, tmp_path / "kept") == f"{url} cannot be reached: [Errno 111] Connection refused"


def test_folder_that_cannot_be_made(url: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="cannot be kept"):
        download(url, tmp_path / "file" / "x", MD5)
    with pytest.raises(DownloadError, match="cannot be written"), temporary_folder(tmp_path / "file" / "x"):
        pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_interrupted(error: type[BaseException], tmp_path: Path) -> None:
    def write(out: IO[bytes]) -> None:
        out.write(b"half")
        out.flush()
        assert [name.endswith(".part") for name in sorted(os.listdir(tmp_path))] == [True, False]
        raise error

    (tmp_path / "kept").write_bytes(b"old")
    with pytest.raises(error):
        write_whole(tmp_path / "kept", write)
    assert os.listdir(tmp_path) == ["kept"]
    assert (tmp_path / "kept").read_bytes() == b"old"


def test_temporary_folder_goes_when_interrupted(tmp_path: Path) -> None:
    def use() -> None:
        with temporary_folder(tmp_path) as folder:
            (folder / "x").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()
    assert os.listdir(tmp_path) == []
