"""How tools are started: Python without the current folder on its path, and an environment that steers nothing."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping

# Variables with which a shell steers Python, a simulator or Yosys in other runs.
_STEERING = ("PYTHON", "COCOTB_", "GPI_", "PYGPI_", "VERILATOR_", "YOSYS_", "ABC_")
_SAFE_PATH = "PYTHONSAFEPATH"  # no current folder on the path, for a Python that is started without options


def python_command(*arguments: str) -> list[str]:
    """A Python of our own that imports installed packages alone: nothing of the current folder, nor of PYTHONPATH.

    Packages that were installed for the user alone stay on the path, where they are on ours.
    """
    own = site.ENABLE_USER_SITE and site.getusersitepackages() in sys.path
    return [sys.executable, *(("-E", "-P") if own else ("-I",)), *arguments]


def tool_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's environment without what steers tools, and without places that depend on the current folder."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_STEERING)}
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in kept:
            kept[name] = os.pathsep.join(part for part in kept[name].split(os.pathsep) if os.path.isabs(part))
    return {**kept, _SAFE_PATH: "1", **(more or {})}
