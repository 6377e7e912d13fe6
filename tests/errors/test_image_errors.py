"""What is said of a model of images that cannot become hardware, with the line in the model and what to do instead."""

from __future__ import annotations

import pytest
from desk import LINEAR, Desk, mlp, toml_and

TOML = toml_and(LINEAR.replace("linear", "conv2d"))
CONV = "self.input_shape = (3, 6, 6)\nself.c = nn.Conv2d(3, 4, 3)\n"

# name: (__init__, forward, the text)
CASES: dict[str, tuple[str, str, str]] = {
    "a kernel larger than its padded input": (
        CONV + "self.d = nn.Conv2d(4, 2, 7, padding=1)\n",
        "x = self.c(x)\nreturn self.d(x)\n",
        """\
mlp.py:15: error: d (Conv2d): its kernel reaches over 7 x 7 positions, and its padded input has 6 x 6
   15 |         return self.d(x)
  hint: give it a smaller kernel or more padding, or take away a stride or a pool before it
  note: d is Conv2d(4, 2, kernel_size=(7, 7), stride=(1, 1), padding=(1, 1))
""",
    ),
    "a pool larger than its input": (
        CONV,
        "x = self.c(x)\nreturn F.max_pool2d(x, 6)\n",
        """\
mlp.py:14: error: max_pool2d (max_pool2d): its kernel reaches over 6 x 6 positions, and its padded input has 4 x 4
   14 |         return F.max_pool2d(x, 6)
  hint: give it a smaller kernel or more padding, or take away a stride or a pool before it
""",
    ),
    "a padding mode": (
        "self.input_shape = (3, 6, 6)\nself.c = nn.Conv2d(3, 4, 3, padding=1, padding_mode='reflect')\n",
        "return self.c(x)\n",
        """\
mlp.py:13: error: c: padding_mode = 'reflect' is not supported in hardware
   13 |         return self.c(x)
  hint: pad with zeros: padding_mode='zeros'
  note: its types are those of passes.quantize.conv2d, model.toml:20
""",
    ),
    "a padding that repeats": (
        CONV,
        "x = F.pad(x, (1, 1, 0, 0), mode='replicate')\nreturn self.c(x)\n",
        """\
mlp.py:13: error: pad: pads with mode 'replicate'
   13 |         x = F.pad(x, (1, 1, 0, 0), mode='replicate')
  hint: zeros are the only padding: nn.ZeroPad2d
""",
    ),
    "a padding that takes away": (
        CONV,
        "x = F.pad(x, (-1, 1))\nreturn self.c(x)\n",
        """\
mlp.py:13: error: pad: takes positions away: padding (-1, 1)
   13 |         x = F.pad(x, (-1, 1))
  hint: only positions can be added, and none be taken away
""",
    ),
    "a module that reflects": (
        CONV + "self.p = nn.ReflectionPad2d(1)\n",
        "x = self.p(x)\nreturn self.c(x)\n",
        """\
mlp.py:14: error: p: ReflectionPad2d is not supported in hardware
   14 |         x = self.p(x)
  hint: zeros are the only padding: nn.ZeroPad2d, or padding_mode='zeros' of a convolution
""",
    ),
    "a transposed convolution": (
        CONV + "self.t = nn.ConvTranspose2d(4, 2, 2, stride=2)\n",
        "x = self.c(x)\nreturn self.t(x)\n",
        """\
mlp.py:15: error: t: ConvTranspose2d is not supported in hardware
   15 |         return self.t(x)
  hint: use a nearest upsampling and a convolution instead: nn.Upsample(scale_factor=2), nn.Conv2d(...)
""",
    ),
    "other channels": (
        "self.input_shape = (1, 6, 6)\nself.c = nn.Conv2d(3, 4, 3)\n",
        "return self.c(x)\n",
        """\
mlp.py:13: error: c (Conv2d): takes 3 channels, not a tensor of shape [2, 1, 6, 6]
   13 |         return self.c(x)
  hint: check it against the layer before it, or against the data set where it is the first layer
  note: c is Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))
""",
    ),
    "a vector for an image": (
        "self.input_shape = (36,)\nself.c = nn.Conv2d(1, 4, 3)\n",
        "return self.c(x)\n",
        """\
mlp.py:13: error: c (Conv2d): takes [batch, channels, rows, columns], not a tensor of shape [2, 36]
   13 |         return self.c(x)
  hint: give the model samples of shape (channels, rows, columns): its input_shape, or the data set's
  note: c is Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1))
""",
    ),
    "rows and columns alone": (
        "self.input_shape = (6, 6)\nself.c = nn.Conv2d(2, 4, 3)\n",
        "return self.c(x)\n",
        """\
mlp.py:13: error: c: Conv2d takes [batch, channels, rows, columns], not a tensor of shape [2, 6, 6]
   13 |         return self.c(x)
  hint: give the model samples of shape (channels, rows, columns): its input_shape, or the data set's
""",
    ),
    "a permutation": (
        CONV + "self.d = nn.Conv2d(4, 2, 3)\n",
        "x = self.c(x).transpose(2, 3)\nreturn self.d(x)\n",
        """\
mlp.py:14: error: transpose: transpose from [2, 4, 4, 4] to [2, 4, 4, 4] changes the order of an image, which would need a buffer
   14 |         x = self.c(x).transpose(2, 3)
  hint: leave it out, or put it in front of a linear layer, whose weights can take it in
""",  # noqa: E501
    ),
    "an image from a vector": (
        CONV + "self.fc = nn.Linear(64, 16)\nself.d = nn.Conv2d(4, 2, 1)\n",
        "x = self.fc(self.c(x).flatten(1))\nx = x.view(-1, 4, 2, 2)\nreturn self.d(x)\n",
        """\
mlp.py:16: error: view: view from [2, 16] to [2, 4, 2, 2] makes an image of a vector, which would need a buffer
   16 |         x = x.view(-1, 4, 2, 2)
  hint: keep the image as it is up to the flatten in front of the first linear layer
""",
    ),
    "the batch moves": (
        CONV,
        "x = self.c(x)\nreturn x.transpose(0, 1)\n",
        """\
mlp.py:14: error: transpose: transpose from [2, 4, 4, 4] to [4, 2, 4, 4] is not supported in hardware
   14 |         return x.transpose(0, 1)
  hint: the batch stays the first dimension
""",
    ),
    "an average without a type": (
        CONV,
        "x = self.c(x)\nreturn F.avg_pool2d(x, 3)\n",
        """\
mlp.py:14: error: avg_pool2d: a sum divided by 9 is no fixed-point number, and no one type is asked for
   14 |         return F.avg_pool2d(x, 3)
  hint: give it data_out_width and data_out_frac_width, or all its readers one data_in
  note: avg_pool2d is the avg_pool2d called at mlp.py:14
""",
    ),
    "an upsampling that interpolates": (
        CONV,
        "x = F.interpolate(x, scale_factor=2, mode='bilinear')\nreturn self.c(x)\n",
        """\
mlp.py:13: error: interpolate: upsamples with mode 'bilinear'
   13 |         x = F.interpolate(x, scale_factor=2, mode='bilinear')
  hint: only nearest upsampling by an integer is supported: nn.Upsample(scale_factor=2, mode='nearest')
""",
    ),
    "a mean of channels": (
        CONV,
        "x = self.c(x)\nreturn x.mean(1)\n",
        """\
mlp.py:14: error: mean: reduces dim 1 of a tensor with 4 dimensions
   14 |         return x.mean(1)
  hint: only all positions of an image together can be: dim=(2, 3)
""",
    ),
    "windows of several sizes": (
        CONV,
        "x = self.c(x)\nreturn F.adaptive_avg_pool2d(x, 3)\n",
        """\
mlp.py:14: error: adaptive_avg_pool2d: pools a frame of 4 x 4 to 3 x 3, with windows of different sizes
   14 |         return F.adaptive_avg_pool2d(x, 3)
  hint: choose an output size that divides the frame, such as 1
""",
    ),
    "a sum of rows": (
        CONV,
        "x = self.c(x)\nreturn torch.cat([x, x], 3)\n",
        """\
mlp.py:14: error: cat: joins results along dim 3, which is not supported in hardware
   14 |         return torch.cat([x, x], 3)
  hint: only channels can be joined: dim=1
""",
    ),
    "a constant for each pixel": (
        CONV + "self.w = nn.Parameter(torch.ones(4, 4))\n",
        "x = self.c(x) * self.w\nreturn x\n",
        """\
mlp.py:14: error: mul: multiplies a result of shape [2, 4, 4, 4] by a constant of shape [4, 4], which is not supported in hardware
   14 |         x = self.c(x) * self.w
  hint: the constant is one number, or one for each channel: a constant of shape [4, 1, 1]
""",  # noqa: E501
    ),
    "no shape": (
        "self.c = nn.Conv2d(3, 4, 3)\n",
        "return self.c(x)\n",
        """\
model.toml:1: error: MLP: the shape of its input is unknown
    1 | model = "mlp.py:MLP"
  hint: give the class input_shape = (3, rows, columns), or the TOML a dataset
""",
    ),
}


@pytest.mark.parametrize(("init", "forward", "text"), CASES.values(), ids=list(CASES))
def test_text(init: str, forward: str, text: str, desk: Desk) -> None:
    desk.write(mlp(init, forward) | TOML)
    assert desk.refused("emit", "model.toml") == text
