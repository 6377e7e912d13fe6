"""What the tests of the documentation share: its pages, their text outside of code, their headings as anchors."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md"), ROOT / "bench" / "README.md"]
)
FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()[^()\s]+(?=\))")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The headings, as GitHub and others make anchors of them: small letters, no punctuation, hyphens."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}
