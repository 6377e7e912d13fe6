"""Checkpoints of every kind fill a model; wrong ones are refused whole, with their exact texts."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mase_hw.checkpoints import load_checkpoint, random_parameters
from mase_hw.diagnostics import Place, ProblemsError
from mase_hw.models import get_model

WHERE = Place(Path("x.toml"), 3)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def state(seed: int = 1) -> dict[str, Tensor]:
    model = get_model("jsc-toy")
    random_parameters(model, seed)
    return dict(model.state_dict())


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def write(kind: str, content: dict[str, Tensor]) -> Path:
    path = Path("best.bin")  # a suffix that says nothing
    if kind == "safetensors":
        save_file(content, path)
    elif kind == "pl":
        inner = {f"model.{key}": value for key, value in content.items()}
        torch.save({"epoch": 3, "state_dict": inner, "callbacks": {"best": torch.ones(1)}}, path)
    elif kind == "npz":
        np.savez_compressed("arrays.npz", **{key: value.numpy() for key, value in content.items()})
        Path("arrays.npz").rename(path)
    elif kind == "old pt":
        torch.save(content, path, _use_new_zipfile_serialization=False)
    else:
        torch.save(content, path)
    return path


@pytest.mark.parametrize("load_type", ["auto", "stated"])
@pytest.mark.parametrize("kind", ["pt", "old pt", "pl", "safetensors", "npz"])
def test_loads(kind: str, load_type: str) -> None:
    path = write(kind, state())
    model = get_model("jsc-toy")
    assert load_checkpoint(model, path, "auto" if load_type == "auto" else kind.removeprefix("old ")) == ()
    assert same(dict(model.state_dict()), state())


def test_lightning_without_prefix_and_with_more() -> None:
    model = get_model("jsc-toy")
    torch.save({"state_dict": state()}, "a.ckpt")
    assert load_checkpoint(model, Path("a.ckpt")) == ()
    inner = {f"model.{key}": value for key, value in state(2).items()}
    torch.save({"state_dict": {**inner, "loss.weight": torch.ones(5)}}, "b.ckpt")
    assert load_checkpoint(model, Path("b.ckpt")) == ("checkpoint b.ckpt: left out loss.weight",)
    assert same(dict(model.state_dict()), state(2))


@pytest.mark.parametrize("holder", ["model_state_dict", "model", "net", "weights"])
def test_a_training_script_keeps_more_than_the_weights(holder: str) -> None:
    model = get_model("jsc-toy")
    torch.save({"epoch": 3, "optimizer_state_dict": {"lr": 0.1}, holder: state()}, "run.pt")
    note = f"checkpoint run.pt: its tensors are under {holder}; left out epoch, optimizer_state_dict"
    assert load_checkpoint(model, Path("run.pt")) == (note,)
    assert same(dict(model.state_dict()), state())


@pytest.mark.parametrize(
    ("prefix", "removed"),
    [("module.", "module."), ("_orig_mod.", "_orig_mod."), ("_orig_mod.module.", "_orig_mod. and module.")],
)
@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_wrappers_names_are_taken_off(prefix: str, removed: str, kind: str) -> None:
    model = get_model("jsc-toy")
    path = write(kind, {f"{prefix}{key}": value for key, value in state().items()})
    assert load_checkpoint(model, path) == (f"checkpoint best.bin: {removed} is taken off its keys",)
    assert same(dict(model.state_dict()), state())


def test_a_part_that_was_compiled() -> None:
    model = get_model("jsc-toy")
    path = write("pt", {key.replace("seq_blocks.", "seq_blocks._orig_mod."): value for key, value in state().items()})
    assert load_checkpoint(model, path) == ("checkpoint best.bin: _orig_mod. is taken off its keys",)
    assert same(dict(model.state_dict()), state())


def test_a_model_that_has_such_names_itself() -> None:
    model = nn.ModuleDict({"module": nn.Linear(2, 3)})
    saved = {key: torch.ones_like(value) for key, value in model.state_dict().items()}
    assert list(saved) == ["module.weight", "module.bias"]
    assert load_checkpoint(model, write("pt", saved)) == ()
    assert same(dict(model.state_dict()), saved)


def test_arrays_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez("best.npz", **{"seq_blocks.0.weight": np.ones(3, np.complex64)})
    assert "best.npz has the array 'seq_blocks.0.weight.npy' of complex64, which is not read" in problem(
        Path("best.npz")
    )
    monkeypatch.setattr("mase_hw.checkpoints.read._ARRAYS", 1 << 20)
    np.savez_compressed("best.npz", x=np.zeros((1 << 17) + 1))
    assert "best.npz unpacks to 1,048,712 bytes; 1,048,576 are the most" in problem(Path("best.npz"))


def test_half_and_double_precision_and_no_counters() -> None:
    content = {key: value.double() for key, value in state().items() if "num_batches" not in key}
    model = get_model("jsc-toy")
    load_checkpoint(model, write("pt", content))
    assert model.state_dict()["seq_blocks.2.weight"].dtype == torch.float32
    assert torch.equal(model.state_dict()["seq_blocks.2.weight"], state()["seq_blocks.2.weight"])


def problem(path: Path, load_type: str = "auto") -> str:
    """What is said; and the model must come out as it went in."""
    model = get_model("jsc-toy")
    random_parameters(model, 7)
    with pytest.raises(ProblemsError) as caught:
        load_checkpoint(model, path, load_type, WHERE)
    assert same(dict(model.state_dict()), state(7))
    return str(caught.value)


def test_file_problems() -> None:
    write("pt", state())
    assert problem(Path("bset.bin")) == (
        "x.toml:3: error: checkpoint bset.bin does not exist\n  hint: did you mean best.bin?"
    )
    assert problem(Path("no/zzz.pt")) == (
        "x.toml:3: error: checkpoint no/zzz.pt does not exist\n  hint: paths are relative to the TOML"
    )
    Path("folder").mkdir()
    assert problem(Path("folder")) == "x.toml:3: error: checkpoint folder is a folder, not a file"


NOT_ONE = (
    "x.toml:3: error: checkpoint best.bin is not a checkpoint, or it is damaged\n"
    "  hint: a torch state dict (.pt, .pth), a Lightning .ckpt, a .safetensors or a .npz file is expected"
)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04rest", b"\x80\x02garbage", b"\0" * 64])
@pytest.mark.parametrize("load_type", ["auto", "pt", "pl"])
def test_not_a_checkpoint(content: bytes, load_type: str) -> None:
    Path("best.bin").write_bytes(content)
    assert problem(Path("best.bin"), load_type) == NOT_ONE


@pytest.mark.parametrize("kind", ["pt", "old pt"])
def test_cut_off(kind: str) -> None:
    path = write(kind, state())
    whole = path.read_bytes()
    for part in (0.1, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(len(whole) * part)])
        assert problem(path) == NOT_ONE


def test_cut_off_safetensors() -> None:
    path = write("safetensors", state())
    path.write_bytes(path.read_bytes()[:-4])
    assert problem(path).startswith("x.toml:3: error: checkpoint best.bin is not a safetensors file: ")
    Path("best.bin").write_bytes(b"nothing")
    assert problem(path, "safetensors").startswith("x.toml:3: error: checkpoint best.bin is not a safetensors file: ")


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("way", ["torch", "pickle", "inside"])
def test_code_is_refused_and_not_run(way: str) -> None:
    path = Path("best.bin")
    if way == "pickle":
        path.write_bytes(pickle.dumps(Bomb(), protocol=2))
    else:
        torch.save({"state_dict": state(), "extra": Bomb()} if way == "inside" else Bomb(), path)
    assert problem(path) == (
        f"x.toml:3: error: checkpoint best.bin is refused: it holds more than weights ({os.mkdir.__module__}.mkdir), "
        "and loading that could run code\n"
        '  hint: save the state dict alone: torch.save(model.state_dict(), "model.pt")'
    )
    assert not Path("exploded").exists()


def test_whole_model_is_refused() -> None:
    torch.save(nn.Linear(2, 2), "best.bin")
    assert "is refused: it holds more than weights (torch.nn.modules.linear.Linear)" in problem(Path("best.bin"))


def test_mz() -> None:
    write("pt", state())
    assert problem(Path("best.bin"), "mz") == (
        'x.toml:3: error: checkpoint best.bin cannot be loaded as load_type = "mz": that is a pickled graph, '
        "and loading it would run its code\n"
        '  hint: save the state dict with torch.save(model.state_dict(), "model.pt") and set load_type = "pt"'
    )


def test_other_kind_than_stated() -> None:
    assert problem(write("pt", state()), "pl") == (
        "x.toml:3: error: checkpoint best.bin has no state_dict, so it is not Lightning's\n"
        '  hint: set load_type = "pt"'
    )
    assert problem(write("pl", state()), "pt") == (
        'x.toml:3: error: checkpoint best.bin is Lightning\'s, not a plain state dict\n  hint: set load_type = "pl"'
    )
    torch.save([torch.ones(1)], "best.bin")
    assert problem(Path("best.bin")).startswith("x.toml:3: error: checkpoint best.bin holds a list, not a state dict\n")
    torch.save({"epoch": 3}, "best.bin")
    assert problem(Path("best.bin")).startswith(
        "x.toml:3: error: checkpoint best.bin is not a state dict: 'epoch' holds a int\n"
    )


def test_every_misfit_is_told() -> None:
    content = state()
    content["seq_blocks.2.wieght"] = content.pop("seq_blocks.2.weight")
    content["seq_blocks.5.bias"] = torch.ones(9)
    content["seq_blocks.5.weight"][1, 2] = float("nan")
    content["seq_blocks.3.weight"][:2] = float("-inf")
    content["seq_blocks.0.running_var"][4] = -0.5
    content["seq_blocks.8.bias"] = torch.full((5,), 1e300, dtype=torch.float64)
    content["seq_blocks.9.bias"] = torch.ones(5, dtype=torch.complex64)
    said = problem(write("pt", content))
    assert said.replace("x.toml:3: error: checkpoint best.bin: ", "") == (
        "seq_blocks.2.weight (8, 16) is missing\n"
        "  hint: did you mean seq_blocks.2.wieght?\n"
        "the model has no seq_blocks.2.wieght (8, 16)\n"
        "  hint: did you mean seq_blocks.2.weight?\n"
        "seq_blocks.0.running_var is -0.5 at [4]: a variance is never negative\n"
        "  hint: is the checkpoint damaged, or one of another model?\n"
        "seq_blocks.3.weight is -inf at [0] (2 such values)\n"
        "  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint\n"
        "seq_blocks.5.weight is nan at [1, 2]\n"
        "  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint\n"
        "seq_blocks.5.bias has shape (9,), the model needs (8,)\n"
        "  hint: is it the checkpoint of another model, or of this one before a change?\n"
        "seq_blocks.8.bias is inf at [0] (5 such values)\n"
        "  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint\n"
        "seq_blocks.9.bias is no plain real tensor but torch.complex64, torch.strided\n"
        "  hint: save it as dense floats"
    )


def test_another_models_checkpoint() -> None:
    said = problem(write("safetensors", {"zzz": torch.ones(2)}))
    assert "checkpoint best.bin: seq_blocks.0.weight (16,) is missing\n  hint: it has, unused: zzz\n" in said
    assert "checkpoint best.bin: the model has no zzz (2,)\n  hint: still missing: seq_blocks.0.bias, " in said


def test_random_parameters() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    model = get_model("jsc-s")
    torch.manual_seed(0)
    random_parameters(model, 3)
    assert torch.equal(torch.get_rng_state(), before)
    first = {key: value.clone() for key, value in model.state_dict().items()}
    random_parameters(model, 4)
    floats = [key for key, value in first.items() if value.is_floating_point()]
    assert all(not torch.equal(first[key], model.state_dict()[key]) for key in floats)
    random_parameters(model, 3)
    assert same(first, dict(model.state_dict()))
    norm = next(layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d))
    assert norm.running_var is not None
    assert norm.running_var.min() >= 0.25
    assert norm.running_var.unique().numel() == 16
    out = model.eval()(torch.randn(64, 16))
    assert out.isfinite().all()
    assert out.std() > 0.01
