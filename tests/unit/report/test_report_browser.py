"""The page in a real browser: it renders, it has its figures, nothing complains; skipped where there is no Chromium."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from report_files import leave_certificate, leave_simulation, leave_synthesis

from mase_hw.cli import main
from mase_hw.emit import Build, read_build
from mase_hw.report import document, render_page
from mase_hw.report.browser import GET, WIDTH, find_chromium, run_chromium

CHROMIUM = find_chromium()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=f"no Chromium: {GET}")]

# Asks the page, as laid out, what a reader would see; put into a copy that allows scripts.
ASK = """<script>
const box = e => e.getBoundingClientRect();
const all = name => [...document.querySelectorAll(name)];
document.documentElement.setAttribute('data-asked', JSON.stringify({
  title: document.title,
  sections: all('section').filter(e => box(e).height > 50).map(e => e.id),
  boxes: all('.diagram .box').filter(e => box(e).width > 20).length,
  bars: all('.bar').filter(e => box(e).height > 0.5).length,
  spill: all('.diagram .component').filter(e => [...e.querySelectorAll('text')].some(
    t => box(t).width > box(e.querySelector('rect')).width)).length,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  loaded: performance.getEntriesByType('resource').length,
}))</script></body>"""
POLICY = '<meta http-equiv="Content-Security-Policy"'


def _dom(page: str, folder: Path, *options: str) -> tuple[str, str]:
    assert CHROMIUM is not None
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    size = f"--window-size={WIDTH},900"
    return run_chromium(CHROMIUM, size, "--enable-logging=stderr", *options, "--dump-dom", file.as_uri())


def _done(build: Build) -> str:
    leave_simulation(build)
    leave_certificate(build)
    leave_synthesis(build)
    return render_page(document(build))


def test_the_page_is_laid_out_with_its_figures(build: Build, tmp_path: Path) -> None:
    page = _done(build)
    copy = page.replace(POLICY, "<meta data-was").replace("</body>", ASK)
    dom, log = _dom(copy, tmp_path)
    asked = json.loads(unescape(dom.split('data-asked="')[1].split('"')[0]))
    wanted = ["model", "flow", "layers", "accuracy", "values", "front", "simulated", "proved", "tools"]
    assert asked["sections"] == wanted
    assert asked["boxes"] == len(build.design.components) + 2
    assert asked["bars"] > 20
    assert asked["spill"] == 0
    assert asked["overflow"] == 0
    assert asked["loaded"] == 0
    assert "CONSOLE" not in log
    assert "every output equal" in dom


def test_a_hostile_name_is_harmless_in_the_browser(build: Build, tmp_path: Path) -> None:
    path = build.path / "manifest.json"
    manifest = json.loads(path.read_text())
    evil = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    manifest["config"]["project"] = manifest["nodes"][0]["source"] = evil
    path.write_text(json.dumps(manifest))
    page = render_page(document(read_build(build.path)))
    # Without the policy that forbids scripts too: escaping alone must do.
    dom, _ = _dom(page.replace(POLICY, "<meta data-was"), tmp_path, "--virtual-time-budget=500")
    assert "<title>taken</title>" not in dom
    assert "&lt;script&gt;" in dom
    assert "<script" not in dom
    assert "<img" not in dom


def test_the_policy_stops_a_script(tmp_path: Path, build: Build) -> None:
    page = render_page(document(build))
    script = "<script>document.title = 'taken'</script></body>"
    dom, log = _dom(page.replace("</body>", script), tmp_path)
    assert "<title>taken</title>" not in dom
    assert "Content Security Policy" in log  # so the log does show what a page complains of


def test_the_picture_has_all_of_the_page(build: Build, tmp_path: Path) -> None:
    from matplotlib.image import imread

    _done(build)
    main(["report", str(build.path), "--png", str(tmp_path / "out" / "a.png")])
    picture = imread(tmp_path / "out" / "a.png")
    assert picture.shape[1] == WIDTH
    assert picture.shape[0] > 1500
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a.png"]
    rows = (picture[:, :, :3].std(axis=1) > 0.01).any(axis=1)
    assert rows.mean() > 0.5  # it is drawn down to its end
    assert rows[-400:].any()
    colours = np.unique((picture[::3, ::3, :3] * 255).astype(int).reshape(-1, 3), axis=0)
    assert len(colours) > 100
