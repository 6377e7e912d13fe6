"""What is said of types, names and parallelism that do not fit a model."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from desk import BY_NAME, LINEAR, NORM, TOML, Desk, Files, mlp, toml, toml_and

from mase_hw.passes.layers import supported

LOOSE = {"model.toml": 'model = "mlp.py:MLP"\n'}
ONLY_LINEAR = {"model.toml": TOML.removesuffix(NORM)}
ONLY_FC1 = {"model.toml": TOML.removesuffix(NORM).replace('"type"', '"name"').replace("linear", "fc1")}
RELU = '[passes.quantize.relu.config]\nname = "integer"\ndata_in_width = 8\ndata_in_frac_width = 4\n'


def hardware(text: str, first: str = BY_NAME) -> dict[str, str]:
    return toml_and(first + text)


# name: (files that differ, the text)
CASES: dict[str, tuple[Files, str]] = {
    "Sigmoid in passes.quantize": (
        mlp("self.fc = nn.Linear(6, 4)\nself.act = nn.Sigmoid()\n", "return self.act(self.fc(x))\n")
        | toml_and(RELU.replace("relu", "sigmoid")),
        """\
model.toml:20: error: passes.quantize.sigmoid: sigmoid cannot be quantized
   20 | [passes.quantize.sigmoid.config]
  hint: quantized forms exist for adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d, add, amax, avg_pool1d, avg_pool2d, batch_norm1d, batch_norm2d, cat, conv1d, conv2d, linear, max_pool1d, max_pool2d, mean, mul, relu, sub, thresholds, upsample, zero_pad: take this entry out
  note: act is the Sigmoid called at mlp.py:13
""",  # noqa: E501
    ),
    "operator type": (
        toml("quantize.linear", "quantize.liner"),
        """\
model.toml:4: error: passes.quantize: liner is no operator type
    4 | [passes.quantize.liner.config]
  hint: did you mean linear?
""",
    ),
    "operator type, nothing near": (
        toml("quantize.linear", "quantize.dense"),
        """\
model.toml:4: error: passes.quantize: dense is no operator type
    4 | [passes.quantize.dense.config]
  hint: operator types: adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d,
        add, amax, avg_pool1d, avg_pool2d, batch_norm1d, batch_norm2d, cat, conv1d, conv2d, linear,
        max_pool1d, max_pool2d, mean, mul, relu, sub, thresholds, upsample, zero_pad
""",
    ),
    "node name": (
        toml('"type"', '"name"'),
        """\
model.toml:4: error: passes.quantize: no node is named linear
    4 | [passes.quantize.linear.config]
  hint: nodes: bn, fc1, fc2, relu
model.toml:12: error: passes.quantize: no node is named batch_norm1d
   12 | [passes.quantize.batch_norm1d.config]
  hint: nodes: bn, fc1, fc2, relu
""",
    ),
    "node name in hardware": (
        hardware("[passes.hardware.fc_1.config]\ndata_in_parallelism = 2\n"),
        """\
model.toml:22: error: passes.hardware: no node is named fc_1
   22 | [passes.hardware.fc_1.config]
  hint: did you mean fc1?
""",
    ),
    "operator type in hardware": (
        toml_and("[passes.hardware.conv3d.config]\ndata_in_parallelism = 2\n"),
        """\
model.toml:20: error: passes.hardware: conv3d is no operator type
   20 | [passes.hardware.conv3d.config]
  hint: did you mean conv2d?
""",
    ),
    "nothing quantized": (
        LOOSE,
        """\
