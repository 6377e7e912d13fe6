"""Checkpoints as training scripts save them: tensors under a key of their own, and keys with a wrapper's prefix."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from torch import Tensor

HOLDERS = ("model_state_dict", "model", "net", "weights")  # keys under which a training script keeps the state dict
_DATA_PARALLEL = "module."  # torch.nn.DataParallel and DistributedDataParallel put it before every key
_COMPILED = "_orig_mod."  # torch.compile puts it where a compiled module begins


def holder_of(content: Mapping[Any, Any]) -> str | None:
    """The key under which a dictionary keeps the state dict, where it is no state dict itself."""
    held = [key for key in HOLDERS if isinstance(content.get(key), Mapping)]
    return held[0] if len(held) == 1 else None


def without_wrappers(state: Mapping[str, Tensor], wanted: Container[str]) -> tuple[dict[str, Tensor], str]:
    """The tensors by their keys without the names of wrappers, and what was taken away, if anything.

    Nothing is taken away where the model has such a key itself, or where two keys would become one.
    """
    plain, removed = dict(state), []
    if any(_COMPILED in key for key in plain):
        plain = {key.replace(_COMPILED, ""): value for key, value in plain.items()}
        removed.append(_COMPILED)
    if plain and all(key.startswith(_DATA_PARALLEL) for key in plain):
        plain = {key.removeprefix(_DATA_PARALLEL): value for key, value in plain.items()}
        removed.append(_DATA_PARALLEL)
    if not removed or len(plain) < len(state) or any(key in wanted for key in state):
        return dict(state), ""
    return plain, " and ".join(removed)
