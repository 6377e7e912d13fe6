"""Valid files with something wrong in them: bytes changed, cut, doubled; values replaced, dropped, renamed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

_STRANGE = (None, True, -1, 2**70, 1.5, "", "../../x", [], {}, [[]], {"": None})


@st.composite
def mutated(draw: Callable[[st.SearchStrategy[Any]], Any], originals: list[bytes]) -> bytes:
    """A valid file with some bytes changed, cut out, doubled, or with a part of another one in it."""
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 6))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 64))
        kind = draw(st.sampled_from(("flip", "cut", "copy", "text", "end")))
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "copy":
            other = draw(st.sampled_from(originals))
            start = draw(st.integers(0, len(other)))
            data[at:at] = other[start : start + length]
        elif kind == "text":
            data[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=8))
        elif kind == "end":
            del data[at:]
    return bytes(data)


def mutated_json(value: Any, draw: random.Random) -> Any:
    """A value with one of its parts, any of them, replaced, dropped or renamed."""
    return _at(value, draw.choice(list(parts_of(value))), draw)


def parts_of(value: Any) -> Iterator[tuple[Any, ...]]:
    """The path to each part of a value, itself first."""
    yield ()
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        for path in parts_of(part):
            yield (key, *path)


def _at(value: Any, path: tuple[Any, ...], draw: random.Random) -> Any:
    if not path:
        return draw.choice(_STRANGE)
    key, *rest = path
    if not rest and draw.random() < 0.3:
        if isinstance(value, list):
            return [*value[:key], *value[key + 1 :]]
        others = {name: part for name, part in value.items() if name != key}
        return others if draw.random() < 0.7 else {**others, f"{key}?": value[key]}
    changed = _at(value[key], tuple(rest), draw)
    return [*value[:key], changed, *value[key + 1 :]] if isinstance(value, list) else {**value, key: changed}


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """The value with another one in a place."""
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


def left_out(value: Any, path: tuple[Any, ...]) -> Any:
    """The value without what is in a place."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = left_out(value[path[0]], path[1:])
    return copy
