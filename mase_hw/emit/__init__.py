"""From a design to files: SystemVerilog from templates, the manifest, the build folder."""

from mase_hw.emit.build import check_place, write_build
from mase_hw.emit.reading import Build, Reals, Samples, read_build
from mase_hw.emit.render import render

__all__ = ["Build", "Reals", "Samples", "check_place", "read_build", "render", "write_build"]
