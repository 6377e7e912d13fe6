"""Names of layers from those in an ONNX file: identifiers that torch.fx, TOML and SystemVerilog leave alone."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from mase_hw.config.systemverilog import KEYWORDS

_PARAMETER = re.compile(r"(.+)[._/](?:weight|bias|running_mean|running_var|gamma|beta)$")
_QUANT = re.compile(r"^/?(.+?)[./](?:weight|bias|act|input|output)_quant\b")
_WEIGHT_QUANT = re.compile(r"^/?(.+?)[./](?:weight|bias)_quant\b")
_SCOPED = re.compile(r"^/(.+)/[^/]+$")  # torch's exporter: /layers.0/Gemm
_OURS = {"input_1", "output", "x", "torch", "device", "inf", "nan", "pytree", "fx_pytree"}  # torch.fx has other uses
# What a torch module has for itself.
_MODULE = """
add_module append apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval extend
extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half insert ipu load_state_dict modules
mtia named_buffers named_children named_modules named_parameters parameters pop register_backward_hook register_buffer
register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
register_state_dict_post_hook register_state_dict_pre_hook requires_grad set_extra_state set_submodule share_memory
state_dict to to_empty train training type xpu zero_grad input_shape code graph meta model name
"""


class Names:
    """Hands out names, each once."""

    def __init__(self) -> None:
        self._taken = {*_OURS, *_MODULE.split(), *KEYWORDS, *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}

    def take(self, candidates: Iterable[str], fallback: str) -> str:
        """The first candidate that says something, as an identifier nobody has."""
        stem = next((found for found in map(identifier, candidates) if found), fallback)
        name, k = stem, 1
        while name in self._taken:
            k += 1
            name = f"{stem}_{k}"
        self._taken.add(name)
        return name

    def take_input(self, text: str) -> str:
        """The name of an input of the model, after those of all layers; `x` is kept for it."""
        self._taken.discard("x")
        return self.take([text], "x")


def identifier(text: str) -> str:
    """`text` in small letters, digits and single underscores; empty where nothing is left."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"layer_{plain}" if plain[:1].isdigit() else plain


def layer_candidates(node_name: str, scope: str, tensors: Iterable[str]) -> list[str]:
    """Names of a layer, best first: its parameters' (`fc1.weight`), its module's, its quantizers', its node's.

    Exporters store equal numbers once, so a scale may have the name of another layer.
    """
    names = list(tensors)
    parameters, quants = (
        [match[1] for name in names if (match := pattern.match(name))] for pattern in (_PARAMETER, _WEIGHT_QUANT)
    )
    module, own = node_candidates(node_name, scope)
    return [*parameters, module, *quants, own]


def node_candidates(node_name: str, scope: str) -> list[str]:
    """Names of a layer without parameters: its module's, its node's."""
    module = scope or next((match[1] for match in [_SCOPED.match(node_name)] if match), "")
    quant = _QUANT.match(f"{module}.") or _QUANT.match(module)
    return [quant[1] if quant else module, node_name]
