"""A random network as a graph of layers: chains, and nets that branch and join; small and plain ones first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Shape = tuple[int, ...]

QUANTIZED = (
    "linear",
    "batch_norm1d",
    "conv1d",
    "conv2d",
    "batch_norm2d",
)  # these need types; the others may go without
REMOVED = ("identity", "dropout", "flatten")  # not in the hardware
JOINS = ("add", "sub", "cat")
CHAIN = ("linear", "relu", "linear", "batch_norm1d", "linear", "identity", "dropout", "mul")
GRAPH = ("linear", "add", "relu", "sub", "linear", "cat", "mul", "add", "batch_norm1d", "identity", "dropout")
FORMS = {  # how forward may call a layer; the first is the plainest
    "relu": ("module", "function"),
    "add": (*["operator"] * 6, "function", "method", "inplace"),
    "sub": (*["operator"] * 6, "function", "method", "inplace"),
    "mul": (*["operator"] * 5, "function", "method", "reflected", "inplace"),
}
CONSTANTS = (2.0, 0.5, -1.0, 3.0, -0.75, 1.0, 0.0, 0.3)  # 0.3 has all the bits of a float32
WIDEST = 24  # features of a concatenation
OUTPUTS = 3


@dataclass(frozen=True)
class Layer:
    """One call in the model's `forward`. Results are counted from the model's inputs on."""

    op: str
    reads: tuple[int, ...]
    features: tuple[int, ...]  # of each result that it reads
    outputs: int
    bias: bool = True  # linear: has a bias; batch norm: has a scale and a shift of its own
    form: str = "module"
    constant: tuple[float, ...] = ()  # mul: one number, or one for each feature
    text: str = ""  # how the module is made, where its sizes do not say it
    tensors: tuple[tuple[str, Shape], ...] = ()  # and its parameters

    @property
    def inputs(self) -> int:
        return sum(self.features)


@dataclass(frozen=True)
class Net:
    """The shapes of the inputs, the layers in order, and the results that the model returns."""

    shapes: tuple[Shape, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[int, ...]
    framed: bool = False  # its input stays an image

    def result(self, layer: int) -> int:
        return len(self.shapes) + layer

    def readers(self, result: int) -> list[int]:
        """Layers that read a result, by index."""
        return [k for k, layer in enumerate(self.layers) if result in layer.reads]

    @property
    def chained(self) -> bool:
        """Each layer reads the one before it, and the last is returned: this can be an `nn.Sequential`."""
        modules = all(layer.op not in (*JOINS, "mul") for layer in self.layers)
        follows = all(layer.reads == (k,) for k, layer in enumerate(self.layers))
        return modules and follows and len(self.shapes) == 1 and self.outputs == (len(self.layers),)


def names_of(layers: tuple[Layer, ...], sequential: bool) -> tuple[str, ...]:
    """The nodes' names in the graph, layer by layer. Functions are numbered by the tracer."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for k, layer in enumerate(layers):
        if sequential:
            found.append(f"net_{k}")
        elif layer.op in JOINS or layer.op == "mul" or layer.form == "function":
            count = seen[layer.op] = seen.get(layer.op, -1) + 1
            found.append(f"{layer.op}_{count}" if count else layer.op)
        else:
            found.append(f"l{k}")
    return tuple(found)


def draw_net(draw: Draw) -> Net:
    """One net in three is a chain."""
    net = _Drawing(draw)
    if draw(st.integers(0, 2)) == 0:
        net.input(draw(_shapes()))
        for op in draw(st.lists(st.sampled_from(CHAIN), min_size=1, max_size=5)):
            net.step(op, len(net.sizes) - 1)
    else:
        for _ in range(draw(st.sampled_from((1, 1, 1, 1, 2, 2, 3)))):
            net.input(draw(_shapes(1)))  # an image of several channels streams in an order of its own
        for op in draw(st.lists(st.sampled_from(GRAPH), min_size=2, max_size=6)):
            net.step(op, net.some())
    return net.ended()


def _shapes(channels: int = 3) -> st.SearchStrategy[Shape]:
    images = st.tuples(st.integers(1, channels), st.integers(1, 2), st.integers(1, 3))  # are flattened by the model
    return st.one_of(st.tuples(_sizes()), st.tuples(_sizes()), images)


