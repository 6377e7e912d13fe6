"""The texts that `mase-hw new` writes: a commented TOML, and a network of two layers."""

from __future__ import annotations

from mase_hw.config.write import toml_text as plain

SHAPES = {  # of a sample, and classes
    "digits": ((64,), 10),
    "jsc": ((16,), 5),
    "mnist": ((1, 28, 28), 10),
    "cifar10": ((3, 32, 32), 10),
}


def toml_text(
    model: str, data: str, project: str, *, width: int | None, frac: int | None, interval: int | None, interface: str
) -> str:
    """A TOML that says what each key is for. Without a width the types are left to the model's file."""
    lines = [
        "# Every key is explained in docs/config.md. Paths are relative to this file.",
        "",
        '# A registered name, "file.py:Class" or "file.onnx".',
        *plain({"model": model}).splitlines(),
        "",
        "# What it is trained and tested on; emit notes its accuracy, sim sends its test split through the RTL.",
        *(plain({"dataset": data}).splitlines() if data else ['# dataset = "digits"']),
        "",
        "# Trained weights. Without them emit takes random ones, drawn from the seed.",
        f'# load_name = "mase_output/{project}/software/training_ckpts/best.ckpt"  # what mase-hw train writes',
        "seed = 0",
        "",
        "# mase-hw train",
        "max_epochs = 20",
        "batch_size = 128",
        "learning_rate = 1e-3",
        "",
        *_types(width, frac),
        "",
        *_hardware(interval, interface),
    ]
    return "\n".join(lines) + "\n"


def _types(width: int | None, frac: int | None) -> list[str]:
    bits = width or 8
    data = bits // 2 if frac is None else frac
    lines = [
        "# Fixed-point types, by operator: so many bits, of which so many are fractional. integer rounds half to even,",
        "# integer_floor rounds down; both saturate. The output is exact, unless data_out_width and",
        "# data_out_frac_width say otherwise.",
        "[passes.quantize]",
        'by = "type"',
    ]
    for op in ("linear", "batch_norm1d"):
        lines += [
            f"[passes.quantize.{op}.config]",
            'name = "integer"',
            f"data_in_width = {bits}",
            f"data_in_frac_width = {data}",
            f"weight_width = {bits}",
            f"weight_frac_width = {bits - 2}",
            f"bias_width = {bits}",
            f"bias_frac_width = {bits - 2}",
        ]
    if width is not None:
        return lines
    start = lines.index("[passes.quantize]")
    note = "# The ONNX file has types of its own; these would be in their place."
    return [note, *lines[:start], *(f"# {line}" for line in lines[start:])]


def _hardware(interval: int | None, interface: str) -> list[str]:
    return [
        "# What the design is to reach; how each layer is built is chosen.",
        "[hardware]",
        f"target_interval = {interval}" if interval else "# target_interval = 8  # cycles per vector, at most",
        "# lut_budget = 9000  # or: the fastest design that keeps within these",
        "# dsp_budget = 20",
        "# bram_budget = 12",
        f'interface = "{interface}"  # stream: data, valid and ready; axis: AXI4-Stream',
        "",
        "# A layer's own wishes, by operator or by name: docs/hardware.md.",
        "# [passes.hardware]",
        '# by = "name"',
        "# [passes.hardware.fc1.config]",
        '# implementation = "folded"',
        "# array_in = 4",
        "# array_out = 4",
    ]


def model_text(shape: tuple[int, ...], hidden: int, classes: int) -> str:
    """The network, for samples of `shape`."""
    features = 1
    for size in shape:
        features *= size
    flat = "self.flatten(x)" if len(shape) > 1 else "x"
    flatten = "        self.flatten = nn.Flatten()\n" if len(shape) > 1 else ""
    return f'''"""A network of two layers, to change as you like."""

from torch import Tensor, nn


class Net(nn.Module):
    """{features} features in, {classes} scores out."""

    input_shape = {shape}

    def __init__(self) -> None:
        super().__init__()
{flatten}        self.fc1 = nn.Linear({features}, {hidden})
        self.act = nn.ReLU()
        self.fc2 = nn.Linear({hidden}, {classes})

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc1({flat})
        return self.fc2(self.act(x))
'''
