"""Where everything of the block diagram goes: levels from left to right, in bands, and the streams that join them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase_hw.report.layered import Layers, layered

WIDTH = 1120
_LEFT, _TOP = 26, 14
_BOX, _PLUMBING, _END = 150, 92, 76  # widths: of what computes, of what moves beats, of the ends
_HEIGHT, _LANE = 78, 62  # of a box; between bands
_GAP, _WIDE_GAP = 84, 112  # between levels; where streams part or meet
_ASIDE = 34  # between boxes of a level
_TURN = 14  # how far a stream runs out before it turns to the next band
_LETTERS = {"plumbing": 6.4}  # pixels of a letter of the first line, on average; of others:
_LETTER = 7.3
_STRETCH = 64  # at most: a gap in a band that would end early


@dataclass(frozen=True)
class Box:
    """A component, or an end of the design; `lines` are cut to the box, `title` says it all."""

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


@dataclass(frozen=True)
class _Item:
    width: int
    style: str
    lines: list[str]
    title: str


@dataclass(frozen=True)
class _Level:
    """A column of boxes: where it begins and ends, and the band that it is in."""

    left: float
    right: float
    band: int
    middle: float  # of the band, from above


def diagram(flow: Mapping[str, Any]) -> Diagram:
    """The design's components and the streams between them. Bands are as long as the page is wide."""
    items, edges, streams = _graph(flow)
    layers = layered(len(items), edges)
    levels, lanes, height = _levels(items, layers, edges)
    boxes = []
    for item, level, slot in zip(items, layers.levels, layers.slots, strict=True):
        column = levels[level]
        x = column.left + (column.right - column.left - item.width) / 2
        room = int((item.width - 14) / _LETTERS.get(item.style, _LETTER))
        lines = tuple(_cut(line, room, k) for k, line in enumerate(item.lines))
        y = column.middle + slot * (_HEIGHT + _ASIDE) - _HEIGHT / 2
        boxes.append(Box(round(x, 1), round(y, 1), item.width, _HEIGHT, item.style, lines, item.title))
    drawn = _Wires(boxes, levels, lanes, layers, edges)
    wires = [drawn.wire(k, stream) for k, stream in enumerate(streams)]
    return Diagram(WIDTH, height, tuple(boxes), tuple(wires))


def _graph(flow: Mapping[str, Any]) -> tuple[list[_Item], list[tuple[int, int]], list[Mapping[str, Any]]]:
    """Inputs, components, outputs; and an edge for each stream."""
    written = {name for component in flow["components"] for name in component["outputs"]}
    read = {name for component in flow["components"] for name in component["inputs"]}
    inputs = [stream for stream in flow["streams"] if stream["name"] not in written]
    outputs = sorted((stream for stream in flow["streams"] if stream["name"] not in read), key=_port)
    items = [_end(_numbered("input", k, inputs), stream) for k, stream in enumerate(inputs)]
    starts = {stream["name"]: k for k, stream in enumerate(inputs)}
    ends: dict[str, int] = {}
    for component in flow["components"]:
        starts |= dict.fromkeys(component["outputs"], len(items))
        ends |= dict.fromkeys(component["inputs"], len(items))
        items.append(_component(component))
    for k, stream in enumerate(outputs):
        ends[stream["name"]] = len(items)
        items.append(_end(_numbered("output", k, outputs), stream))
    streams = list(flow["streams"])
    return items, [(starts[stream["name"]], ends[stream["name"]]) for stream in streams], streams


def _port(stream: Mapping[str, Any]) -> tuple[int, str]:
    """In the order of the top's ports; outputs are written in any."""
    number = str(stream["name"]).rpartition("_")[2]
    return (int(number) if number.isdecimal() else 0, str(stream["name"]))


def _numbered(side: str, k: int, all_: list[Any]) -> str:
    return side if len(all_) == 1 else f"{side} {k}"


def _levels(
    items: list[_Item], layers: Layers, edges: list[tuple[int, int]]
) -> tuple[list[_Level], dict[int, float], float]:
    """The columns, the height at which streams turn below each band, and the height of all."""
    branches = layers.most(range(layers.count)) > 1
    gap = _WIDE_GAP if branches else _GAP
    widths = [0] * layers.count
    for item, level in zip(items, layers.levels, strict=True):
        widths[level] = max(widths[level], item.width)
    bands: list[list[int]] = [[]]
    x = float(_LEFT)
    for level, width in enumerate(widths):
        if bands[-1] and x + width > WIDTH - _LEFT:
            bands.append([])
            x = float(_LEFT)
        bands[-1].append(level)
        x += width + gap
    found, lanes, top = [], {}, float(_TOP)
    for number, band in enumerate(bands):
        high = (layers.most(range(band[0], band[-1] + 1)) - 1) * (_HEIGHT + _ASIDE) + _HEIGHT
        used = sum(widths[level] for level in band) + gap * (len(band) - 1)
        spare = WIDTH - 2 * _LEFT - used
        more = min(_STRETCH, spare / max(1, len(band) - 1)) if number < len(bands) - 1 else 0.0
        x = float(_LEFT)
        for level in band:
            found.append(_Level(round(x, 1), round(x + widths[level], 1), number, top + high / 2))
            x += widths[level] + gap + more
        crossing = sum(layers.levels[a] <= band[-1] < layers.levels[b] for a, b in edges)
        lanes[number] = top + high + _LANE / 2
        top += high + _LANE + (crossing - 1) * _ASIDE
    last = bands[-1]
    high = (layers.most(range(last[0], last[-1] + 1)) - 1) * (_HEIGHT + _ASIDE) + _HEIGHT
    return found, lanes, found[-1].middle + high / 2 + _TOP