def _sizes() -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.integers(1, 18))


class _Drawing:
    """A net that grows by a layer at a time."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.shapes: list[Shape] = []
        self.sizes: list[int] = []  # features of each result
        self.layers: list[Layer] = []

    def input(self, shape: Shape) -> None:
        self.shapes.append(shape)
        self.sizes.append(prod(shape))

    def loose(self) -> list[int]:
        """Results that nobody reads."""
        read = {x for layer in self.layers for x in layer.reads}
        return [x for x in range(len(self.sizes)) if x not in read]

    def some(self) -> int:
        """A result: the last one, one that nobody reads yet, or any."""
        last = len(self.sizes) - 1
        one: int = self.draw(st.sampled_from([last, last, *self.loose(), *range(len(self.sizes))]))
        return one

    def add(self, op: str, reads: tuple[int, ...], outputs: int, **more: Any) -> int:
        form = self.draw(st.sampled_from(FORMS[op])) if op in FORMS else "module"
        features = tuple(self.sizes[x] for x in reads)
        self.layers.append(Layer(op, reads, features, outputs, form=form, **more))
        self.sizes.append(outputs)
        return len(self.sizes) - 1

    def linear(self, x: int, outputs: int) -> int:
        return self.add("linear", (x,), outputs, bias=self.draw(st.booleans()))

    def step(self, op: str, x: int) -> None:
        """One layer; in front of a sum perhaps another one, which gives the second summand its size."""
        size = self.sizes[x]
        if op == "linear":
            self.linear(x, self.draw(_sizes()))
        elif op in ("add", "sub"):
            same = [y for y, other in enumerate(self.sizes) if other == size and y != x]
            kind = self.draw(st.integers(0, 9))
            if kind == 9:
                y = x
            elif same and kind < 7:
                y = self.draw(st.sampled_from(same))
            else:
                y = self.linear(self.some(), size)
            self.add(op, (x, y) if kind % 2 else (y, x), size)
        elif op == "cat":
            parts = [x, *(self.some() for _ in range(self.draw(st.sampled_from((1, 1, 2)))))]
            while sum(self.sizes[y] for y in parts) > WIDEST and len(parts) > 2:
                parts.pop()
            self.add("cat", tuple(parts), sum(self.sizes[y] for y in parts))
        elif op == "mul":
            count = size if self.draw(st.integers(0, 2)) == 2 else 1
            one = st.sampled_from(CONSTANTS)
            self.add("mul", (x,), size, constant=tuple(self.draw(one) for _ in range(count)))
        else:
            bias = self.draw(st.booleans()) if op == "batch_norm1d" else True
            self.add(op, (x,), size, bias=bias)

    def unchanged(self, x: int) -> bool:
        """Whether a result is an input as it came."""
        count = len(self.shapes)
        return x < count or (self.layers[x - count].op in REMOVED and self.unchanged(self.layers[x - count].reads[0]))

    def ended(self) -> Net:
        """Nothing is left that nobody reads: it is joined, or returned."""
        for x in self.loose():
            if self.unchanged(x):
                self.linear(x, self.draw(st.integers(1, 4)))
        loose = self.loose()
        if len(loose) > 1 and (len(loose) > OUTPUTS or self.draw(st.booleans())):
            self.add("cat", tuple(loose), sum(self.sizes[x] for x in loose))
        if self.layers[-1].op in ("relu", "cat") and self.draw(st.booleans()):  # these take the type that comes next
            self.linear(len(self.sizes) - 1, self.draw(st.integers(1, 4)))
        outputs = self.loose()
        count = len(self.shapes)
        taps = [x for x in range(count, len(self.sizes)) if x not in outputs and not self.unchanged(x)]
        if taps and self.draw(st.integers(0, 7)) == 7:  # read inside as well
            outputs.append(self.draw(st.sampled_from(taps)))
        if len(outputs) > 1:
            outputs = self.draw(st.permutations(outputs))
        return Net(tuple(self.shapes), tuple(self.layers), tuple(outputs))
