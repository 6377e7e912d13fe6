"""The longest path of netlists drawn by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mase_hw.synth.depth import LoopError, longest_path
from mase_hw.synth.results import LongestPath

Cell = dict[str, Any]


def cell(kind: str, inputs: dict[str, list[int | str]], outputs: dict[str, list[int | str]], **more: Any) -> Cell:
    directions = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
    return {"type": kind, "parameters": {}, "port_directions": directions, "connections": inputs | outputs, **more}


def lut(output: int, *inputs: int | str) -> Cell:
    return cell(f"LUT{len(inputs)}", {f"I{k}": [bit] for k, bit in enumerate(inputs)}, {"O": [output]})


def ff(output: int, data: int) -> Cell:
    return cell("FDRE", {"C": [0], "D": [data]}, {"Q": [output]})


def carry(out: list[int], select: list[int], into: int | str, carries: list[int]) -> Cell:
    return cell("CARRY4", {"S": [*select], "DI": [*select], "CI": [into]}, {"O": [*out], "CO": [*carries]})


def module(cells: dict[str, Cell], outputs: dict[str, list[int]], **names: int) -> dict[str, Any]:
    ports = {name: {"direction": "output", "bits": bits} for name, bits in outputs.items()}
    nets = {name: {"hide_name": 0, "bits": [bit]} for name, bit in names.items()}
    return {"cells": cells, "ports": ports, "netnames": nets}


def test_two_luts_between_registers() -> None:
    cells = {"r": ff(1, 9), "a": lut(2, 1), "b": lut(3, 2, 8), "s": ff(4, 3)}
    found = longest_path(module(cells, {}, source=1, short=8, sink=4))
    assert found == LongestPath(2, 2, "source", "sink")


def test_a_register_cuts_the_path() -> None:
    cells = {"a": lut(2, 1), "r": ff(3, 2), "b": lut(4, 3), "c": lut(5, 4), "d": lut(6, 5)}
    assert longest_path(module(cells, {"y": [6]}, q=3)) == LongestPath(3, 3, "q", "y[0]")


def test_no_logic() -> None:
    assert longest_path(module({"r": ff(1, 2)}, {"q": [1]})) == LongestPath(0, 0, "", "")


def test_logic_that_nothing_reads_does_not_count() -> None:
    cells = {"a": lut(2, 1), "b": lut(3, 2), "c": lut(4, 3)}
    assert longest_path(module(cells, {"y": [2]}, x=1)) == LongestPath(1, 1, "x", "y[0]")


def test_a_carry_chain_is_one_level_of_many_cells() -> None:
    low = carry([10, 11, 12, 13], [1, 2, 3, 4], "0", [20, 21, 22, 23])
    high = carry([14, 15, 16, 17], [5, 6, 7, 8], 23, [24, 25, 26, 27])
    cells = {"s": lut(1, 50), "low": low, "high": high}
    assert longest_path(module(cells, {"y": [17]}, x=50)) == LongestPath(2, 3, "x", "y[0]")


def test_a_sum_that_feeds_another_adder_is_two_levels() -> None:
    first = carry([10, 11, 12, 13], [1, 2, 3, 4], "0", [20, 21, 22, 23])
    second = carry([30, 31, 32, 33], [10, 11, 12, 13], "0", [40, 41, 42, 43])
    assert longest_path(module({"a": first, "b": second}, {"y": [33]}, x=1)).levels == 2


def test_a_carry_does_not_run_down() -> None:
    """Bit 3 comes late; the sum's bit 0 does not wait for it."""
    cells = {"a": lut(60, 50), "b": lut(4, 60), "sum": carry([10, 11, 12, 13], [1, 2, 3, 4], "0", [20, 21, 22, 23])}
    assert longest_path(module(cells, {"y": [10]}, x=1)).levels == 1
    assert longest_path(module(cells, {"y": [13]}, x=50)).levels == 3


def test_an_instance_counts_as_a_register() -> None:
    inner = cell("inner", {"d": [2]}, {"q": [3]}, is_module=True)
    cells = {"a": lut(2, 1), "u": inner, "b": lut(4, 3), "c": lut(5, 4)}
    assert longest_path(module(cells, {"y": [5]}, q=3)) == LongestPath(2, 2, "q", "y[0]")


def test_a_loop_has_no_depth() -> None:
    with pytest.raises(LoopError, match="round"):
        longest_path(module({"a": lut(2, 3), "b": lut(3, 2)}, {"y": [3]}, round=3))
