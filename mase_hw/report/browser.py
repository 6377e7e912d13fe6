"""The page as a picture: by a Chromium that is on the machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from mase_hw.diagnostics import Problem, ProblemsError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VARIABLE = "MASE_HW_CHROMIUM"
GET = "install one (`apt install chromium`), or name it: MASE_HW_CHROMIUM=/path/to/chromium"
WIDTH = 1300
_HIGHEST = 16_000  # pixels; a taller picture is more than Chromium draws
_SECONDS = 180
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_MEASURE = (
    "<script>document.documentElement.setAttribute('data-height', document.documentElement.scrollHeight)</script>"
)


def find_chromium() -> Path | None:
    """What MASE_HW_CHROMIUM names, or the first of the usual names on PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProblemsError(Problem(f"{VARIABLE}={named} is not a program", hint="give the path of a Chromium"))
        return Path(found)
    return next((Path(path) for name in NAMES if (path := shutil.which(name))), None)


def need_chromium() -> Path:
    """The same; a Problem where there is none."""
    found = find_chromium()
    if found is None:
        raise ProblemsError(Problem(f"no Chromium on PATH ({', '.join(NAMES)})", hint=GET))
    return found


def run_chromium(chromium: Path, *options: str) -> tuple[str, str]:
    """What it prints, and what it logs. It keeps nothing: each call has a profile of its own."""
    with tempfile.TemporaryDirectory(prefix="mase-hw-chromium-") as profile:
        fixed = ["--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]
        fixed += [f"--user-data-dir={profile}", "--disable-extensions", "--disable-background-networking"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            fixed.append("--no-sandbox")  # Chromium has none for root, and refuses to start
        command = [str(chromium), *fixed, *options]
        hint = f"try another one: {VARIABLE}=/path/to/chromium"
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            text = f"{chromium} did not end within {_SECONDS} seconds"
            raise ProblemsError(Problem(text, hint=hint)) from None
    if done.returncode:
        notes = tuple(done.stderr.decode(errors="replace").strip().splitlines()[-3:])
        raise ProblemsError(Problem(f"{chromium} ended with {done.returncode}", hint=hint, notes=notes))
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def page_height(chromium: Path, page: str, folder: Path) -> int:
    """How tall the page is when all of it is laid out: asked with a script, on a copy that allows one."""
    copy = folder / "measured.html"
    copy.write_text(_POLICY.sub("", page).replace("</body>", f"{_MEASURE}</body>"), encoding="utf-8")
    dom, _ = run_chromium(chromium, f"--window-size={WIDTH},900", "--dump-dom", copy.as_uri())
    match = re.search(r'data-height="(\d+)"', dom)
    if match is None:
        raise ProblemsError(Problem(f"{chromium} did not lay the page out", hint=f"try another one: {VARIABLE}=..."))
    return min(int(match.group(1)), _HIGHEST)


def write_png(page: str, path: Path) -> None:
    """All of the page in one picture, whole or not at all."""
    chromium = need_chromium()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mase-hw-report-") as name:
        folder = Path(name)
        height = page_height(chromium, page, folder)
        file, shot = folder / "page.html", folder / "page.png"
        file.write_text(page, encoding="utf-8")
        run_chromium(chromium, f"--window-size={WIDTH},{height}", f"--screenshot={shot}", file.as_uri())
        if not shot.is_file():
            raise ProblemsError(Problem(f"{chromium} made no picture", hint=f"try another one: {VARIABLE}=..."))
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        shutil.copyfile(shot, aside)
        aside.replace(path)
