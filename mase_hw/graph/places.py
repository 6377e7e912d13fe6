"""Which line of the user's model a graph node or an exception comes from."""

from __future__ import annotations

from pathlib import Path
from types import FrameType, TracebackType

import torch
from torch import nn

from mase_hw.diagnostics import Place

# What running or tracing a user's `forward` may raise; MemoryError and the like are not the model's fault.
USER_ERRORS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)

_NOT_THE_USERS = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


def _is_users(filename: str) -> bool:
    return not filename.startswith((*_NOT_THE_USERS, "<"))


def place_of_frame(frame: FrameType | None, outermost: str) -> Place | None:
    """The innermost line of a user's file from `frame` outwards, up to the first frame of the file `outermost`."""
    while frame is not None and frame.f_code.co_filename != outermost:
        if _is_users(frame.f_code.co_filename):
            return Place(Path(frame.f_code.co_filename), frame.f_lineno)
        frame = frame.f_back
    return None


def place_of_error(trace: TracebackType | None) -> Place | None:
    """The innermost line of a user's file that an exception passed through."""
    found = None
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if _is_users(filename):
            found = Place(Path(filename), trace.tb_lineno)
        trace = trace.tb_next
    return found


def place_of_forward(model: nn.Module) -> Place | None:
    """Where the model's `forward` is defined, when that is in a user's file."""
    code = getattr(type(model).forward, "__code__", None)
    if code is None or not _is_users(code.co_filename):
        return None
    return Place(Path(code.co_filename), code.co_firstlineno)
