"""mase-hw: from a quantized PyTorch model to a SystemVerilog accelerator that is bit-exact.

Importing the package is cheap: torch is loaded only when something that needs it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mase_hw.api import CompiledDesign, compile
    from mase_hw.diagnostics import ProblemsError
    from mase_hw.graph import MaseGraph
    from mase_hw.simulate.given import SimulationError

__version__ = "0.1.0"
__all__ = ["CompiledDesign", "MaseGraph", "ProblemsError", "SimulationError", "__version__", "compile"]

_FROM = {
    "CompiledDesign": "mase_hw.api",
    "MaseGraph": "mase_hw.graph",
    "ProblemsError": "mase_hw.diagnostics",
    "SimulationError": "mase_hw.simulate.given",
    "compile": "mase_hw.api",
}


def __getattr__(name: str) -> Any:
    if name in _FROM:
        return getattr(import_module(_FROM[name]), name)
    raise AttributeError(f"module 'mase_hw' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
