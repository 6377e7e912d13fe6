"""What is said of a model and its data that cannot be had, from the command line."""

from __future__ import annotations

import re
import sys

import pytest
from desk import MODEL, Desk, Files, mlp, toml, top_and_toml

DATA = "import numpy as np\n\n\ndef load():\n    x, y = np.ones((10, 6)), np.zeros(10, int)\n"
USE_DATA = top_and_toml('dataset = "data.py:load"\n')

# name: (files that differ, the text)
CASES: dict[str, tuple[Files, str]] = {
    "TOML syntax": (
        toml('"mlp.py:MLP"', "= 1"),
        """\
model.toml:1: error: not valid TOML: Invalid value at column 9
    1 | model = = 1
""",
    ),
    "unknown model": (
        toml("mlp.py:MLP", "jsc-tyn"),
        """\
model.toml:1: error: model = "jsc-tyn" is unknown
    1 | model = "jsc-tyn"
  hint: did you mean jsc-toy?
""",
    ),
    "unknown model, nothing near": (
        toml("mlp.py:MLP", "transformer"),
        """\
model.toml:1: error: model = "transformer" is unknown
    1 | model = "transformer"
  hint: known models: digits-mlp, jsc-d, jsc-s, jsc-tiny, jsc-toy, jsc-trt, jsc-txl, lenet, test-hhy, vgg7
""",
    ),
    "unknown data set": (
        top_and_toml('dataset = "imagenet"\n'),
        """\
model.toml:1: error: dataset = "imagenet" is not available
    1 | dataset = "imagenet"
  hint: data sets here: cifar10, digits, jsc, mnist, random
        your own: dataset = "file.py:function"
        a build needs no data set: delete the line
""",
    ),
    "model and data set": (
        {"model.toml": 'dataset = "digit"\nmodel = "jsc-tyn"\n'},
        """\
model.toml:2: error: model = "jsc-tyn" is unknown
    2 | model = "jsc-tyn"
  hint: did you mean jsc-toy?
model.toml:1: error: dataset = "digit" is not available
    1 | dataset = "digit"
  hint: did you mean digits?
        your own: dataset = "file.py:function"
        a build needs no data set: delete the line
""",
    ),
    "no data file": (
        USE_DATA,
        """\
model.toml:1: error: dataset = "data.py:load": no such file data.py
    1 | dataset = "data.py:load"
  hint: Python files there: mlp.py
""",
    ),
    "no data function": (
        USE_DATA | {"data.py": "def lood():\n    pass\n"},
        """\
model.toml:1: error: dataset = "data.py:load": data.py has no load
    1 | dataset = "data.py:load"
  hint: did you mean lood?
""",
    ),
    "no model file": (
        toml("mlp.py", "mpl.py"),
        """\
model.toml:1: error: model = "mpl.py:MLP": no such file mpl.py
    1 | model = "mpl.py:MLP"
  hint: did you mean mlp.py?
""",
    ),
    "no folder": (
        toml("mlp.py", "nets/mlp.py"),
        """\
model.toml:1: error: model = "nets/mlp.py:MLP": no such file nets/mlp.py
    1 | model = "nets/mlp.py:MLP"
  hint: there is no folder nets; paths are relative to the TOML
""",
    ),
    "no class named": (
        toml("mlp.py:MLP", "mlp.py"),
        """\
model.toml:1: error: model = "mlp.py" does not name what to take from the file
    1 | model = "mlp.py"
  hint: write "file.py:Class"
""",
    ),
    "no such class": (
        toml("mlp.py:MLP", "mlp.py:MPL"),
        """\
model.toml:1: error: model = "mlp.py:MPL": mlp.py has no MPL
    1 | model = "mlp.py:MPL"
  hint: did you mean MLP?
""",
    ),
    "a function": (
        toml(":MLP", ":make") | {"mlp.py": f"{MODEL}\n\ndef make():\n    return MLP()\n"},
        """\
mlp.py:18: error: model = "mlp.py:make": make is not a class
   18 | def make():
  hint: write class make(nn.Module): ...
""",
    ),
    "no Module": (
        toml(":MLP", ":Net") | {"mlp.py": "class Net:\n    pass\n"},
        """\
mlp.py:1: error: model = "mlp.py:Net": Net is no subclass of torch.nn.Module
    1 | class Net:
  hint: write class Net(nn.Module): ...
""",
    ),
    "constructor's arguments": (
        {"mlp.py": MODEL.replace("__init__(self)", "__init__(self, width)")},
        """\
mlp.py:6: error: model = "mlp.py:MLP": MLP() needs width
    6 |     def __init__(self, width):
  hint: give its parameters default values
""",
    ),
    "constructor fails": (
        {"mlp.py": MODEL.replace("nn.Linear(6, 4)", "nn.Linear(6, 4 // 0)")},
        """\
mlp.py:8: error: model = "mlp.py:MLP": ZeroDivisionError: integer division or modulo by zero
    8 |         self.fc1 = nn.Linear(6, 4 // 0)
  hint: this line of mlp.py is where your own code stopped: correct it there
""",
    ),
    "import fails": (
        {"mlp.py": "import no_such_thing\n" + MODEL},
        """\
mlp.py:1: error: model = "mlp.py:MLP": ModuleNotFoundError: No module named 'no_such_thing'
    1 | import no_such_thing
  hint: pip install no_such_thing for python, or put it beside mlp.py
""",
    ),
    "Python syntax": (
        {"mlp.py": MODEL.replace("forward(self, x):", "forward(self, x)")},
        """\
mlp.py:12: error: model = "mlp.py:MLP": SyntaxError: expected ':'
   12 |     def forward(self, x)
  hint: this line of mlp.py is where your own code stopped: correct it there
""",
    ),
    "no shape": (
        mlp("self.act = nn.ReLU()\n", "return self.act(x)\n"),
        """\
model.toml:1: error: MLP: the shape of its input is unknown
    1 | model = "mlp.py:MLP"
  hint: give the class input_shape = (features,), or the TOML a dataset
""",
    ),
    "data of another shape": (
        top_and_toml('dataset = "digits"\n')
        | {"mlp.py": MODEL.replace("        super", "        self.input_shape = (6,)\n        super")},
        """\
model.toml:1: error: MLP takes samples of shape (6,), those of digits are (64,)
    1 | dataset = "digits"
  hint: choose a data set that fits the model, or change input_shape
""",
    ),
    "NaN in data": (
        USE_DATA | {"data.py": DATA + "    x[3, 2] = np.nan\n    return x, y\n"},
        """\
data.py:4: error: dataset = "data.py:load": x_test is nan in sample 3 at [2]
    4 | def load():
  hint: return finite numbers of shape (samples, features): clean or drop such samples before
""",
    ),
    "infinity in data": (
        USE_DATA | {"data.py": DATA + "    x[3:] = np.inf\n    return x, y\n"},
        """\
data.py:4: error: dataset = "data.py:load": x_test is inf in sample 3 at [0] (42 such values)
    4 | def load():
  hint: return finite numbers of shape (samples, features): clean or drop such samples before
""",
    ),
    "labels are fewer": (
        USE_DATA | {"data.py": DATA + "    return x, y[1:]\n"},
        """\
data.py:4: error: dataset = "data.py:load": x_test has 10 samples, y_test has 9
    4 | def load():
  hint: return one label for each sample
""",
    ),
    "a label without an output": (
        USE_DATA | {"data.py": DATA + "    y[4] = 2\n    return x, y\n"},
        """\
model.toml:1: error: dataset = "data.py:load": y_test has the label 2 in sample 4, and the model has 2 outputs
    1 | dataset = "data.py:load"
  hint: labels go from 0 to 1: correct the labels, or give the model more outputs
""",
    ),
    "labels of two splits without outputs": (
        USE_DATA | {"data.py": DATA + "    return x, y + 7, x, y + 2\n"},
        """\
model.toml:1: error: dataset = "data.py:load": y_train has the label 7 in sample 0, and the model has 2 outputs
    1 | dataset = "data.py:load"
  hint: labels go from 0 to 1: correct the labels, or give the model more outputs
  note: 10 of 10 labels of y_train have no output
model.toml:1: error: dataset = "data.py:load": y_test has the label 2 in sample 0, and the model has 2 outputs
    1 | dataset = "data.py:load"
  hint: labels go from 0 to 1: correct the labels, or give the model more outputs
  note: 10 of 10 labels of y_test have no output
""",
    ),
    "a negative label": (
        USE_DATA | {"data.py": DATA + "    return x, y - 1\n"},
        """\
data.py:4: error: dataset = "data.py:load": y_test has the label -1 in sample 0; labels count from 0
    4 | def load():
  hint: return one integer for each sample, 0 for the first class
""",
    ),
    "data fails": (
        USE_DATA | {"data.py": DATA + "    return np.load('x.npy'), y\n"},
        """\
data.py:6: error: dataset = "data.py:load": FileNotFoundError: [Errno 2] No such file or directory: 'x.npy'
    6 |     return np.load('x.npy'), y
  hint: paths in data.py are relative to the current folder; Path(__file__).parent is that of data.py
""",
    ),
    "data returns nothing": (
        USE_DATA | {"data.py": DATA},
        """\
data.py:4: error: dataset = "data.py:load": returned a NoneType
    4 | def load():
  hint: return a dict with x_train, y_train, x_val, y_val, x_test, y_test, or a tuple in that order;
        x_test and y_test are needed
""",
    ),
    "NaN in a buffer": (
        mlp(
            "self.input_shape = (6,)\nself.register_buffer('w', torch.ones(2, 6) / 0)\n",
            "return F.linear(x, self.w)\n",
        ),
        """\
mlp.py:13: error: linear: weight[0, 0] is inf
   13 |         return F.linear(x, self.w)
  hint: a NaN or an infinity has no fixed-point value: check the checkpoint and the training
  note: 12 of 12 values of weight are not finite
  note: its types are those of passes.quantize.linear, model.toml:4
""",
    ),
}


@pytest.mark.parametrize(("files", "text"), CASES.values(), ids=list(CASES))
def test_text(files: Files, text: str, desk: Desk) -> None:
    desk.place_build("build")  # of another project: it stays
    desk.place_build("build/model")
    desk.write(files)
    assert desk.refused("emit", "model.toml").replace(sys.executable, "python") == text


def test_no_toml(desk: Desk) -> None:
    assert desk.refused("emit", "modell.toml") == (
        "modell.toml: error: no such file\n  hint: did you mean model.toml?\n"
    )


def test_every_problem_has_a_hint_or_says_the_language_own_reason() -> None:
    """What, where, how to fix: an error line is followed by its source and a hint; broken syntax explains itself."""
    for text in [text for _, text in CASES.values()]:
        problems = re.split(r"(?m)^(?=\S+: error: )", text)
        for problem in filter(None, problems):
            assert re.match(r"\S+:\d+: error: .+\n +\d+ \| .+\n", problem), problem
            assert "\n  hint: " in problem or "not valid TOML" in problem, problem
