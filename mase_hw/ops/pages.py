"""What `mase-hw show` says of an operator: words and formulas, and small examples from the real components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mase_hw.ir import Component


@dataclass(frozen=True)
class Built:
    """One way to build an operator, with its formulas, and a small example of it."""

    name: str
    about: str
    interval: str
    latency: str
    example: Callable[[], Component]


@dataclass(frozen=True)
class Page:
    """An operator. `module` names the file of its RTL where that is not the example's own."""

    name: str
    title: str
    equation: tuple[str, ...]
    types: tuple[str, ...]
    built: tuple[Built, ...]
    module: str = ""
