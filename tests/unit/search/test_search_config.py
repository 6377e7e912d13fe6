"""[search]: what it means, and what is said of mistakes in it, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from searches import BITS, CHANNELS, SEVERAL, TWO, WIDTHS, read, write

from mase_hw.diagnostics import ProblemsError


def problems(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        read(path)
    return str(caught.value)


def line_of(path: Path, text: str) -> str:
    lines = path.read_text("utf-8").splitlines()
    return f"{path.name}:{1 + next(k for k, line in enumerate(lines) if line.startswith(text))}:"


def test_the_shape_of_the_labs_is_read(tmp_path: Path) -> None:
    search = read(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS, setup=SEVERAL + "n_trials = 40\n"))
    assert search.space.seed.entries["seq_blocks_2"].roles == ("output_only",)
    assert search.space.seed.entries["seq_blocks_2"].multipliers == (1, 2, 4)
    assert search.space.seed.entries["seq_blocks_6"].count() == 1
    assert [(metric.name, metric.scale, metric.direction) for metric in search.objectives] == [
        ("accuracy", 1.0, "maximize"),
        ("average_bitwidth", 0.2, "minimize"),
    ]
    assert (search.direction, search.n_trials, search.compare_to) == (None, 40, 32)
    assert (search.evaluation.split, search.evaluation.num_samples) == ("val", 64)


def test_objectives_keep_the_order_of_the_toml(tmp_path: Path) -> None:
    search = read(write(tmp_path, metrics="average_bitwidth.scale = 2\naccuracy.scale = 1\nloss.at_most = 3\n"))
    assert [metric.name for metric in search.objectives] == ["average_bitwidth", "accuracy"]
    assert [metric.name for metric in search.metrics] == ["average_bitwidth", "accuracy", "loss"]


def test_an_unknown_runner_is_refused_with_those_there_are(tmp_path: Path) -> None:
    path = write(tmp_path, runners=BITS + "[search.strategy.hw_runner.power]\n")
    said = problems(path)
    assert line_of(path, "[search.strategy.hw_runner.power]") in said
    assert "there is no runner power" in said
    assert "average_bitwidth, latency, interval, lut" in said


MISTAKES = {
    "sampler": ({"sampler": "tpee", "setup": SEVERAL + "n_trials = 3\n"}, "sampler =", "did you mean tpe?"),
    "no n_trials": ({"sampler": "tpe"}, "[search.strategy.setup]", "n_trials is missing"),
    "sum without direction": (
        {"setup": "sum_scaled_metrics = true\n"},
        "sum_scaled_metrics",
        "the direction of the summed metrics is missing",
    ),
    "unmeasured metric": (
        {"metrics": TWO + "latency.scale = 1\n"},
        "latency",
        "[search.strategy.hw_runner.latency]",
    ),
    "unknown metric": ({"metrics": TWO + "accurcy.scale = 1\n"}, "accurcy", "did you mean accuracy?"),
    "scale": ({"metrics": "accuracy.scale = -1\n"}, "accuracy.scale", "above 0"),
    "no metric": ({"metrics": "accuracy.at_least = 0.5\n"}, "[search.strategy.metrics]", "no metric is optimized"),
    "width": ({"seeds": WIDTHS.replace("[4, 6, 8]", "[4, 0]")}, "weight_width", "0 is out of range"),
    "twice": ({"seeds": WIDTHS.replace("[4, 6, 8]", "[4, 4]")}, "weight_width", "4 is listed twice"),
    "empty": ({"seeds": WIDTHS.replace("[4, 6, 8]", "[]")}, "weight_width", "has no choice"),
    "pair": (
        {"seeds": WIDTHS.replace("weight_frac_width = [2, 4]\n", "")},
        "weight_width",
        "without weight_frac",
    ),
    "quantizer": (
        {"seeds": WIDTHS.replace('["integer"]', '["interger"]')},
        'name = ["interger',
        "did you mean integer?",
    ),
    "multiplier": (
        {"by": "name", "seeds": CHANNELS.replace("[1, 3]", "[0]")},
        "channel_multiplier = [0",
        "0 is no",
    ),
    "role and widths": (
        {
            "by": "name",
            "seeds": CHANNELS.replace("= [1, 3]", "= [2]\ndata_in_width = 8"),
        },
        'name = ["both"]',
        "redefine",
    ),
    "space": ({"space": "graph/channel_sizes"}, 'name = "graph/', "did you mean graph/channel_size?"),
    "widths in channel_size": ({"space": "graph/channel_size"}, 'name = ["integer"]', "mixed_precision_ptq"),
    "by": ({"by": "regex"}, 'by = "regex"', "name, type"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    changes, line, text = MISTAKES[name]
    path = write(tmp_path, **changes)  # type: ignore[arg-type]
    said = problems(path)
    assert text in said
    assert line_of(path, line) in said


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    said = problems(write(tmp_path, sampler="x", metrics="accurcy.scale = 1\n", by="nam"))
    assert said.count("error:") >= 3
