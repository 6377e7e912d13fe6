"""Packing of lanes into beats, against one written with Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.beats import from_record, pack, to_stimulus, unpack


@st.composite
def beats(draw: st.DrawFn) -> tuple[np.ndarray, int, bool]:
    width, signed = draw(st.integers(1, 64)), draw(st.booleans())
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, min(2**width, 2**63) - 1)
    lanes, count = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    flat = draw(st.lists(st.integers(low, high), min_size=lanes * count, max_size=lanes * count))
    return np.array(flat, np.int64).reshape(count, lanes), width, signed


def as_integer(lanes: np.ndarray, width: int) -> int:
    return sum((int(value) % 2**width) << (width * lane) for lane, value in enumerate(lanes))


@given(beats())
def test_a_beat_is_its_lanes_from_the_lowest_bit_up(case: tuple[np.ndarray, int, bool]) -> None:
    values, width, _ = case
    words = pack(values, width)
    assert [sum(int(w) << (64 * i) for i, w in enumerate(beat)) for beat in words] == [
        as_integer(lanes, width) for lanes in values
    ]


@given(beats())
def test_unpack_undoes_pack(case: tuple[np.ndarray, int, bool]) -> None:
    values, width, signed = case
    assert np.array_equal(unpack(pack(values, width), values.shape[1], width, signed), values)


@given(beats())
def test_the_stimulus_has_the_most_significant_byte_first(case: tuple[np.ndarray, int, bool]) -> None:
    values, width, _ = case
    size = (values.shape[1] * width + 7) // 8
    assert to_stimulus(values, width) == b"".join(as_integer(b, width).to_bytes(size, "big") for b in values)


def test_a_record_is_cycle_and_words() -> None:
    cycles, values = from_record(np.array([5, 0xFE01, 9, 0x0380], "<u8").tobytes(), lanes=2, width=8, signed=True)
    assert cycles.tolist() == [5, 9]
    assert values.tolist() == [[1, -2], [-128, 3]]


def test_a_record_cut_short_is_refused() -> None:
    with pytest.raises(ValueError, match="20 bytes is not a whole number of 16-byte beats"):
        from_record(bytes(20), lanes=2, width=8, signed=True)
