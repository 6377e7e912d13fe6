"""Where everything of the block diagram goes: boxes in rows from left to right, and the streams that join them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

WIDTH = 1120
_LEFT, _TOP = 26, 14
_BOX, _PLUMBING, _END = 150, 92, 76  # widths: of what computes, of what moves beats, of the two ends
_HEIGHT, _GAP, _LANE = 78, 84, 62  # of a box, between boxes, between rows
_TURN = 14  # how far a stream runs out before it turns to the next row
_LETTERS = {"plumbing": 6.4}  # pixels of a letter of the first line, on average; of others:
_LETTER = 7.3
_STRETCH = 64  # at most: a gap in a row that would end early


@dataclass(frozen=True)
class Box:
    """A component, or one end of the design; `lines` are cut to the box, `title` says it all."""

    x: float
    y: float
    width: float
    height: float
    style: str
    lines: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class Wire:
    """A stream: its path, and where its label stands."""

    path: str
    stroke: float
    label_x: float
    label_y: float
    anchor: str
    above: str
    below: str
    title: str


@dataclass(frozen=True)
class Diagram:
    width: float
    height: float
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]


def diagram(flow: Mapping[str, Any]) -> Diagram:
    """The design's components in order. Rows are as long as the page is wide."""
    first, last = flow["streams"][0], flow["streams"][-1]
    items = [_end("input", first), *map(_component, flow["components"]), _end("output", last)]
    boxes: list[Box] = []
    x, y = float(_LEFT), float(_TOP)
    for width, style, lines, title in items:
        if boxes and x + width > WIDTH - _LEFT:
            x, y = float(_LEFT), y + _HEIGHT + _LANE
        room = int((width - 14) / _LETTERS.get(style, _LETTER))
        boxes.append(
            Box(x, y, width, _HEIGHT, style, tuple(_cut(line, room, k) for k, line in enumerate(lines)), title)
        )
        x += width + _GAP
    boxes = _stretched(boxes)
    wires = [_wire(*pair) for pair in zip(boxes, boxes[1:], flow["streams"], strict=False)]
    return Diagram(WIDTH, boxes[-1].y + _HEIGHT + _TOP, tuple(boxes), tuple(wires))


def _stretched(boxes: list[Box]) -> list[Box]:
    """Wider gaps in all rows but the last, so that they end at the same place."""
    found: list[Box] = []
    for y in sorted({box.y for box in boxes}):
        row = [box for box in boxes if box.y == y]
        spare = WIDTH - _LEFT - row[-1].x - row[-1].width
        more = min(_STRETCH, spare / max(1, len(row) - 1)) if row[-1] is not boxes[-1] else 0
        found += [replace(box, x=round(box.x + k * more, 1)) for k, box in enumerate(row)]
    return found


def _end(side: str, stream: Mapping[str, Any]) -> tuple[int, str, list[str], str]:
    features = f"{stream['features']} features"
    return _END, "end", [side, str(stream["features"]), "features"], f"{side}: {stream['name']}, {features}"


def _component(component: Mapping[str, Any]) -> tuple[int, str, list[str], str]:
    cycles = f"interval {component['interval']}, latency {component['latency']}"
    figures = ", ".join(
        f"{key if key == 'sites' else key.upper()} {value}" for key, value in component["predicted"].items()
    )
    of = f" of {component['node']}" if component["node"] not in (None, component["name"]) else ""
    title = f"{component['name']}: {component['kind']}{of}; {cycles}; predicted {figures}"
    plain = component["implementation"] == "plumbing"
    short = f"II {component['interval']} · L {component['latency']}"
    if plain:  # its name is long and says where it stands, which the drawing does anyway
        return _PLUMBING, "plumbing", [component["kind"].replace("_", " "), short], title
    return _BOX, component["implementation"], [component["name"], component["label"], component["built"], short], title


def _cut(text: str, room: int, line: int) -> str:
    """Lines after the first are in smaller letters."""
    most = room if line == 0 else int(room * 1.2)
    return text if len(text) <= most else text[: most - 1] + "…"


def _wire(start: Box, end: Box, stream: Mapping[str, Any]) -> Wire:
    """Straight on, or around to the next row. Thicker where a beat has more bits."""
    x1, y1 = start.x + start.width, start.y + start.height / 2
    x2, y2 = end.x - 7, end.y + end.height / 2  # the arrow's head takes the rest
    beats = f"{stream['beats']} beats" if stream["beats"] > 1 else "1 beat"
    lanes = f"{stream['lanes']} lanes" if stream["lanes"] > 1 else "1 lane"
    title = f"{stream['name']}: type {stream['type']}, {lanes}, {beats} for {stream['features']} features"
    label = {"above": stream["type"], "below": lanes, "title": f"{title}, {stream['bits']} bits a beat"}
    stroke = round(min(6.0, 1.2 + 0.45 * math.log2(stream["bits"])), 2)
    if y1 == y2:
        return Wire(f"M{x1:g} {y1:g}H{x2:g}", stroke, (x1 + x2) / 2, y1, "middle", **label)
    middle = start.y + start.height + _LANE / 2
    right, left = min(x1 + _TURN, WIDTH - 6), end.x - _TURN
    path = f"M{x1:g} {y1:g}H{right:g}V{middle:g}H{left:g}V{y2:g}H{x2:g}"
    return Wire(path, stroke, left + 60, middle, "middle", **label)
