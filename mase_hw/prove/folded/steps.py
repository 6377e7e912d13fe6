"""The counters of steps: nested, the innermost first; and the address of the tables that goes with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.netlist.cones import Cones, Given, grid

Counters = Sequence[tuple[str, int]]


def check_nest(cones: Cones, counters: Counters, moves: str) -> list[str]:
    """The nets that say where a counter is at its end; raises unless each moves when all those inside are there."""
    lasts: list[str] = []
    for name, count in counters:
        value, move, *inner = grid(count, 2, *map(cones.values, lasts))
        all_moves = move & np.all([np.ones_like(move), *inner], axis=0)
        given = {f"{name}_q": value, moves: move, **dict(zip(lasts, inner, strict=True))}
        cones.check_register(f"{name}_q", 0, given, np.where(all_moves, (value + 1) % count, value))
        value = np.arange(count)
        cones.check_net(f"{name}_last", {f"{name}_q": value}, value == count - 1)
        lasts.append(f"{name}_last")
    return lasts


def places_of(counters: Counters, steps: int) -> dict[str, Integers]:
    """What each counter holds at every step."""
    at, found = np.arange(steps), {}
    for name, count in counters:
        found[name] = at % count
        at = at // count
    return found


def check_address(cones: Cones, counters: Counters, moves: str, steps: int) -> Given:
    """What the counters hold at every step, and the address; raises where that is neither theirs nor the step."""
    places = places_of(counters, steps)
    found = {f"{name}_q": values for name, values in places.items()}
    if not counters:
        return found
    if cones.named("address") != tuple(net for name, _ in counters for net in cones.named(f"{name}_q")):
        at, move = grid(steps, 2)
        given = {"address": at, moves: move}
        given |= {f"{name}_last": (places[name][at] == count - 1).astype(np.int64) for name, count in counters}
        cones.check_register("address", 0, given, np.where(move, (at + 1) % steps, at))
        found["address"] = np.arange(steps)
    return found
