"""Where the templates and the test benches are: inside an installed package, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def root() -> Path:
    """The folder that holds `rtl_templates/` and `sim/`."""
    installed = _PACKAGE / "_resources"
    return installed if installed.is_dir() else _PACKAGE.parent


def rtl_templates() -> Path:
    return root() / "rtl_templates"


def sim() -> Path:
    return root() / "sim"
