"""What stands for a tensor while a model is traced. It has a file of its own: `Tracer` looks for the caller's line."""

from __future__ import annotations

import operator
from typing import Any

from torch import fx


class InplaceProxy(fx.Proxy):
    """torch.fx records `x += y` as `x = x + y`. This one records that the memory of x changes: others may read it."""

    def __iadd__(self, other: Any) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", operator.iadd, (self, other), {}, name="add")

    def __isub__(self, other: Any) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", operator.isub, (self, other), {}, name="sub")

    def __imul__(self, other: Any) -> fx.Proxy:
        return self.tracer.create_proxy("call_function", operator.imul, (self, other), {}, name="mul")
