"""The page on adding an operator quotes the files of a package that the tests run."""

from __future__ import annotations

import re

from pages import ROOT

TOY = ROOT / "tests" / "unit" / "ops" / "toy"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_code_is_that_of_the_files() -> None:
    files = [path.read_text("utf-8") for path in sorted(TOY.iterdir()) if path.is_file()]
    blocks = BLOCK.findall((ROOT / "docs" / "add_an_operator.md").read_text("utf-8"))
    assert [kind for kind, _ in blocks] == ["python", "python", "text", "python", "python", "python"]
    for _, code in blocks:
        assert any(code in text for text in files), code
