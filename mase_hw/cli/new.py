"""`mase-hw new`: a commented TOML that `mase-hw emit` takes as it is, and a model to start from."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import click

from mase_hw.cli.console import json_option, output
from mase_hw.cli.new_text import SHAPES, model_text, toml_text
from mase_hw.config.hardware import INTERFACES
from mase_hw.config.table import nearest
from mase_hw.config.user_code import is_onnx, is_user_code
from mase_hw.config_file import config_of
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.files import write_whole

OWN = "own"  # the answer to "which model?" that asks for a new file
NONE = "-"  # the answer to "which data set?"


@dataclass(frozen=True)
class Answers:
    """What goes into the TOML. Without a width the types are those of the model's own file."""

    model: str
    data: str
    width: int | None
    frac: int | None
    interval: int | None
    interface: str | None


@click.command("new", short_help="Write a commented TOML for a model, and a model to start from.")
@click.argument("path", type=click.Path(path_type=Path), default=Path("model.toml"))
@click.option("--model", metavar="NAME", help='A registered name, "file.py:Class" or "file.onnx".')
@click.option("--with-model", is_flag=True, help="Write a network of two layers to model.py beside it, and name that.")
@click.option("--data", metavar="NAME", help='digits, jsc, mnist, cifar10, random or "file.py:function".')
@click.option("--width", type=click.IntRange(2, 32), help="Bits of data, weights and biases.  [default: 8]")
@click.option("--frac", type=click.IntRange(-64, 64), help="Fractional bits of data.  [default: half the width]")
@click.option("--interval", type=click.IntRange(1), help="Cycles per vector that the design must reach.")
@click.option("--interface", type=click.Choice(INTERFACES), help="Of the top module.  [default: stream]")
@click.option("--features", type=click.IntRange(1), help="With --with-model: inputs.  [default: the data's, or 16]")
@click.option("--classes", type=click.IntRange(1), help="With --with-model: outputs.  [default: the data's, or 5]")
@click.option("--hidden", type=click.IntRange(1), help="With --with-model: between the layers.  [default: 32]")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing: defaults for what is not given.")
@json_option
def command(
    path: Path,
    model: str | None,
    with_model: bool,
    data: str | None,
    width: int | None,
    frac: int | None,
    interval: int | None,
    interface: str | None,
    features: int | None,
    classes: int | None,
    hidden: int | None,
    yes: bool,
) -> None:
    """Write PATH, a commented TOML that names a model, its types and its hardware.  [default: model.toml]

    On a terminal it asks for what is not given; elsewhere, and with --yes, defaults are taken. Paths in options are
    relative to the current folder; in the TOML they are relative to the TOML. Nothing is overwritten.

    \b
    Examples:
      mase-hw new
      mase-hw new --with-model --data digits
      mase-hw new jsc.toml --model jsc-tiny --data random --width 6 --interval 8
      mase-hw new net/axi.toml --model net.py:Net --interface axis
    """
    if model is not None and with_model:
        raise click.UsageError("--model and --with-model are two models: give one of them.")
    console = output()
    ask = not yes and sys.stdin.isatty() and not console.json
    own = path.parent / "model.py"
    _nothing_there(path, *([own] if with_model else []))  # before questions are asked
    if ask and model is None and not with_model:
        text = f'model: a registered name, "file.py:Class", "file.onnx", or {OWN} for a new file'
        model = str(click.prompt(text, default=OWN, err=True))
        with_model, model = model == OWN, None if model == OWN else model
    if model is None and not with_model:
        hint = "--model NAME, or --with-model for a network of two layers to start from"
        raise ProblemsError(Problem(f"{path}: no model is named", hint=hint))
    given = Answers(model or f"{own.name}:Net", data or "", width, frac, interval, interface)
    answers = _filled(_asked(given, "digits" if with_model else NONE) if ask else given)
    files = {path: _text(path, answers, with_model)}
    if with_model:
        shape, outputs = _shape(answers.data, features, classes)
        files[own] = model_text(shape, hidden or 32, outputs)
    _check(path, files, answers, with_model)
    for file, content in reversed(files.items()):  # the TOML last: it names the other
        write_whole(file, content)
    console.document({"written": [str(file) for file in files], "next": f"mase-hw emit {path}"})
    steps = f"mase-hw train --config {path}, or mase-hw emit {path}" if answers.data else f"mase-hw emit {path}"
    console.final(f"written: {', '.join(map(str, files))}   next: {steps}")


