"""Which implementation and which parallelism each layer gets: what the user asked for, and the rest by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.config.hardware import HardwareConfig, HardwareSpec
from mase_hw.diagnostics import Collector
from mase_hw.hardware.layers import MATRIX_OPS, Layer

UNROLLED_WEIGHTS = 4096  # without a target interval, larger matrices are folded
FOLDED_INTERVAL = 256  # the target of such a matrix


@dataclass(frozen=True)
class Choice:
    """How a layer is built: its implementation and the lanes of its input and output streams."""

    implementation: str  # unrolled | folded for a matrix, stream for elementwise layers
    data_in_parallelism: int
    data_out_parallelism: int
    data_in_fifo_depth: int = 0


def choose(
    layers: Sequence[Layer], config: HardwareConfig, target_interval: int | None, found: Collector
) -> list[Choice]:
    """A choice for each layer; what cannot be built as asked is a problem."""
    specs = [config.for_node(layer.name, layer.op) for layer in layers]
    for layer, spec in zip(layers, specs, strict=True):
        _check(layer, spec, config, found)
    found.raise_if_any()
    matrices = {
        layer.name: _matrix(layer, spec, target_interval)
        for layer, spec in zip(layers, specs, strict=True)
        if layer.op in MATRIX_OPS
    }
    choices = [
        matrices.get(layer.name) or _elementwise(k, layers, specs[k], matrices, target_interval)
        for k, layer in enumerate(layers)
    ]
    for layer, spec, choice in zip(layers, specs, choices, strict=True):
        _check_target(layer, spec, choice, config, target_interval, found)
    return choices


def divisors(n: int) -> list[int]:
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})


def _check(layer: Layer, spec: HardwareSpec, config: HardwareConfig, found: Collector) -> None:
    features = {"data_in_parallelism": ("in_features", layer.in_features)}
    features["data_out_parallelism"] = ("out_features", layer.out_features)
    for key, (what, count) in features.items():
        asked = getattr(spec, key)
        if asked is not None and count % asked:
            below = [d for d in divisors(count) if d < asked][-1:]
            above = [d for d in divisors(count) if d > asked][:1]
            found.add(
                f"hardware.{layer.name}: {key} = {asked} does not divide {what} = {count}",
                config.where(layer.name, layer.op, key),
                f"divisors near {asked}: {', '.join(str(d) for d in below + above)}",
                layer.note,
            )
    meant = config.key_for(layer.name, layer.op) != "default"  # a default is for those that it suits
    if meant and spec.implementation != "auto" and layer.op not in MATRIX_OPS:
        found.add(
            f"hardware.{layer.name}: a {layer.op} has one implementation, not {spec.implementation}",
            config.where(layer.name, layer.op, "implementation"),
            "delete the line: implementation is for linear layers",
            layer.note,
        )


def _check_target(
    layer: Layer, spec: HardwareSpec, choice: Choice, config: HardwareConfig, target: int | None, found: Collector
) -> None:
    """A parallelism that the user fixed may be too small for the interval that the user wants."""
    fixed = [key for key in ("data_in_parallelism", "data_out_parallelism") if getattr(spec, key) is not None]
    if target is None:
        return
    if spec.data_in_fifo_depth == 1 and 2 * (layer.in_features // choice.data_in_parallelism) > target:
        found.add(
            f"hardware.{layer.name}: a FIFO of one beat takes every second cycle, target_interval is {target}",
            config.where(layer.name, layer.op, "data_in_fifo_depth"),
            "set data_in_fifo_depth = 2, which takes every cycle",
            layer.note,
        )
    if not fixed:
        return
    in_beats = layer.in_features // choice.data_in_parallelism
    out_beats = layer.out_features // choice.data_out_parallelism
    interval = in_beats * out_beats if choice.implementation == "folded" else max(in_beats, out_beats)
    if interval > target:
        lanes = f"{choice.data_in_parallelism} x {choice.data_out_parallelism}"
        found.add(
            f"hardware.{layer.name}: a parallelism of {lanes} takes {interval} cycles, target_interval is {target}",
            config.where(layer.name, layer.op, fixed[0]),
            "raise the parallelism, or delete it and let the tool choose",
            layer.note,
        )


def _matrix(layer: Layer, spec: HardwareSpec, target: int | None) -> Choice:
    full = (layer.in_features, layer.out_features)
    asked = (spec.data_in_parallelism, spec.data_out_parallelism)
    folded = spec.implementation == "folded"
    if spec.implementation == "auto":
        folded = full[0] * full[1] > UNROLLED_WEIGHTS if target is None else target > 1
        folded = folded or any(a is not None and a != f for a, f in zip(asked, full, strict=True))
    if not folded:
        return Choice("unrolled", asked[0] or full[0], asked[1] or full[1], spec.data_in_fifo_depth)
    p_in, p_out = _array(full, asked, target or FOLDED_INTERVAL)
    kind = "unrolled" if (p_in, p_out) == full and spec.implementation == "auto" else "folded"
    return Choice(kind, p_in, p_out, spec.data_in_fifo_depth)


def _array(full: tuple[int, int], asked: tuple[int | None, int | None], target: int) -> tuple[int, int]:
    """The smallest array of multipliers that reaches the target; of equals the one with the fewest accumulators."""
    pairs = [
        (p_in, p_out)
        for p_in in ([asked[0]] if asked[0] else divisors(full[0]))
        for p_out in ([asked[1]] if asked[1] else divisors(full[1]))
    ]
    fast = [(p, q) for p, q in pairs if (full[0] // p) * (full[1] // q) <= target]
    return min(fast or pairs[-1:], key=lambda pair: (pair[0] * pair[1], pair[1]))  # the last pair is the fastest


def _elementwise(
    k: int, layers: Sequence[Layer], spec: HardwareSpec, matrices: dict[str, Choice], target: int | None
) -> Choice:
    """As many lanes as the narrower of the matrices around it, so that it is no wider than its stream must be."""
    before = [matrices[layer.name].data_out_parallelism for layer in layers[:k] if layer.name in matrices]
    after = [matrices[layer.name].data_in_parallelism for layer in layers[k:] if layer.name in matrices]
    features = layers[k].in_features
    lanes = min(before[-1:] + after[:1], default=min(d for d in divisors(features) if features // d <= (target or 1)))
    p_in = spec.data_in_parallelism or spec.data_out_parallelism or lanes
    return Choice("stream", p_in, spec.data_out_parallelism or p_in, spec.data_in_fifo_depth)