class _Wires:
    """Draws streams: straight on, around a corner between two levels, or around to the next band."""

    def __init__(
        self,
        boxes: list[Box],
        levels: list[_Level],
        lanes: dict[int, float],
        layers: Layers,
        edges: list[tuple[int, int]],
    ) -> None:
        self._boxes, self._levels, self._lanes, self._layers, self._edges = boxes, levels, lanes, layers, edges
        self._turns: dict[tuple[int, float], int] = {}  # where lines of one gap turn, by what they come from
        self._crossed: dict[int, int] = {}  # how many streams went around a band so far

    def wire(self, k: int, stream: Mapping[str, Any]) -> Wire:
        start, end = self._edges[k]
        a, b = self._boxes[start], self._boxes[end]
        first = self._layers.levels[start]
        x, y = a.x + a.width, a.y + a.height / 2
        path, label = f"M{x:g} {y:g}", None
        for step, slot in enumerate((*self._layers.routes[k], None)):
            level = first + 1 + step
            column = self._levels[level]
            to_x = column.left if slot is not None else b.x - 7  # the arrow's head takes the rest
            to_y = column.middle + slot * (_HEIGHT + _ASIDE) if slot is not None else b.y + b.height / 2
            hop, place = self._hop((x, y), (to_x, to_y), level - 1, shared=self._shared(start))
            path += hop
            label = label or place
            x, y = to_x, to_y
            if slot is not None:
                path += f"H{column.right:g}"
                label = ((column.left + column.right) / 2, to_y) if step == 0 else label
                x = column.right
        assert label is not None
        return Wire(path, _stroke(stream), round(label[0], 1), label[1], "middle", **_texts(stream))

    def _shared(self, node: int) -> bool:
        return sum(start == node for start, _ in self._edges) > 1

    def _hop(
        self, a: tuple[float, float], b: tuple[float, float], level: int, *, shared: bool
    ) -> tuple[str, tuple[float, float]]:
        """From one level to the next, and where a label stands on it."""
        (x1, y1), (x2, y2) = a, b
        here, there = self._levels[level], self._levels[level + 1]
        if here.band != there.band:
            number = self._crossed.get(here.band, 0)
            self._crossed[here.band] = number + 1
            lane = self._lanes[here.band] + number * _ASIDE
            right = min(here.right + _TURN + 5 * number, WIDTH - 3)
            left = max(there.left - _TURN - 5 * number, 3)
            return f"H{right:g}V{lane:g}H{left:g}V{y2:g}H{x2:g}", (left + 60, lane)
        if y1 == y2:
            return f"H{x2:g}", ((x1 + x2) / 2, y1)
        turns = self._turns.setdefault((level, y1), len([key for key in self._turns if key[0] == level]))
        middle = round((here.right + there.left) / 2 + (-7, 0, 7)[turns % 3], 1)
        place = ((middle + x2) / 2, y2) if shared else ((x1 + middle) / 2, y1)
        return f"H{middle:g}V{y2:g}H{x2:g}", place


def _stroke(stream: Mapping[str, Any]) -> float:
    """Thicker where a beat has more bits."""
    return round(min(6.0, 1.2 + 0.45 * math.log2(stream["bits"])), 2)


def _texts(stream: Mapping[str, Any]) -> dict[str, str]:
    beats = f"{stream['beats']} beats" if stream["beats"] > 1 else "1 beat"
    lanes = f"{stream['lanes']} lanes" if stream["lanes"] > 1 else "1 lane"
    title = f"{stream['name']}: type {stream['type']}, {lanes}, {beats} for {stream['features']} features"
    return {"above": stream["type"], "below": lanes, "title": f"{title}, {stream['bits']} bits a beat"}


def _end(side: str, stream: Mapping[str, Any]) -> _Item:
    features = f"{stream['features']} features"
    return _Item(_END, "end", [side, str(stream["features"]), "features"], f"{side}: {stream['name']}, {features}")


def _component(component: Mapping[str, Any]) -> _Item:
    cycles = f"interval {component['interval']}, latency {component['latency']}"
    figures = ", ".join(
        f"{key if key == 'sites' else key.upper()} {value}" for key, value in component["predicted"].items()
    )
    of = f" of {component['node']}" if component["node"] not in (None, component["name"]) else ""
    title = f"{component['name']}: {component['kind']}{of}; {cycles}; predicted {figures}"
    short = f"II {component['interval']} · L {component['latency']}"
    if component["implementation"] == "plumbing":  # its name is long and says where it stands, as the drawing does
        return _Item(_PLUMBING, "plumbing", [component["kind"].replace("_", " "), short], title)
    lines = [component["name"], component["label"], component["built"], short]
    return _Item(_BOX, component["implementation"], lines, title)


def _cut(text: str, room: int, line: int) -> str:
    """Lines after the first are in smaller letters."""
    most = room if line == 0 else int(room * 1.2)
    return text if len(text) <= most else text[: most - 1] + "…"
