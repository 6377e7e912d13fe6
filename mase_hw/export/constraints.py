"""Timing constraints: the clock, in the words that Vivado (XDC) and Quartus (SDC) share."""

from __future__ import annotations

from mase_hw.export.block import Block


def clock_period(megahertz: float) -> str:
    """In nanoseconds, rounded down to a picosecond: never slower than asked for."""
    return f"{int(1e6 / megahertz) / 1000:.3f}"


def clock_constraint(block: Block, megahertz: float) -> str:
    period = clock_period(megahertz)
    return (
        f"# The clock of {block.top}, {megahertz:g} MHz. Reset is synchronous, so it is timed like any other input.\n"
        f"create_clock -name {block.clock} -period {period} [get_ports {{{block.clock}}}]\n"
    )
