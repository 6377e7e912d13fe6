"""`mase-hw train`: a model on its data, through its quantizers where the TOML quantizes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mase_hw.cli.console import json_option, output
from mase_hw.cli.options import Chosen, config_options, load_options


@click.command("train", short_help="Train a model, through its quantizers where the TOML quantizes.")
@config_options(training=True)
@click.option("--resume", is_flag=True, help="Go on after the last finished epoch of this project.")
@json_option
def command(
    model_name: str | None, dataset_name: str | None, config_path: Path | None, resume: bool, **given: Any
) -> None:
    """Train MODEL on DATASET, or what a TOML names.

    After each epoch the run is stored in mase_output/<project>/software/training_ckpts: last.ckpt, and best.ckpt when
    the validation accuracy is the best so far. Ctrl-C loses no finished epoch; --resume goes on as if nothing had
    happened. TensorBoard logs are beside, in software/tensorboard.

    With quantizers in the TOML ([passes.quantize]) the network is trained through them, from --load or load_name where
    given. The checkpoint then holds float weights that quantize well: `mase-hw emit` takes it as load_name.

    \b
    Examples:
      mase-hw train jsc-tiny jsc --max-epochs 10 --batch-size 256 --learning-rate 1e-3
      mase-hw train --config model.toml
      mase-hw train --config model.toml --load best.ckpt --learning-rate 1e-4 --project jsc-8bit
      mase-hw train jsc-tiny jsc --max-epochs 10 --resume
    """
    chosen = load_options(model_name, dataset_name, config_path, given)
    console = output()
    with console.status("loading"):
        from mase_hw.training.session import run_training, training_task  # loads torch

        task = training_task(chosen.config)
    console.notes(task.notes)
    from mase_hw.training.result import TrainingInterruptedError

    try:
        result, tested = run_training(chosen.config, task, resume=resume, progress=console.talks)
    except TrainingInterruptedError as stopped:
        _interrupted(stopped.epochs, stopped.last, chosen)
    console.notes(result.notes)
    document = {"best": str(result.best), "last": str(result.last), "test": asdict(tested)}
    epochs = [asdict(epoch) for epoch in result.history]
    console.document({**document, "epochs": epochs, "notes": [*task.notes, *result.notes]})
    console.line(f"test split with the best weights: loss {tested.loss:.4f}  accuracy {tested.accuracy:.2%}")
    again = chosen.without_training().command("test", "--load", str(result.best))
    console.final(f"written: {result.best}   next: {again}")


def _interrupted(epochs: int, last: Path | None, chosen: Chosen) -> None:
    again = chosen.command("train", "--resume")
    kept = f"{epochs} epochs are kept in {last}; go on with:\n  {again}" if last else "no epoch was finished"
    click.echo(f"interrupted: {kept}", err=True)
    sys.exit(130)
