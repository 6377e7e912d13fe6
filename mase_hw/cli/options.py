"""What the software commands share: MODEL and DATASET, --config, and options that override a TOML's keys."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from mase_hw.config import Config, Option
from mase_hw.config.training import ACCELERATORS, LR_SCHEDULES, OPTIMIZERS
from mase_hw.config_file import load_config
from mase_hw.diagnostics import Problem, ProblemsError

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Override:
    """An option for a key of the TOML; its value is checked as the TOML's would be."""

    flags: tuple[str, ...]
    key: str
    kind: type
    help: str


_PLACES = (
    _Override(("--model",), "model", str, 'A name such as jsc-tiny, or "file.py:Class"; the same as MODEL.'),
    _Override(("--dataset",), "dataset", str, 'A name such as jsc, or "file.py:function"; the same as DATASET.'),
    _Override(("--task",), "task", str, "cls (classification) is the one there is."),
    _Override(("--project",), "project", str, "Names the folder under mase_output.  [default: MODEL_TASK_DATASET]"),
    _Override(("--project-dir",), "project_dir", str, "Where projects are kept.  [default: mase_output]"),
    _Override(("--load", "--load-name"), "load_name", str, "The checkpoint to take the weights from."),
    _Override(("--load-type",), "load_type", str, "auto, pt, pl, safetensors or npz.  [default: auto]"),
    _Override(("--seed",), "seed", int, "Of start weights, of the samples' order and of random data.  [default: 0]"),
    _Override(("--accelerator",), "accelerator", str, f"{', '.join(ACCELERATORS)}; falls back to the CPU."),
    _Override(("--cpu", "--num-workers"), "cpu", int, "Data-loader workers. Data lies in memory, so 0 is as fast."),
)
_TRAINING = (
    _Override(("--max-epochs",), "max_epochs", int, "How often all samples are seen.  [default: 20]"),
    _Override(("--max-steps",), "max_steps", int, "Stop after so many optimizer steps; -1: never.  [default: -1]"),
    _Override(("--batch-size",), "batch_size", int, "Samples per batch.  [default: 128]"),
    _Override(("--learning-rate",), "learning_rate", float, "At the start.  [default: 0.001]"),
    _Override(("--weight-decay",), "weight_decay", float, "Pull of the weights to zero.  [default: 0]"),
    _Override(
        ("--optimizer", "--training-optimizer"), "training_optimizer", str, f"{', '.join(OPTIMIZERS)}.  [default: adam]"
    ),
    _Override(("--lr-schedule",), "lr_schedule", str, f"{', '.join(LR_SCHEDULES)}.  [default: cosine]"),
    _Override(
        ("--accumulate-grad-batches",), "accumulate_grad_batches", int, "Batches per optimizer step.  [default: 1]"
    ),
    _Override(
        ("--log-every-n-steps",),
        "log_every_n_steps",
        int,
        "Steps between two entries in TensorBoard's logs.  [default: 50]",
    ),
)


def config_options(*, training: bool) -> Callable[[Command], Command]:
    """Adds MODEL, DATASET, --config and the overriding options; `load_options` reads them."""

    def add(command: Command) -> Command:
        for item in reversed((*_PLACES, *(_TRAINING if training else ()))):
            command = click.option(*item.flags, item.key, type=item.kind, help=item.help)(command)
        kind = click.Path(path_type=Path)
        command = click.option("--config", "config_path", type=kind, help="A TOML; options override its keys.")(command)
        command = click.argument("dataset_name", metavar="[DATASET]", required=False)(command)
        return click.argument("model_name", metavar="[MODEL]", required=False)(command)

    return add


def need_packages(command: str, extra: str, *names: str) -> None:
    """Packages of an extra that are missing are a Problem that says which extra to install."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        text = f"mase-hw {command} needs {' and '.join(missing)}, not installed for {sys.executable}"
        raise ProblemsError(Problem(text, hint=f"pip install 'mase-hw[{extra}]'"))


def need_toml(path: Path) -> None:
    """A model's Python file in the place of the TOML that describes it is a Problem with the way to one."""
    if path.suffix == ".py" and path.exists():
        hint = f"`mase-hw new` writes one: mase-hw new --model {path}:CLASS, with your class's name for CLASS"
        raise ProblemsError(Problem(f"{path} is a model, and a TOML that describes it is wanted", hint=hint))


@dataclass(frozen=True)
class Chosen:
    """A configuration and the words that led to it."""

    config: Config
    words: tuple[tuple[str, ...], ...]  # by option

    def command(self, name: str, *more: str) -> str:
        """A command line that leads to the same configuration, without options that `more` gives anew."""
        kept = [word for words in self.words if words[0] not in more for word in words]
        return shlex.join(["mase-hw", name, *kept, *more])

    def without_training(self) -> Chosen:
        """For the command line of `test`, which does not take options of training."""
        flags = [flag for item in _TRAINING for flag in item.flags]
        return Chosen(self.config, tuple(words for words in self.words if words[0] not in flags))


def load_options(
    model_name: str | None, dataset_name: str | None, config_path: Path | None, given: Mapping[str, Any]
) -> Chosen:
    """The TOML with the command line's options in place of its keys. MODEL may be the TOML itself."""
    if model_name and model_name.endswith(".toml") and config_path is None and dataset_name is None:
        config_path, model_name = Path(model_name), None
    options: dict[str, Option] = {}
    words: list[tuple[str, ...]] = []
    for key, value in (("model", model_name), ("dataset", dataset_name)):
        if value is not None:
            if given.get(key) is not None:
                raise click.UsageError(f"{key.upper()} and --{key} are the same: give one of them")
            options[key] = Option(key.upper(), value)
            words.append((value,))
    if config_path is not None:
        words.append(("--config", str(config_path)))
    for item in (*_PLACES, *_TRAINING):
        value = given.get(item.key)
        if value is not None:
            options[item.key] = Option(item.flags[0], value)
            words.append((item.flags[0], str(value)))
    if config_path is None and "model" not in options:
        raise click.UsageError("Missing argument 'MODEL', or a TOML: --config FILE.")
    return Chosen(load_config(config_path, options), tuple(words))
