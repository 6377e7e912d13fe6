"""A web server on this machine, for tests of downloads."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Web:
    """`files` by path; `asked` is what was fetched; a path in `cut` breaks off after that many bytes."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
