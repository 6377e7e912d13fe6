"""A component of a design: integer parameters, input and output streams, semantics, cycles, template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from mase_hw.cost.cost import Cost
from mase_hw.ir.control import Control
from mase_hw.ir.finish import Finish
from mase_hw.ir.meaning import Meaning
from mase_hw.ir.plumbing_control import PipeControl
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers

ReadyPaths = frozenset[tuple[int, int]]  # (output, input) between which ready is combinational
REGISTERED: ReadyPaths = frozenset()  # every ready comes from registers alone
THROUGH: ReadyPaths = frozenset({(0, 0)})  # the one input's ready follows the one output's


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """Base of all components. A concrete class registers itself under its `kind`."""

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Component]]] = {}
    counts_positions: ClassVar[bool] = False  # what it does with a vector depends on the position in the frame

    name: str
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]
    finish: Finish | None = field(default=None, kw_only=True)  # the one requantize, where it has one

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            assert cls.kind not in Component.kinds, cls.kind
            Component.kinds[cls.kind] = cls

    @abstractmethod
    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        """Integers [samples * positions, features] of each input stream to those of each output stream."""

    @abstractmethod
    def meaning(self) -> Meaning | None:
        """What it computes, stated for `prove`. None: nothing is claimed of its values, and they stay open."""

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
    def ready_paths(self) -> ReadyPaths:
        """From which output's ready to which input's a path runs without a register."""

    @abstractmethod
    def instance(self) -> Instance:
        """How the component is written in SystemVerilog."""

    @abstractmethod
    def cost(self) -> Cost:
        """What it takes on the chip, predicted."""

    def extremes(self) -> tuple[Integers, ...] | None:
        """Input vectors that drive every accumulator to its proven bounds, where corners alone would not."""
        return None

    @property
    def input(self) -> Stream:
        """The first input; of most components the only one."""
        return self.inputs[0]

    @property
    def output(self) -> Stream:
        """The first output; of most components the only one."""
        return self.outputs[0]

    def rectified(self) -> Component | None:
        """The component with a ReLU merged into its requantize, where it has one."""
        if self.finish is None:
            return None
        y = self.output
        low, high = (tuple(max(0, n) for n in side) for side in (y.lo, y.hi))
        return replace(self, outputs=(replace(y, lo=low, hi=high),), finish=replace(self.finish, rectify=True))


@dataclass(frozen=True, eq=False)
class Pipe(Component):
    """A component without a handshake of its own: registers that all move when `enable` is high.

    Pipes that follow one another form a run. A run shares one enable, made in the top: it moves unless a finished beat
    waits at its end. So no chain of readies runs through its components, and nothing has to be buffered between them.
    A pipe with several inputs is a join. It takes a beat of each at once, and a run begins with it.
    """

    @property
    def ready_paths(self) -> ReadyPaths:
        return frozenset((0, k) for k in range(len(self.inputs)))

    @property
    def interval(self) -> int:
        return self.input.beats

    def control(self) -> Control:
        return PipeControl(self.latency, len(self.inputs))


@dataclass(frozen=True)
class Instance:
    """Either a module of the library with parameters, or a module of its own rendered from a template."""

    values: Mapping[str, Any]  # parameters of the library module, or the template's context
    library: str = ""
    template: str = ""
    needs: tuple[str, ...] = ()  # library modules that this one instantiates
    folder: Path | None = None  # where template or library module lie, if not among the project's own
