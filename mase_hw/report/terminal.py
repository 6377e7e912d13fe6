"""The report in a terminal: what matters most of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mase_hw.cost.cost import COLUMNS
from mase_hw.report.measured import FIGURES
from mase_hw.report.words import Tone, headline, number, pattern_totals, real, scales, sizes

_STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "mixed": "yellow", "none": "dim"}


def show(content: Mapping[str, Any], console: Console, table: Callable[[Table], None] | None = None) -> None:
    """Everything is printed as text: names from a model are no markup. `table` prints a table."""
    table = table or console.print
    model = content["model"]
    of = f"{model['model'] or 'a model'}{' on ' + str(model['dataset']) if model['dataset'] else ''}"
    features = [" and ".join(map(sizes, model[side])) for side in ("inputs", "outputs")]
    _line(console, f"{model['project']}: {of}, {features[0]} features in, {features[1]} out", "bold")
    _axis(content, console)
    table(_layers(content))
    total = content["layers"]["total"]
    _line(console, f"interval {total['interval']} cycles, latency {total['latency']} cycles (exact, never stalled)")
    _line(console, f"{COLUMNS} are predicted: {content['predicted']}")
    for text in scales(model):
        _line(console, text)
    for text in content["saturated"]:
        _line(console, text, "red" if text.startswith("WARNING") else "yellow")
    for entry in content["synthesis"]["targets"]:
        counted = (
            ", ".join(f"{number(entry['total'][key])} {_unit(key)}" for key in FIGURES) if "total" in entry else ""
        )
        _line(console, f"counted for {entry['target']}: {counted or entry['status'] + ': ' + entry['why']}")
    table(_values(content["values"]))
    _accuracy(content, console)
    for badge in headline(content):
        _line(console, badge.text, _STYLES[badge.tone])
        if badge.where == "simulated":
            _benches(content["simulation"], console)
        if badge.where == "proved":
            _proof(content, console)
    _next(content, console)


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style), soft_wrap=True)


def _layers(content: Mapping[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = ("interval", "latency", "sites", "LUT", "FF", "DSP", "BRAM")
    for title in ("layer", "operator", "built", "lanes", "types", *numbers):
        table.add_column(title, overflow="fold", justify="right" if title in numbers else "left")
    layers = content["layers"]
    for row in layers["rows"]:
        cells = [row["name"], row["op"], row["built"], " -> ".join(map(str, row["lanes"]))]
        cells += [f"{row['types']['data_in']} -> {row['types']['data_out']}", str(row["interval"]), str(row["latency"])]
        table.add_row(*map(Text, cells), *_figures(row["predicted"]))
    if layers["between"]:
        count = len(layers["between"]["components"])
        table.add_row("between layers", "", f"{count} buffers", *[""] * 4, *_figures(layers["between"]["predicted"]))
    table.add_section()
    table.add_row("total", *[""] * 6, *_figures(layers["total"]["predicted"]))
    return table


def _unit(figure: str) -> str:
    return figure if figure == "sites" else figure.upper()


def _figures(figures: Mapping[str, int]) -> list[str]:
    return [str(figures[key]) for key in FIGURES]


def _values(values: Mapping[str, Any]) -> Table:
    told = (
        "samples of the test split"
        if values["origin"] == "data set"
        else "vectors as a simulation takes them, not data"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{values['vectors']} {told}", title_justify="left")
    for title in ("behind", "type", "smallest", "largest", "saturated", "rms error", "largest error", "dB"):
        table.add_column(title, overflow="fold", justify="left" if title == "behind" else "right")
    for layer in values["layers"]:
        clamped, error = layer["clamped"], layer["error"]
        share = f"{(clamped['low'] + clamped['high']) / clamped['values']:.3%}" if clamped else "-"
        errors = [real(error["rms"]), real(error["largest"])] if error else ["-", "-"]
        errors.append(f"{error['sqnr_db']:.1f}" if error and error["sqnr_db"] is not None else "-")
        table.add_row(
            Text(layer["name"]), layer["type"], real(layer["smallest"]), real(layer["largest"]), share, *errors
        )
    return table


def _accuracy(content: Mapping[str, Any], console: Console) -> None:
    accuracy = content["accuracy"]
    if accuracy is None:
        return
    known = accuracy["hardware"] is not None
    hardware = f"{accuracy['hardware']:.2%}" if known else f"not known: {accuracy['why']}"
    text = f"accuracy: float {accuracy['float']:.2%}, quantized {accuracy['quantized']:.2%}, hardware {hardware}"
    _line(console, text)


def _benches(simulation: Mapping[str, Any], console: Console) -> None:
    for bench in simulation["benches"]:
        sums = pattern_totals(bench)
        patterns = len(bench["patterns"])
        text = f"  {bench['bench']} ({bench['engine']}): {bench['status']}, {patterns} stall patterns, "
        text += f"{number(sums['compared'])} outputs compared, {number(sums['equal'])} equal"
        _line(console, text + (f": {bench['why']}" if bench["why"] else ""))
    if simulation["benches"] and simulation["not_run"]:
        _line(console, f"  not simulated: {', '.join(simulation['not_run'])}")


def _axis(content: Mapping[str, Any], console: Console) -> None:
    axis = content["axis"]
    if axis is None:
        return
    sides = [axis[side] for side in ("inputs", "outputs")]
    ends = [" and ".join(f"{port['name']} {port['tdata_width']} bits" for port in side) for side in sides]
    text = f"AXI4-Stream top {axis['top']} around {axis['inner']}: TDATA of {ends[0]} in, of {ends[1]} out; "
    beats = " and ".join(str(port["beats"]) for side in sides for port in side)
    text += f"TLAST on the last of {beats} beats, "
    _line(console, text + f"a wrong one sets {axis['error_flag']} and is counted in {axis['error_count']}")


def _proof(content: Mapping[str, Any], console: Console) -> None:
    proof = content["proof"]
    claims = proof["claims"]
    if claims:
        count = sum(claim["status"] == "proved" for claim in claims)
        _line(console, f"  {count} of {len(claims)} claims {'were' if proof['status'] == 'stale' else 'are'} proved")
    if proof["why"]:
        _line(console, f"  {proof['why']}")


def _next(content: Mapping[str, Any], console: Console) -> None:
    """The commands that would fill in what is missing."""
    wanted = {
        content["simulation"]["command"]: content["simulation"]["status"] != "passed",
        content["proof"]["command"]: content["proof"]["status"] != "proved",
        content["synthesis"]["command"]: not any(t["status"] == "measured" for t in content["synthesis"]["targets"]),
        content["front"]["command"]: content["front"]["status"] != "explored",
    }
    missing = [command for command, absent in wanted.items() if absent]
    if missing:
        _line(console, f"would add to it: {'; '.join(missing)}")
