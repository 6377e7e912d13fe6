"""What is said of a model that cannot become hardware."""

from __future__ import annotations

import pytest
from desk import MODEL, Desk, Files, mlp, toml_and

from mase_hw.passes.layers import supported

RELU = '[passes.quantize.relu.config]\nname = "integer"\ndata_in_width = 8\ndata_in_frac_width = 4\n'


# name: (files that differ, the text)
CASES: dict[str, tuple[Files, str]] = {
    "a condition": (
        {"mlp.py": MODEL.replace("        return", "        if x.sum() > 0:\n            x = -x\n        return")},
        """\
mlp.py:15: error: MLP: forward cannot be traced: symbolically traced variables cannot be used as inputs to control flow
   15 |         if x.sum() > 0:
  hint: the graph must not depend on values: no `if`, loop or conversion on a tensor
""",
    ),
    "a loop": (
        {"mlp.py": MODEL.replace("        return", "        for row in x:\n            x = row\n        return")},
        """\
mlp.py:15: error: MLP: forward cannot be traced: Proxy object cannot be iterated
   15 |         for row in x:
  hint: the graph must not depend on values: no `if`, loop or conversion on a tensor
""",
    ),
    "no such layer": (
        {"mlp.py": MODEL.replace("self.fc1(x)", "self.fc9(x)")},
        """\
mlp.py:13: error: MLP: forward cannot be traced: 'MLP' object has no attribute 'fc9'
   13 |         x = self.fc9(x)
  hint: did you mean fc2?
""",
    ),
    "sizes that do not meet": (
        {"mlp.py": MODEL.replace("Linear(4, 2)", "Linear(5, 2)")},
        """\
mlp.py:15: error: fc2 (Linear): fails on an input of shape [2, 4]: mat1 and mat2 shapes cannot be multiplied (2x4 and 5x2)
   15 |         return self.fc2(x)
  hint: check the layer's sizes against the layer before it and the data set; the first number of a shape is the batch
  note: fc2 is Linear(in_features=5, out_features=2, bias=True)
""",  # noqa: E501
    ),
    "Sigmoid": (
        mlp("self.fc = nn.Linear(6, 4)\nself.act = nn.Sigmoid()\n", "return self.act(self.fc(x))\n"),
        """\
mlp.py:13: error: act: Sigmoid is not supported in hardware
   13 |         return self.act(self.fc(x))
  hint: supported: SUPPORTED
""",
    ),
    "Conv2d": (
        mlp(
            "self.input_shape = (1, 4, 4)\nself.conv = nn.Conv2d(1, 2, 3)\nself.fc = nn.Linear(8, 2)\n",
            "x = self.conv(x)\nreturn self.fc(torch.flatten(x, 1))\n",
        ),
        """\
model.toml:2: error: conv: Conv2d is not quantized
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.conv2d.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
        weight_width = 8
        weight_frac_width = 4
        bias_width = 8
        bias_frac_width = 4
  note: conv is the Conv2d called at mlp.py:14
""",
    ),
    "softmax": (
        mlp("self.fc = nn.Linear(6, 4)\n", "x = self.fc(x)\nreturn F.softmax(x, dim=1)\n"),
        """\
mlp.py:13: error: softmax: softmax is not supported in hardware
   13 |         return F.softmax(x, dim=1)
  hint: supported: SUPPORTED
""",
    ),
    "a sum of an input": (
        mlp("self.a = nn.Linear(6, 6)\n", "return x + self.a(x)\n"),
        """\
model.toml:2: error: add: add reads the input x unquantized, so x has no type
    2 | [passes.quantize]
  hint: add, with widths of your choice:
        [passes.quantize.add.config]
        name = "integer"
        data_in_width = 8
        data_in_frac_width = 4
  note: add is the add called at mlp.py:12
""",
    ),
    "an input in two types": (
        mlp("self.a = nn.Linear(6, 6)\n", "return x + self.a(x)\n")
        | toml_and(RELU.replace("relu", "add").replace("= 4", "= 3")),
        """\
model.toml:20: error: the input x is read in 2 different types
   20 | [passes.quantize.add.config]
  hint: give its readers the same data_in, or one binary point and one rounding
  note: a reads fixed(8, 4), rounded by integer
  note: add reads fixed(8, 3), rounded by integer
""",
    ),
    "a concatenation that would round": (
        mlp("self.a = nn.Linear(6, 6)\n", "return torch.cat([self.a(x), x], 1)\n")
        | toml_and(RELU.replace("relu", "cat") + "data_out_width = 6\ndata_out_frac_width = 2\n"),
        """\
mlp.py:12: error: cat: a cat only moves numbers, so its data_out fixed(6, 2) must be its data_in
   12 |         return torch.cat([self.a(x), x], 1)
  hint: delete data_out: the data_in of its reader types the result
  note: cat is the cat called at mlp.py:12
""",
    ),
    "shapes that differ": (
        mlp("self.a = nn.Linear(6, 4)\nself.b = nn.Linear(6, 1)\n", "return self.a(x) + self.b(x)\n"),
        """\
mlp.py:13: error: add: joins results of shapes [2, 4] and [2, 1], which is not supported in hardware
   13 |         return self.a(x) + self.b(x)
  hint: there is no broadcasting: give both one shape
""",
    ),
    "a factor in a sum": (
        mlp("self.a = nn.Linear(6, 6)\n", "x = self.a(x)\nreturn torch.add(x, x, alpha=2)\n"),
        """\
mlp.py:13: error: add: uses alpha=2, which is not supported in hardware
   13 |         return torch.add(x, x, alpha=2)
  hint: write alpha as a multiplication of its own
""",
    ),
    "a sum with a constant": (
        mlp("self.a = nn.Linear(6, 6)\n", "return 1 - self.a(x)\n"),
        """\
mlp.py:12: error: sub: subtracts a constant, which is not supported in hardware
   12 |         return 1 - self.a(x)
  hint: give the constant to the linear layer before it as a bias
""",
    ),
    "a product of results": (
        mlp("self.a = nn.Linear(6, 6)\n", "x = self.a(x)\nreturn x * x\n"),
        """\
mlp.py:13: error: mul: multiplies two results, which is not supported in hardware
   13 |         return x * x
  hint: only a multiplication by a number, a parameter or a buffer is supported
""",
    ),
    "a constant of another size": (
        mlp(
            "self.a = nn.Linear(6, 4)\nself.k = nn.Parameter(torch.ones(2, 4))\nself.b = nn.Linear(4, 4)\n",
            "return self.b(self.a(x) * self.k)\n",
        ),
        """\
mlp.py:14: error: mul: multiplies a result of shape [2, 4] by a constant of shape [2, 4], which is not supported in hardware
   14 |         return self.b(self.a(x) * self.k)
  hint: the constant is one number, or one for each feature of [batch, features]
""",  # noqa: E501
    ),
    "a concatenation of samples": (
        mlp("self.a = nn.Linear(6, 6)\n", "x = self.a(x)\nreturn torch.cat([x, x])\n"),
        """\
mlp.py:13: error: cat: joins results along dim 0, which is not supported in hardware
   13 |         return torch.cat([x, x])
  hint: only features can be joined: dim=1
""",
    ),
    "a concatenation of images": (
        mlp(
            "self.input_shape = (1, 2, 3)\nself.a = nn.Linear(12, 6)\n",
            "x = torch.cat([x, x], 2)\nreturn self.a(x.flatten(1))\n",
        ),
        """\
mlp.py:13: error: cat: joins results along dim 2, which is not supported in hardware
   13 |         x = torch.cat([x, x], 2)
  hint: only channels can be joined: dim=1
""",
    ),
    "two orders": (
        mlp(
            "self.input_shape = (3, 2, 2)\nself.a = nn.Linear(12, 12)\n",
            "x = x.flatten(1)\nreturn x + self.a(x)\n",
        ),
        """\
mlp.py:14: error: add: joins an image, which streams pixel by pixel, with features that are in another order, which is not supported in hardware
   14 |         return x + self.a(x)
  hint: put a linear layer between the image and this node
""",  # noqa: E501
    ),
    "overwritten through a view": (
        mlp("self.a = nn.Linear(6, 6)\n", "x = self.a(x)\ny = x.view(-1, 6)\ny += self.a(y)\nreturn self.a(x)\n"),
        """\
mlp.py:14: error: add overwrites view, which shares memory with a; a_2 would read the overwritten values
   14 |         y += self.a(y)
  hint: write x = x + y instead of x += y, F.relu(x) instead of F.relu(x, inplace=True)
""",
    ),
    "an input that is returned": (
        mlp("self.a = nn.Linear(6, 6)\n", "return self.a(x), torch.relu(x), x\n"),
        """\
error: the model returns its input x
  hint: return the result of a quantized layer
mlp.py:12: error: the model returns relu, which no quantized layer computes
   12 |         return self.a(x), torch.relu(x), x
  hint: return the result of a quantized layer
""",
    ),
    "an input that is not read": (
        {
            "mlp.py": mlp("self.input_shape = ((6,), (3,))\nself.a = nn.Linear(6, 6)\n", "return self.a(x)\n")[
                "mlp.py"
            ].replace("x):", "x, z):")
        },
        """\
mlp.py:12: error: z: the model never reads this input
   12 |     def forward(self, x, z):
  hint: take the argument out of forward
""",
    ),
    "a dict": (
        mlp("self.fc = nn.Linear(6, 6)\n", "return {'y': self.fc(x)}\n"),
        """\
mlp.py:11: error: the model returns a dict
   11 |     def forward(self, x):
  hint: let forward return a tensor, or a tuple of tensors
""",
    ),
    "two inputs of one shape": (
        {"mlp.py": mlp("self.fc = nn.Linear(6, 6)\n", "return self.fc(x + z)\n")["mlp.py"].replace("x):", "x, z):")},
        """\
mlp.py:11: error: the model takes 2 inputs (x, z), and 1 shape is known
   11 |     def forward(self, x, z):
  hint: give the class input_shape = ((16,), (16,)), with the sizes of its inputs
""",
    ),
    "a constant": (
        mlp("self.fc = nn.Linear(6, 6)\n", "self.fc(x)\nreturn torch.zeros(2, 3)\n"),
        """\
mlp.py:12: error: fc: its result is never used
   12 |         self.fc(x)
  hint: delete the call, or use its result
mlp.py:11: error: the model returns a constant, whatever its input is
   11 |     def forward(self, x):
  hint: let forward return the last layer's result
""",
    ),
    "a layer on a constant": (
        mlp("self.fc = nn.Linear(6, 6)\nself.k = nn.Parameter(torch.ones(1, 6))\n", "return self.fc(self.k)\n"),
        """\
mlp.py:12: error: x: the model never reads this input
   12 |     def forward(self, x):
  hint: take the argument out of forward
mlp.py:13: error: fc: Linear works on a constant of the model, not on its input
   13 |         return self.fc(self.k)
  hint: compute the constant once, in __init__, and store it as a buffer
""",
    ),
    "several at once": (
        mlp(
            "self.a = nn.Linear(6, 6)\nself.s = nn.Sigmoid()\nself.n = nn.LayerNorm(6)\n",
            "x = self.s(self.a(x))\nx = self.n(x)\nreturn x * 2\n",
        ),
        """\
mlp.py:14: error: s: Sigmoid is not supported in hardware
   14 |         x = self.s(self.a(x))
  hint: supported: SUPPORTED
mlp.py:15: error: n: LayerNorm is not supported in hardware
   15 |         x = self.n(x)
  hint: supported: SUPPORTED
""",
    ),
    "no layer": (
        mlp("self.input_shape = (6,)\nself.a = nn.Identity()\n", "return self.a(x)\n"),
        """\
mlp.py:12: error: the model has no layer that becomes hardware
   12 |     def forward(self, x):
  hint: supported: SUPPORTED
""",
    ),
}


@pytest.mark.parametrize(("files", "text"), CASES.values(), ids=list(CASES))
def test_text(files: Files, text: str, desk: Desk) -> None:
    desk.place_build("build/model")
    desk.write(files)
    assert desk.refused("emit", "model.toml") == text.replace("SUPPORTED", ", ".join(supported()))
