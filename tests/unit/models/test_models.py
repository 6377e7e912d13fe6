"""The registered networks, a user's own, and the shape of their input."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Place, ProblemsError
from mase_hw.graph import MaseGraph
from mase_hw.models import as_shapes, get_model, input_shape, input_shapes, load_model, model_names
from mase_hw.pipeline.graphs import with_metadata

LAYERS = {
    "jsc-tiny": "BN16 R L16-5 R",
    "jsc-toy": "BN16 R L16-8 BN8 R L8-8 BN8 R L8-5 BN5 R",
    "jsc-d": "BN16 R L16-16 R L16-16 R L16-5 R",
    "test-hhy": "BN16 R L16-32 BN32 R L32-16 BN16 R L16-8 BN8 R L8-5 BN5 R",
    "jsc-s": "BN16 R L16-64 BN64 R L64-32 BN32 R L32-32 BN32 R L32-32 BN32 R L32-5 BN5 R",
    "jsc-txl": "BN16 R L16-64 BN64 R L64-64 BN64 R L64-32 BN32 R L32-5 BN5 R",
    "jsc-trt": "BN16 R L16-32 BN32 R L32-64 BN64 R L64-32 BN32 R L32-5 BN5 R",
    "digits-mlp": "L64-32 BN32 R L32-16 BN16 R L16-10",
}


def layers(model: nn.Module) -> str:
    said = []
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            said.append(f"L{layer.in_features}-{layer.out_features}")
        elif isinstance(layer, nn.BatchNorm1d):
            said.append(f"BN{layer.num_features}")
        elif isinstance(layer, nn.ReLU):
            said.append("R")
    return " ".join(said)


def test_every_model_is_described() -> None:
    assert set(model_names()) == {*LAYERS, "lenet", "vgg7"}  # which have tests of their own


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    model = get_model(name).eval()
    assert layers(model) == LAYERS[name]
    shape = input_shape(model)
    assert shape == input_shape(name) == ((64,) if name == "digits-mlp" else (16,))
    assert model(torch.zeros(3, *shape)).shape == (3, 10 if name == "digits-mlp" else 5)


def test_names_of_layers() -> None:
    assert "seq_blocks.2.weight" in get_model("jsc-tiny").state_dict()
    assert "module_list.0.2.weight" in get_model("jsc-s").state_dict()
    assert sum(p.numel() for p in get_model("test-hhy").parameters()) == 1407


def test_size_can_be_asked_for() -> None:
    model = get_model("jsc-toy", num_features=12, num_classes=3)
    assert layers(model) == "BN12 R L12-8 BN8 R L8-8 BN8 R L8-3 BN3 R"
    assert input_shape(model) == (12,)
    assert input_shape("jsc-toy") == (16,)


def problem(model: str, base: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_model(model, base, Place(Path("x.toml"), 7))
    return str(caught.value)


USER = """\
from torch import nn
from helper import WIDTH

class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.fc = nn.Linear(width, 2)

    def forward(self, x):
        return self.fc(x)

class Other:
    pass

class Needy(nn.Module):
    def __init__(self, info, *rest, size, depth=3):
        super().__init__()

class Faulty(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, "5")

def make():
    return Net()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(USER)
    (tmp_path / "helper.py").write_text("WIDTH = 6\n")
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    return Path()


def test_user_class(folder: Path) -> None:
    before = list(sys.path)
    model = load_model("net.py:Net", folder)
    assert layers(model) == "L6-2"
    assert input_shape(model) == (6,)
    assert "net" not in sys.modules
    assert sys.path == before


def test_user_class_is_the_same_every_time(folder: Path) -> None:
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = load_model("net.py:Net", folder).state_dict()["fc.weight"]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(4)
    assert torch.equal(first, load_model("net.py:Net", folder).state_dict()["fc.weight"])


def test_changed_file_is_read_again(folder: Path) -> None:
    load_model("net.py:Net", folder)
    Path("net.py").write_text(USER.replace("width, 2", "width, 3"))
    assert layers(load_model("net.py:Net", folder)) == "L6-3"
    assert not Path("__pycache__/net.cpython-311.pyc").exists()


def test_unknown_model(folder: Path) -> None:
    assert problem("jsc-tniy", folder) == (
        'x.toml:7: error: model = "jsc-tniy" is unknown\n  hint: did you mean jsc-tiny?'
    )
    assert problem("transformer", folder) == (
        'x.toml:7: error: model = "transformer" is unknown\n'
        "  hint: known models: digits-mlp, jsc-d, jsc-s, jsc-tiny, jsc-toy, jsc-trt, jsc-txl, lenet, test-hhy, vgg7"
    )


USER_ERRORS = {
    "nett.py:Net": 'x.toml:7: error: model = "nett.py:Net": no such file nett.py\n  hint: did you mean net.py?',
    "a/b.py:Net": 'x.toml:7: error: model = "a/b.py:Net": no such file a/b.py\n'
    "  hint: there is no folder a; paths are relative to the TOML",
    "net.py": 'x.toml:7: error: model = "net.py" does not name what to take from the file\n'
    '  hint: write "file.py:Class"',
    "net.py:Nett": 'x.toml:7: error: model = "net.py:Nett": net.py has no Nett\n  hint: did you mean Net?',
    "net.py:Zzz": 'x.toml:7: error: model = "net.py:Zzz": net.py has no Zzz\n'
    "  hint: it defines: Faulty, Needy, Net, Other, make",
    "net.py:Other": 'net.py:12: error: model = "net.py:Other": Other is no subclass of torch.nn.Module\n'
    "   12 | class Other:\n"
    "  hint: write class Other(nn.Module): ...",
    "net.py:make": 'net.py:24: error: model = "net.py:make": make is not a class\n'
    "   24 | def make():\n"
    "  hint: write class make(nn.Module): ...",
    "net.py:Needy": 'net.py:16: error: model = "net.py:Needy": Needy() needs info, size\n'
    "   16 |     def __init__(self, info, *rest, size, depth=3):\n"
    "  hint: give its parameters default values",
}


