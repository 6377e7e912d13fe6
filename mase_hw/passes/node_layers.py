"""The layer of each node of a graph: on vectors, on frames, or none where only the reading changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from torch import fx

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.geometry import Frame
from mase_hw.graph import get_mase_op, get_node_actual_target, get_node_module, get_node_place
from mase_hw.graph.joins import BRANCH_OPS, operands, why_not_plain
from mase_hw.layers import Layer, Order
from mase_hw.modules import MulInteger, QuantizedMixin
from mase_hw.modules.thresholds import Thresholds
from mase_hw.modules.windows import upsample_factors
from mase_hw.numerics.codes import Affine
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.operator import built_operators, operator_of, operators
from mase_hw.passes.analysis.windows import (
    AVERAGES,
    CONVS,
    ON_FRAMES,
    WINDOWED,
    float_form,
    groups_of,
    options_of,
    why_unfit,
)
from mase_hw.passes.branches import alike, exact_scale, joined_order, shape_of, why_not_streams
from mase_hw.passes.frames import PERMUTATIONS, SHAPE_OPS, moved, on_frame, permuted, stream_order

CODES = ("tocodes", "fromcodes")  # between real numbers and the integers of a port
NO_HARDWARE = ("flatten", "identity", "dropout")  # in a model, and nothing in a design
_TRANSPOSED = "use a nearest upsampling and a convolution instead: nn.Upsample(scale_factor=2), nn.Conv2d(...)"
_PADDING = "zeros are the only padding: nn.ZeroPad2d, or padding_mode='zeros' of a convolution"
_INSTEAD = {
    **{f"convtranspose{rank}d": _TRANSPOSED for rank in (1, 2)},
    **{f"conv_transpose{rank}d": _TRANSPOSED for rank in (1, 2)},
    **{f"{kind}pad{rank}d": _PADDING for kind in ("reflection", "replication", "circular") for rank in (1, 2)},
}


def supported() -> tuple[str, ...]:
    """What may stand in a model that becomes hardware."""
    return (*built_operators(), *NO_HARDWARE)


@dataclass(frozen=True)
class Reading:
    """What a node hands on: the stream of a layer or of an input of the model, its order and its positions."""

    name: str
    order: Integers | None = None
    frame: Frame = ()
    shaped: fx.Node | None = None  # the last reshape or permutation on the way
    values: Affine | None = None  # what its integers stand for, where that takes a scale


class NodeLayers:
    """Makes the layers. `results` has what each node before handed on, `framed` the nodes whose results are frames."""

    def __init__(self, framed: set[fx.Node], results: dict[fx.Node, Reading], problems: Collector) -> None:
        self.framed, self.results, self.problems = framed, results, problems

    def unknown(self, node: fx.Node) -> Reading:
        """What a node that is a problem would have handed on: what follows is looked at nevertheless."""
        shape = shape_of(node)[1:]
        return Reading(node.name, stream_order(shape), tuple(shape[1:])) if node in self.framed else Reading(node.name)

    def make(self, node: fx.Node) -> tuple[Layer, Reading] | Reading | None:
        """The layer and its result; the result alone where there is nothing to build; None after a problem."""
        op, place, called = get_mase_op(node), get_node_place(node), called_by(node)
        if op in (*SHAPE_OPS, *PERMUTATIONS):
            return self._shaped(node, op)
        if op in BRANCH_OPS:
            return self._branch(node, op)
        if node.all_input_nodes and node.all_input_nodes[0].op == "get_attr":
            text = f"{node.name}: {called} works on a constant of the model, not on its input"
            self.problems.add(text, place, "compute the constant once, in __init__, and store it as a buffer")
            return None
        if op not in operators():
            text = f"{node.name}: {called} is not supported in hardware"
            self.problems.add(text, place, _INSTEAD.get(op, f"supported: {', '.join(supported())}"))
            return None
        shape_in, shape_out = shape_of(node, "args", "data_in_0"), shape_of(node)
        if node in self.framed or on_frame(node, shape_of):
            return self._on_frame(node, op, shape_in, shape_out)
        if op in ON_FRAMES:
            unfit = why_unfit(node, op, shape_in) or ("reads no image", "give it [batch, channels, ...]")
            self.problems.add(f"{node.name}: {called} {unfit[0]}", place, unfit[1])
            return None
        if len(shape_in) != 2 and not operator_of(op).hands_on:
            text = f"{node.name}: {called} on an input of shape {shape_in} is not supported in hardware"
            self.problems.add(text, place, "flatten it to [batch, features] first")
            return None
        read = self.results[node.all_input_nodes[0]]
        sizes = prod(shape_in[1:]), prod(shape_out[1:])
        layer = Layer(node.name, op, QuantSpec(), *sizes, {}, place, called, (read.name,))
        # The weights of a matrix take the order in: its outputs are a plain vector.
        result = Reading(node.name, None if operator_of(op).matrix else read.order)
        return self._typed(node, layer, read.order, result)

    def _on_frame(
        self, node: fx.Node, op: str, shape_in: Sequence[int], shape_out: Sequence[int]
    ) -> tuple[Layer, Reading] | None:
        """The layer of what works on each position, or on windows of positions."""
        source, place, frame = node.all_input_nodes[0], get_node_place(node), tuple(shape_in[2:])
        unfit = why_unfit(node, op, shape_in)
        if unfit is not None:
            self.problems.add(f"{node.name}: {called_by(node)} {unfit[0]}", place, unfit[1])
            return None
        if not self._is_frame(source):
            return None
        fields: dict[str, Any] = {"frame": frame}
        try:
            if op in WINDOWED:
                options = options_of(node, op, frame)
                fields["geometry"] = options.geometry(frame)
                fields["integers"] = {"divisor": options.divisors(frame)} if op in AVERAGES else {}
            if op in CONVS:
                fields["groups"] = groups_of(node, op)
            if op == "upsample":
                fields["factor"] = upsample_factors(node.name, float_form(node, op), frame)
        except ProblemsError as error:
            self.problems.problems += [replace(p, where=p.where or place) for p in error.problems]
            return None
        named = operator_of(op).becomes or op
        if operator_of(op).becomes and len(frame) == 1:
            named = named.replace("2d", "1d")
        names = (self.results[source].name,)
        head = (node.name, named, QuantSpec(), shape_in[1], shape_out[1])
        layer = Layer(*head, place=place, called=called_by(node), inputs=names, **fields)
        assert layer.out_features * prod(layer.out_frame) == prod(shape_out[1:]), f"{node.name}: its frame"
        order = stream_order([layer.out_features, *layer.out_frame])
        return self._typed(node, layer, None, Reading(node.name, order, layer.out_frame))

    def _is_frame(self, source: fx.Node) -> bool:
        """Whether a result comes as a frame in the order that all frames have; a problem where it does not."""
        read, shape = self.results[source], shape_of(source)
        same = prod(read.frame) == prod(shape[2:]) and alike(read.order, stream_order(shape[1:]))
        if same and (read.frame or not shape[2:]):
            return True
        node = read.shaped or source
        steps = f"{node.name}: {get_mase_op(node)} from {shape_of(node.all_input_nodes[0])} to {shape_of(node)}"
        if read.frame:
            text = f"{steps} changes the order of an image, which would need a buffer"
            hint = "leave it out, or put it in front of a linear layer, whose weights can take it in"
        else:
            text = f"{steps} makes an image of a vector, which would need a buffer"
            hint = "keep the image as it is up to the flatten in front of the first linear layer"
        self.problems.add(text, get_node_place(node), hint)
        return False

    def _shaped(self, node: fx.Node, op: str) -> Reading | None:
        """What a reshape or a permutation hands on: the same stream, in which elements have other names."""
        source, place = node.all_input_nodes[0], get_node_place(node)
        before, after = shape_of(source), shape_of(node)
        read = self.results.get(source)
        text = f"{node.name}: {op} from {before} to {after} is not supported in hardware"
        index = moved(node, before) if op in PERMUTATIONS else None
        if op in PERMUTATIONS and index is None:
            self.problems.add(text, place, "the batch stays the first dimension")
            return read
        if op in SHAPE_OPS:
            on = all(get_mase_op(user) in (*SHAPE_OPS, *PERMUTATIONS) for user in node.users)
            if after[0] != before[0] or (len(after) != 2 and node not in self.framed and not on):
                self.problems.add(text, place, "only flattening to [batch, features] is")
                return read
        if read is None:
            return None
        order = read.order if index is None else permuted(read.order, index)
        return replace(read, order=order, shaped=node)

    def _typed(
        self, node: fx.Node, layer: Layer, order: Integers | None, result: Reading
    ) -> tuple[Layer, Reading] | None:
        """The layer with the types and the integers of its quantized module."""
        if not layer.frame and result.order is not None:
            layer = replace(layer, order=as_order(result.order))
        module = get_node_module(node)
        quantized = module if isinstance(module, QuantizedMixin) and not module.bypass else None
        if quantized is None and not isinstance(module, Thresholds):
            return layer, result
        try:
            spec = QuantSpec() if quantized is None else quantized.spec
            if isinstance(module, Thresholds):
                integers = reordered(module.exact_integers(layer.name, layer.out_features), order)
                types = module.types(layer.name)
                spec = replace(spec, weight=types[0], bias=types[1])
            else:
                assert quantized is not None
                integers = reordered(quantized.integers(), order)
            if isinstance(module, MulInteger):
                integers = {"scale": integers["scale"][: layer.out_features]}  # a number is repeated for all positions
                spec = spec if spec.weight is not None else replace(spec, weight=module.constant_type)
        except ProblemsError as error:  # parameters that are no numbers; go on, to show the problems of all layers
            self.problems.problems += error.problems
            return None
        if not operator_of(layer.op).rounds and spec.data_out not in (None, spec.data_in):
            text = f"{layer.name}: a {layer.op} only moves numbers, so its data_out {spec.data_out} must be its data_in"
            hint = "delete data_out: the data_in of its reader types the result"
            self.problems.add(text, layer.place, hint, layer.note)
            return None
        return replace(layer, spec=spec, integers={**layer.integers, **integers}), result

    def _branch(self, node: fx.Node, op: str) -> tuple[Layer, Reading] | None:
        """The layer of an add, a sub, a mul or a cat."""
        place, framed = get_node_place(node), node in self.framed
        streams = operands(node, op).streams
        orders = {stream: self.results[stream].order for stream in streams if stream in self.results}
        reason = why_not_plain(node, op) or why_not_streams(node, op, orders, framed=framed)
        if reason is not None:
            self.problems.add(f"{node.name}: {reason[0]}, which is not supported in hardware", place, reason[1])
            return None
        frames = [self._is_frame(stream) for stream in dict.fromkeys(streams)] if framed else []
        if not all(frames):
            return None
        shapes, shape = [shape_of(stream) for stream in streams], shape_of(node)
        frame = tuple(shape[2:]) if framed else ()
        sizes, out = [prod(each[1:]) // prod(frame) for each in shapes], prod(shape[1:]) // prod(frame)
        order = stream_order(shape[1:]) if framed else joined_order(op, [orders[s] for s in streams], sizes)
        names = tuple(self.results[stream].name for stream in streams)
        layer = Layer(node.name, op, QuantSpec(), sum(sizes), out, {}, place, called_by(node), names, frame)
        inside = None if framed else order
        if op == "mul" and get_node_module(node) is None:
            exact = self.problems.attempt(lambda: exact_scale(node, out))
            if exact is None:
                return None
            layer = replace(layer, spec=QuantSpec(weight=exact[0]), integers=reordered({"scale": exact[1]}, inside))
        return self._typed(node, layer, inside, Reading(node.name, order, frame))


def as_order(order: Integers | None) -> Order:
    return None if order is None else tuple(order.tolist())


def reordered(integers: dict[str, Integers], order: Integers | None) -> dict[str, Integers]:
    """Parameters in the order in which the stream brings the features."""
    if order is None:
        return integers
    return {
        name: values
        if name in ("bias", "levels")
        else values[:, order]
        if values.ndim == 2 and name != "thresholds"
        else values[order]
        for name, values in integers.items()
    }


def called_by(node: fx.Node) -> str:
    """What the user's model calls, for messages."""
    target = get_node_actual_target(node)
    if node.op == "call_module":
        return str(getattr(target, "mase_op", type(target).__name__.removesuffix("Integer")))
    target = getattr(target, "mase_op", target)
    return f".{target}()" if node.op == "call_method" else str(getattr(target, "__name__", target))
