"""The HTML page: one file, without scripts, that loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from mase_hw.report.charts import BAR_HEIGHT, BAR_WIDTH, FRONT_HEIGHT, FRONT_WIDTH, bars, front_chart
from mase_hw.report.diagram import diagram
from mase_hw.report.words import claims, headline, number, pattern_totals, real, sizes

TEMPLATES = Path(__file__).resolve().parent / "templates"


def render_page(content: Mapping[str, Any]) -> str:
    """The document as a page. Every text of it is escaped; nothing of it is taken for markup."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "real": real, "sizes": sizes}
    front = content["front"]
    return environment.get_template("report.html.j2").render(
        **content,
        headline=headline(content),
        claims=claims(content["proof"]["claims"]),
        pattern_totals=pattern_totals,
        diagram=diagram(content["flow"]),
        spreads=[bars(layer["histogram"], _clamped_bins(layer)) for layer in content["values"]["layers"]],
        errors=[layer["error"] and bars(layer["error"]["histogram"]) for layer in content["values"]["layers"]],
        chart=front_chart(front["points"], front["own"]) if front["points"] else None,
        bar_size=(BAR_WIDTH, BAR_HEIGHT),
        front_size=(FRONT_WIDTH, FRONT_HEIGHT),
    )


def _clamped_bins(layer: Mapping[str, Any]) -> list[int]:
    """The outer bins of a histogram in which clamped values lie."""
    clamped, last = layer["clamped"], len(layer["histogram"]["counts"]) - 1
    return [] if clamped is None else [*([0] if clamped["low"] else []), *([last] if clamped["high"] else [])]
