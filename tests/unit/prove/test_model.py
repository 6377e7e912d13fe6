"""The claim `model`: a build's integers are those of its TOML and its checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_prove_pipes import F6, HALF, U6, design_of, fc

from mase_hw.cli import cli
from mase_hw.ir import Design
from mase_hw.numerics import Rounding
from mase_hw.ops.linear.make import linear
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.model import claim_model, compare

MODEL = """
from torch import nn


class Net(nn.Module):
    in_features = 3

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.fc(x))
"""
CONFIG = """
model = "net.py:Net"
load_name = "weights.pt"
[passes.quantize]
by = "type"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 4
data_in_frac_width = 2
weight_width = 5
weight_frac_width = 3
bias_width = 5
bias_frac_width = 3
data_out_width = 4
data_out_frac_width = 2
"""


def write(folder: Path, weight: float) -> Path:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.py").write_text(MODEL)
    (folder / "model.toml").write_text(CONFIG)
    values = {"fc.weight": torch.tensor([[weight, -0.5, 1.25], [0.0, 1.0, -1.0]]), "fc.bias": torch.tensor([0.25, 1.0])}
    torch.save(values, folder / "weights.pt")
    return folder / "model.toml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def emitted(tmp_path: Path) -> Path:
    """A folder with model.toml and what belongs to it, and its build in `build`."""
    config = write(tmp_path / "made", 0.75)
    done = run("emit", config, "--out", tmp_path / "made" / "build")
    assert done.exit_code == 0, done.output
    return tmp_path / "made"


def model_claim(folder: Path) -> dict[str, str]:
    done = run("prove", folder / "build", "--config", folder / "model.toml", "--json")
    found = {claim["about"]: claim for claim in json.loads(done.stdout)}
    assert {claim["status"] for about, claim in found.items() if about != "model"} == {"proved"}
    assert done.exit_code == int(found["model"]["status"] != "proved")
    assert run("verify", folder / "build").exit_code == done.exit_code
    return dict(found["model"])


def test_the_integers_are_made_again(emitted: Path) -> None:
    found = model_claim(emitted)
    assert found["status"] == "proved"
    assert "model.toml and weights.pt" in found["method"]
    assert "the same 8 integers" in found["method"]


def test_without_a_toml_nothing_is_claimed_of_it(emitted: Path) -> None:
    done = run("prove", emitted / "build", "--json")
    assert done.exit_code == 0
    assert "model" not in {claim["about"] for claim in json.loads(done.stdout)}


def test_the_toml_of_a_build_in_its_place(emitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(emitted)
    (emitted / "build").rename(emitted / "aside")
    (emitted / "build").mkdir()
    (emitted / "aside").rename(emitted / "build" / "model")
    assert "model" in {claim["about"] for claim in json.loads(run("prove", "model.toml", "--json").stdout)}


@pytest.mark.parametrize(
    ("name", "what"), [("model.toml", "config"), ("weights.pt", "checkpoint"), ("net.py", "model")]
)
def test_other_files_than_it_was_made_from_are_a_problem(emitted: Path, name: str, what: str) -> None:
    with (emitted / name).open("ab") as file:
        file.write(b"\n")
    done = run("prove", emitted / "build", "--config", emitted / "model.toml")
    assert done.exit_code == 1
    assert f"{name} is not the {what} that the build was made from" in str(done.exception) + done.output
    assert not (emitted / "build" / "certificate.json").exists()


def test_a_build_of_another_checkpoint_that_names_this_one_is_false(emitted: Path, tmp_path: Path) -> None:
    """Its RTL is right for its own integers; only the checkpoint tells."""
    other = write(tmp_path / "other", -1.5)
    assert run("emit", other, "--out", tmp_path / "other" / "build").exit_code == 0
    manifest = tmp_path / "other" / "build" / "manifest.json"
    said = json.loads(manifest.read_text())
    for what, name in (("config", "model.toml"), ("checkpoint", "weights.pt")):
        said["sources"][what]["sha256"] = hashlib.sha256((emitted / name).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said))
    for name in ("model.toml", "weights.pt"):
        os.replace(emitted / name, tmp_path / "other" / name)
    found = model_claim(tmp_path / "other")
    assert found["status"] == "refuted"
    assert "fc: factor [0, 0] is -12, and not 6 (1 of 6 differ)" in found["detail"]


def test_another_model_is_false(emitted: Path) -> None:
    (emitted / "net.py").write_text(MODEL.replace("self.relu(self.fc(x))", "self.fc(x)"))
    manifest = emitted / "build" / "manifest.json"
    said = json.loads(manifest.read_text())
    said["sources"]["model"]["sha256"] = hashlib.sha256((emitted / "net.py").read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said))
    found = model_claim(emitted)
    assert found["status"] == "refuted"
    assert "not below 0" in found["detail"]


def test_other_orders_of_the_elements_are_false(emitted: Path) -> None:
    """Nothing else of a build tells which feature is which."""
    manifest = emitted / "build" / "manifest.json"
    said = json.loads(manifest.read_text())
    said["reals"]["input_orders"] = [[2, 0, 1]]
    manifest.write_text(json.dumps(said))
    found = model_claim(emitted)
    assert found["status"] == "refuted"
    assert "input_orders are not those of the model" in found["detail"]


def changed(design: Design, **values: object) -> Design:
    (component,) = design.components
    return replace(design, components=(replace(component, **values),))


def rounded(design: Design, **values: object) -> Design:
    (component,) = design.components
    return changed(design, finish=replace(component.finish, **values))  # type: ignore[attr-defined]


CHANGES: dict[str, tuple[Callable[[Design], Design], str]] = {
    "name": (lambda d: changed(d, name="other"), "it has fc, and not other"),
    "rounding": (lambda d: rounded(d, rounding=Rounding.FLOOR), "rounding is integer from"),
    "point": (lambda d: rounded(d, frac=7), "and not integer from 7 bits to fixed(6, 3)"),
    "the type that it rounds to": (lambda d: rounded(d, fixed=U6), "to fixed(6, 3), and not"),
    "rectify": (lambda d: rounded(d, rectify=True), "not below 0"),
    "type": (
        lambda d: changed(d, outputs=(replace(d.output, fixed=U6),)),
        "data_out is 3 x fixed(6, 3), and not 3 x ufixed(6, 3)",
    ),
    "bias": (lambda d: changed(d, bias=d.components[0].bias + 1), "fc: constant [0] is"),  # type: ignore[attr-defined]
    "row": (lambda d: changed(d, matrix=d.components[0].matrix[:-1]), "fc: factors are"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_difference_counts(name: str) -> None:
    design = design_of(fc("fc", HALF))
    change, text = CHANGES[name]
    with pytest.raises(NotProvedError) as found:
        compare(design, change(design))
    assert text in str(found.value)
    assert claim_model(design, change(design), "model.toml").status == "refuted"


def test_how_it_is_built_does_not_count() -> None:
    unrolled = design_of(fc("fc", HALF))
    (layer,) = unrolled.components
    weight, bias = layer.matrix, layer.bias >> F6.frac  # type: ignore[attr-defined]
    folded = linear("fc", layer.input, weight, bias, F6, F6, HALF, out_lanes=1, folded=True)
    assert folded.kind != layer.kind
    assert compare(unrolled, design_of(lambda x: folded)) == weight.size + bias.size
