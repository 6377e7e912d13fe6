"""What pruning leaves on a model: masks beside the weights, and gradients that are zero where the masks are."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor, nn

_hooks: weakref.WeakKeyDictionary[nn.Module, Any] = weakref.WeakKeyDictionary()


def mask_of(module: nn.Module) -> Tensor | None:
    """1 for a weight that is kept, 0 for a pruned one, in the weight's shape and type; None: never pruned."""
    mask = getattr(module, "pruning_masks", None)
    return mask if isinstance(mask, Tensor) else None


def set_mask(module: nn.Module, mask: Tensor) -> None:
    """Zeroes the weights and keeps them zero. The buffer is not saved with checkpoints: the zeros are."""
    weight = module.weight
    assert isinstance(weight, nn.Parameter)
    kept = mask.to(weight.device, weight.dtype)
    if "pruning_masks" in module._buffers:
        module.pruning_masks = kept
    else:
        module.register_buffer("pruning_masks", kept, persistent=False)
    with torch.no_grad():
        weight.masked_fill_(kept == 0, 0.0)
    _hold(module, kept)


def keep_zeros(model: nn.Module) -> None:
    """Makes training keep the zeros of every pruned layer in `model`: to be called on a copy, which lost the hooks."""
    for module in model.modules():
        mask = mask_of(module)
        if mask is not None and isinstance(getattr(module, "weight", None), nn.Parameter):
            set_mask(module, mask)


def _hold(module: nn.Module, mask: Tensor) -> None:
    """A gradient hook on the weight. Without a gradient, SGD and Adam leave a zero as it is, weight decay too.

    It is the weight's, not the module's: a quantized form that shares the weight keeps the zeros as well.
    """
    old = _hooks.pop(module, None)
    if old is not None:
        old.remove()
    weight = module.weight
    assert isinstance(weight, nn.Parameter)
    if weight.requires_grad:
        held = weight.register_hook(lambda grad: grad * mask.to(grad.device, grad.dtype))  # type: ignore[no-untyped-call]
        _hooks[module] = held
