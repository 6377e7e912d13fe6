"""The technologies that a design can be mapped to, and the Yosys script for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NETLIST = "netlist.json"  # what a script writes last


@dataclass(frozen=True)
class Target:
    """A technology: Yosys' command for it (flat, no I/O cells), and the words with which it uses DSP blocks, or not."""

    title: str
    command: str
    with_dsp: str | None = ""  # None: the technology has none
    without_dsp: str = ""
    lut_ram: bool = True  # False: its LUTs cannot be memories

    def preparing(self) -> list[str]:
        """Commands between reading and mapping. A wish that the technology cannot fulfil would be an error in Yosys."""
        return [] if self.lut_ram else ["setattr -unset ram_style a:ram_style=distributed"]

    def mapping(self, top: str, dsp: bool) -> str:
        """The command that maps the design that has been read."""
        assert not dsp or self.with_dsp is not None
        word = self.with_dsp if dsp else self.without_dsp
        return " ".join(part for part in (self.command, word, f"-top {top}") if part)


TARGETS = {
    "xcup": Target("Xilinx UltraScale+", "synth_xilinx -family xcup -flatten -noiopad", without_dsp="-nodsp"),
    "xc7": Target("Xilinx 7 series", "synth_xilinx -family xc7 -flatten -noiopad", without_dsp="-nodsp"),
    "ecp5": Target("Lattice ECP5", "synth_ecp5 -noiopad", without_dsp="-nodsp"),
    "ice40": Target("Lattice iCE40", "synth_ice40", with_dsp="-dsp", lut_ram=False),
    "generic": Target("6-input LUTs and flip-flops", "synth -flatten -lut 6", with_dsp=None),
}


def script(files: Sequence[str], top: str, target: str, dsp: bool, keep: Sequence[str] = ()) -> str:
    """Yosys commands, one per line. Each component in `keep` stays a module of its own, flattened inside."""
    # Without the option read_slang dissolves every module while it reads; with it, an instance gets a module of its own
    # that is called <module>$<top>.<instance>.
    hierarchy = "--best-effort-hierarchy " if keep else ""
    return "\n".join(
        [
            f"read_slang {hierarchy}--top {top} {' '.join(files)}",
            *(f"setattr -mod -set keep_hierarchy 1 *${top}.{instance(name)}" for name in keep),
            *TARGETS[target].preparing(),
            TARGETS[target].mapping(top, dsp),
            "select *",  # leaves out the library's black boxes, which would be most of the netlist
            f"write_json -selected -noscopeinfo {NETLIST}",
            "",
        ]
    )


def instance(component: str) -> str:
    """A component's instance in the top module."""
    return f"u_{component}"
