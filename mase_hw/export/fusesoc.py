"""A FuseSoC core (CAPI2): the sources, and targets to lint and to build them."""

from __future__ import annotations

from mase_hw.export.block import LIBRARY, VENDOR, VERSION, Block
from mase_hw.export.constraints import clock_constraint

# Lint as strictly as the tests of mase-hw do.
_TARGETS = """
targets:
  default: &default
    filesets: [rtl]
    toplevel: {top}

  lint:
    <<: *default
    description: Verilator's checks
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]

  vivado:
    <<: *default
    description: A Vivado project for {part}
    filesets: [rtl, xdc]
    flow: vivado
    flow_options:
      part: {part}
"""


def fusesoc_core(block: Block, part: str, megahertz: float) -> dict[str, bytes]:
    """File name to content: the core, its sources and its constraints."""
    lines = [
        "CAPI=2:",
        "",
        f"name: {VENDOR}:{LIBRARY}:{block.top}:{VERSION}",
        f'description: "{block.about}"',
        "",
        "filesets:",
        "  rtl:",
        "    files:",
        *(
            f"      - {name}: {{file_type: {'systemVerilogSource' if modern else 'verilogSource-2001'}}}"
            for name, modern in block.sources
        ),
        "  xdc:",
        "    files:",
        f"      - {block.top}.xdc: {{file_type: xdc}}",
    ]
    core = "\n".join(lines) + "\n" + _TARGETS.format(top=block.top, part=part)
    texts = {f"{block.top}.core": core, f"{block.top}.xdc": clock_constraint(block, megahertz)}
    return {name: text.encode() for name, text in texts.items()} | block.contents()
