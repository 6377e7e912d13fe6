"""What the branches of an ONNX file may not have: each is told with the node's name, why, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qonnx_graphs import SCALE, TALL, A, B, Graph, trunk

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError


def refused(make: Callable[[Graph, str], Graph]) -> Graph:
    net, h = trunk()
    return make(net, h)


def biased(net: Graph, h: str, *, returned: bool) -> Graph:
    """A MatMul whose sums are read without their bias too, by the output or by a node."""
    y = net.node("MatMul", h, net.quant_of(net.constant(B, "mm.weight"), 3, 5))
    with_bias = net.node("Add", y, net.constant(SCALE), name="bias")
    return net.returns(with_bias, y if returned else net.node("Relu", y))


REFUSED: dict[str, tuple[Callable[[], Graph], str]] = {
    "inputs added without a type": (
        lambda: Graph(x=6, side=6).join("Add", "x", "side", name="total").quant(2, 4),
        "node total (Add): its input has no type: no Quant stands before it\n"
        "  hint: put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        '        [passes.quantize]\n        by = "name"\n        [passes.quantize.total.config]\n',
    ),
    "different sizes": (
        lambda: refused(lambda net, h: net.linear(TALL).join("Add", h, net.tensor, name="skip")),
        "node skip (Add): joins 6 and 4 features\n  hint: there is no broadcasting: give both inputs one shape",
    ),
    "axis": (
        lambda: refused(lambda net, h: net.join("Concat", h, h, name="both", axis=0)),
        "node both (Concat): axis = 0 does not join features\n  hint: use axis = 1",
    ),
    "product": (
        lambda: refused(lambda net, h: net.join("Mul", h, h, name="square")),
        "node square (Mul): multiplies two results of layers\n  hint: hardware multiplies by constants alone",
    ),
    "shape of a constant": (
        lambda: refused(lambda net, h: net.join("Mul", h, net.constant(np.ones((32, 6))), name="m")),
        "node m (Mul): multiplies 6 features by a constant of shape (32, 6)\n"
        "  hint: the constant is one number, or one for each feature",
    ),
    "float constant": (
        lambda: refused(lambda net, h: net.join("Mul", h, net.constant([0.1] * 5 + [1e-6]), name="m")),
        "node m (Mul): its weight has no Quant and is made of floats that no type of 32 bits or fewer has exactly\n"
        "  hint: put a Quant behind the constant, or let the TOML round it:\n",
    ),
    **{
        f"bias of shared sums, returned {returned}": (
            lambda returned=returned: refused(lambda net, h: biased(net, h, returned=returned)),  # type: ignore[misc]
            "node bias (Add): an Add that is not the bias right after a MatMul is not supported\n",
        )
        for returned in (False, True)
    },
    "unread input": (
        lambda: Graph(x=6, side=6).quant(2, 4).linear(A),
        "the input 'side' leads to no output\n  hint: export the model without this input",
    ),
    "output without an input": (
        lambda: refused(lambda net, h: net.returns(h, net.node("Identity", net.constant(SCALE), out="c"))),
        "the input 'x' does not lead to the output 'c'\n"
        "  hint: the graph is broken, or the output is a constant: export it again",
    ),
    "output twice": (
        lambda: refused(lambda net, h: net.returns(h, h)),
        "the graph has the output 't4' more than once\n  hint: export a model that names each output once",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, text = REFUSED[case]
    with pytest.raises(ProblemsError) as caught:
        load_config(make().save(Path("net.onnx")))
    assert str(caught.value).startswith(f"net.onnx: error: {text}")
