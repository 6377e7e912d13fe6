"""Options override a TOML's keys through the same checks; a configuration can be written as a TOML and read back."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from mase_hw.cli.options import load_options
from mase_hw.config.write import toml_text
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

TOML = """\
model = "jsc-tiny"
dataset = "jsc"
max_epochs = 5
load_name = "a.pt"
load_type = "pt"
num_workers = 3
[passes.quantize]
by = "type"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = -1
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
[hardware]
target_interval = 8
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_options_replace_keys_and_leave_the_rest(folder: Path) -> None:
    given = {"max_epochs": 7, "load_name": "b.ckpt", "cpu": 0, "seed": 4, "model": "m.py:Net", "lr_schedule": "none"}
    config = load_options(None, None, Path("sub/m.toml"), given).config
    assert (config.training.max_epochs, config.seed, config.dataset) == (7, 4, "jsc")
    assert (config.training.num_workers, config.training.lr_schedule) == (0, "none")
    assert config.load_name == folder / "b.ckpt"  # relative to the current folder, not to the TOML
    assert config.load_type == "auto"  # the TOML's spoke of its own checkpoint
    assert config.model == f"{folder / 'm.py'}:Net"
    assert config.raw["model"] == "m.py:Net"
    assert config.project == "m"
    assert config.output == Path("mase_output/m/software")
    untouched = load_config(Path("sub/m.toml"))
    assert (untouched.load_name, untouched.load_type) == (Path("sub/a.pt"), "pt")


def test_without_a_toml(folder: Path) -> None:
    chosen = load_options("jsc-tiny", "jsc", None, {"max_epochs": 10, "learning_rate": 1e-3})
    config = chosen.config
    assert (config.model, config.dataset, config.project) == ("jsc-tiny", "jsc", "jsc-tiny_classification_jsc")
    assert (config.training.max_epochs, config.training.learning_rate) == (10, 1e-3)
    assert chosen.command("train", "--resume") == (
        "mase-hw train jsc-tiny jsc --max-epochs 10 --learning-rate 0.001 --resume"
    )
    assert chosen.without_training().command("test", "--load", "x y") == "mase-hw test jsc-tiny jsc --load 'x y'"
    own = load_options("nets/m.py:Net", "d.py:make", None, {"load_name": "c.pt", "project_dir": "out"}).config
    assert (own.model, own.base, own.load_name) == ("nets/m.py:Net", Path(), Path("c.pt"))
    assert own.output == Path("out/Net_classification_make/software")


def test_the_toml_may_stand_in_the_models_place(folder: Path) -> None:
    assert load_options("sub/m.toml", None, None, {}).config == load_config(Path("sub/m.toml"))


def test_mistakes_in_options_name_the_option(folder: Path) -> None:
    given = {"learning_rate": -1.0, "training_optimizer": "adma", "batch_size": 0, "task": "regression"}
    with pytest.raises(ProblemsError) as caught:
        load_options("jsc-tiny", "jsc", None, given)
    assert [f"{problem.where}: {problem.message}" for problem in caught.value.problems] == [
        '--task: task = "regression" is unknown',
        "--batch-size: batch_size = 0 is out of range",
        "--learning-rate: learning_rate = -1.0 is out of range",
        '--optimizer: training_optimizer = "adma" is unknown',
    ]


def test_what_click_refuses(folder: Path) -> None:
    with pytest.raises(click.UsageError, match="MODEL and --model are the same"):
        load_options("jsc-tiny", None, None, {"model": "jsc-toy"})
    with pytest.raises(click.UsageError, match="Missing argument 'MODEL', or a TOML: --config FILE"):
        load_options(None, None, None, {})


def test_a_written_configuration_is_read_back_the_same(folder: Path) -> None:
    config = load_config(Path("sub/m.toml"))
    values = {**config.raw, "load_name": str(folder / "sub" / "a.pt")}
    (folder / "again.toml").write_text(toml_text(values))
    again = load_config(folder / "again.toml")
    assert {**again.raw, "load_name": "a.pt"} == dict(config.raw)
    assert (again.quantize, again.hardware, again.target) == (config.quantize, config.hardware, config.target)


def test_strings_and_keys_survive() -> None:
    import tomllib

    values = {"a b": {'"x"': [1, 2.5e-7, True, "tab\t\\ é \x7f 😀"], "n": None, "t": {"k": [{"deep": 1}]}}}
    read = tomllib.loads(toml_text(values))
    del values["a b"]["n"]
    assert read == values
