"""`mase-hw test`: a model's score on its test split."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mase_hw.cli.console import json_option, output
from mase_hw.cli.options import config_options, load_options


@click.command("test", short_help="Score a model on its test split.")
@config_options(training=False)
@json_option
def command(model_name: str | None, dataset_name: str | None, config_path: Path | None, **given: Any) -> None:
    """Score MODEL on the test split of DATASET, or what a TOML names.

    With quantizers in the TOML ([passes.quantize]) the quantized model is scored too: this is the hardware's accuracy.

    \b
    Examples:
      mase-hw test jsc-tiny jsc --load mase_output/jsc-tiny_classification_jsc/software/training_ckpts/best.ckpt
      mase-hw test --config model.toml
      mase-hw test --config model.toml --load best.ckpt
    """
    chosen = load_options(model_name, dataset_name, config_path, given)
    console = output()
    with console.status("loading") as status:
        from mase_hw.training.session import score_task  # loads torch
        from mase_hw.training.task import load_task

        task = load_task(chosen.config)
        status.update("testing")
        scores, notes = score_task(chosen.config, task)
    console.notes((*task.notes, *notes))
    found = {name: asdict(score) for name, score in scores.items()}
    console.document({"dataset": task.data.name, "scores": found, "notes": [*task.notes, *notes]})
    for name, score in scores.items():
        said = f"{name:<10} loss {score.loss:.4f}  accuracy {score.accuracy:.2%}"
        console.final(f"{said}  on {score.samples} samples of {task.data.name}")
