"""No test of a data set sees this machine's files or the network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from web import Web


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder of data sets, empty; downloads are off."""
    monkeypatch.setenv("MASE_HW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MASE_HW_OFFLINE", "1")
    monkeypatch.delenv("MASE_HW_DATA", raising=False)
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder `data` beside a TOML in `tmp_path`."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """Downloads are on, and there is a server to ask."""
    monkeypatch.delenv("MASE_HW_OFFLINE")
    site = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            content = site.files.get(self.path)
            if content is None:
                self.send_error(404, "Not Found")
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: site.cut.get(self.path)])

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        server.shutdown()
        thread.join()
