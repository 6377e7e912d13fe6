"""The page of linear, for `mase-hw show`."""

from __future__ import annotations

from mase_hw.ir import Component
from mase_hw.ops.affine import align
from mase_hw.ops.examples import BIAS, IN, MATRIX, READER, RESULT, WEIGHT, example_stream
from mase_hw.ops.linear.make import linear
from mase_hw.ops.linear.serial import serial
from mase_hw.ops.pages import Built, Page

_EXACT = "the sum is exact, in the fewest bits that hold it for these very weights; then one requantize"


def _linear(*, folded: bool) -> Component:
    x = example_stream(2 if folded else 4)
    array = (2, 1) if folded else None
    lanes = 1 if folded else 2
    return linear("linear", x, MATRIX, BIAS, WEIGHT, WEIGHT, RESULT, out_lanes=lanes, folded=folded, array=array)


def _serial() -> Component:
    alignment = align(IN, WEIGHT, WEIGHT)
    constant = BIAS << alignment.constant_shift
    return serial("linear", example_stream(), MATRIX, constant, alignment, RESULT, digit_bits=2, groups=1)


def linear_page() -> Page:
    return Page(
        "linear",
        "nn.Linear, F.linear",
        ("y_j = requantize(sum_i x_i * w_ji + b_j)", _EXACT),
        ("data_in, weight, bias: 2 to 32 bits (unsigned 1 to 32), fractional bits -64 to 64", READER),
        (
            Built(
                "unrolled",
                "the weights are wires in a shared shift-and-add graph",
                "1",
                "stages: the additions in a row, adders_per_stage of them in a stage",
                lambda: _linear(folded=False),
            ),
            Built(
                "serial",
                "the same on digits of every input",
                "ceil(bits / digit_bits) * output_groups",
                "ceil(bits / digit_bits) + stages, and 1 where the sum has a register of its own",
                _serial,
            ),
            Built(
                "folded",
                "array_in x array_out multipliers, the weights in a ROM",
                "ceil(in / array_in) * ceil(out / array_out)",
                "ceil(in / array_in) + stages + 1",
                lambda: _linear(folded=True),
            ),
        ),
    )