@pytest.mark.parametrize("model", USER_ERRORS)
def test_user_error(model: str, folder: Path) -> None:
    assert problem(model, folder) == USER_ERRORS[model]


def test_user_code_fails_while_the_model_is_made(folder: Path) -> None:
    lines = problem("net.py:Faulty", folder).splitlines()
    assert lines[0].startswith('net.py:22: error: model = "net.py:Faulty": TypeError: ')
    assert lines[1] == '   22 |         self.fc = nn.Linear(4, "5")'


STOPPED = "\n  hint: this line of net.py is where your own code stopped: correct it there"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x = 1\n1 / 0\n", "net.py:2: error: {}: ZeroDivisionError: division by zero\n    2 | 1 / 0" + STOPPED),
        ("import sys\nsys.exit()", "net.py:2: error: {}: SystemExit\n    2 | sys.exit()" + STOPPED),
        ("a = 1\nb = (\n", "net.py:2: error: {}: SyntaxError: '(' was never closed\n    2 | b = (" + STOPPED),
        (
            "import nothere",
            "net.py:1: error: {}: ModuleNotFoundError: No module named 'nothere'\n    1 | import nothere\n"
            f"  hint: pip install nothere for {sys.executable}, or put it beside net.py",
        ),
        (
            "def inner():\n    raise KeyError('k')\n\ninner()\n",
            "net.py:2: error: {}: KeyError: 'k'\n    2 |     raise KeyError('k')" + STOPPED,
        ),
        ("", "x.toml:7: error: {}: net.py has no Net\n  hint: it defines nothing"),
    ],
)
def test_user_code_fails_while_it_is_read(source: str, text: str, folder: Path) -> None:
    Path("net.py").write_text(source)
    assert problem("net.py:Net", folder) == text.format('model = "net.py:Net"')


def dataset(*shape: int) -> Dataset:
    x, y = np.zeros((1, *shape), np.float32), np.zeros(1, np.int64)
    return Dataset("some", x, y, x, y, x, y)


def test_input_shape() -> None:
    assert input_shape(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)), dataset(3, 4)) == (3, 4)
    assert input_shape(nn.Sequential(nn.ReLU(), nn.BatchNorm1d(7), nn.Linear(9, 2))) == (7,)
    for model, data, text in (
        (nn.ReLU(), None, "error: ReLU: the shape of its input is unknown"),
        (get_model("jsc-d"), dataset(64), "takes samples of shape (16,), those of some are (64,)"),
    ):
        with pytest.raises(ProblemsError) as caught:
            input_shape(model, data)
        assert text in str(caught.value)
    broken = nn.ReLU()
    broken.input_shape = (0,)  # type: ignore[assignment]
    with pytest.raises(ProblemsError, match=r"ReLU: input_shape = \(0,\) is no shape"):
        input_shape(broken)


def test_several_inputs() -> None:
    model = nn.Bilinear(16, 4, 3)
    model.input_shape = ((16,), [4])  # type: ignore[assignment]
    assert input_shapes(model) == ((16,), (4,))
    assert as_shapes(((16,), (4,))) == ((16,), (4,))
    assert as_shapes((3, 4)) == ((3, 4),)
    with pytest.raises(ProblemsError, match="Bilinear takes 2 inputs, and this works for models with one input alone"):
        input_shape(model)
    with pytest.raises(ProblemsError, match="Bilinear takes 2 inputs, and some has one array of samples"):
        input_shapes(model, dataset(16))
    model.input_shape = ((16,), (0,))  # type: ignore[assignment]
    with pytest.raises(ProblemsError, match=r"Bilinear: input_shape = \(0,\) is no shape"):
        input_shapes(model)


def test_example_inputs() -> None:
    model = nn.Bilinear(16, 4, 3)
    model.example_inputs = (torch.zeros(1, 16), np.zeros((2, 4)))  # type: ignore[assignment]
    assert input_shapes(model) == ((16,), (4,))
    single = nn.Flatten()
    single.example_inputs = torch.zeros(5, 3, 4)
    assert input_shapes(single) == ((3, 4),)
    assert input_shape(single) == (3, 4)
    single.example_inputs = (torch.zeros(5),)  # type: ignore[assignment]
    with pytest.raises(ProblemsError, match="example_inputs is no batch of samples"):
        input_shapes(single)


def test_a_default_value_is_no_input() -> None:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
            return x * scale

    graph = with_metadata(MaseGraph(Scaled()), (3,))
    assert graph.nodes[1].meta["mase"].common["results"]["data_out_0"]["value"] == 2.0
    with pytest.raises(ProblemsError, match=r"takes 2 inputs \(x, scale\), and 3 shapes are known"):
        with_metadata(MaseGraph(Scaled()), ((3,), (3,), (3,)))
