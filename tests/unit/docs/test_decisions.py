"""The decisions: one file each with what, why and what was rejected; numbered without a gap, and all in the index."""

from __future__ import annotations

import re

from pages import LINK, ROOT

FOLDER = ROOT / "docs" / "decisions"
PARTS = ("Decided", "Why", "Rejected")
SHAPE = re.compile(
    r"# (\d{3}): (.+)\n\n"
    + "".join(rf"\*\*{part}\.\*\* .+\n\n" for part in PARTS)
    + r"\[All decisions\]\(index\.md\)\n",
    re.DOTALL,
)


def test_each_has_its_parts_and_is_in_the_index() -> None:
    files = sorted(FOLDER.glob("[0-9]*.md"))
    index = (FOLDER / "index.md").read_text("utf-8")
    assert [int(file.name[:3]) for file in files] == list(range(1, len(files) + 1))
    for file in files:
        shape = SHAPE.fullmatch(file.read_text("utf-8"))
        assert shape, file.name
        assert shape[1] == file.name[:3]
        assert f"- [{shape[1]}: {shape[2]}]({file.name})\n" in index
    assert LINK.findall(index) == [file.name for file in files]
