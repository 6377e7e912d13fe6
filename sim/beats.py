"""Integers to beats and back, whole arrays at a time: lanes of 1 to 64 bits, lane 0 in the lowest bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


def words_per_beat(lanes: int, width: int) -> int:
    return (lanes * width + 63) // 64


def pack(values: Integers, width: int) -> Words:
    """[beats, lanes] integers to [beats, words] 64-bit words, the least significant first."""
    beats, lanes = values.shape
    words = np.zeros((beats, words_per_beat(lanes, width)), np.uint64)
    masked = values.view(np.uint64) & _mask(width)
    for lane in range(lanes):
        word, shift = divmod(lane * width, 64)
        words[:, word] |= masked[:, lane] << np.uint64(shift)
        if shift + width > 64:
            words[:, word + 1] |= masked[:, lane] >> np.uint64(64 - shift)
    return words


def unpack(words: Words, lanes: int, width: int, signed: bool) -> Integers:
    """[beats, words] to [beats, lanes]. Unsigned lanes of 64 bits come back as the same bits, read as int64."""
    starts = np.arange(lanes) * width
    word, shift = starts // 64, (starts % 64).astype(np.uint64)
    values: Words = words[:, word] >> shift
    spills = np.flatnonzero(shift.astype(np.int64) + width > 64)
    values[:, spills] |= words[:, word[spills] + 1] << (np.uint64(64) - shift[spills])
    values &= _mask(width)
    if signed:
        values = (values ^ _sign(width)) - _sign(width)  # modulo 2**64, which sign-extends
    return values.view(np.int64)


def to_stimulus(values: Integers, width: int) -> bytes:
    """The file a mase_stream_source reads: ceil(bits / 8) bytes a beat, the most significant first."""
    size = (values.shape[1] * width + 7) // 8
    little = pack(values, width).astype("<u8").view(np.uint8)
    return little[:, :size][:, ::-1].tobytes()


def from_record(raw: bytes, lanes: int, width: int, signed: bool) -> tuple[Integers, Integers]:
    """What a mase_stream_probe wrote: the cycle of every beat, and the values as [beats, lanes]."""
    columns = 1 + words_per_beat(lanes, width)
    if len(raw) % (8 * columns):
        raise ValueError(f"a record of {len(raw)} bytes is not a whole number of {8 * columns}-byte beats")
    table = np.frombuffer(raw, "<u8").astype(np.uint64).reshape(-1, columns)
    return table[:, 0].view(np.int64), unpack(table[:, 1:], lanes, width, signed)


def _mask(width: int) -> np.uint64:
    return np.uint64(2**width - 1)


def _sign(width: int) -> np.uint64:
    return np.uint64(2 ** (width - 1))
