"""Chains of layers without torch, for the tests of what is chosen for them."""

from __future__ import annotations

import numpy as np

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget
from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Collector
from mase_hw.ir.design import Design
from mase_hw.layers import Layer, LayerGraph, chain
from mase_hw.lowering.choose import ChoiceRequest, choose, request
from mase_hw.lowering.lower import lower
from mase_hw.numerics import Fixed, Rounding

F4 = Fixed(4, 2)


def chain_of(*layers: str, seed: int = 0, fixed: Fixed = F4) -> LayerGraph:
    """Layers such as `linear 4 3`, `relu 3`, `batch_norm1d 3`, with random integers."""
    rng = np.random.default_rng(seed)
    made = []
    for k, text in enumerate(layers):
        op, *numbers = text.split()
        n_in, n_out = int(numbers[0]), int(numbers[-1])
        shapes = {
            "linear": {"weight": (n_out, n_in), "bias": (n_out,)},
            "batch_norm1d": {"scale": (n_in,), "shift": (n_in,)},
            "relu": {},
        }[op]
        integers = {name: rng.integers(fixed.lo, fixed.hi + 1, shape) for name, shape in shapes.items()}
        spec = QuantSpec() if op == "relu" else QuantSpec(Rounding.HALF_EVEN, fixed, fixed, fixed, None)
        made.append(Layer(f"{op}{k}", op, spec, n_in, n_out, integers))
    return chain(made, (made[0].in_features,))


def config_of(**specs: HardwareSpec) -> HardwareConfig:
    return HardwareConfig("name", specs.pop("default", HardwareSpec()), specs, "passes.hardware")


def asked(
    chain: LayerGraph, config: HardwareConfig | None = None, *, dsp: bool = False, **target: int
) -> ChoiceRequest:
    with Collector() as problems:
        return request(chain, config or config_of(), HardwareTarget("top", **target), problems, dsp=dsp)


def designed(chain: LayerGraph, config: HardwareConfig | None = None, **target: int) -> Design:
    """What is built for a chain."""
    wish = HardwareTarget("top", **target)
    with Collector() as problems:
        plan = choose(chain, config or config_of(), wish, problems)
    return lower("top", chain, plan.choices, wish)
