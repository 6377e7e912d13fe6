"""The front as JSON, and as a picture: a PNG and an HTML page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mase_hw.cost.cost import COLUMNS, PREDICTED
from mase_hw.explore.front import Explored, Point
from mase_hw.files import write_whole

NOTE = f"{COLUMNS} are {PREDICTED}."


def document(explored: Explored, project: str) -> dict[str, Any]:
    return {"project": project, "predicted": NOTE, "points": [_entry(point) for point in explored.points]}


def _entry(point: Point) -> dict[str, Any]:
    schedule = point.design.schedule
    interval = schedule.interval
    return {
        "interval": int(interval) if interval.denominator == 1 else float(interval),
        "latency": schedule.latency,
        "sites": point.sites,
        "luts": point.design.cost().cells,
        "cost": asdict(point.design.cost()),
        "hardware": dict(point.hardware),
        "nodes": {name: choice.metadata() for name, choice in point.chosen.items()},
    }


def write_report(explored: Explored, project: str, out: Path) -> list[Path]:
    """front.json, front.png and front.html in the folder `out`."""
    from mase_hw.plot import Picture, write_html, write_png  # matplotlib
    from mase_hw.plot import Point as Dot

    dots = []
    for point in explored.points:
        entry = _entry(point)
        cost = entry["cost"]
        numbers = (point.sites, entry["luts"], *(cost[key] for key in ("ff", "dsp", "bram")), entry["latency"])
        dots.append(
            Dot(
                entry["interval"],
                max(1, point.sites),
                str(entry["interval"]),
                tuple(map(str, numbers)),
                point.told,
                True,
            )
        )
    heads = ("interval", "sites", "LUT", "FF", "DSP", "BRAM", "latency", "chosen")
    budgets = [key for key in ("dsp_budget", "bram_budget") if any(key in p.hardware for p in explored.points)]
    keys = ", ".join(["target_interval", *budgets])
    note = f"{NOTE} To build a point, put its interval into the TOML: [hardware] {keys}."
    title = f"{project}: size against interval"
    x_label, y_label = "interval (cycles per vector)", "LUT sites (predicted)"
    shown = Picture(title, x_label, y_label, heads, tuple(dots), front=True, log=True, note=note)
    path = out / "front.json"
    write_whole(path, json.dumps(document(explored, project), indent=2) + "\n")
    return [path, write_png(shown, out / "front.png"), write_html(shown, out / "front.html")]
