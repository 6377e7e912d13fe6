"""What is said of a checkpoint that does not fit, or that would run code."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from desk import MODEL, Desk, top_and_toml


def state() -> dict[str, Any]:
    """A state dict that fits the desk's model."""
    namespace: dict[str, Any] = {}
    exec(MODEL, namespace)
    torch.manual_seed(0)
    return dict(namespace["MLP"]().state_dict())


def reshaped(state: dict[str, Any]) -> dict[str, Any]:
    del state["fc2.bias"]
    return state | {"fc1.weight": torch.zeros(4, 5)}


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    state["fc3.bias"] = state.pop("fc2.bias")
    return state


def wrapped(state: dict[str, Any]) -> dict[str, Any]:
    return {f"net.{key}": value for key, value in state.items()}


def not_finite(state: dict[str, Any]) -> dict[str, Any]:
    state["fc1.weight"][1, 2] = float("nan")
    state["bn.running_mean"][0] = float("-inf")
    state["bn.running_var"][3] = float("inf")
    state["fc2.bias"][:] = float("nan")
    return state


def negative(state: dict[str, Any]) -> dict[str, Any]:
    state["bn.running_var"][3] = -1
    return state


CHECKPOINTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "shape and missing key": (
        reshaped,
        """\
model.toml:1: error: checkpoint mlp.pt: fc2.bias (2,) is missing
    1 | load_name = "mlp.pt"
  hint: it has: bn.bias, bn.num_batches_tracked, bn.running_mean, bn.running_var, bn.weight, fc1.bias,
        fc1.weight, fc2.weight
model.toml:1: error: checkpoint mlp.pt: fc1.weight has shape (4, 5), the model needs (4, 6)
    1 | load_name = "mlp.pt"
  hint: is it the checkpoint of another model, or of this one before a change?
""",
    ),
    "renamed key": (
        renamed,
        """\
model.toml:1: error: checkpoint mlp.pt: fc2.bias (2,) is missing
    1 | load_name = "mlp.pt"
  hint: did you mean fc3.bias?
model.toml:1: error: checkpoint mlp.pt: the model has no fc3.bias (2,)
    1 | load_name = "mlp.pt"
  hint: did you mean fc2.bias?
""",
    ),
    "prefixed keys": (
        wrapped,
        """\
model.toml:1: error: checkpoint mlp.pt: all its keys start with net., those of the model do not
    1 | load_name = "mlp.pt"
  hint: it holds a model that holds this one; save it without the prefix:
        {key.removeprefix("net."): value for key, value in state.items()}
""",
    ),
    "NaN and infinity": (
        not_finite,
        """\
model.toml:1: error: checkpoint mlp.pt: fc1.weight is nan at [1, 2]
    1 | load_name = "mlp.pt"
  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint
model.toml:1: error: checkpoint mlp.pt: bn.running_mean is -inf at [0]
    1 | load_name = "mlp.pt"
  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint
model.toml:1: error: checkpoint mlp.pt: bn.running_var is inf at [3]
    1 | load_name = "mlp.pt"
  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint
model.toml:1: error: checkpoint mlp.pt: fc2.bias is nan at [0] (2 such values)
    1 | load_name = "mlp.pt"
  hint: such a value has no fixed-point form: train again, or take an earlier checkpoint
""",
    ),
    "negative variance": (
        negative,
        """\
model.toml:1: error: checkpoint mlp.pt: bn.running_var is -1.0 at [3]: a variance is never negative
    1 | load_name = "mlp.pt"
  hint: is the checkpoint damaged, or one of another model?
""",
    ),
}


@pytest.mark.parametrize(("change", "text"), CHECKPOINTS.values(), ids=list(CHECKPOINTS))
def test_checkpoint(change: Callable[[dict[str, Any]], dict[str, Any]], text: str, desk: Desk) -> None:
    desk.write(top_and_toml('load_name = "mlp.pt"\n'))
    torch.save(change(state()), "mlp.pt")
    desk.place_build("build/model")
    assert desk.refused("emit", "model.toml") == text


def test_a_checkpoint_that_fits_is_taken(desk: Desk) -> None:
    desk.write(top_and_toml('load_name = "mlp.pt"\n'))
    torch.save(state(), "mlp.pt")
    assert desk.run("emit", "model.toml").code == 0


def test_no_checkpoint(desk: Desk) -> None:
    desk.write(top_and_toml('load_name = "mlp.pt"\n'))
    assert desk.refused("emit", "model.toml") == (
        "model.toml:1: error: checkpoint mlp.pt does not exist\n"
        '    1 | load_name = "mlp.pt"\n'
        "  hint: paths are relative to the TOML\n"
    )
    desk.write({"mpl.pt": b""})
    assert desk.refused("emit", "model.toml").endswith("  hint: did you mean mpl.pt?\n")


class Burglar:
    """Unpickling it would make a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("burgled",)


def by_torch(path: Path) -> None:
    torch.save(state() | {"extra": Burglar()}, path)


def by_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Burglar(), 0))


@pytest.mark.parametrize("save", [by_torch, by_pickle])
@pytest.mark.parametrize("load_type", ["auto", "pt", "pl"])
def test_code_in_a_checkpoint_does_not_run(save: Callable[[Path], None], load_type: str, desk: Desk) -> None:
    desk.write(top_and_toml(f'load_name = "mlp.pt"\nload_type = "{load_type}"\n'))
    save(Path("mlp.pt"))
    assert desk.refused("emit", "model.toml") == (
        "model.toml:1: error: checkpoint mlp.pt is refused: it holds more than weights (posix.mkdir), "
        "and loading that could run code\n"
        '    1 | load_name = "mlp.pt"\n'
        '  hint: save the state dict alone: torch.save(model.state_dict(), "model.pt")\n'
    )
    assert not Path("burgled").exists()
    pickle.loads(pickle.dumps(Burglar()))  # the trap is a real one
    assert Path("burgled").exists()


def test_every_problem_has_a_hint() -> None:
    """What, where, how to fix: an error line is followed by its source and a hint."""
    for text in [text for _, text in CHECKPOINTS.values()]:
        problems = re.split(r"(?m)^(?=\S+: error: )", text)
        for problem in filter(None, problems):
            assert re.match(r"\S+:\d+: error: .+\n +\d+ \| .+\n", problem), problem
            assert "\n  hint: " in problem, problem
