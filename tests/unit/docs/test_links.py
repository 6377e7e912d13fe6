"""Links between the repository's pages, as they are read in the repository: files and headings are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import LINK, PAGES, ROOT, anchors, name, prose


def broken(page: Path, text: str) -> list[str]:
    """The relative links in `text`, a part of `page`, that lead nowhere."""
    return [link for link in LINK.findall(text) if ":" not in link.partition("#")[0] and not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_a_broken_link_is_seen() -> None:
    page = ROOT / "docs" / "index.md"
    text = (
        "[a](tutorial.md) [b](nowhere.md) [c](../README.md#limits) [d](../README.md#no-such-heading) [e](https://x.org)"
    )
    assert broken(page, text) == ["nowhere.md", "../README.md#no-such-heading"]


def test_every_page_of_docs_can_be_reached() -> None:
    """Each is linked from another page, or is in the README."""
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(prose(page))
        if ":" not in link and link.partition("#")[0]
    }
    assert [name(page) for page in PAGES if ROOT / "docs" in page.parents and page not in linked] == []
