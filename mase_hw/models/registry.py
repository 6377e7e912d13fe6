"""Models by name: a class or a function registers itself with `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch import nn

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Place, Problem, ProblemsError

Maker = TypeVar("Maker", bound=Callable[..., nn.Module])

_MODELS: dict[str, Callable[..., nn.Module]] = {}


def register(name: str) -> Callable[[Maker], Maker]:
    """Puts what it decorates under `name`; calling that makes the model."""

    def keep(maker: Maker) -> Maker:
        assert name not in _MODELS, f"two models are named {name}"
        _MODELS[name] = maker
        return maker

    return keep


def model_names() -> tuple[str, ...]:
    return tuple(sorted(_MODELS))


def get_model(name: str, *, where: Place | None = None, **kwargs: Any) -> nn.Module:
    """The registered model `name`, newly made and untrained. `kwargs` go to its class."""
    if name not in _MODELS:
        raise ProblemsError(Problem(f'model = "{name}" is unknown', where, nearest(name, _MODELS, "known models")))
    return _MODELS[name](**kwargs)
