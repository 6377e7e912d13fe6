"""Integers to the bytes of an AXI4-Stream and back: whole bytes an element, the first lane and its low byte first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.beats import Integers

Bytes = npt.NDArray[np.uint8]


def to_bytes(values: Integers, width: int) -> Bytes:
    """[vectors, features] to [vectors, bytes], the bits above `width` repeating the sign (0 for unsigned integers)."""
    size = lane_bytes(width)
    little = np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(*values.shape, 8)
    return np.ascontiguousarray(little[:, :, :size]).reshape(len(values), -1)


def scribbled(values: Integers, width: int, rng: np.random.Generator) -> Bytes:
    """The same with random padding bits, which a design must not look at."""
    bits = 8 * lane_bytes(width)
    if bits == width:
        return to_bytes(values, width)
    noise = rng.integers(0, 1 << (bits - width), values.shape, dtype=np.int64)
    return to_bytes(values ^ (noise << width), width)


def from_bytes(raw: Bytes, width: int, signed: bool) -> Integers:
    """[vectors, bytes] to [vectors, features]. Padding bits are read too, so that wrong ones give another integer."""
    size = lane_bytes(width)
    lanes = raw.reshape(len(raw), raw.shape[1] // size, size)
    fill = np.where(lanes[:, :, -1:] & 0x80, 0xFF, 0) if signed else np.zeros_like(lanes[:, :, -1:])
    padded = np.concatenate([lanes, np.repeat(fill, 8 - size, axis=2)], axis=2).astype(np.uint8)
    return padded.view("<i8")[:, :, 0].astype(np.int64)


def lane_bytes(width: int) -> int:
    return (width + 7) // 8
