"""What an operator is: one declaration, from which every other part of the project reads.

A subclass with a `name` makes one object and registers it. A package of somebody else's does the same when it is
imported; installed with an entry point in the group `mase_hw.operators`, it is imported by every command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from math import gcd
from typing import Any, ClassVar

from mase_hw.adders import ADDERS_PER_STAGE, SOLVER_SECONDS
from mase_hw.config.hardware import OWN_KEYS, HardwareSpec, HardwareTarget
from mase_hw.ir import Component, Stream
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer
from mase_hw.ops.choice import Choice
from mase_hw.ops.pages import Page

MODULES = (
    *("linear.operator", "relu", "batch_norm1d", "add", "mul", "cat"),
    *("batch_norm2d", "conv", "pool", "resize", "thresholds"),
)
LISTED = (  # in this order wherever operators are listed, whichever file was imported first
    *("linear", "relu", "batch_norm1d", "add", "sub", "cat", "mul", "batch_norm2d", "conv2d", "conv1d"),
    *("max_pool2d", "max_pool1d", "avg_pool2d", "avg_pool1d", "zero_pad", "upsample", "thresholds"),
)
MEMORIES = (None, False, True)  # by depth, all in LUT RAM, all in block RAM
FOREVER = 1 << 62  # an interval that everything reaches
Wrong = dict[str, tuple[str, str]]  # by key: what is wrong with it, and how to mend it


@dataclass(frozen=True)
class Options:
    """What holds for every layer of a design."""

    adders_per_stage: int = ADDERS_PER_STAGE
    solver_seconds: float = SOLVER_SECONDS

    @staticmethod
    def of(target: HardwareTarget | None) -> Options:
        if target is None:
            return Options()
        return Options(target.adders_per_stage or ADDERS_PER_STAGE, target.solver_seconds or SOLVER_SECONDS)


@dataclass(frozen=True)
class Site:
    """A layer where it stands: the streams that reach it, whose bounds do not depend on how layers are built."""

    layer: Layer
    inputs: tuple[Stream, ...]

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(x.features for x in self.inputs)


@dataclass(frozen=True)
class Wish:
    """What candidates have to reach: `slowest` is the most cycles per vector, `dsp` whether DSP blocks may be used.

    With `memories`, LUT RAM and block RAM are offered where either will do. Unless `thinned`, layers of any size are
    offered as the smallest are.
    """

    slowest: int = FOREVER
    dsp: bool = False
    memories: bool = False
    thinned: bool = True


class Operator(ABC):
    """One operator: what means it in a model, its types, what it may become, and how that is built."""

    name: ClassVar[str] = ""  # in TOMLs, metadata, manifests
    mase_type: ClassVar[str] = "builtin_func"  # or module_related_func, module
    modules: ClassVar[tuple[str, ...]] = ()  # torch classes that mean it, `torch.nn.ReLU`
    functions: ClassVar[tuple[str, ...]] = ()  # functions, `torch.relu`
    methods: ClassVar[tuple[str, ...]] = ()  # methods of tensors, `relu`
    signature: ClassVar[tuple[str, ...]] = ("input",)  # what its functional form calls its arguments
    quantized: ClassVar[str] = ""  # its quantized torch module, `mase_hw.modules.relu:ReLUInteger`
    onnx: ClassVar[tuple[str, ...]] = ()  # ONNX operators that are read as it
    becomes: ClassVar[str] = ""  # the operator of its layers, where that is another one
    arguments: ClassVar[tuple[str, ...]] = ("data_in",)  # that a quantizer types
    hands_on: ClassVar[bool] = False  # left unquantized, it hands its reader's type on to what it reads
    stays_exact: ClassVar[bool] = False  # left unquantized, it takes what it reads exactly as it comes
    rounds: ClassVar[bool] = True  # it has a requantize of its own, so its result may have another type than its input
    matrix: ClassVar[bool] = False  # mixes the features of a vector, so it can take any order of them in
    smallest: ClassVar[Choice] = Choice(1, 1)  # a choice that is quickly built, to learn the bounds of results
    keys: ClassVar[tuple[str, ...]] = ()  # keys of [passes.hardware] that are for it, beside lanes and FIFO depth
    hardware: ClassVar[bool] = True  # it can be built

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name:
            register(cls())

    @property
    def needs_types(self) -> bool:
        """Whether hardware needs it quantized."""
        return not self.hands_on and not self.stays_exact

    def casts(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
        """For each input, the type to which it is cast first; None: it is taken as it comes."""
        spec = layer.spec
        if spec.rounding is None or spec.data_in is None:
            return [None] * len(inputs)
        return [Result(spec.data_in, spec.rounding)] * len(inputs)

    def candidates(self, site: Site, spec: HardwareSpec, wish: Wish) -> Iterable[Choice]:
        """The choices for a layer; what `spec` fixes is fixed. Here: one element per lane, in any number of lanes."""
        asked = spec.data_in_parallelism or spec.data_out_parallelism
        lanes = [asked] if asked else divisors(gcd(*site.features))
        return [Choice(p, spec.data_out_parallelism or p, spec.data_in_fifo_depth) for p in lanes]

    def usual(self, site: Site, spec: HardwareSpec) -> HardwareSpec:
        """The spec where nothing is asked of the whole design."""
        return spec

    def cycles(self, site: Site, choice: Choice) -> int:
        """Cycles per vector of its result that its own components take, if streams were as wide as it likes."""
        return 1

    def sizes(self, layer: Layer) -> tuple[int, int]:
        """Inputs and outputs of its matrix, where it is one."""
        return layer.in_features, layer.out_features

    def lanes(self, site: Site, choice: Choice) -> tuple[tuple[int, ...], int]:
        """Lanes of its own component: of each input, and of the output; those of its streams may differ."""
        return (choice.data_in_parallelism,) * len(site.inputs), choice.data_in_parallelism

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        """Where its memories may be kept, some of `MEMORIES`."""
        return (None,)

    def solves(self, site: Site, choice: Choice) -> bool:
        """Whether building it takes long, so that the component is remembered."""
        return False

    @abstractmethod
    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        """The component that makes its result, on the streams that reach it."""

    def parts(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> list[Component]:
        """All components that do its work, one after the other. The last one is named as the layer is."""
        return [self.build(layer, choice, inputs, result, options)]

    def does_nothing(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> bool:
        """Whether it changes nothing, so that no component is needed."""
        return False

    def may_merge(self, layer: Layer, x: Stream, result: Result | None) -> bool:
        """Whether the component before it can do its work in the requantize that it has anyway."""
        return False

    def unsuited(self, layer: Layer, spec: HardwareSpec) -> Wrong:
        """Keys of [passes.hardware] that do not suit this layer."""
        wrong: Wrong = {}
        for key in ("implementation", *OWN_KEYS):
            value = getattr(spec, key)
            if value not in (None, "auto") and key not in self.keys:
                text = f"a {layer.op} has one implementation, not {value}"
                if key != "implementation":
                    text = f"a {layer.op} has no {key}"
                wrong[key] = (text, f"delete the line: {key} is for linear layers")
        return wrong

    def too_slow(self, site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
        """Why a layer takes so many cycles: the text, the key that is to blame, and a hint."""
        raise AssertionError(f"{self.name}: only its lanes and its FIFO can be too slow")

    @abstractmethod
    def page(self) -> Page:
        """What `mase-hw show` says of it."""


class SoftwareOperator(Operator):
    """What software computes in quantized numbers, and no component does. With `becomes`, another one builds it."""

    hardware = False

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        raise AssertionError(f"{self.name}: its layers are refused")

    def page(self) -> Page:
        raise AssertionError(f"{self.name} has no page")


OPERATORS: dict[str, Operator] = {}


def register(operator: Operator) -> None:
    assert operator.name not in OPERATORS, f"two operators are called {operator.name}"
    OPERATORS[operator.name] = operator


@cache
def load_operators() -> None:
    """Imports the project's operators, and those of installed packages."""
    for name in MODULES:
        import_module(f"mase_hw.ops.{name}")  # its operators register themselves
    for point in entry_points(group="mase_hw.operators"):
        point.load()


def operator_of(op: str) -> Operator:
    load_operators()
    return OPERATORS[op]


def operators() -> dict[str, Operator]:
    """Every operator, by name; the project's own come first."""
    load_operators()
    return {name: OPERATORS[name] for name in dict.fromkeys((*LISTED, *OPERATORS))}


def built_operators() -> dict[str, Operator]:
    """Those that become hardware."""
    return {name: each for name, each in operators().items() if each.hardware}


@cache
def divisors(n: int) -> tuple[int, ...]:
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))
