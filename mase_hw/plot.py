"""A plot of points, the best ones marked: a PNG by matplotlib, and an HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mase_hw.files import write_whole

_WIDTH, _HEIGHT, _MARGIN = 760, 460, 70
_STYLE = """body{font:15px system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse;margin-top:1em}td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid #ddd}
td:last-child,th:last-child{text-align:left}tr.best{background:#eaf3ff;font-weight:600}
circle{fill:#9aa5b1}circle.best{fill:#1f6feb}circle.out{fill:none;stroke:#c4c9cf}
line,polyline{stroke:#888;fill:none}polyline{stroke:#1f6feb;stroke-width:1.5}text{font-size:12px;fill:#333}"""


@dataclass(frozen=True)
class Point:
    """A dot, and its row in the table below: `cells` are numbers, `told` is what was chosen."""

    x: float
    y: float
    label: str  # names it, in the first column
    cells: tuple[str, ...]
    told: str
    best: bool
    feasible: bool = True


@dataclass(frozen=True)
class Picture:
    """What both plots show."""

    title: str
    x_label: str
    y_label: str
    heads: tuple[str, ...]  # of the table: the label's, the cells', what was chosen
    points: tuple[Point, ...]  # in the order of the table
    front: bool  # the best are joined by a line
    log: bool = False  # both axes; everything is positive
    others: str = "trials"
    note: str = ""

    @property
    def best(self) -> list[Point]:
        return sorted((point for point in self.points if point.best), key=lambda point: (point.x, point.y))


def write_png(shown: Picture, path: Path) -> Path:
    figure = Figure(figsize=(7.6, 4.6), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    others = [point for point in shown.points if not point.best]
    if others or not shown.log:
        axes.scatter([p.x for p in others], [p.y for p in others], s=18, color="#9aa5b1", label=shown.others)
    style = "-o" if shown.front else "o"
    axes.plot([p.x for p in shown.best], [p.y for p in shown.best], style, color="#1f6feb", label="best")
    if shown.log:
        axes.set(xscale="log", yscale="log")
    axes.set(title=shown.title, xlabel=shown.x_label, ylabel=shown.y_label)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", metadata={"Software": None})
    return path


def write_html(shown: Picture, path: Path) -> Path:
    rows = "\n".join(map(_row, shown.points))
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in shown.heads)
    title = html.escape(shown.title)
    note = f"<p>{html.escape(shown.note)}</p>\n" if shown.note else ""
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>
<body><h1>{title}</h1>
{_svg(shown)}
{note}<table><tr>{heads}</tr>
{rows}
</table></body></html>
"""
    write_whole(path, text)
    return path


def _row(point: Point) -> str:
    cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in point.cells)
    kind = ' class="best"' if point.best else ""
    return f"<tr{kind}><td>{html.escape(point.label)}</td>{cells}<td>{html.escape(point.told)}</td></tr>"


def _svg(shown: Picture) -> str:
    """Dots with what was chosen as a tooltip; axes with five ticks."""

    def scaled(value: float) -> float:
        return math.log10(value) if shown.log else value

    xs, ys = _span([scaled(p.x) for p in shown.points]), _span([scaled(p.y) for p in shown.points])

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - xs[0]) / (xs[1] - xs[0]), (y - ys[0]) / (ys[1] - ys[0])
        return (
            round(_MARGIN + across * (_WIDTH - 2 * _MARGIN), 1),
            round(_HEIGHT - _MARGIN - up * (_HEIGHT - 2 * _MARGIN), 1),
        )

    left, bottom = at(xs[0], ys[0])
    right, top = at(xs[1], ys[1])
    parts = [f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>']
    parts.append(f'<line x1="{left}" y1="{bottom}" x2="{left}" y2="{top}"/>')
    for k in range(5):
        x, y = (span[0] + (span[1] - span[0]) * k / 4 for span in (xs, ys))
        texts = [f"{10**value if shown.log else value:.4g}" for value in (x, y)]
        parts.append(f'<text x="{at(x, y)[0]}" y="{bottom + 18}" text-anchor="middle">{texts[0]}</text>')
        parts.append(f'<text x="{left - 8}" y="{at(x, y)[1] + 4}" text-anchor="end">{texts[1]}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 42}" text-anchor="middle">{html.escape(shown.x_label)}</text>')
    parts.append(f'<text x="{left}" y="{top - 14}">{html.escape(shown.y_label)}</text>')
    if shown.front:
        joined = " ".join(f"{x},{y}" for x, y in (at(scaled(p.x), scaled(p.y)) for p in shown.best))
        parts.append(f'<polyline points="{joined}"/>')
    for point in sorted(shown.points, key=lambda point: point.best):  # the best are drawn last, on top
        x, y = at(scaled(point.x), scaled(point.y))
        kind = "best" if point.best else "trial" if point.feasible else "out"
        told = html.escape(f"{shown.heads[0]} {point.label}: {point.told}")
        parts.append(
            f'<circle class="{kind}" cx="{x}" cy="{y}" r="{5 if point.best else 3.5}"><title>{told}</title></circle>'
        )
    body = "\n".join(parts)
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">\n{body}\n</svg>'


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The range of the axis: a little more than that of the values, and never empty."""
    lo, hi = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.05 * (hi - lo) or 0.05 * abs(hi) or 1.0
    return lo - room, hi + room
