"""The site: built strictly, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow

COPIED = ("docs", "examples", "bench", "mkdocs.yml", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
EXAMPLE = ROOT / "examples" / "newcomer"
LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix("") for path in docs.rglob("*.md")}
    assert pages - {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} == set()
    assert (site / "project" / "readme.html").is_file()
    for file in ("run.sh", "net.py"):  # linked, so they are there as they are
        assert (site / "files" / "examples" / "newcomer" / file).read_bytes() == (EXAMPLE / file).read_bytes()
    assert not list(site.glob("*.py"))


def test_links_to_the_repository_lead_to_the_site(site: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    assert 'href="project/readme.html#what-the-machine-must-have"' in text
    assert 'href="../docs/hardware.html"' not in (site / "project" / "readme.html").read_text("utf-8")
    assert 'href="../hardware.html"' in (site / "project" / "readme.html").read_text("utf-8")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    assert {link for page in pages for link in LOADED.findall(page.read_text("utf-8"))} == set()


def test_the_pattern_sees_what_is_loaded() -> None:
    loaded = '<link rel="stylesheet" href="https://fonts.example/css"><script src="//cdn.example/x.js"></script>'
    text = f'{loaded}<a href="https://elsewhere.example">'
    assert LOADED.findall(text) == ["https://fonts.example/css", "//cdn.example/x.js"]


def test_broken_links_end_the_build(tmp_path: Path) -> None:
    """A page, a heading of docs/ and a heading of the README that are not there."""
    for item in COPIED:
        if (ROOT / item).is_dir():
            shutil.copytree(ROOT / item, tmp_path / item, ignore=shutil.ignore_patterns("mase_output", "build"))
        else:
            shutil.copy(ROOT / item, tmp_path / item)
    index = tmp_path / "docs" / "index.md"
    links = "[a](nowhere.md) [b](tutorial.md#no-such-step) [c](../README.md#no-such-heading)"
    index.write_text(f"{index.read_text('utf-8')}\n{links}\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert [text for text in ("nowhere.md", "no-such-step", "no-such-heading") if text not in said] == []
