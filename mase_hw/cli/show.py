"""`mase-hw show`: an operator's equation, types, ports and cycles, and an example of its RTL."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.table import Table

from mase_hw.cli.console import Output, json_option, output
from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError

if TYPE_CHECKING:
    from mase_hw.ops.pages import Built, Page


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from mase_hw.cli.op_pages import pages  # without torch

    return [name for name in pages() if name.startswith(incomplete)]


@click.command("show", short_help="Explain an operator: equation, ports, cycles, an example of its RTL.")
@click.argument("op", required=False, shell_complete=_complete)
@click.option("--built", metavar="NAME", help="The implementation whose example is shown.  [default: the first]")
@click.option("--rtl", is_flag=True, help="Print the example's SystemVerilog, and nothing else.")
@json_option
def command(op: str | None, built: str | None, rtl: bool) -> None:
    """Explain the operator OP: what it computes, its types and ports, how it can be built and in how many cycles.

    The example is a small one that the emitter renders now; interval, latency and LUT sites below it are those of this
    very example. Without OP, list the operators.

    \b
    Examples:
      mase-hw show
      mase-hw show linear
      mase-hw show linear --built folded
      mase-hw show fifo --rtl > mase_fifo.sv
    """
    from mase_hw.cli.op_pages import pages, rtl_of

    console, known = output(), pages()
    if op is None:
        if built or rtl:
            raise click.UsageError("--built and --rtl go with an operator.")
        _list(console)
        return
    page = known.get(op.lower().replace("-", "_"))
    if page is None:
        raise ProblemsError(Problem(f"{op} is no operator", hint=nearest(op, known, "operators")))
    ways = {way.name: way for way in page.built}
    if built is not None and built not in ways:
        text = f"{page.name} is not built {built}"
        raise ProblemsError(Problem(text, hint=nearest(built, ways, "implementations")))
    way = ways[built] if built else page.built[0]
    if rtl and not console.json:
        click.echo(rtl_of(page, way), nl=False)
        return
    console.document(_document(page, way))
    if not console.json:
        _print(console, page, way)


def _list(console: Output) -> None:
    from mase_hw.cli.op_pages import NOTHING, pages

    known = pages().values()
    console.document([{"name": page.name, "where": page.title, "equation": page.equation[0]} for page in known])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("operator", "equation", "where"):
        table.add_column(title, overflow="fold")
    for page in known:
        table.add_row(page.name, page.equation[0], page.title)
    console.show(table)
    console.line(NOTHING)
    console.final("next: mase-hw show linear")


def _print(console: Output, page: Page, way: Built) -> None:
    from mase_hw.cli.op_pages import ports, rtl_of

    console.line(f"{page.name}: {page.title}\n")
    for line in page.equation:
        console.line(f"  {line}")
    console.line("\ntypes")
    for line in page.types:
        console.line(f"  {line}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("built", "a vector every ... cycles", "latency", "what it is"):
        table.add_column(title, overflow="fold")
    for each in page.built:
        table.add_row(each.name, each.interval, each.latency, each.about)
    console.show(table)
    rtl = rtl_of(page, way)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("port", "direction", "bits"):
        table.add_column(title, overflow="fold")
    for port in ports(rtl):
        table.add_row(port.name, port.direction, port.bits)
    console.show(table)
    console.line(f"example, {way.name}: {_told(way)}\n")
    console.final(rtl.rstrip())


def _told(way: Built) -> str:
    part = way.example()
    x, y, cost = part.input, part.output, part.cost()
    sides = [f"{side.features} x {side.fixed} in {side.beats} beat{'s' * (side.beats > 1)}" for side in (x, y)]
    cycles = f"interval {part.interval}, latency {part.latency}"
    return f"{' -> '.join(sides)}; {cycles}; {cost.logic} LUT sites and {cost.ff} FF predicted"


def _document(page: Page, way: Built) -> dict[str, Any]:
    from mase_hw.cli.op_pages import ports, rtl_of

    part, rtl = way.example(), rtl_of(page, way)
    keys = ("name", "about", "interval", "latency")
    return {
        "name": page.name,
        "where": page.title,
        "equation": list(page.equation),
        "types": list(page.types),
        "built": [{key: getattr(each, key) for key in keys} for each in page.built],
        "example": {"built": way.name, "interval": part.interval, "latency": part.latency, "cost": asdict(part.cost())},
        "ports": [asdict(port) for port in ports(rtl)],
        "rtl": rtl,
    }
