"""Quantization-aware training: the network with quantizers that shares the parameters of the user's float model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, fx, nn
from torch.func import functional_call

from mase_hw.config import Config
from mase_hw.graph import MaseGraph, get_mase_op
from mase_hw.models import Shape, Shapes
from mase_hw.passes import fuse_batch_norm_transform_pass, quantize_transform_pass
from mase_hw.passes.transform.fuse_batch_norm import Matrix, Norm, folded
from mase_hw.pipeline.graphs import with_metadata


def quantizes(config: Config) -> bool:
    """Whether [passes.quantize] asks for any quantizer at all."""
    return any(spec.quantized for spec in (config.quantize.default, *config.quantize.entries.values()))


def quantized_network(config: Config, shape: Shape | Shapes) -> Callable[[nn.Module], nn.Module]:
    """For `train(through=...)`: from the float model to the network that `emit` would build from it.

    Gradients pass straight through the quantizers to the model's own parameters, so that its state dict keeps its keys.
    """

    def build(model: nn.Module) -> nn.Module:
        model.eval()
        graph = with_metadata(MaseGraph(model), shape)
        pairs: list[tuple[str, str]] = []
        if config.fuse_batch_norm:
            targets = {node.name: str(node.target) for node in graph.fx_graph.nodes}
            graph, info = fuse_batch_norm_transform_pass(graph)
            pairs = [(targets[linear], targets[norm]) for norm, linear in info["fused"].items()]
            graph = with_metadata(graph, shape)
        quantize_transform_pass(graph, {**config.raw["passes"]["quantize"], "places": config.places})
        return Folded(graph.model, model, pairs) if pairs else graph.model

    return build


def training_notes(config: Config, model: nn.Module, shape: Shape | Shapes) -> tuple[str, ...]:
    """What training through quantizers does otherwise than training in floats."""
    notes = ["training through the quantizers of [passes.quantize]; the checkpoints hold the float weights"]
    if config.fuse_batch_norm:
        notes.append("fuse_batch_norm: folded batch norms train with the running statistics that they start with")
    graph = with_metadata(MaseGraph(model.eval()), shape)  # F.batch_norm has its rank, and so its op, from the shape
    functional = [node.name for node in graph.nodes if _loses_its_mode(node, config)]
    if functional:
        text = "written as a function, so it stays in eval mode while training; use a module instead"
        notes.append(f"{', '.join(functional)}: {text}")
    return tuple(notes)


def _loses_its_mode(node: fx.Node, config: Config) -> bool:
    """A function that acts otherwise in training: tracing fixed its mode, unless it becomes a quantized module."""
    op = get_mase_op(node)
    quantized = config.quantize.for_node(node.name, op).quantized
    return node.op == "call_function" and op in ("dropout", "batch_norm1d", "batch_norm2d") and not quantized


class Folded(nn.Module):
    """A network whose layers are folded anew in each forward from the model's layers and batch norms.

    A fold is done once by the pass; here it follows the parameters as they learn, and gradients pass through it.
    """

    def __init__(self, network: nn.Module, model: nn.Module, pairs: list[tuple[str, str]]) -> None:
        super().__init__()
        self.network = network
        self._sources: list[tuple[str, Matrix, Norm]] = []  # a list hides them: they are the model's own
        for linear, norm in pairs:
            source, statistics = model.get_submodule(linear), model.get_submodule(norm)
            assert isinstance(source, Matrix)
            assert isinstance(statistics, Norm)
            self._sources.append((linear, source, statistics))

    def forward(self, x: Tensor) -> Tensor:
        tensors: dict[str, Tensor] = {}
        for name, linear, norm in self._sources:
            tensors[f"{name}.weight"], tensors[f"{name}.bias"] = folded(linear, norm)
        result: Tensor = functional_call(self.network, tensors, (x,))
        assert isinstance(result, torch.Tensor)
        return result