def _asked(given: Answers, data: str) -> Answers:
    """The user's words for what was not given."""
    found = given
    if not found.data:
        said = str(click.prompt(f"data set, {NONE} for none", default=data, err=True))
        found = replace(found, data="" if said == NONE else said)
    if found.width is None and not is_onnx(found.model):
        width = click.prompt("bits of data and weights", default=8, type=click.IntRange(2, 32), err=True)
        found = replace(found, width=width)
    if found.frac is None and found.width is not None:
        half = found.width // 2
        frac = click.prompt("fractional bits of data", default=half, type=click.IntRange(-64, 64), err=True)
        found = replace(found, frac=frac)
    if found.interval is None:
        interval = click.prompt("cycles per vector, 0 for any", default=0, type=click.IntRange(0), err=True)
        found = replace(found, interval=interval or None)
    if found.interface is None:
        kind = click.prompt("interface", default="stream", type=click.Choice(INTERFACES), err=True)
        found = replace(found, interface=kind)
    return found


def _filled(answers: Answers) -> Answers:
    """Defaults; an ONNX file may have types of its own."""
    width = 8 if answers.width is None and not is_onnx(answers.model) else answers.width
    frac = width // 2 if answers.frac is None and width is not None else answers.frac
    return replace(answers, width=width, frac=frac, interface=answers.interface or "stream")


def _text(path: Path, answers: Answers, own: bool) -> str:
    assert answers.interface is not None
    return toml_text(
        answers.model if own else _relative(answers.model, path),
        _relative(answers.data, path),
        path.stem,
        width=answers.width,
        frac=answers.frac,
        interval=answers.interval,
        interface=answers.interface,
    )


def _relative(name: str, path: Path) -> str:
    """A file that is named from here, as the TOML has to name it."""
    if not is_user_code(name) and not is_onnx(name):
        return name
    file, colon, attribute = name.rpartition(":")
    moved = Path(os.path.relpath(file if colon else name, path.parent)).as_posix()
    return f"{moved}:{attribute}" if colon else moved


def _shape(data: str, features: int | None, classes: int | None) -> tuple[tuple[int, ...], int]:
    """Of the new model: that of its data."""
    if is_user_code(data) and (features is None or classes is None):
        text = f"{data}: how many features and classes it has is not known here"
        raise ProblemsError(Problem(text, hint="say them: --features N --classes M"))
    shape, outputs = SHAPES.get(data, ((16,), 5))
    return (features,) if features else shape, classes or outputs


def _check(path: Path, files: dict[Path, str], answers: Answers, own: bool) -> None:
    """Everything that would keep `mase-hw emit` from taking what is written, before anything is."""
    with Collector() as problems:
        problems.attempt(lambda: _nothing_there(*files))
        for what, name in (("model", "" if own else answers.model), ("dataset", answers.data)):
            if is_user_code(name) or is_onnx(name):
                file = Path(name.rpartition(":")[0] or name)
                if not file.is_file():
                    problems.add(
                        f"{what} = {name}: no such file {file}", hint=f"paths here are relative to {Path.cwd()}"
                    )
            elif name and name not in (known := _known(what)):
                problems.add(f'{what} = "{name}" is unknown', hint=nearest(name, known, f"known {what}s"))
    if not is_onnx(answers.model):
        config_of(tomllib.loads(files[path]))


def _nothing_there(*files: Path) -> None:
    with Collector() as problems:
        for file in files:
            if file.exists():
                problems.add(f"{file} exists", hint="give another PATH, or delete it: nothing is overwritten")


def _known(what: str) -> tuple[str, ...]:
    if what == "model":
        from mase_hw.models import model_names  # loads torch

        return model_names()
    from mase_hw.datasets import dataset_names

    return dataset_names()