model.toml: error: fc1, fc2: Linear is not quantized
  hint: add, with widths of your choice:
        [passes.quantize.linear.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: fc1 is the Linear called at mlp.py:13
  note: fc2 is the Linear called at mlp.py:15
model.toml: error: bn: BatchNorm1d is not quantized
  hint: add, with widths of your choice:
        [passes.quantize.batch_norm1d.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: bn is the BatchNorm1d called at mlp.py:14
""",
    ),
    "one type left": (
        ONLY_LINEAR,
        """\
model.toml:2: error: bn: BatchNorm1d is not quantized
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.batch_norm1d.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: bn is the BatchNorm1d called at mlp.py:14
""",
    ),
    "names left": (
        ONLY_FC1,
        """\
model.toml:2: error: bn: BatchNorm1d is not quantized
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.bn.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: bn is the BatchNorm1d called at mlp.py:14
model.toml:2: error: fc2: Linear is not quantized
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.fc2.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: fc2 is the Linear called at mlp.py:15
""",
    ),
    "named NA": (
        {"model.toml": TOML.removesuffix(NORM) + NORM.split("\n")[0] + '\nname = "NA"\n'},
        """\
model.toml:12: error: bn: BatchNorm1d is not quantized
   12 | [passes.quantize.batch_norm1d.config]
  hint: change this table to, with widths of your choice:
        [passes.quantize.batch_norm1d.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: bn is the BatchNorm1d called at mlp.py:14
""",
    ),
    "ReLU alone": (
        mlp("self.input_shape = (6,)\n", "return torch.relu(x)\n"),
        """\
model.toml:2: error: no layer is quantized, so the input has no type
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.relu.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
""",
    ),
    "no type for the weights": (
        toml("weight_width = 8\nweight_frac_width = 4\n", ""),
        """\
model.toml:4: error: passes.quantize.linear: weight_width and weight_frac_width are missing, and fc1 (linear) needs them
    4 | [passes.quantize.linear.config]
  hint: add weight_width and weight_frac_width
  note: fc1 is the Linear called at mlp.py:13
""",
    ),
    "width without frac": (
        toml("data_in_frac_width = 4\n", ""),
        """\
model.toml:6: error: passes.quantize.linear: data_in_width is given without data_in_frac_width
    6 | data_in_width = 8
  hint: add data_in_frac_width
""",
    ),
    "widths out of range": (
        toml("data_in_width = 8\n", "data_in_width = 33\n"),
        """\
model.toml:6: error: passes.quantize.linear: data_in_width = 33 is out of range
    6 | data_in_width = 33
  hint: allowed: 2 to 32
""",
    ),
    "signed with one bit": (
        toml("weight_width = 8\n", "weight_width = 1\n"),
        """\
model.toml:8: error: passes.quantize.linear: weight_width = 1 is out of range
    8 | weight_width = 1
  hint: allowed: 2 to 32
""",
    ),
    "two tables": (
        {"model.toml": TOML.replace("data_in_width = 8", "data_in_width = 0", 1) + '[hardware]\ntop = "module"\n'},
        """\
model.toml:6: error: passes.quantize.linear: data_in_width = 0 is out of range
    6 | data_in_width = 0
  hint: allowed: 2 to 32
model.toml:21: error: hardware: top = "module" is a SystemVerilog keyword
   21 | top = "module"
  hint: for example module_top
""",
    ),
    "accumulator": (
        toml("width = 8\n", "width = 32\n", 6),
        """\
mlp.py:13: error: fc1: the exact sum of 6 products can reach 65 bits; 53 is the most that stays exact
   13 |         x = self.fc1(x)
  hint: use smaller widths, or bring bias_frac_width nearer to data_in_frac_width + weight_frac_width
  note: data_in fixed(32, 4), weight fixed(32, 4), bias fixed(32, 4)
  note: its types are those of passes.quantize.linear, model.toml:4
mlp.py:14: error: bn: the exact sum of 1 product can reach 63 bits; 53 is the most that stays exact
   14 |         x = torch.relu(self.bn(x))
  hint: use smaller widths, or bring bias_frac_width nearer to data_in_frac_width + weight_frac_width
  note: data_in fixed(32, 4), weight fixed(32, 4), bias fixed(32, 4)
  note: its types are those of passes.quantize.batch_norm1d, model.toml:12
mlp.py:15: error: fc2: the exact sum of 4 products can reach 65 bits; 53 is the most that stays exact
   15 |         return self.fc2(x)
  hint: use smaller widths, or bring bias_frac_width nearer to data_in_frac_width + weight_frac_width
  note: data_in fixed(32, 4), weight fixed(32, 4), bias fixed(32, 4)
  note: its types are those of passes.quantize.linear, model.toml:4
""",
    ),
    "parallelism": (
        hardware("[passes.hardware.fc1.config]\ndata_in_parallelism = 4\ndata_out_parallelism = 3\n"),
        """\
model.toml:23: error: hardware.fc1: data_in_parallelism = 4 does not divide in_features = 6
   23 | data_in_parallelism = 4
  hint: divisors near 4: 3, 6
  note: fc1 is the Linear called at mlp.py:13
model.toml:24: error: hardware.fc1: data_out_parallelism = 3 does not divide out_features = 4
   24 | data_out_parallelism = 3
  hint: divisors near 3: 2, 4
  note: fc1 is the Linear called at mlp.py:13
""",
    ),
    "parallelism by default": (
        hardware("[passes.hardware.default.config]\ndata_in_parallelism = 40\n"),
        """\
model.toml:23: error: hardware.fc1: data_in_parallelism = 40 does not divide in_features = 6
   23 | data_in_parallelism = 40
  hint: divisors near 40: 6
  note: fc1 is the Linear called at mlp.py:13
model.toml:23: error: hardware.bn: data_in_parallelism = 40 does not divide in_features = 4
   23 | data_in_parallelism = 40
  hint: divisors near 40: 4
  note: bn is the BatchNorm1d called at mlp.py:14
model.toml:23: error: hardware.relu: data_in_parallelism = 40 does not divide in_features = 4
   23 | data_in_parallelism = 40
  hint: divisors near 40: 4
  note: relu is the relu called at mlp.py:14
model.toml:23: error: hardware.fc2: data_in_parallelism = 40 does not divide in_features = 4
   23 | data_in_parallelism = 40
  hint: divisors near 40: 4
  note: fc2 is the Linear called at mlp.py:15
""",
    ),
    "implementation of a relu": (
        hardware('[passes.hardware.relu.config]\nimplementation = "folded"\n'),
        """\
model.toml:23: error: hardware.relu: a relu has one implementation, not folded
   23 | implementation = "folded"
  hint: delete the line: implementation is for linear layers
  note: relu is the relu called at mlp.py:14
""",
    ),
}


@pytest.mark.parametrize(("files", "text"), CASES.values(), ids=list(CASES))
def test_text(files: Files, text: str, desk: Desk) -> None:
    desk.place_build("build/model")
    desk.write(files)
    assert desk.refused("emit", "model.toml") == text.replace("SUPPORTED", ", ".join(supported()))


@pytest.mark.parametrize("files", [LOOSE, ONLY_LINEAR, ONLY_FC1], ids=["nothing", "by type", "by name"])
def test_the_lines_of_the_hint_make_it_work(files: Files, desk: Desk) -> None:
    desk.write(files)
    said = desk.refused("emit", "model.toml")
    hints = [part.partition("\n  note:")[0] for part in said.split("your choice:\n")[1:]]
    with Path("model.toml").open("a") as file:
        file.writelines(f"{textwrap.dedent(hint)}\n" for hint in hints)
    ran = desk.run("emit", "model.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "written: build/model" in ran.out


def test_the_desk_as_it_is_works(desk: Desk) -> None:
    ran = desk.run("emit", "model.toml")
    assert (ran.code, ran.err) == (0, "")
    assert LINEAR in TOML
