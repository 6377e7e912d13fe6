"""`mase-hw transform`: a TOML's passes on a model, what they changed, and what they cost in accuracy."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mase_hw.cli.console import json_option, output
from mase_hw.cli.options import config_options, load_options


@click.command("transform", short_help="Apply a TOML's passes, score the result, save it.")
@config_options(training=False)
@json_option
def command(model_name: str | None, dataset_name: str | None, config_path: Path | None, **given: Any) -> None:
    """Apply the passes of a TOML (fuse_batch_norm, quantize) to its model, print what changed, score both, save.

    \b
    mase_output/<project>/software/transform gets
      model.safetensors        the weights as the model had them, for load_name
      transformed.safetensors  the state dict of the transformed graph
      transform.toml           the whole configuration: `mase-hw emit` takes it

    \b
    Examples:
      mase-hw transform --config model.toml --task cls --cpu=0
      mase-hw transform --config model.toml --load best.ckpt --project jsc-8bit
    """
    chosen = load_options(model_name, dataset_name, config_path, given)
    console = output()
    with console.status("loading"):
        from mase_hw.training.task import load_task  # loads torch
        from mase_hw.training.transform import not_ready, save_transformed, show_changes, transform

        task = load_task(chosen.config, needs_data=False)
    console.notes(task.notes)
    done = transform(chosen.config, task)
    if console.talks:
        show_changes(done)
    console.notes(done.notes)
    for name, score in done.scores.items():
        console.line(f"{name:<11} loss {score.loss:.4f}  accuracy {score.accuracy:.2%}  on {score.samples} samples")
    toml = save_transformed(chosen.config, task, done)
    refusal = not_ready(done)
    scores = {name: asdict(score) for name, score in done.scores.items()}
    notes = [*task.notes, *done.notes]
    console.document({"written": str(toml), "scores": scores, "not_ready": refusal, "notes": notes})
    console.final(
        f"written: {toml.parent}   "
        + (f"not ready for mase-hw emit: {refusal}" if refusal else f"next: mase-hw emit {toml}")
    )
