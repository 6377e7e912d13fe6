"""TOMLs as users have them load, with defaults, types and lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mase_hw.config import HardwareSpec, HardwareTarget, QuantSpec, TrainingConfig, parse_quantize
from mase_hw.config_file import load_config
from mase_hw.diagnostics import Collector, Place, ProblemsError
from mase_hw.numerics import Fixed, Rounding

BY_TYPE = """\
# a lab's file
model = "jsc-txl"
dataset = "jsc"
task = "cls"

max_epochs = 300
batch_size = 1024
learning_rate = 1e-2
accelerator = "cpu"
project = "jsc-txl"
seed = 42
log_every_n_steps = 5
load_name = "ckpts/best.ckpt"
load_type = "pl"

[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "NA"
[passes.quantize.linear.config]
name = "integer"
"data_in_width" = 8
"data_in_frac_width" = 4
"weight_width" = 6
"weight_frac_width" = 5
"bias_width" = 8
"bias_frac_width" = -1
"""

SEARCH = """\
model = "jsc-d"
dataset = "jsc"
accelerator = "cuda"
load_type = "pl"
[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "NA"
[search.search_space]
name = "graph/quantize/mixed_precision_ptq"
[search.search_space.setup]
by = "name"
[search.search_space.seed.seq_blocks_2.config]
name = ["output_only"]
channel_multiplier = [1,2,4,6,8,10]
[search.strategy.metrics]
accuracy.scale = 1.0
accuracy.direction = "maximize"
best = inf
since = 2024-01-25
"""

HARDWARE = """\
model = "net.py:Net"
cpu = 2
[passes.fuse_batch_norm]
[passes.hardware]
by = "name"
[passes.hardware.default.config]
implementation = "unrolled"
[passes.hardware.fc1.config]
data_in_parallelism = 4
data_out_parallelism = 8
data_in_fifo_depth = 16
[passes.quantize]
by = "regex_name"
[passes.quantize.'fc\\d+'.config]
name = "integer_floor"
data_in_width = 1
data_in_frac_width = 0
data_in_signed = false
data_out_width = 32
data_out_frac_width = 64
[hardware]
target_interval = 8
"""


def write(folder: Path, text: str, name: str = "my net.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_by_type(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, BY_TYPE))
    assert (config.model, config.dataset, config.task, config.project) == ("jsc-txl", "jsc", "cls", "jsc-txl")
    assert (config.seed, config.load_type, config.load_name) == (42, "pl", tmp_path / "ckpts" / "best.ckpt")
    assert config.training == TrainingConfig(
        max_epochs=300, batch_size=1024, learning_rate=0.01, accelerator="cpu", log_every_n_steps=5
    )
    linear = QuantSpec(Rounding.HALF_EVEN, Fixed(8, 4), Fixed(6, 5), Fixed(8, -1), None)
    assert config.quantize.for_node("seq_blocks_2", "linear") == linear
    assert config.quantize.for_node("linear", "relu") == QuantSpec()
    assert config.target == HardwareTarget("jsc_txl")
    assert not config.fuse_batch_norm
    assert config.where("seed") == Place(tmp_path / "my net.toml", 11)
    assert config.quantize.where("seq_blocks_2", "linear", "weight_width") == Place(tmp_path / "my net.toml", 24)
    assert config.quantize.where("x", "relu") == Place(tmp_path / "my net.toml", 18)
    assert config.quantize.subject_for("x", "relu") == "passes.quantize.default"


def test_defaults(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, 'model = "jsc-tiny"'))
    assert (config.project, config.target.top, config.seed) == ("my_net", "my_net", 0)
    assert (config.dataset, config.load_name, config.load_type) == (None, None, "auto")
    assert config.training == TrainingConfig()
    assert config.quantize.for_node("a", "linear") == QuantSpec()
    assert config.hardware.for_node("a", "linear") == HardwareSpec()


def test_search_is_kept_as_it_is(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, SEARCH))
    assert config.search["search_space"]["seed"]["seq_blocks_2"]["config"]["channel_multiplier"][-1] == 10
    assert config.where("search", "strategy", "metrics", "accuracy", "direction").line == 18
    json.dumps(dict(config.raw), allow_nan=False)
    assert config.raw["search"]["strategy"]["metrics"]["since"] == "2024-01-25"


def test_hardware(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, HARDWARE))
    assert config.fuse_batch_norm
    assert config.training.num_workers == 2
    assert config.hardware.for_node("fc1", "linear") == HardwareSpec("auto", 4, 8, 16)
    assert config.hardware.for_node("fc2", "linear") == HardwareSpec("unrolled")
    assert config.target == HardwareTarget("my_net", "stream", 8)
    spec = QuantSpec(Rounding.FLOOR, Fixed(1, 0, signed=False), None, None, Fixed(32, 64))
    assert config.quantize.for_node("fc12", "linear") == spec
    assert config.quantize.for_node("fc12x", "linear") == QuantSpec()


def test_fuse_batch_norm_can_be_switched_off(tmp_path: Path) -> None:
    text = 'model = "m"\n[passes.fuse_batch_norm]\nenabled = false\n'
    assert not load_config(write(tmp_path, text)).fuse_batch_norm


def test_raw_is_the_same_wherever_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    absolute = BY_TYPE.replace('"ckpts/best.ckpt"', '"/mnt/c/work/best-v2.ckpt"')
    first = load_config(write(tmp_path / "a", absolute)).raw
    assert dict(first) == dict(load_config(write(tmp_path / "b", absolute)).raw)
    assert first["load_name"] == "best-v2.ckpt"
    assert first["passes"]["quantize"]["linear"]["config"]["weight_width"] == 6
    assert first["passes"]["hardware"]["default"]["config"]["implementation"] == "auto"
    asked = {key: value for key, value in first["hardware"].items() if value is not None}
    assert asked == {"top": "jsc_txl", "interface": "stream"}
    assert str(tmp_path) not in json.dumps(dict(first))


def test_entries_that_rule_nothing(tmp_path: Path) -> None:

    config = load_config(write(tmp_path, HARDWARE))
    problems = Collector()
    config.hardware.check_keys(["fc_1", "fc_2"], ["linear"], problems)
    config.quantize.check_keys(["conv"], ["linear"], problems)
    assert [(p.message, p.hint, p.where and p.where.line) for p in problems.problems] == [
        ("passes.hardware: no node is named fc1", "did you mean fc_1?", 8),
        ("passes.quantize: no node's name matches fc\\d+", "nodes: conv", 14),
    ]
    problems = Collector()
    load_config(write(tmp_path, BY_TYPE.replace("quantize.linear", "quantize.liner"))).quantize.check_keys(
        [], ["linear", "relu"], problems
    )
    assert [(p.message, p.hint) for p in problems.problems] == [
        ("passes.quantize: liner is no operator type", "did you mean linear?")
    ]
    config.hardware.check_keys(["fc1"], [], problems)
    assert len(problems.problems) == 1


@pytest.mark.parametrize("name", [None, "NA", "null"])
def test_unquantized_by_any_name(name: str | None) -> None:

    with Collector() as problems:
        config = parse_quantize({"default": {"config": {"name": name}}}, problems)
    assert not config.for_node("a", "linear").quantized


def test_no_place_without_a_file() -> None:

    with pytest.raises(ProblemsError) as caught, Collector() as problems:
        parse_quantize({"by": "type", "relu": {"config": {"name": "integer"}}}, problems, subject="pass_args")
    assert str(caught.value) == (
        'error: pass_args.relu: name = "integer" needs the type of data_in\n'
        "  hint: add data_in_width and data_in_frac_width"
    )


def test_no_torch() -> None:
    code = "import sys, mase_hw.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
