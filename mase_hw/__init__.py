"""mase-hw: from a quantized PyTorch model to a SystemVerilog accelerator that is bit-exact.

Importing the package is cheap: torch is loaded only when something that needs it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mase_hw.graph import MaseGraph

__version__ = "0.1.0"
__all__ = ["MaseGraph", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "MaseGraph":
        from mase_hw.graph import MaseGraph

        return MaseGraph
    raise AttributeError(f"module 'mase_hw' has no attribute {name!r}")
