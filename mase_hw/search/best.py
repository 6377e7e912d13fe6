"""The winner of a search as a TOML of its own, with its weights and its model: `emit`, `train` and `sim` take it."""

from __future__ import annotations

import json
import os
import pprint
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial

from mase_hw.checkpoints.read import read_state
from mase_hw.config import Config, TrainingConfig
from mase_hw.config.user_code import is_onnx, is_user_code
from mase_hw.config_file import load_config
from mase_hw.emit import Build
from mase_hw.files import write_whole
from mase_hw.flow import emit
from mase_hw.search.prepare import Prepared
from mase_hw.search.results import result_of
from mase_hw.search.space import Sample, quantize_args, redefine_args
from mase_hw.search.trials import save_weights, weights_path

_BARE = re.compile(r"[A-Za-z0-9_-]+")

MODEL = '''"""{model} with the channels that a search found; best.safetensors holds its weights. Written by mase-hw."""

from pathlib import Path

from torch import fx

from mase_hw.search.rebuild import redefined

CONFIG = {config}


class Best(fx.GraphModule):
    def __init__(self):
        made = redefined({model!r}, Path(__file__).parent / {base!r}, CONFIG)
        super().__init__(made, made.graph)
        self.input_shape = {shape!r}
'''


def sample_of(trial: FrozenTrial) -> Sample:
    """The sample that a trial was."""
    config: dict[str, Any] = result_of(trial)["sampled_config"]
    return {node: entry["config"] for node, entry in config.items() if isinstance(entry, dict)}


def write_winner(prepared: Prepared, trial: FrozenTrial, out: Path) -> Path:
    """best.toml in `out`, complete; best.safetensors and model.py beside it where the sample needs them."""
    config, sample = prepared.config, sample_of(trial)
    redefine = redefine_args(sample)
    model, load_name = _near(config.model, config, out), config.load_name
    weights = None if load_name is None else os.path.relpath(load_name, out)
    load_type: str = config.load_type
    if redefine is not None or prepared.search.training is not None:
        _write_weights(prepared, trial, sample, out)
        weights, load_type = "best.safetensors", "safetensors"
    if redefine is not None:
        base, shape = os.path.relpath(config.base, out), prepared.workshop.shape
        shown = pprint.pformat(redefine, width=110, sort_dicts=False)
        text = MODEL.format(model=config.model, config=shown, base=base, shape=tuple(shape))
        write_whole(out / "model.py", text)
        model = "model.py:Best"
    raw = config.raw
    document: dict[str, Any] = {
        "model": model,
        "dataset": None if config.dataset is None else _near(config.dataset, config, out),
        "task": config.task,
        "project": f"{config.project}-best",
        "seed": config.seed,
        "load_name": weights,
        "load_type": load_type,
        **_training(config.training),
        "passes": {
            "quantize": quantize_args(sample),
            "fuse_batch_norm": {"enabled": config.fuse_batch_norm},
            "hardware": raw["passes"]["hardware"],
        },
        "hardware": {**raw["hardware"], "top": config.target.top},
    }
    head = f"# Trial {trial.number} of the search in {config.path.name}; written by mase-hw search --emit-best.\n"
    path = out / "best.toml"
    write_whole(path, head + toml(document))
    return path


def emit_winner(path: Path) -> tuple[Build, tuple[str, ...]]:
    """The RTL of a best.toml, in build/<project>."""
    config = load_config(path)
    return emit(config, Path("build") / config.project)


def _write_weights(prepared: Prepared, trial: FrozenTrial, sample: Sample, out: Path) -> None:
    """The trial's own weights where this machine has them; otherwise it is built (and trained) again, from the seed."""
    number = result_of(trial).get("same_as", trial.number)
    kept = weights_path(out, number)
    candidate = prepared.workshop.build(sample, training=not kept.exists())
    model = candidate.model
    if prepared.search.training is not None and kept.exists():
        state, _ = read_state(kept, "safetensors")
    else:
        state = model.state_dict()
    if redefine_args(sample) is None:  # a traced model lacks what forward never uses, which a checkpoint must have
        state = {**prepared.model.state_dict(), **state}
    save_weights(state, out / "best.safetensors")


def _near(name: str, config: Config, out: Path) -> str:
    """A model's or data set's name as a TOML in `out` must write it."""
    if is_onnx(name):
        return os.path.relpath(config.base / name, out)
    if not is_user_code(name):
        return name
    file, _, thing = name.rpartition(":")
    return f"{os.path.relpath(config.base / file, out)}:{thing}"


def _training(training: TrainingConfig) -> dict[str, Any]:
    """What was not left at its default."""
    default = {item.name: item.default for item in fields(TrainingConfig)}
    return {key: value for key, value in asdict(training).items() if value != default[key]}


def toml(document: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """A mapping as TOML; None is left out."""
    plain = {key: value for key, value in document.items() if value is not None and not isinstance(value, Mapping)}
    tables = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    lines = [f"\n[{'.'.join(map(_key, path))}]"] if path and (plain or not tables) else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    text = "".join(f"{line}\n" for line in lines)
    return text + "".join(toml(value, (*path, key)) for key, value in tables.items())


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
