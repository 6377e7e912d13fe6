"""linear: `acc_j = sum_i x_i * w_ji + b_j`, exact, then one requantize. Its declaration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from mase_hw.config.hardware import HardwareSpec
from mase_hw.ir import Component, Stream
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.choice import Choice, Folded, Serial
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.page import linear_page
from mase_hw.ops.linear.serial import serial
from mase_hw.ops.linear.serial_plan import digits_of
from mase_hw.ops.linear.space import digit_cycles, folded_lanes, groups, matrix_choices
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.ops.operator import MEMORIES, Operator, Options, Site, Wish, Wrong
from mase_hw.ops.pages import Page

UNROLLED_WEIGHTS = 4096  # where nothing is asked of the whole, larger matrices are folded


class MatrixOperator(Operator):
    """A constant matrix times each vector: what linear and convolution share."""

    mase_type = "module_related_func"
    arguments = ("data_in", "weight", "bias")
    matrix = True
    smallest = Folded(1, 1)
    keys = ("implementation", "digit_bits", "output_groups", "array_in", "array_out", "use_dsp")

    def candidates(self, site: Site, spec: HardwareSpec, wish: Wish) -> Iterable[Choice]:
        return matrix_choices(self.sizes(site.layer), self.bits(site), spec, wish)

    def weights(self, layer: Layer) -> Integers:
        """The matrix, [out, in]."""
        return layer.integers["weight"]

    def bits(self, site: Site) -> int:
        """Bits of its inputs that a serial matrix goes through."""
        return digits_of(site.inputs[0], self.weights(site.layer), 1).count

    def usual(self, site: Site, spec: HardwareSpec) -> HardwareSpec:
        full, lanes = self.sizes(site.layer), (spec.data_in_parallelism, spec.data_out_parallelism)
        whole = all(p in (None, n) for p, n in zip(lanes, full, strict=True))
        if spec.implementation != "auto" or spec.digit_bits is not None or spec.output_groups is not None:
            return spec
        small = full[0] * full[1] <= UNROLLED_WEIGHTS and whole
        is_folded = spec.array_in or spec.array_out or spec.use_dsp or not small
        return replace(spec, implementation="folded" if is_folded else "unrolled")

    def cycles(self, site: Site, choice: Choice) -> int:
        if isinstance(choice, Folded):
            lanes = self.matrix_lanes(site.layer, choice)
            return Fold(*self.sizes(site.layer), choice.array_in, choice.array_out, *lanes).interval
        return digit_cycles(choice, self.bits(site)) if isinstance(choice, Serial) else 1

    def lanes(self, site: Site, choice: Choice) -> tuple[tuple[int, ...], int]:
        in_lanes, out_lanes = self.matrix_lanes(site.layer, choice)
        return (in_lanes,), out_lanes

    def matrix_lanes(self, layer: Layer, choice: Choice) -> tuple[int, int]:
        """Lanes of the matrix's own streams."""
        full = self.sizes(layer)
        if isinstance(choice, Folded):
            return folded_lanes(full, choice)
        return full[0], full[1] // (choice.output_groups if isinstance(choice, Serial) else 1)

    def solves(self, site: Site, choice: Choice) -> bool:
        return not isinstance(choice, Folded)

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        return MEMORIES if isinstance(choice, Folded) else (None,)

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        (x,) = inputs
        spec, weight, bias = layer.spec, self.weights(layer), layer.integers.get("bias")
        assert spec.weight is not None
        alignment = align(x.fixed, spec.weight, spec.bias if bias is not None else None)
        constant = np.zeros(len(weight), np.int64) if bias is None else bias << alignment.constant_shift
        arguments = (layer.name, x, weight, constant, alignment, result)
        per_stage, seconds = options.adders_per_stage, options.solver_seconds
        if isinstance(choice, Folded):
            lanes, array = self.matrix_lanes(layer, choice)[1], (choice.array_in, choice.array_out)
            return folded_linear(
                *arguments,
                out_lanes=lanes,
                array=array,
                adders_per_stage=per_stage,
                use_dsp=choice.use_dsp,
                block_ram=choice.block_ram,
            )
        if isinstance(choice, Serial):
            d, g = choice.digit_bits, choice.output_groups
            return serial(*arguments, digit_bits=d, groups=g, adders_per_stage=per_stage, solver_seconds=seconds)
        return unrolled(*arguments, adders_per_stage=per_stage, solver_seconds=seconds)

    def unsuited(self, layer: Layer, spec: HardwareSpec) -> Wrong:
        wrong: Wrong = {}
        assert layer.spec.data_in is not None
        bits = layer.spec.data_in.width
        if spec.digit_bits is not None and spec.digit_bits > bits:
            text = f"digit_bits = {spec.digit_bits} is more than its inputs have: {bits}"
            wrong["digit_bits"] = (text, f"allowed: 1 to {bits}; with {bits} all is done in one cycle")
        if spec.output_groups is not None and layer.out_features % spec.output_groups:
            text = f"output_groups = {spec.output_groups} does not divide out_features = {layer.out_features}"
            wrong["output_groups"] = (text, f"allowed: {', '.join(map(str, groups(layer.out_features)))}")
        for key, what, count in (("array_in", "in", layer.in_features), ("array_out", "out", layer.out_features)):
            asked = getattr(spec, key)
            if asked is not None and asked > count:
                wrong[key] = (f"{key} = {asked} is more than {what}_features = {count}", f"allowed: 1 to {count}")
        return wrong

    def too_slow(self, site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
        if spec.implementation == "serial" or spec.digit_bits is not None or spec.output_groups is not None:
            return self._slow_digits(site, spec, cycles, target)
        layer = site.layer
        array = [key for key in ("array_in", "array_out") if getattr(spec, key) is not None]
        p_in, p_out = spec.array_in or spec.data_in_parallelism, spec.array_out or spec.data_out_parallelism
        shape = f"{p_in or layer.in_features} x {p_out or layer.out_features}"
        if array:
            hint = "enlarge the array, or delete it and let the tool choose"
            return f"an array of {shape} takes {cycles} cycles", array[0], hint
        keys = [key for key in ("data_in_parallelism", "data_out_parallelism") if getattr(spec, key) is not None]
        hint = "raise the parallelism, or delete it and let the tool choose"
        return f"a parallelism of {shape} takes {cycles} cycles", keys[0], hint

    def _slow_digits(self, site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
        shared, whole = spec.output_groups or 1, self.bits(site)
        bits = spec.digit_bits or whole
        text = f"digits of {bits} bits take {cycles} cycles for inputs of {whole}"
        if shared > 1:
            text = f"{shared} groups by {cycles // shared} digits of {bits} bits take {cycles} cycles"
        if shared > target:
            return text, "output_groups", f"set output_groups = {target} or fewer, or delete it and let the tool choose"
        need = -(-whole // (target // shared))
        return text, "digit_bits", f"set digit_bits = {need} or more, or delete it and let the tool choose"


class Linear(MatrixOperator):
    """A constant matrix times a vector."""

    name = "linear"
    modules = ("torch.nn.Linear",)
    functions = ("torch.nn.functional.linear",)
    signature = ("input", "weight", "bias")
    quantized = "mase_hw.modules.linear:LinearInteger"
    onnx = ("MatMul", "Gemm")

    def page(self) -> Page:
        return linear_page()
