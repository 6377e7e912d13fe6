"""Metrics by hand-computed figures; bounds, scales and directions; sharing of parameters."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import torch
from searches import BITS, CHANNELS, NORM, TRAIN, WIDTHS, config_of, read, write

from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import compile_model
from mase_hw.loading import load_weights
from mase_hw.search.metrics import average_bitwidth, judge
from mase_hw.search.prepare import prepare
from mase_hw.search.space import quantize_args


def test_average_bitwidth_weighs_by_elements(tmp_path: Path) -> None:
    prepared = prepare(config_of(write(tmp_path)))
    sample = prepared.space.point(0)
    assert sample["seq_blocks_2"]["weight_width"] == 4
    graph = prepared.workshop.build(sample).graph
    # jsc-tiny: a batch norm in floats (16 inputs, 16 scales, 16 shifts), a linear 16 -> 5 with 8-bit data and bias
    bits = 48 * 32 + 16 * 8 + 80 * 4 + 5 * 8
    assert average_bitwidth(graph) == Fraction(bits, 48 + 16 + 80 + 5)
    measured, _ = prepared.measure(sample)
    assert measured.hardware["memory_density"] == pytest.approx(32 * 149 / bits)


def test_nothing_quantized_is_32_bits(tmp_path: Path) -> None:
    prepared = prepare(config_of(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS)))
    measured, _ = prepared.measure(prepared.space.point(5))
    assert measured.hardware == {"average_bitwidth": 32, "memory_density": 1.0}
    assert isinstance(measured.hardware["average_bitwidth"], int)


def test_cycles_and_luts_are_those_of_emit(tmp_path: Path) -> None:
    runners = "".join(f"[search.strategy.hw_runner.{name}]\n" for name in ("latency", "interval", "lut"))
    more = "[hardware]\ntarget_interval = 8\n"
    metrics = "latency.scale = 1\ninterval.scale = 1\nlut.scale = 1\n"
    path = write(tmp_path, model="jsc-d", seeds=WIDTHS + NORM, runners=runners, metrics=metrics, top=more)
    config = config_of(path)
    prepared = prepare(config)
    sample = prepared.space.point(3)
    measured, _ = prepared.measure(sample)
    model, _ = load_weights(config)
    built = compile_model(model, (16,), quantize_args(sample), {"config": config.hardware}, target_interval=8)
    schedule = built.design.schedule
    lut = built.design.cost().logic
    assert measured.hardware == {"latency": schedule.latency, "interval": int(schedule.interval), "lut": lut}
    assert lut > built.design.cost().cells > 100
    assert int(schedule.interval) == 8


@pytest.mark.parametrize("runner", ["latency", "interval", "lut"])
def test_a_model_that_some_samples_leave_in_floats_is_refused_before_the_search(runner: str, tmp_path: Path) -> None:
    seeds = (WIDTHS + NORM).replace('linear.config]\nname = ["integer"]', 'linear.config]\nname = ["integer", "NA"]')
    path = write(
        tmp_path, seeds=seeds, runners=f"[search.strategy.hw_runner.{runner}]\n", metrics=f"{runner}.scale = 1\n"
    )
    with pytest.raises(ProblemsError, match="Linear is not quantized") as caught:
        prepare(config_of(path))
    problem = caught.value.problems[0]
    assert problem.where is not None
    assert (problem.where.source() or "").startswith(f"[search.strategy.hw_runner.{runner}]")
    assert "[search.search_space.seed.linear.config]" in (problem.hint or "")


MEASURED = {"loss": 0.5, "accuracy": 0.75, "average_bitwidth": 8}


def test_each_metric_an_objective(tmp_path: Path) -> None:
    verdict = judge(MEASURED, read(write(tmp_path)))
    assert verdict.scaled == {"accuracy": 0.75, "average_bitwidth": 1.6}
    assert verdict.value == [0.75, 1.6]
    assert verdict.bounds == {}


@pytest.mark.parametrize(("direction", "value"), [("maximize", 0.75 - 1.6), ("minimize", 1.6 - 0.75)])
def test_a_sum_counts_a_metric_of_the_other_direction_negatively(direction: str, value: float, tmp_path: Path) -> None:
    setup = f'sum_scaled_metrics = true\ndirection = "{direction}"\n'
    verdict = judge(MEASURED, read(write(tmp_path, setup=setup)))
    assert verdict.value == pytest.approx(value)
    assert verdict.scaled == {"accuracy": 0.75, "average_bitwidth": 1.6}


def test_bounds_are_kept_at_zero_or_less(tmp_path: Path) -> None:
    metrics = "accuracy.at_least = 0.8\nloss.at_most = 0.25\naverage_bitwidth.scale = 1\n"
    verdict = judge(MEASURED, read(write(tmp_path, metrics=metrics)))
    assert verdict.bounds == {"accuracy.at_least": pytest.approx(0.05), "loss.at_most": 0.25}
    assert list(verdict.scaled) == ["average_bitwidth"]


def test_candidates_share_the_float_parameters(tmp_path: Path) -> None:
    prepared = prepare(config_of(write(tmp_path, model="jsc-d")))
    own = dict(prepared.model.named_parameters())
    graph = prepared.workshop.build(prepared.space.point(7)).graph
    shared = dict(graph.model.named_parameters())
    assert set(shared) == set(own)
    assert all(shared[name] is own[name] for name in own)


def test_a_widened_candidate_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    prepared = prepare(config_of(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS)))
    before = {name: value.clone() for name, value in prepared.model.state_dict().items()}
    wide = prepared.workshop.build(prepared.space.point(5)).graph.model
    assert wide.get_submodule("seq_blocks.2").weight.shape == (64, 16)  # type: ignore[union-attr]
    assert wide.get_submodule("seq_blocks.4").weight.shape == (48, 64)  # type: ignore[union-attr]
    after = prepared.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_training_a_candidate_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    prepared = prepare(config_of(write(tmp_path, runners=BITS + TRAIN)))
    before = {name: value.clone() for name, value in prepared.model.state_dict().items()}
    first, model = prepared.measure(prepared.space.point(5))
    again, _ = prepared.measure(prepared.space.point(5))
    assert first.all == again.all
    assert model is not None
    changed = model.state_dict()["seq_blocks.2.weight"]
    assert not torch.equal(changed, before["seq_blocks.2.weight"])
    assert all(torch.equal(before[name], value) for name, value in prepared.model.state_dict().items())
