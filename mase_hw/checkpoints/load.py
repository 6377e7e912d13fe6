"""`load_checkpoint`: a checkpoint's tensors into a model, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from mase_hw.checkpoints.read import read_state
from mase_hw.checkpoints.wrapped import without_wrappers
from mase_hw.config.table import nearest
from mase_hw.diagnostics import Collector, Place

_COUNTER = "num_batches_tracked"  # old checkpoints lack it, and evaluation does not read it


def load_checkpoint(
    module: nn.Module, path: Path, load_type: str = "auto", where: Place | None = None
) -> tuple[str, ...]:
    """Fills `module` from the file and returns notes for the user; on any problem the module is left unchanged.

    `load_type`: "pt" (state dict), "pl" (Lightning), "safetensors", "npz", or "auto", which looks into the file.
    """
    state, notes = read_state(path, load_type, where)
    wanted, subject = module.state_dict(), f"checkpoint {Place(path)}"
    state, removed = without_wrappers(state, wanted)
    if removed:
        notes = (*notes, f"{subject}: {removed} is taken off its keys")
    with Collector() as problems:
        checked = _checked(wanted, state, subject, where, problems)
    module.load_state_dict(checked, strict=False)
    return notes


def _checked(
    wanted: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    subject: str,
    where: Place | None,
    problems: Collector,
) -> dict[str, Tensor]:
    """The tensors as the model wants them; everything that does not fit is added to `found`."""
    missing = [key for key in wanted if key not in state and not key.endswith(_COUNTER)]
    extra = [key for key in state if key not in wanted]
    prefix = _prefix(missing, state)
    if prefix:
        text = f"{subject}: all its keys start with {prefix}, those of the model do not"
        strip = f'{{key.removeprefix("{prefix}"): value for key, value in state.items()}}'
        problems.add(text, where, f"it holds a model that holds this one; save it without the prefix:\n{strip}")
        return {}
    for key in missing:
        hint = nearest(key, extra, "it has, unused") if extra else nearest("", state, "it has")
        problems.add(f"{subject}: {key} {tuple(wanted[key].shape)} is missing", where, hint)
    for key in extra:
        hint = nearest(key, missing, "still missing") if missing else "is it the checkpoint of another model?"
        problems.add(f"{subject}: the model has no {key} {tuple(state[key].shape)}", where, hint)
    checked: dict[str, Tensor] = {}
    for key, target in wanted.items():
        if key in state:
            reason, checked[key] = _fitted(key, state[key], target)
            if reason:
                problems.add(f"{subject}: {key} {reason[0]}", where, reason[1])
    return checked


def _prefix(missing: list[str], state: Mapping[str, Tensor]) -> str | None:
    """What stands before every key of the checkpoint, when the model's own keys follow it."""
    if not missing or not state:
        return None
    first = next(iter(state))
    prefix = next((first.removesuffix(key) for key in missing if first.endswith(f".{key}")), "")
    fits = prefix and all(key.startswith(prefix) for key in state) and all(f"{prefix}{key}" in state for key in missing)
    return prefix if fits else None


_Reason = tuple[str, str]  # what is wrong, and a hint


def _fitted(key: str, tensor: Tensor, target: Tensor) -> tuple[_Reason | None, Tensor]:
    """The tensor in the model's type, and what is wrong with it if anything is."""
    if tensor.shape != target.shape:
        text = f"has shape {tuple(tensor.shape)}, the model needs {tuple(target.shape)}"
        return (text, "is it the checkpoint of another model, or of this one before a change?"), tensor
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_complex():
        return (f"is no plain real tensor but {tensor.dtype}, {tensor.layout}", "save it as dense floats"), tensor
    fitted = tensor.to(dtype=target.dtype, device=target.device)
    if not fitted.is_floating_point():
        return None, fitted
    wrong = (~torch.isfinite(fitted)).nonzero()
    if len(wrong):
        index = wrong[0].tolist()
        more = f" ({len(wrong)} such values)" if len(wrong) > 1 else ""
        hint = "such a value has no fixed-point form: train again, or take an earlier checkpoint"
        return (f"is {fitted[tuple(index)].item()} at {index}{more}", hint), fitted
    if key.endswith("running_var") and bool((fitted < 0).any()):
        index = (fitted < 0).nonzero()[0].tolist()
        text = f"is {fitted[tuple(index)].item()} at {index}: a variance is never negative"
        return (text, "is the checkpoint damaged, or one of another model?"), fitted
    return None, fitted
