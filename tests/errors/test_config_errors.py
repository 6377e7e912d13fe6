"""Mistakes of a TOML's own keys and of its syntax, with the exact text that each gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

# name: (the TOML, the text of every problem)
CASES = {
    "unknown key at the top": (
        """\
model = "m"
learning_rat = 1e-3
""",
        """\
model.toml:2: error: unknown key learning_rat
    2 | learning_rat = 1e-3
  hint: did you mean learning_rate?
""",
    ),
    "unknown key with no near one": (
        """\
model = "m"
zzz = 1
""",
        """\
model.toml:2: error: unknown key zzz
    2 | zzz = 1
  hint: known keys: accelerator, accumulate_grad_batches, batch_size, cpu, dataset, disable_dataset_cache,
        github_ci, hardware, is_pretrained, is_to_auto_requeue, learning_rate, load_name, load_type,
        log_every_n_steps, log_level, lr_schedule, max_epochs, max_steps, max_token_len, model, num_devices,
        num_nodes, num_workers, passes, profile, project, project_dir, search, seed, strategy, task,
        to_debug, trainer_precision, training_optimizer, weight_decay
""",
    ),
    "model missing": (
        """\
dataset = "digits"
""",
        """\
model.toml: error: model is missing
  hint: add model = "a registered name", "file.py:Class" or "file.onnx"
""",
    ),
    "model not a string": (
        """\
model = 3
""",
        """\
model.toml:1: error: model = 3 is not a string
    1 | model = 3
""",
    ),
    "model empty": (
        """\
model = ""
""",
        """\
model.toml:1: error: model is empty
    1 | model = ""
""",
    ),
    "unknown task": (
        """\
model = "m"
task = "clss"
""",
        """\
model.toml:2: error: task = "clss" is unknown
    2 | task = "clss"
  hint: did you mean cls?
""",
    ),
    "unknown load_type": (
        """\
model = "m"
load_type = "safetensor"
""",
        """\
model.toml:2: error: load_type = "safetensor" is unknown
    2 | load_type = "safetensor"
  hint: did you mean safetensors?
""",
    ),
    "unknown accelerator": (
        """\
model = "m"
accelerator = "cdua"
""",
        """\
model.toml:2: error: accelerator = "cdua" is unknown
    2 | accelerator = "cdua"
  hint: did you mean cuda?
""",
    ),
    "bool is no integer": (
        """\
model = "m"
max_epochs = true
""",
        """\
model.toml:2: error: max_epochs = true is not an integer
    2 | max_epochs = true
""",
    ),
    "zero batch": (
        """\
model = "m"
batch_size = 0
""",
        """\
model.toml:2: error: batch_size = 0 is out of range
    2 | batch_size = 0
  hint: allowed: 1 or more
""",
    ),
    "rate": (
        """\
model = "m"
learning_rate = 0
""",
        """\
model.toml:2: error: learning_rate = 0 is out of range
    2 | learning_rate = 0
  hint: allowed: above 0
""",
    ),
    "cpu twice": (
        """\
model = "m"
cpu = 0
num_workers = 1
""",
        """\
model.toml:2: error: cpu and num_workers are the same setting
    2 | cpu = 0
  hint: keep one of them
""",
    ),
    "negative seed": (
        """\
model = "m"
seed = -1
""",
        """\
model.toml:2: error: seed = -1 is out of range
    2 | seed = -1
  hint: allowed: 0 to 4294967295
""",
    ),
    "project with a path": (
        """\
model = "m"
project = "../../etc"
""",
        """\
model.toml:2: error: project = "../../etc" is not a plain name
    2 | project = "../../etc"
  hint: letters, digits, _ - . + and no slash; it names the build folder
""",
    ),
    "project dots": (
        """\
model = "m"
project = ".."
""",
        """\
model.toml:2: error: project = ".." is not a plain name
    2 | project = ".."
  hint: letters, digits, _ - . + and no slash; it names the build folder
""",
    ),
    "search": (
        """\
model = "m"
search = 1
""",
        """\
model.toml:2: error: search = 1 is not a table
    2 | search = 1
""",
    ),
    "broken": (
        """\
model = "m"
seed = = 1
""",
        """\
model.toml:2: error: not valid TOML: Invalid value at column 8
    2 | seed = = 1
""",
    ),
    "broken at the end": (
        """\
model = "m"
seed = [1,
""",
        """\
model.toml:2: error: not valid TOML: Invalid value at the end
    2 | seed = [1,
""",
    ),
    "twice": (
        """\
model = "m"
model = "n"
""",
        """\
model.toml:2: error: not valid TOML: Cannot overwrite a value at column 12
    2 | model = "n"
""",
    ),
}


@pytest.mark.parametrize(("toml", "text"), CASES.values(), ids=list(CASES))
def test_text(toml: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text(toml, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        load_config(Path("model.toml"))
    assert f"{caught.value}\n" == text


def problems(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_config(path)
    return str(caught.value)


def test_missing_file_names_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text('model = "m"')
    assert problems(Path("modle.toml")) == "modle.toml: error: no such file\n  hint: did you mean model.toml?"
    assert problems(Path("zzz")) == "zzz: error: no such file\n  hint: in this folder: model.toml"
    assert problems(Path("no/a.toml")) == "no/a.toml: error: no such file\n  hint: there is no folder no"


def test_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inner").mkdir()
    assert problems(Path("inner")) == "inner: error: is a folder, not a TOML file"
    Path("inner/net.toml").write_text('model = "m"')
    expected = "inner: error: is a folder, not a TOML file\n  hint: in this folder: net.toml"
    assert problems(Path("inner")) == expected


def test_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_bytes(b'model = "m"\nproject = "caf\xe9"\n')
    expected = "model.toml:2: error: not UTF-8: byte 0xe9 in line 2\n  hint: save the file as UTF-8"
    assert problems(Path("model.toml")) == expected


def test_nested_too_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text("search = " + "[" * 100_000)
    assert problems(Path("model.toml")) == "model.toml: error: is nested more than 32 deep"


def test_all_problems_come_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text(
        "seed = -1\nmodell = 'm'\n[hardware]\ntop = 'wire'\n[passes.quantize.relu.config]\nname = 'integr'\n"
    )
    found = [line for line in problems(Path("model.toml")).splitlines() if "error" in line]
    assert found == [
        "model.toml:2: error: unknown key modell",
        "model.toml: error: model is missing",
        "model.toml:1: error: seed = -1 is out of range",
        'model.toml:6: error: passes.quantize.relu: name = "integr" is no quantizer',
        'model.toml:4: error: hardware: top = "wire" is a SystemVerilog keyword',
    ]
