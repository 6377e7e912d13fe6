"""Where the bars and dots of the page's charts go."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BAR_WIDTH, BAR_HEIGHT = 260, 72
FRONT_WIDTH, FRONT_HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 24, 18, 46


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    style: str
    title: str


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Front:
    """Both axes are logarithmic."""

    dots: tuple[Dot, ...]
    steps: str  # the line: what each interval costs at least
    own: Dot
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float = _LEFT
    right: float = FRONT_WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = FRONT_HEIGHT - _BOTTOM


def bars(histogram: Mapping[str, Any], marked: Sequence[int] = ()) -> list[Bar]:
    """A histogram; heights are by the square root, so that what is rare is seen too. `marked` bins stand out."""
    counts, low, high = histogram["counts"], histogram["from"], histogram["to"]
    most, all_of_them = max(counts) or 1, sum(counts) or 1
    width = BAR_WIDTH / len(counts)
    found = []
    for k, count in enumerate(counts):
        height = round(math.sqrt(count / most) * (BAR_HEIGHT - 2), 2)
        ends = [low + (high - low) * (k + side) / len(counts) for side in (0, 1)]
        title = f"{ends[0]:.4g} to {ends[1]:.4g}: {count} ({count / all_of_them:.2%})"
        style = "marked" if k in marked else "plain"
        if count:
            found.append(Bar(round(k * width, 2), BAR_HEIGHT - height, round(width - 1, 2), height, style, title))
    return found


def front_chart(points: Sequence[Mapping[str, Any]], own: Mapping[str, Any]) -> Front:
    """LUT sites against interval."""
    xs = _span([point["interval"] for point in (*points, own)])
    ys = _span([max(1, point["sites"]) for point in (*points, own)])

    def across(value: float) -> float:
        part = (math.log(value) - xs[0]) / (xs[1] - xs[0])
        return round(_LEFT + part * (FRONT_WIDTH - _LEFT - _RIGHT), 1)

    def up(value: float) -> float:
        part = (math.log(max(1, value)) - ys[0]) / (ys[1] - ys[0])
        return round(FRONT_HEIGHT - _BOTTOM - part * (FRONT_HEIGHT - _TOP - _BOTTOM), 1)

    ordered = sorted(points, key=lambda point: point["interval"])
    dots = [Dot(across(p["interval"]), up(p["sites"]), _told(p)) for p in ordered]
    steps = "".join(f"H{dot.x:g}V{dot.y:g}" for dot in dots[1:])
    return Front(
        tuple(dots),
        f"M{dots[0].x:g} {dots[0].y:g}{steps}" if dots else "",
        Dot(across(own["interval"]), up(own["sites"]), f"this build: {_told(own)}"),
        tuple(Tick(across(value), f"{value:,g}") for value in _ticks(xs)),
        tuple(Tick(up(value), f"{value:,g}") for value in _ticks(ys)),
    )


def _told(point: Mapping[str, Any]) -> str:
    chosen = "; ".join(f"{name}: {text}" for name, text in point.get("chosen", {}).items())
    figures = f"interval {point['interval']:g}, latency {point['latency']}, {point['sites']} sites, {point['lut']} LUT"
    return f"{figures}, {point['ff']} FF, {point['dsp']} DSP, {point['bram']} BRAM" + (f" ({chosen})" if chosen else "")


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Logarithms, with a little room; never empty."""
    low, high = math.log(min(values)), math.log(max(values))
    room = 0.06 * (high - low) or 0.7
    return low - room, high + room


def _ticks(span: tuple[float, float]) -> list[float]:
    """1, 2, 5 times powers of ten; powers of ten alone where these would be too many."""
    powers = range(math.floor(span[0] / math.log(10)), math.ceil(span[1] / math.log(10)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in powers for step in steps]
        inside = [value for value in found if span[0] <= math.log(value) <= span[1]]
        if len(inside) <= 9:
            return inside
    return inside
