"""Models by name, or from a user's file. Every module of this folder is imported, so a new file needs no list."""

from importlib import import_module
from pkgutil import iter_modules

from mase_hw.models.load import Shape, Shapes, as_shapes, input_shape, input_shapes, load_model
from mase_hw.models.registry import get_model, model_names, register

for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = [
    "Shape",
    "Shapes",
    "as_shapes",
    "get_model",
    "input_shape",
    "input_shapes",
    "load_model",
    "model_names",
    "register",
]
