"""FLOPs and bit operations: the labs' figures, each formula, integers, what cannot be counted."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from graphs import LINEAR, common, graph_of, problems_of
from torch import Tensor, nn

from mase_hw.graph import MaseGraph
from mase_hw.passes import count_bitops_analysis_pass, count_flops_analysis_pass, quantize_transform_pass


def counts(graph: MaseGraph) -> tuple[dict[str, int], dict[str, int]]:
    flops, bitops = count_flops_analysis_pass(graph)[1], count_bitops_analysis_pass(graph)[1]
    assert flops["total_flops"] == sum(flops["flops"].values())
    assert bitops["total_bitops"] == sum(bitops["bitops"].values())
    for name, value in flops["flops"].items():
        assert common(graph, name)["flop"] == value
        assert common(graph, name)["bitops"] == bitops["bitops"][name]
    return flops["flops"], bitops["bitops"]


def test_the_labs_figures() -> None:
    for add_value in (True, False):  # from shapes, so that values are not needed
        flops, bitops = counts(graph_of("jsc-tiny", add_value=add_value))
        assert (sum(flops.values()), sum(bitops.values())) == (1320, 1205504)
        quantized, _ = quantize_transform_pass(graph_of("jsc-tiny", add_value=add_value), LINEAR)
        flops, bitops = counts(quantized)
        assert (sum(flops.values()), sum(bitops.values())) == (680, 575744)
    assert flops == {
        "x": 0,
        "seq_blocks_0": 512,
        "seq_blocks_1": 128,
        "seq_blocks_2": 0,
        "seq_blocks_3": 40,
        "output": 0,
    }
    assert bitops["seq_blocks_2"] == 640 * (8 * 8 + 8)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 6, (3, 2), stride=2, bias=False, groups=2)
        self.norm, self.pool = nn.BatchNorm2d(6), nn.MaxPool2d(2)
        self.fc = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.norm(self.conv(x)))  # [2, 6, 3, 4], then [2, 6, 1, 2]
        x = x * x + x
        x = F.avg_pool2d(x, (1, 2))  # [2, 6, 1, 1]
        x = F.adaptive_avg_pool2d(x, 1)
        return F.softmax(self.fc(x.flatten(1)), dim=1)


def test_every_formula() -> None:
    graph = graph_of(Convolutions(), 4, 7, 8, batch=2)
    assert common(graph, "conv")["results"]["data_out_0"]["shape"] == [2, 6, 3, 4]
    _, info = count_flops_analysis_pass(graph)
    assert info["flops"] == {
        "x": 0,
        "conv": 144 * 2 * 3 * 2,  # 2 of 4 channels in each group, 3 x 2 window
        "norm": 4 * 144,
        "pool": 24 * 4,
        "mul": 24,
        "add": 24,
        "avg_pool2d": 12 * 2,
        "adaptive_avg_pool2d": 12,
        "flatten": 0,
        "fc": 2 * 6 * 3,
        "output": 0,
    }
    assert info["uncounted"] == ["softmax"]
    _, info = count_bitops_analysis_pass(graph)
    bits = {
        name: value // max(count_flops_analysis_pass(graph)[1]["flops"][name], 1)
        for name, value in info["bitops"].items()
    }
    assert bits["conv"] == 32 * 32 + 32
    assert bits["norm"] == bits["mul"] == 32 * 32
    assert bits["pool"] == bits["add"] == bits["avg_pool2d"] == bits["adaptive_avg_pool2d"] == 32
    assert info["uncounted"] == ["softmax"]


def test_widths_of_every_argument_count() -> None:
    entry = {"name": "integer", "data_in_width": 5, "data_in_frac_width": 2, "weight_width": 3, "weight_frac_width": 2}
    wide, narrow = ({**entry, "bias_width": width, "bias_frac_width": 2} for width in (9, 4))
    for config, bits in ((wide, 5 * 3 + 9), (narrow, 5 * 3 + 5)):
        graph, _ = quantize_transform_pass(graph_of("jsc-tiny"), {"by": "type", "linear": {"config": config}})
        assert counts(graph)[1]["seq_blocks_2"] == 640 * bits


def test_functional_forms_count_alike() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(5, 16))

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight).relu()

    flops, bitops = counts(graph_of(Functional()))
    assert (flops["linear"], flops["relu"]) == (640, 40)
    assert bitops["linear"] == 640 * (1024 + 32)


def test_a_second_count_replaces_the_first() -> None:
    graph = graph_of("jsc-tiny")
    assert counts(graph) == counts(graph)


def test_shapes_must_be_known() -> None:
    for count in (count_flops_analysis_pass, count_bitops_analysis_pass):
        (problem,) = problems_of(count, MaseGraph(nn.Sequential(nn.Linear(2, 2))))
        assert problem.hint == "run add_common_metadata_analysis_pass first"
