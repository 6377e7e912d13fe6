"""`mase-hw verify`: whether a build is the one that its certificate speaks of."""

from __future__ import annotations

from pathlib import Path

import click

from mase_hw.config import load_config
from mase_hw.emit import read_build


@click.command("verify", short_help="Check a build against its certificate.")
@click.argument("build", type=click.Path(path_type=Path))
def command(build: Path) -> None:
    """Check that the folder BUILD holds the very bytes that its certificate was made of, and that all was proved.

    Nothing is proved again and torch is not needed. One changed byte of RTL, parameters or manifest ends with exit
    code 1. BUILD may also be the TOML file of a build in its default place.

    \b
    Example:
      mase-hw verify build/digits
    """
    if build.suffix == ".toml":
        build = Path("build") / load_config(build).project
    from mase_hw.prove.certificate import verify

    loaded = read_build(build)
    certificate = verify(loaded)
    files, claims = len(certificate["files"]), len(certificate["claims"])
    click.echo(f"{build}: {files} files are those that were proved; {claims} claims, all proved")
