"""The TOMLs of a course on MASE, key for key, from the command line; the data is generated in the right shapes."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CONFIGS = Path(__file__).parent / "configs"
COMMAND = [sys.executable, "-m", "mase_hw"]
FILES = {"best.json", "pareto.png", "pareto.html", "study.db"}
METRICS = ("loss", "accuracy", "average_bitwidth", "memory_density")


def mase_hw(folder: Path, *words: object) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def nothing(*names: str) -> dict[str, Any]:
    return {name: {"config": {"name": None}} for name in names}


def check_best(folder: Path, expected: dict[str, Any], choices: dict[str, list[int]], samples: int) -> list[Any]:
    """best.json is as MASE writes it: these keys, in this order, and nothing else. The multipliers that were chosen."""
    best = json.loads((folder / "best.json").read_text("utf-8"))
    assert list(best) == [str(at) for at in range(len(best))]
    assert best
    chosen = []
    for trial in best.values():
        assert list(trial) == [
            "number",
            "value",
            "software_metrics",
            "hardware_metrics",
            "scaled_metrics",
            "sampled_config",
        ]
        accuracy, loss = trial["software_metrics"]["accuracy"], trial["software_metrics"]["loss"]
        assert trial["software_metrics"] == {"loss": loss, "accuracy": accuracy}
        assert list(trial["software_metrics"]) == ["loss", "accuracy"]
        assert (accuracy * samples).is_integer()  # `num_samples` is kept to
        assert trial["hardware_metrics"] == {"average_bitwidth": 32, "memory_density": 1.0}
        assert trial["scaled_metrics"] == {"accuracy": accuracy, "average_bitwidth": 6.4}
        assert trial["value"] == [accuracy, 6.4]
        sampled = trial["sampled_config"]
        assert list(sampled) == [*expected, "by", "accelerator"]
        assert (sampled["by"], sampled["accelerator"]) == ("name", "cuda" if _cuda() else "cpu")
        multipliers = {node: sampled[node]["config"].pop("channel_multiplier") for node in choices}
        assert all(multipliers[node] in values for node, values in choices.items())
        assert {node: sampled[node] for node in expected} == expected
        chosen.append(multipliers)
    return chosen


def check_files(folder: Path, said: str) -> None:
    assert {path.name for path in folder.iterdir()} >= FILES
    assert (folder / "pareto.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "pareto.html").read_text("utf-8")
    (head,) = [line.split() for line in said.splitlines() if line.split()[:1] == ["trial"]]
    assert head == ["trial", *METRICS, "chosen"]


def test_search_of_channels_of_three_linear_layers(tmp_path: Path) -> None:
    config = CONFIGS / "jsc-three_by_type_grid.toml"
    said = mase_hw(tmp_path, "search", "--config", config, "--dataset", "random", "--n-trials", 5)
    assert 'note: accelerator = "cuda": no such device here, the CPU is used' in said or _cuda()
    folder = tmp_path / "mase_output/jsc-threeLinear/software/search"
    check_files(folder, said)
    expected = {
        **nothing("seq_blocks_1"),
        "seq_blocks_2": {"config": {"name": "output_only"}},
        **nothing("seq_blocks_3"),
        "seq_blocks_4": {"config": {"name": "both"}},
        **nothing("seq_blocks_5"),
        "seq_blocks_6": {"config": {"name": "input_only"}},
        **nothing("seq_blocks_7"),
    }
    choices = {node: [1, 2, 4, 6, 8, 10] for node in ("seq_blocks_2", "seq_blocks_4")}
    last = said.splitlines()[-1]
    assert last.startswith("next: quantizers for RTL: ")  # there are only floats to choose from
    assert "[search.search_space.seed]" in last
    (multipliers, *_) = check_best(folder, expected, choices, 500)  # 512 are asked for, the generated split has 500
    assert f"seq_blocks_2: channel_multiplier {multipliers['seq_blocks_2']}" in " ".join(said.split())


@pytest.mark.nightly
def test_search_of_channels_of_vgg7(tmp_path: Path) -> None:
    text = (CONFIGS / "vgg7_by_type.toml").read_text("utf-8")
    assert "num_samples = 512" in text
    (tmp_path / "vgg7.toml").write_text(text.replace("num_samples = 512", "num_samples = 8"), encoding="utf-8")
    said = mase_hw(tmp_path, "search", "--config", "vgg7.toml", "--dataset", "random", "--n-trials", 2)
    assert 'note: accelerator = "gpu": no such device here, the CPU is used' in said or _cuda()
    assert "note: n_trials = 2 of the 512 points of the search space" in said
    folder = tmp_path / "mase_output/vgg7-brute/software/search"
    check_files(folder, said)
    both = {"config": {"name": "both"}}
    expected = {
        "feature_layers_0": {"config": {"name": "output_only"}},
        **nothing("feature_layers_2"),
        "feature_layers_3": both,
        **nothing("feature_layers_5"),
        "feature_layers_7": both,
        **nothing("feature_layers_9"),
        "feature_layers_10": both,
        **nothing("feature_layers_12"),
        "feature_layers_14": both,
        **nothing("feature_layers_16"),
        "feature_layers_17": {"config": {"name": "input_only"}},
        **nothing("feature_layers_19", "classifier_0", "classifier_1", "classifier_2", "classifier_3", "last_layer"),
    }
    choices = {f"feature_layers_{at}": [1, 2, 4, 8] for at in (3, 7, 10, 14)} | {"feature_layers_0": [1, 2]}
    chosen = check_best(folder, expected, choices, 8)
    assert all(one != other for one, other in itertools.combinations(chosen, 2))  # brute force repeats nothing


def test_training_and_transformation_of_jsc_txl(tmp_path: Path) -> None:
    config = CONFIGS / "jsc_txl_quantized_by_type.toml"
    said = mase_hw(tmp_path, "train", "--config", config, "--dataset", "random", "--max-epochs", 3)
    assert said.count("validation loss") == 3
    best = tmp_path / "mase_output/jsc-txl/software/training_ckpts/best.ckpt"
    said = mase_hw(
        tmp_path, "transform", "--config", config, "--dataset", "random", "--load", best, "--task", "cls", "--cpu=0"
    )
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    assert rows[:6] == [
        ["Original type", "OP", "Total", "Changed", "Unchanged"],
        ["BatchNorm1d", "batch_norm1d", "5", "0", "5"],
        ["Linear", "linear", "4", "4", "0"],
        ["ReLU", "relu", "5", "0", "5"],
        ["output", "output", "1", "0", "1"],
        ["x", "placeholder", "1", "0", "1"],
    ]
    assert ["seq_blocks_2", "seq_blocks_2", "module_related_func", "linear", "Linear", "LinearInteger", "True"] in rows
    scores = {line.split()[0]: float(line.split("accuracy ")[1].split("%")[0]) for line in said.splitlines()[-3:-1]}
    assert set(scores) == {"float", "transformed"}
    assert min(scores.values()) > 60  # of five classes that are easy to tell apart
    norms = ", ".join(f"seq_blocks_{at}" for at in (0, 3, 6, 9, 12))
    assert said.endswith(f"not ready for mase-hw emit: {norms}: BatchNorm1d is not quantized\n")
    folder = tmp_path / "mase_output/jsc-txl/software/transform"
    assert {path.name for path in folder.iterdir()} == {
        "model.safetensors",
        "transformed.safetensors",
        "transform.toml",
    }
    written = tomllib.loads((folder / "transform.toml").read_text("utf-8"))
    asked = tomllib.loads(config.read_text("utf-8"))["passes"]["quantize"]["linear"]["config"]
    assert written["passes"]["quantize"]["linear"]["config"].items() >= asked.items()
    assert (written["load_name"], written["load_type"]) == ("model.safetensors", "safetensors")


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()
