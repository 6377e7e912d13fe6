"""The Pareto plot: a PNG by matplotlib, and an HTML page that holds its own picture and table and loads nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from optuna.trial import FrozenTrial

from mase_hw.config.search import SearchConfig
from mase_hw.search.results import feasible, metrics_of, short, write_whole

_WIDTH, _HEIGHT, _MARGIN = 760, 460, 70
_STYLE = """body{font:15px system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse;margin-top:1em}td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid #ddd}
td:last-child,th:last-child{text-align:left}tr.best{background:#eaf3ff;font-weight:600}
circle{fill:#9aa5b1}circle.best{fill:#1f6feb}circle.out{fill:none;stroke:#c4c9cf}
line,polyline{stroke:#888;fill:none}polyline{stroke:#1f6feb;stroke-width:1.5}text{font-size:12px;fill:#333}"""


@dataclass(frozen=True)
class Point:
    """A trial in the plane of the plot."""

    x: float
    y: float
    trial: FrozenTrial
    best: bool


@dataclass(frozen=True)
class Picture:
    """What both plots show: two metrics against each other; with one metric, or a sum, its value trial by trial."""

    title: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    front: bool  # the best are joined by a line

    @property
    def best(self) -> list[Point]:
        return sorted((point for point in self.points if point.best), key=lambda point: (point.x, point.y))


def picture(search: SearchConfig, trials: Sequence[FrozenTrial], best: Sequence[FrozenTrial], title: str) -> Picture:
    names = [metric.name for metric in search.objectives]
    numbers = {trial.number for trial in best}
    flat = len(names) == 1 and search.direction is None
    points = []
    for trial in trials:
        measured = metrics_of(trial)
        x, y = (trial.number, trial.values[0]) if len(names) == 1 else (measured[names[1]], measured[names[0]])
        points.append(Point(float(x), float(y), trial, trial.number in numbers))
    y_label = names[0] if len(names) > 1 or flat else f"{names[0]}, scaled"
    x_label = names[1] if len(names) > 1 else "trial"
    return Picture(title, x_label, y_label, tuple(points), len(names) > 1 and search.direction is None)


def write_png(shown: Picture, path: Path) -> Path:
    figure = Figure(figsize=(7.6, 4.6), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    others = [point for point in shown.points if not point.best]
    axes.scatter([p.x for p in others], [p.y for p in others], s=18, color="#9aa5b1", label="trials")
    style = "-o" if shown.front else "o"
    axes.plot([p.x for p in shown.best], [p.y for p in shown.best], style, color="#1f6feb", label="best")
    axes.set(title=shown.title, xlabel=shown.x_label, ylabel=shown.y_label)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", metadata={"Software": None})
    return path


def write_html(shown: Picture, path: Path) -> Path:
    rows = "\n".join(map(_row, sorted(shown.points, key=lambda point: (not point.best, point.trial.number))))
    names = _names(shown)
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in ("trial", *names, "chosen"))
    title = html.escape(shown.title)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>
<body><h1>{title}</h1>
{_svg(shown)}
<table><tr>{heads}</tr>
{rows}
</table></body></html>
"""
    write_whole(path, text)
    return path


def _names(shown: Picture) -> list[str]:
    return list(metrics_of(shown.points[0].trial)) if shown.points else []


def _row(point: Point) -> str:
    cells = "".join(f"<td>{value:.6g}</td>" for value in metrics_of(point.trial).values())
    kind = ' class="best"' if point.best else ""
    return f"<tr{kind}><td>{point.trial.number}</td>{cells}<td>{html.escape(short(point.trial))}</td></tr>"


def _svg(shown: Picture) -> str:
    """Dots with the trial's choices as a tooltip; axes with five ticks."""
    xs, ys = _span([p.x for p in shown.points]), _span([p.y for p in shown.points])

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
        parts.append(f'<text x="{at(x, y)[0]}" y="{bottom + 18}" text-anchor="middle">{x:.4g}</text>')
        parts.append(f'<text x="{left - 8}" y="{at(x, y)[1] + 4}" text-anchor="end">{y:.4g}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 42}" text-anchor="middle">{html.escape(shown.x_label)}</text>')
    parts.append(f'<text x="{left}" y="{top - 14}">{html.escape(shown.y_label)}</text>')
    if shown.front:
        joined = " ".join(f"{x},{y}" for x, y in (at(p.x, p.y) for p in shown.best))
        parts.append(f'<polyline points="{joined}"/>')
    for point in sorted(shown.points, key=lambda point: point.best):  # the best are drawn last, on top
        x, y = at(point.x, point.y)
        kind = "best" if point.best else "trial" if feasible(point.trial) else "out"
        told = html.escape(f"trial {point.trial.number}: {short(point.trial)}")
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
