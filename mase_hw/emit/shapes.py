"""Shapes of JSON values: each is a function that gives the complaints about a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

COUNT = 1 << 48  # the most of cycles or cells
_REAL = 1e100
_RATIO = 1 << 300
_SHOWN = 60  # characters of a value
Shape = Callable[[Any], Iterator[str]]  # the complaints about a value: where in it, and what is wrong


def short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def match(pattern: re.Pattern[str], what: str) -> Shape:
    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            yield f" is {short(value)}, which is no {what}"

    return check


def one_of(*words: Any) -> Shape:
    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, str) or value not in words:
            yield f" is {short(value)}, not {' or '.join(words)}"

    return check


def integer(least: int, most: int) -> Shape:
    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            yield f" is {short(value)}, not an integer within {least}..{most}"

    return check


def number(value: Any) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= COUNT:
        yield f" is {short(value)}, not a number within 0..{COUNT}"


def real(value: Any) -> Iterator[str]:
    """A finite number of either sign, not near the ends of float64."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_REAL <= value <= _REAL:
        yield f" is {short(value)}, not a number within +-{_REAL:g}"


def factor(value: Any) -> Iterator[str]:
    """A number that can be divided by."""
    yield from real(value)
    if not any(real(value)) and abs(value) < 1 / _REAL:
        yield f" is {short(value)}, too near to 0"


def ratio(*, positive: bool) -> Shape:
    """Numerator and denominator."""

    def check(value: Any) -> Iterator[str]:
        yield from list_of(integer(-_RATIO, _RATIO), 2, 2)(value)
        if not any(list_of(integer(-_RATIO, _RATIO), 2, 2)(value)) and (value[1] < 1 or (positive and value[0] < 1)):
            yield f" is {short(value)}, not a fraction{' above 0' if positive else ''}"

    return check


def boolean(value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f" is {short(value)}, not true or false"


def text(value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield f" is {short(value)}, not a text"


def list_of(shape: Shape, least: int = 0, most: int = 1 << 20) -> Shape:
    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            yield f" is {short(value)}, not a list of {least}..{most}"
            return
        for k, part in enumerate(value):
            yield from (f"[{k}]{complaint}" for complaint in shape(part))

    return check


def one_or_several(shape: Shape, most: int) -> Shape:
    """A value of a shape, or a list of such values."""
    several = list_of(shape, 1, most)
    return lambda value: several(value) if isinstance(value, list) else shape(value)


def table(shape: Shape) -> Shape:
    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f" is {short(value)}, not a table"
            return
        for key, part in value.items():
            yield from (f".{key[:_SHOWN]}{complaint}" for complaint in shape(part))

    return check


def record(shapes: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None, *, closed: bool = False) -> Shape:
    """A table with these keys, and possibly others, which nobody reads; `closed` allows no others."""

    def check(value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f" is {short(value)}, not a table"
            return
        for key, shape in {**shapes, **(optional or {})}.items():
            if key in value:
                yield from (f".{key}{complaint}" for complaint in shape(value[key]))
            elif key in shapes:
                yield f" has no {key}"
        if closed and (more := value.keys() - shapes.keys() - (optional or {}).keys()):
            yield f" has the key {short(min(more))}, which is unknown"

    return check


def or_null(shape: Shape) -> Shape:
    return lambda value: iter(()) if value is None else shape(value)


def anything(value: Any) -> Iterator[str]:
    yield from ()
