"""The files of a search: best.json in the labs' shape, plots, the winner's TOML and its weights."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from optuna.storages import InMemoryStorage
from searches import BITS, CHANNELS, NORM, TRAIN, WIDTHS, complete, run, write

from mase_hw.config_file import load_config
from mase_hw.flow import compile_model, emit
from mase_hw.loading import load_weights
from mase_hw.search.best import toml, write_winner
from mase_hw.search.plot import picture, write_html, write_png
from mase_hw.search.results import best_trials, drop_beaten_weights, metrics_of, winner, write_best
from mase_hw.search.trials import weights_path
from mase_hw.training.evaluate import evaluate


def test_best_json_has_the_shape_that_the_labs_know(tmp_path: Path) -> None:
    worker = run(
        write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS, top='accelerator = "cuda"\n'), InMemoryStorage()
    )
    document = json.loads(write_best(best_trials(worker.study), tmp_path).read_text("utf-8"))
    first = document["0"]
    keys = ["number", "value", "software_metrics", "hardware_metrics", "scaled_metrics", "sampled_config"]
    assert list(first) == keys
    assert list(first["software_metrics"]) == ["loss", "accuracy"]
    assert first["hardware_metrics"] == {"average_bitwidth": 32, "memory_density": 1.0}
    assert first["scaled_metrics"] == {"accuracy": first["software_metrics"]["accuracy"], "average_bitwidth": 6.4}
    assert first["value"] == list(first["scaled_metrics"].values())
    sampled = first["sampled_config"]
    assert list(sampled) == [*(f"seq_blocks_{k}" for k in range(1, 8)), "by", "accelerator"]
    assert (sampled["by"], sampled["accelerator"]) == ("name", "cuda" if torch.cuda.is_available() else "cpu")
    assert sampled["seq_blocks_1"] == {"config": {"name": None}}
    assert list(sampled["seq_blocks_2"]["config"]) == ["name", "channel_multiplier"]
    assert sampled["seq_blocks_6"] == {"config": {"name": "input_only"}}


def test_one_objective_has_one_value_and_one_best_trial(tmp_path: Path) -> None:
    setup = 'sum_scaled_metrics = true\ndirection = "maximize"\n'
    worker = run(write(tmp_path, setup=setup), InMemoryStorage())
    document = json.loads(write_best(best_trials(worker.study), tmp_path).read_text("utf-8"))
    assert list(document) == ["0"]
    assert document["0"]["value"] == max(trial.values[0] for trial in complete(worker.study))


def test_the_front_is_what_nothing_beats(tmp_path: Path) -> None:
    worker = run(write(tmp_path, model="jsc-d"), InMemoryStorage(), n_trials=20)
    trials, front = complete(worker.study), best_trials(worker.study)

    def beats(one: list[float], other: list[float]) -> bool:  # more accuracy, fewer bits
        return one[0] >= other[0] and one[1] <= other[1] and one != other

    expected = [a.number for a in trials if not any(beats(b.values, a.values) for b in trials)]
    assert [trial.number for trial in front] == expected
    chosen = winner(front, worker.prepared.search)
    assert chosen is not None
    assert chosen.values[0] - chosen.values[1] == max(trial.values[0] - trial.values[1] for trial in front)


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [str(value) for key, value in attrs if key in ("src", "href", "xlink:href")]


@pytest.mark.parametrize("setup", ["sum_scaled_metrics = false\n", 'direction = "maximize"\n'])
def test_plots(setup: str, tmp_path: Path) -> None:
    worker = run(write(tmp_path, setup=setup), InMemoryStorage())
    trials, best = complete(worker.study), best_trials(worker.study)
    shown = picture(worker.prepared.search, trials, best, "<found>")
    assert write_png(shown, tmp_path / "pareto.png").read_bytes().startswith(b"\x89PNG")
    text = write_html(shown, tmp_path / "pareto.html").read_text("utf-8")
    links = Links()
    links.feed(text)
    assert links.outside == []
    assert "http" not in text
    assert links.tags.count("circle") == links.tags.count("tr") - 1 == len(trials)
    assert len(re.findall('circle class="best"', text)) == len(best)
    assert "&lt;found&gt;" in text


def test_toml_is_what_tomllib_reads(tmp_path: Path) -> None:
    import tomllib

    document = {"a": 'x"y\\z', "n": [1, 2.5, True], "t": {"b c": {"d": 1}, "e": {}}, "gone": None}
    assert tomllib.loads(toml(document)) == {"a": 'x"y\\z', "n": [1, 2.5, True], "t": {"b c": {"d": 1}, "e": {}}}


WIDE = WIDTHS.replace("seed.linear", "seed.seq_blocks_2") + (
    'redefine = ["output_only"]\nchannel_multiplier = [2, 3]\n'
    + "".join(
        f"[search.search_space.seed.seq_blocks_{k}.config]\n{NORM.partition(chr(10))[2]}{role}"
        for k, role in ((0, ""), (4, 'redefine = ["input_only"]\n'), (6, ""))
    )
)


@pytest.mark.parametrize(
    ("by", "seeds", "runners"),
    [
        ("type", WIDTHS + NORM, BITS),
        ("type", WIDTHS + NORM, BITS + TRAIN),
        ("name", WIDE, BITS),
        ("name", WIDE, BITS + TRAIN),
    ],
    ids=["widths", "widths, trained", "channels", "channels, trained"],
)
@pytest.mark.parametrize("fuse", [False, True])
def test_the_winners_toml_is_the_model_that_was_measured(
    by: str, seeds: str, runners: str, fuse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    top = "[passes.fuse_batch_norm]\n" if fuse else ""
    worker = run(
        write(tmp_path, model="jsc-d", by=by, seeds=seeds, runners=runners, top=top), InMemoryStorage(), n_trials=3
    )
    trial = winner(best_trials(worker.study), worker.prepared.search)
    assert trial is not None
    out = tmp_path / "software" / "search"
    config = load_config(write_winner(worker.prepared, trial, out))
    model, _ = load_weights(config)
    quantize = config.raw["passes"]["quantize"]
    compiled = compile_model(model, (16,), quantize, fuse_batch_norm=config.fuse_batch_norm)
    data = worker.prepared.workshop.dataset
    score = evaluate(compiled.graph.model, data.x_val, data.y_val, num_samples=64)
    measured = metrics_of(trial)
    assert (score.loss, score.accuracy) == (measured["loss"], measured["accuracy"])
    build, _ = emit(config, tmp_path / "build")
    assert build.manifest["nodes"][1]["name"].startswith("seq_blocks_")
    if by == "name":
        assert compiled.graph.modules["seq_blocks.2"].out_features in (32, 48)


def test_weights_of_beaten_trials_are_deleted(tmp_path: Path) -> None:
    worker = run(write(tmp_path, runners=BITS + TRAIN), InMemoryStorage())
    best = best_trials(worker.study)
    assert all(weights_path(tmp_path, trial.number).exists() for trial in complete(worker.study))
    drop_beaten_weights(worker.study, best, tmp_path)
    kept = {path.stem for path in (tmp_path / "trials").iterdir()}
    assert kept == {str(trial.number) for trial in best}
    assert len(kept) < 6
