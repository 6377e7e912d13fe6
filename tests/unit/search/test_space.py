"""The points of a search space: each once, none that differs in nothing, and the tables that they become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from searches import CHANNELS, NORM, WIDTHS, config_of, read, write

from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph
from mase_hw.loading import load_weights
from mase_hw.pipeline.graphs import with_metadata
from mase_hw.search.space import Space, make_space, quantize_args, redefine_args


def space_of(path: Path) -> Space:
    model, _ = load_weights(config_of(path))
    graph = with_metadata(MaseGraph(model), (16,))
    with Collector() as problems:
        return make_space(read(path).space, graph, problems)


def points(space: Space) -> list[str]:
    return [json.dumps(space.point(k), sort_keys=True) for k in range(space.size)]


def test_by_type_every_node_has_its_own_choice(tmp_path: Path) -> None:
    space = space_of(write(tmp_path, model="jsc-d"))
    assert space.size == 6**3
    assert len(set(points(space))) == space.size
    asked: list[str] = []
    space.sample(lambda name, choices: asked.append(name) or choices[0])
    linears = ("seq_blocks_2", "seq_blocks_4", "seq_blocks_6")
    assert asked == [f"{node}.{key}" for node in linears for key in ("weight_width", "weight_frac_width")]


def test_widths_count_only_where_a_quantizer_is_chosen(tmp_path: Path) -> None:
    space = space_of(write(tmp_path, seeds=WIDTHS.replace('["integer"]', '["NA", "integer", "integer_floor"]')))
    assert space.size == 1 + 6 + 6
    assert len(set(points(space))) == space.size
    assert space.least_quantized()["seq_blocks_2"] == {"name": None}


def test_a_default_gives_a_relu_only_what_it_has_a_use_for(tmp_path: Path) -> None:
    seeds = WIDTHS.replace('name = ["NA"]\n[search.search_space.seed.linear.config]\n', "")
    space = space_of(write(tmp_path, seeds=seeds))
    assert set(space.nodes["seq_blocks_1"].widths) == {"data_in_width", "data_in_frac_width"}
    assert space.nodes["seq_blocks_1"].count() == 1
    assert space.size == 6 * 6  # batch norm and linear


def test_untouched_nodes_are_listed_and_batch_norms_only_when_touched(tmp_path: Path) -> None:
    space = space_of(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS))
    assert list(space.nodes) == [f"seq_blocks_{k}" for k in range(1, 8)]
    assert space.point(0)["seq_blocks_3"] == {"name": None}
    assert "seq_blocks_0" in space_of(write(tmp_path, model="jsc-d", seeds=WIDTHS + NORM)).nodes


def test_samples_become_the_tables_of_their_passes(tmp_path: Path) -> None:
    space = space_of(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS))
    assert space.size == 6
    sample = space.sample(lambda _, choices: choices[-1])
    default = {"config": {"name": "NA"}}
    assert quantize_args(sample) == {"by": "name", "default": default}
    assert redefine_args(sample) == {
        "by": "name",
        "default": default,
        "seq_blocks_2": {"config": {"name": "output_only", "channel_multiplier": 4}},
        "seq_blocks_4": {"config": {"name": "both", "channel_multiplier": 3}},
        "seq_blocks_6": {"config": {"name": "input_only"}},
    }


def test_one_node_goes_through_both_passes(tmp_path: Path) -> None:
    role = 'redefine = ["output_only"]\nchannel_multiplier = [1, 2]\n'
    node = WIDTHS.replace("seed.linear", "seed.seq_blocks_2") + role
    last = '[search.search_space.seed.seq_blocks_4.config]\nname = ["input_only"]\n'
    space = space_of(write(tmp_path, model="jsc-d", by="name", seeds=node + last))
    assert space.size == 12 == len(set(points(space)))
    sample = space.point(11)
    redefine = redefine_args(sample)
    assert redefine is not None
    assert redefine["seq_blocks_2"]["config"] == {"name": "output_only", "channel_multiplier": 2}
    config = quantize_args(sample)["seq_blocks_2"]["config"]
    assert config["name"] == "integer"
    assert not {"redefine", "channel_multiplier"} & set(config)
    assert space.sample(lambda _, choices: choices[-1]) == sample


WRONG = {
    "no such node": ({"by": "name", "seeds": WIDTHS.replace("seed.linear", "seed.seq_blocks_9")}, "no node is named"),
    "no such type": ({"seeds": WIDTHS.replace("seed.linear", "seed.linaer")}, "did you mean linear?"),
    "missing widths": (
        {"seeds": WIDTHS.replace("bias_width = 8\nbias_frac_width = 4\n", "")},
        "bias_width and bias_frac",
    ),
    "a relu has no channels": (
        {"model": "jsc-d", "by": "name", "seeds": CHANNELS.replace("seed.seq_blocks_4", "seed.seq_blocks_3")},
        "has no channels",
    ),
    "nothing to search": (
        {"seeds": WIDTHS.replace("[4, 6, 8]", "8").replace("[2, 4]", "[4]")},
        "there is nothing to search",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    changes, text = WRONG[name]
    with pytest.raises(ProblemsError, match=text) as caught:
        space_of(write(tmp_path, **changes))  # type: ignore[arg-type]
    assert all(problem.where is not None and problem.where.line for problem in caught.value.problems)
