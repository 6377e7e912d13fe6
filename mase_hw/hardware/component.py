"""A component of a design: integer parameters, input and output streams, semantics, cycles, template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mase_hw.hardware.control import Control
from mase_hw.hardware.stream import Stream
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

    def extremes(self) -> Integers | None:
        """Input vectors that drive every accumulator to its proven bounds, where corners alone would not."""
        return None

    @property
    def input(self) -> Stream:
        return self.inputs[0]

    @property
    def output(self) -> Stream:
        return self.outputs[0]


@dataclass(frozen=True)
class Instance:
    """Either a module of the library with parameters, or a module of its own rendered from a template."""

    values: Mapping[str, Any]  # parameters of the library module, or the template's context
    library: str = ""
    template: str = ""
    needs: tuple[str, ...] = ()  # library modules that this one instantiates
