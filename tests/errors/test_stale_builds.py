"""Every command refuses a build that is no longer that of its TOML; no TOML overwrites the build of another."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from desk import MODEL, TOML, Desk, toml

COMMANDS = (
    ("sim", "model.toml"),
    ("synth", "model.toml"),
    ("report", "model.toml"),
    ("prove", "model.toml"),
    ("prove", "build/model", "--config", "model.toml"),
    ("export", "model.toml", "--to", "ipxact"),
    ("mutate", "model.toml"),
)
AGAIN = "  hint: emit it again: mase-hw emit model.toml\n"
DATA = """\
from pathlib import Path
import numpy as np
from names import X, Y


def load():
    with np.load(Path(__file__).parent / "samples.npz") as arrays:
        return {"x_test": arrays[X], "y_test": arrays[Y]}
"""


def placed(desk: Desk) -> Path:
    """The build of the desk's TOML in its default place."""
    (desk.path / "build").mkdir()
    return desk.place_build("build/model")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_another_width_is_refused_by_every_command(desk: Desk, arguments: tuple[str, ...]) -> None:
    placed(desk)
    desk.write(toml("weight_width = 8", "weight_width = 6"))
    assert desk.refused(*arguments) == (
        "model.toml: error: model.toml is not the config that the build was made from\n"
        + AGAIN
        + "  note: passes.quantize.linear.config.weight_width is 6, and was 8\n"
    )


def test_verify_refuses_too(desk: Desk) -> None:
    build = placed(desk)
    certificate = {"schema": 1, "files": {}, "claims": [], "sources": {}}
    (build / "certificate.json").write_text(json.dumps(certificate))
    desk.write(toml("weight_width = 8", "weight_width = 6"))
    assert "the build does not say which config it was made from" in desk.refused("verify", "model.toml")


def test_the_model_s_code_counts(desk: Desk) -> None:
    placed(desk)
    desk.write({"mlp.py": MODEL.replace("torch.relu(self.bn(x))", "self.bn(x)")})
    assert desk.refused("sim", "model.toml") == (
        "mlp.py: error: mlp.py is not the model that the build was made from\n" + AGAIN
    )


def test_many_changed_keys_are_counted(desk: Desk) -> None:
    placed(desk)
    desk.write({"model.toml": TOML.replace("frac_width = 4", "frac_width = 3")})
    text = desk.refused("report", "model.toml")
    assert text.count("frac_width is 3, and was 4") == 5
    assert text.endswith("  note: 1 more keys have other values\n")


def test_a_build_of_its_toml_is_taken(desk: Desk) -> None:
    placed(desk)
    ran = desk.run("report", "model.toml", "--html", "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("model: ")


def test_a_folder_says_what_it_is_a_build_of(desk: Desk) -> None:
    build = placed(desk)
    first = desk.run("report", "build/model").out.splitlines()[0]
    assert first == "build/model: model of model.toml"
    assert desk.run("export", "build/model", "--to", "ipxact").out.splitlines()[0] == first
    assert desk.run("export", "build/model", "--to", "ipxact", "--quiet").out.startswith("written: ")
    assert json.loads(desk.run("report", "build/model", "--json").out)["top"] == "model"
    desk.write(toml("weight_width = 8", "weight_width = 6"))
    assert desk.run("report", "build/model").out.splitlines()[0] == f"{first}, which has changed since"
    manifest = json.loads((build / "manifest.json").read_text())
    del manifest["toml"], manifest["sources"]
    (build / "manifest.json").write_text(json.dumps(manifest))
    first = desk.run("report", "build/model").out.splitlines()[0]
    assert first == "build/model: model, made without a TOML"


@pytest.fixture(scope="module")
def with_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a checkpoint, and a data set's function that imports a neighbour and reads a file; emitted."""
    from safetensors.torch import save_file

    from mase_hw.models import load_model

    folder = tmp_path_factory.mktemp("data")
    desk = Desk(folder)
    desk.write(
        {
            "data.py": DATA,
            "names.py": 'X, Y = "x", "y"\n',
            "model.toml": f'project = "net"\ndataset = "data.py:load"\nload_name = "w.safetensors"\n{TOML}',
        }
    )
    np.savez(folder / "samples.npz", x=np.ones((3, 6), np.float32), y=np.array([0, 1, 1]))
    model = load_model("mlp.py:MLP", folder)
    save_file(model.state_dict(), folder / "w.safetensors")
    here = Path.cwd()
    os.chdir(folder)
    try:
        ran = desk.run("emit", "model.toml")
    finally:
        os.chdir(here)
    assert ran.code == 0, ran
    return folder


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("w.safetensors", "checkpoint"),
        ("data.py", "dataset"),
        ("names.py", "file"),
        ("samples.npz", "file"),
        ("mlp.py", "model"),
    ],
)
def test_every_file_that_was_read_counts(desk: Desk, with_data: Path, name: str, what: str) -> None:
    shutil.copytree(with_data, desk.path, dirs_exist_ok=True)
    assert desk.run("report", "model.toml").code == 0
    with (desk.path / name).open("ab") as file:
        file.write(b"\n")
    assert desk.refused("sim", "model.toml") == (
        f"{name}: error: {name} is not the {what} that the build was made from\n" + AGAIN
    )
    (desk.path / name).unlink()
    assert desk.refused("sim", "model.toml") == (
        f"error: {name} is missing: the {what} that the build was made from\n" + AGAIN
    )


def test_one_toml_does_not_overwrite_the_build_of_another(desk: Desk) -> None:
    build = placed(desk)
    desk.write({"other.toml": f'project = "model"\n{TOML}'})
    hint = "  hint: write to another folder with --out, give one of the two TOMLs another `project`, or add --replace\n"
    text = "error: build/model is the build of model.toml, and other.toml would replace it\n"
    assert desk.refused("emit", "other.toml") == text + hint
    (desk.path / "else").mkdir()
    for name in ("mlp.py", "model.toml"):  # the same name and the same bytes, in another folder
        shutil.copy(desk.path / name, desk.path / "else" / name)
    text = text.replace("other.toml", "else/model.toml")
    assert desk.refused("emit", "else/model.toml") == text + hint
    ran = desk.run("emit", "other.toml", "--replace")
    assert (ran.code, ran.err) == (0, ""), ran
    assert json.loads((build / "manifest.json").read_text())["toml"] == "../../other.toml"
    text = "error: build/model is the build of other.toml, and model.toml would replace it\n"
    assert desk.refused("emit", "model.toml") == text + hint
    assert desk.run("emit", "model.toml", "--out", "mine").code == 0


def test_a_toml_replaces_its_own_build(desk: Desk) -> None:
    build = placed(desk)
    desk.write(toml("weight_width = 8", "weight_width = 6"))
    assert desk.run("emit", "model.toml").code == 0
    now = json.loads((build / "manifest.json").read_text())
    assert now["config"]["passes"]["quantize"]["linear"]["config"]["weight_width"] == 6
    shutil.move(build, desk.path / "moved")  # its TOML's place is lost, and the name is the same
    assert desk.run("emit", "model.toml", "--out", "moved").code == 0


def test_a_refusal_comes_before_the_work(desk: Desk) -> None:
    """A model that does not even load is not reached."""
    placed(desk)
    desk.write({"other.toml": 'model = "x.py:X"\nproject = "model"\n'})
    assert desk.refused("emit", "other.toml").startswith("error: build/model is the build of model.toml")
