"""`mase-hw verify`: whether a build is the one that its certificate speaks of."""

from __future__ import annotations

from pathlib import Path

import click

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output
from mase_hw.emit.sources import sources_now


@click.command("verify", short_help="Check a build against its certificate.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(path_type=Path), help="The TOML that it is said to be made from.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="The checkpoint that it is said to be made from.")
@click.option("--again", is_flag=True, help="Prove every claim anew, and do not take the certificate's word for it.")
@json_option
def command(build: Path, config: Path | None, checkpoint: Path | None, again: bool) -> None:
    """Check that the folder BUILD holds the very bytes that its certificate was made of, and that all was proved.

    Nothing is proved again and torch is not needed. One changed byte of RTL, parameters, samples or manifest ends with
    exit code 1; so does one of the TOML or the checkpoint, where these are given. BUILD may also be the TOML file of a
    build in its default place: then that file, and the checkpoint, model and data that it names, are compared too.

    A certificate is a record, not a signature: who can write the folder can write one. With --again the files are
    proved anew, here, and nothing is written. The claim `model` is that of `mase-hw prove`, which reads the TOML.

    \b
    Examples:
      mase-hw verify build/digits
      mase-hw verify build/digits --config model.toml --checkpoint weights.pt
      mase-hw verify build/digits --again
    """
    opened = open_build(build, check=False)
    loaded = opened.build
    named = sources_now(loaded.manifest, opened.config) if opened.config else {}
    given = {"config": config, "checkpoint": checkpoint}
    from mase_hw.prove.certificate import prove_again, verify
    from mase_hw.simulate.whole import check_whole

    check_whole(loaded)
    certificate = verify(loaded, named | {what: file for what, file in given.items() if file is not None})
    files, claims = len(certificate["files"]), len(certificate["claims"])
    console = output()
    if again:
        with console.status("proving it again"):
            claims = prove_again(loaded, certificate)
    top = loaded.axis.module if loaded.axis else loaded.manifest["top"]
    console.document(
        {"build": str(loaded.path), "files": files, "claims": claims, "proved": True, "top": top, "again": again}
    )
    said = "proved again" if again else "all proved"
    console.final(f"{loaded.path}: {files} files are those that were proved; {claims} claims, {said}")
