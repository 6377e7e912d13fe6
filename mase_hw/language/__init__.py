"""The part of SystemVerilog that we emit, and the check that files are written in it: `allowed.py` has the list."""

from mase_hw.language.apart import check_apart
from mase_hw.language.check import check_language

__all__ = ["check_apart", "check_language"]
