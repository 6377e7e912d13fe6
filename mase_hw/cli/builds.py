"""BUILD on the command line: a folder, of which is said what it is, or a TOML, of whose build must still be true."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mase_hw.cli.console import output
from mase_hw.config import Config
from mase_hw.config.user_code import is_onnx
from mase_hw.config_file import load_config
from mase_hw.emit import Build, read_build
from mase_hw.emit.sources import check_sources, what_it_is


@dataclass(frozen=True)
class Opened:
    """A build, and the configuration that it was asked for by."""

    build: Build
    config: Config | None  # None: the folder was given


def open_build(given: Path, *, check: bool = True) -> Opened:
    """The build in the folder `given`, or in the default place of the TOML `given`.

    A TOML whose build was made from other files is a Problem that says which have changed; not so without `check`. Of a
    folder, the first line that is printed says what it is.
    """
    if given.suffix == ".toml" or (is_onnx(given) and given.is_file()):
        config = load_config(given)
        build = read_build(Path("build") / config.project)
        if check:
            check_sources(build.manifest, config)
        return Opened(build, config)
    build = read_build(given)
    output().heading(what_it_is(build.manifest, build.path))
    return Opened(build, None)
