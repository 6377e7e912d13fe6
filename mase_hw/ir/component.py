"""A component of a design: integer parameters, input and output streams, semantics, cycles, template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar

from mase_hw.ir.control import Control, PipeControl
from mase_hw.ir.cost import Cost
from mase_hw.ir.finish import Finish
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """Base of all components. A concrete class registers itself under its `kind`."""

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Component]]] = {}

    name: str
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            assert cls.kind not in Component.kinds, cls.kind
            Component.kinds[cls.kind] = cls

    @abstractmethod
    def execute(self, x: Integers) -> Integers:
        """Integers [vectors, features] of the input stream to those of the output stream."""

    @abstractmethod
    def control(self) -> Control:
        """A fresh model of the component's handshake."""

    @property
    @abstractmethod
    def interval(self) -> int:
        """Cycles between vectors in steady state, never stalled from outside."""

    @property
    @abstractmethod
    def latency(self) -> int:
        """Cycles from the first input beat taken to the first output beat offered, inputs coming without gaps."""

    @property
    @abstractmethod
    def registered_ready(self) -> bool:
        """Whether the input's ready comes from registers alone, so that a chain of readies ends here."""

    @abstractmethod
    def instance(self) -> Instance:
        """How the component is written in SystemVerilog."""

    @abstractmethod
    def cost(self) -> Cost:
        """What it takes on the chip, predicted."""

    def extremes(self) -> Integers | None:
        """Input vectors that drive every accumulator to its proven bounds, where corners alone would not."""
        return None

    @property
    def input(self) -> Stream:
        return self.inputs[0]

    @property
    def output(self) -> Stream:
        return self.outputs[0]


@dataclass(frozen=True, eq=False)
class Pipe(Component):
    """A component without a handshake of its own: registers that all move when `enable` is high.

    Pipes that follow one another form a run. A run shares one enable, made in the top: it moves unless a finished beat
    waits at its end. So no chain of readies runs through its components, and nothing has to be buffered between them.
    """

    registered_ready = False

    @property
    def interval(self) -> int:
        return self.input.beats

    def control(self) -> Control:
        return PipeControl(self.latency)


def runs(components: Sequence[Component]) -> list[tuple[Component, ...]]:
    """The components in groups that move together: pipes that follow one another; every other one by itself."""
    keys = [-1 if isinstance(component, Pipe) else k for k, component in enumerate(components)]
    found = groupby(zip(keys, components, strict=True), key=lambda item: item[0])
    return [tuple(component for _, component in group) for _, group in found]


@dataclass(frozen=True)
class Instance:
    """Either a module of the library with parameters, or a module of its own rendered from a template."""

    values: Mapping[str, Any]  # parameters of the library module, or the template's context
    library: str = ""
    template: str = ""
    needs: tuple[str, ...] = ()  # library modules that this one instantiates


def rectified(component: Component) -> Component | None:
    """The component with a ReLU merged into its last step, where it has one that rounds or clamps anyway."""
    step = getattr(component, "step", None)
    if not isinstance(step, Finish):
        return None
    y = component.output
    low, high = (tuple(max(0, n) for n in side) for side in (y.lo, y.hi))
    out = replace(y, lo=low, hi=high)
    changed: dict[str, Any] = {"outputs": (out,), "step": replace(step, rectify=True)}
    return replace(component, **changed)
