"""Adds, subs, muls and cats in all of torch's forms, and what happens to those that work in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op
from mase_hw.graph.joins import operands, why_not_plain


class Two(nn.Module):
    """`body(x, y)`, where x and y are results of layers, and what it is given must not be changed."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.body = body
        self.register_buffer("k", torch.arange(4) - 1.5)

    def forward(self, x: Tensor) -> Any:
        x = self.fc(x)
        return self.body(x, self.fc(x), self.k)


FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "x + y": ("add", lambda x, y, k: x + y),
    "x += y": ("add", lambda x, y, k: x.__iadd__(y)),
    "torch.add": ("add", lambda x, y, k: torch.add(x, other=y)),
    "x.add": ("add", lambda x, y, k: x.add(y)),
    "x.add_": ("add", lambda x, y, k: x.add_(y, alpha=1)),
    "x.__radd__": ("add", lambda x, y, k: x.__radd__(y)),
    "x - y": ("sub", lambda x, y, k: x - y),
    "x.__rsub__": ("sub", lambda x, y, k: x.__rsub__(y)),
    "torch.subtract": ("sub", lambda x, y, k: torch.subtract(x, y)),
    "x.sub_": ("sub", lambda x, y, k: x.sub_(y)),
    "x.subtract": ("sub", lambda x, y, k: x.subtract(y)),
    "2 * x": ("mul", lambda x, y, k: 2 * x),
    "x * k": ("mul", lambda x, y, k: x * k),
    "k * x": ("mul", lambda x, y, k: torch.multiply(k, x)),
    "x.mul_": ("mul", lambda x, y, k: x.mul_(0.5)),
    "x *= 3": ("mul", lambda x, y, k: x.__imul__(3)),
    "cat": ("cat", lambda x, y, k: torch.cat([x, y], dim=1)),
    "concat": ("cat", lambda x, y, k: torch.concat((x, y), -1)),
    "concatenate": ("cat", lambda x, y, k: torch.concatenate([y, x], axis=1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_its_op_and_means_what_torch_means(form: str) -> None:
    op, body = FORMS[form]
    model = Two(body)
    graph = MaseGraph(model)
    node = graph.nodes[-2]
    assert get_mase_op(node) == op
    assert why_not_plain(node, op) is None
    given = operands(node, op)
    assert len(given.streams) == (1 if op == "mul" else 2)
    assert (given.constant is None) == (op != "mul")
    x = torch.randn(3, 4)
    with torch.no_grad():
        assert torch.equal(graph.model(x.clone()), model(x.clone()))


def test_a_reflected_method_swaps_its_operands() -> None:
    """torch.fx itself writes `__rsub__` as a function; a graph made by other means may have the method."""
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.output(graph.call_method("__rsub__", (x, y)))
    node = MaseGraph(fx.GraphModule(nn.Module(), graph)).nodes[2]
    assert [stream.name for stream in operands(node, get_mase_op(node)).streams] == ["y", "x"]


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        ("uses alpha=2", lambda x, y, k: torch.add(x, y, alpha=2)),
        ("uses alpha=2", lambda x, y, k: x.sub_(y, alpha=2)),
        ("adds a constant", lambda x, y, k: x + k),
        ("subtracts a constant", lambda x, y, k: 1 - x),
        ("multiplies two results", lambda x, y, k: x * y),
        ("uses parts that are computed", lambda x, y, k: torch.cat(x.chunk(2, 1), 0)),
        ("joins one result alone", lambda x, y, k: torch.cat([x], 1)),
        ("uses an operand that is no number and no tensor", lambda x, y, k: x * True),
    ],
)
def test_variants_are_named(reason: str, body: Callable[..., Any]) -> None:
    node = MaseGraph(Two(body)).nodes[-2]
    found = why_not_plain(node, get_mase_op(node))
    assert found is not None
    assert found[0] == reason


def overwritten(x: Tensor, y: Tensor, k: Tensor) -> Tensor:
    before, same = x * 2, x
    x += y
    x -= before
    same *= 3
    return same + x.relu_() + y


def test_later_readers_of_an_overwritten_tensor_read_the_result() -> None:
    model = Two(overwritten)
    graph = MaseGraph(model)
    x = torch.randn(8, 4)
    with torch.no_grad():
        assert torch.equal(graph.model(x), model(x))
    assert [node.name for node in graph.nodes[3:]] == [
        "mul",
        "add",
        "sub",
        "mul_1",
        "relu_",
        "add_1",
        "add_2",
        "output",
    ]
    assert all(str(node.target) not in ("iadd", "isub", "imul") for node in graph.nodes)


def test_numbers_are_not_overwritten() -> None:
    def body(x: Tensor, y: Tensor, k: Tensor) -> Tensor:
        rows = x.size(0)
        more = rows
        more += 1
        return x.view(rows, -1) * (more - rows)

    model = Two(body)
    x = torch.randn(3, 4)
    with torch.no_grad():
        assert torch.equal(MaseGraph(model).model(x), model(x))


def through_a_view(x: Tensor, y: Tensor, k: Tensor) -> Tensor:
    flat = x.view(-1)
    flat += 1
    return x


def of_a_view(x: Tensor, y: Tensor, k: Tensor) -> Tensor:
    flat = x.flatten(1)
    torch.relu_(x)
    return flat


@pytest.mark.parametrize(("body", "late"), [(through_a_view, "fc"), (of_a_view, "flatten")])
def test_a_view_of_an_overwritten_tensor_is_refused(body: Callable[..., Any], late: str) -> None:
    with pytest.raises(ProblemsError, match=f"shares memory with {late}; output would read the overwritten values"):
        MaseGraph(Two(body))
