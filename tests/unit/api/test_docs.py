"""The examples of docs/api.md are run, one after the other, in one session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "api.md"


@pytest.mark.slow
def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    session: dict[str, Any] = {"__name__": "notebook"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), session)
    assert (tmp_path / "build" / "net" / "manifest.json").is_file()
