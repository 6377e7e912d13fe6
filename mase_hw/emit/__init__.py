"""From a design to files: SystemVerilog from templates, the manifest, the build folder."""

from mase_hw.emit.build import Build, Reals, Samples, check_place, read_build, write_build
from mase_hw.emit.render import render

__all__ = ["Build", "Reals", "Samples", "check_place", "read_build", "render", "write_build"]
