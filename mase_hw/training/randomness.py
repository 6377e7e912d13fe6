"""Random numbers of a run: seeded, storable, and the caller's left as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

# Below this many parameters threads cost more than they bring (ten times the time on a busy machine), and with one
# thread the order of a sum does not depend on how many cores there are.
_SMALL = 200_000


@contextmanager
def reproducible(seed: int, device: torch.device, model: nn.Module) -> Iterator[None]:
    """Within the block torch draws from `seed` and prefers algorithms whose sums always have one order."""
    threads = torch.get_num_threads()
    strict, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    devices = list(range(torch.cuda.device_count())) if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        if sum(parameter.numel() for parameter in model.parameters()) < _SMALL:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(strict, warn_only=warns)


def random_state(device: torch.device) -> dict[str, Any]:
    """The state of torch's generators: tensors alone, as a checkpoint must have them."""
    return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all() if device.type == "cuda" else []}


def restore_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
