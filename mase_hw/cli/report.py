"""`mase-hw report`: what a build is and what was found out about it, on one page."""

from __future__ import annotations

from pathlib import Path

import click

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output


@click.command("report", short_help="Show all that is known of a build on one page.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="The page.  [default: BUILD/report/index.html]"
)
@click.option(
    "--png", type=click.Path(dir_okay=False, path_type=Path), help="The page as a picture too; needs a Chromium."
)
@click.option("--front", type=click.Path(path_type=Path), help="front.json of `mase-hw explore`, or its folder.")
@click.option("--open", "open_it", is_flag=True, help="Show the page in a browser.")
@json_option
def command(build: Path, html: Path | None, png: Path | None, front: Path | None, open_it: bool) -> None:
    """Write one HTML page about the folder BUILD, and print a summary.

    The page has a drawing of the design, its layers with their cycles and cells, accuracy, saturation and error of
    each layer, what was simulated, proved and synthesized, and with which tools. It loads nothing from anywhere.

    It reads files alone: nothing is simulated or proved here, and torch is not needed. What was not done says with
    which command it is; what was done to files that have changed since is called stale. BUILD may also be the TOML
    file of a build in its default place.

    \b
    Examples:
      mase-hw report build/digits
      mase-hw report build/digits --png digits.png
      mase-hw report build/digits --json | jq .accuracy
    """
    loaded = open_build(build).build
    from mase_hw.files import write_whole
    from mase_hw.report import document, render_page
    from mase_hw.report.browser import need_chromium, write_png
    from mase_hw.report.terminal import show

    if png is not None:
        need_chromium()  # before anything is written
    console = output()
    content = document(loaded, front)
    page = render_page(content)
    path = html or loaded.results_folder("report") / "index.html"
    write_whole(path, page)
    if png is not None:
        with console.status("drawing the picture"):
            write_png(page, png)
    if console.talks:
        show(content, console.tables(), console.show)
    console.document(content)
    console.final(f"written: {', '.join(str(file) for file in (path, png) if file)}")
    if open_it:
        click.launch(path.resolve().as_uri())
