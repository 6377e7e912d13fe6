"""A random network on small frames: convolutions, batch norms, pools, upsampling, residual branches, a linear end."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from fuzzing.nets import Draw, Layer, Net, Shape

PARTS = ("conv", "relu", "pool", "conv", "batch_norm", "add", "depthwise", "cat", "upsample", "conv", "pad")
MOST_POSITIONS = 64  # of a frame behind an upsampling
MOST_INPUTS = 64  # of the linear layer at the end


def draw_images(draw: Draw) -> Net:
    """Two to five layers on a sequence or an image; then the frame as it is, or a linear layer on all of it."""
    rank = draw(st.sampled_from((2, 2, 2, 1)))
    sides = st.integers(2, 6) if rank == 2 else st.integers(3, 12)
    net = _Frames(draw, (draw(st.integers(1, 4)), *(draw(sides) for _ in range(rank))))
    for part in draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4)):
        getattr(net, part)()
    return net.ended()


class _Frames:
    """A net that grows by a layer at a time. A shape is channels, then rows and columns."""

    def __init__(self, draw: Draw, shape: Shape) -> None:
        self.draw = draw
        self.shapes: list[Shape] = [shape]
        self.layers: list[Layer] = []
        self.dims = len(shape) - 1
        self.inside: set[int] = set()  # results that only the next layer may read

    @property
    def last(self) -> Shape:
        return self.shapes[-1]

    def one(self, *values: object) -> object:
        return self.draw(st.sampled_from(values))

    def add_layer(self, op: str, shape: Shape, text: str, reads: tuple[int, ...] = (), **more: object) -> None:
        reads = reads or (len(self.shapes) - 1,)
        features = tuple(self.shapes[x][0] for x in reads)
        self.layers.append(Layer(op, reads, features, shape[0], text=text, **more))  # type: ignore[arg-type]
        self.shapes.append(shape)

    def conv(self, groups: int = 1, outputs: int = 0) -> None:
        """Each dimension with a kernel, stride, padding and dilation of its own; the kernel fits."""
        channels, *sides = self.last
        if not outputs:
            groups = self.draw(st.sampled_from([1, 1, 1, *(g for g in range(2, channels + 1) if channels % g == 0)]))
            outputs = groups * self.draw(st.integers(1, max(1, 4 // groups)))
        kernel, stride, padding, dilation = [], [], [], []
        for side in sides:
            pad = self.draw(st.sampled_from((0, 0, 1, 1, 2)))
            step = self.draw(st.sampled_from((1, 1, 1, 2)))
            most = min(3, (side + 2 * pad - 1) // step + 1)
            kernel.append(self.draw(st.integers(1, most)))
            stride.append(self.draw(st.sampled_from((1, 1, 2, 3))))
            padding.append(pad)
            dilation.append(step)
        bias = self.draw(st.booleans())
        asked = f"{tuple(kernel)}, {tuple(stride)}, {tuple(padding)}, {tuple(dilation)}, {groups}, {bias}"
        shapes = {"weight": (outputs, channels // groups, *kernel)} | ({"bias": (outputs,)} if bias else {})
        shape = (outputs, *_windows(sides, kernel, stride, padding, dilation))
        text = f"nn.Conv{self.dims}d({channels}, {outputs}, {asked})"
        self.add_layer(f"conv{self.dims}d", shape, text, bias=bias, tensors=tuple(shapes.items()))

    def depthwise(self) -> None:
        self.conv(self.last[0], self.last[0] * self.draw(st.integers(1, 2)))

    def pad(self) -> None:
        """Zeros on one side more than on the other, and the convolution that they belong to."""
        channels, *sides = self.last
        ends = [self.draw(st.integers(0, 2)) for _ in range(2 * self.dims)]  # of the last dimension first
        more = [ends[k] + ends[k + 1] for k in range(0, 2 * self.dims, 2)][::-1]
        shape = (channels, *(side + added for side, added in zip(sides, more, strict=True)))
        self.add_layer("zero_pad", shape, f"nn.ZeroPad{self.dims}d({tuple(ends)})")
        self.inside.add(len(self.shapes) - 1)
        self.conv()

    def batch_norm(self) -> None:
        channels, bias = self.last[0], self.draw(st.booleans())
        shapes = dict.fromkeys(["weight", "bias"] if bias else [], (channels,))
        shapes |= {"running_mean": (channels,), "running_var": (channels,)}
        text = f"nn.BatchNorm{self.dims}d({channels}, affine={bias})"
        if self.dims == 2:
            self.add_layer("batch_norm2d", self.last, text, bias=bias, tensors=tuple(shapes.items()))

    def relu(self) -> None:
        self.add_layer("relu", self.last, "nn.ReLU()")

    def pool(self) -> None:
        channels, *sides = self.last
        kind = self.draw(st.sampled_from(("max", "avg", "max", "avg", "adaptive_avg", "global_max")))
        if kind in ("max", "avg"):
            kernel = [self.draw(st.integers(1, min(3, side))) for side in sides]
            stride = [self.draw(st.integers(1, 2)) for _ in sides]
            padding = [self.draw(st.integers(0, size // 2)) for size in kernel]
            shape = (channels, *_windows(sides, kernel, stride, padding, [1] * self.dims))
            name = {"max": "MaxPool", "avg": "AvgPool"}[kind]
            text = f"nn.{name}{self.dims}d({tuple(kernel)}, {tuple(stride)}, {tuple(padding)}"
            text += f", count_include_pad={self.draw(st.booleans())})" if kind == "avg" else ")"
            self.add_layer(f"{kind}_pool{self.dims}d", shape, text)
            return
        to = [1 if kind == "global_max" else self.draw(st.sampled_from(_divisors(side))) for side in sides]
        kind, name = ("adaptive_avg", "AdaptiveAvg") if kind == "adaptive_avg" else ("adaptive_max", "AdaptiveMax")
        self.add_layer(f"{kind}_pool{self.dims}d", (channels, *to), f"nn.{name}Pool{self.dims}d({tuple(to)})")

    def upsample(self) -> None:
        channels, *sides = self.last
        if prod(sides) * 2**self.dims <= MOST_POSITIONS:
            self.add_layer("upsample", (channels, *(2 * side for side in sides)), "nn.Upsample(scale_factor=2)")

    def _same(self, *, channels: bool) -> list[int]:
        """Earlier results with the frame of the last one."""
        cut = 0 if channels else 1
        found = [x for x, shape in enumerate(self.shapes[:-1]) if shape[cut:] == self.last[cut:]]
        return [x for x in found if x not in self.inside]

    def add(self) -> None:
        """A residual: around a convolution that keeps the frame, or what there is of the same shape."""
        if not self._same(channels=True):
            channels, kernel = self.last[0], (3,) * self.dims if min(self.last[1:]) > 1 else (1,) * self.dims
            padding = tuple(size // 2 for size in kernel)
            text = f"nn.Conv{self.dims}d({channels}, {channels}, {kernel}, padding={padding}, bias=False)"
            tensors = (("weight", (channels, channels, *kernel)),)
            self.add_layer(f"conv{self.dims}d", self.last, text, bias=False, tensors=tensors)
        other, last = self.draw(st.sampled_from(self._same(channels=True))), len(self.shapes) - 1
        op = "sub" if self.draw(st.integers(0, 3)) == 3 else "add"
        self.add_layer(op, self.last, "", (other, last), form="operator")

    def cat(self) -> None:
        """Channels of two frames."""
        if found := self._same(channels=False):
            other, last = self.draw(st.sampled_from(found)), len(self.shapes) - 1
            shape = (self.shapes[other][0] + self.last[0], *self.last[1:])
            self.add_layer("cat", shape, "", (other, last))

    def ended(self) -> Net:
        count = prod(self.last)
        if count <= MOST_INPUTS and self.draw(st.booleans()):
            self.add_layer("flatten", (count,), "nn.Flatten()")
            outputs, bias = self.draw(st.integers(1, 4)), self.draw(st.booleans())
            shapes = {"weight": (outputs, count)} | ({"bias": (outputs,)} if bias else {})
            text = f"nn.Linear({count}, {outputs}, bias={bias})"
            self.add_layer("linear", (outputs,), text, bias=bias, tensors=tuple(shapes.items()))
        elif not self.layers or self.layers[-1].op not in ("conv1d", "conv2d"):
            self.conv()
        read = {x for layer in self.layers for x in layer.reads}
        loose = [x for x in range(1, len(self.shapes)) if x not in read]
        return Net((self.shapes[0],), tuple(self.layers), tuple(loose), framed=True)


def _windows(sides: list[int], kernel: list[int], stride: list[int], padding: list[int], dilation: list[int]) -> Shape:
    """Torch's rule for the size of what comes out."""
    each = zip(sides, kernel, stride, padding, dilation, strict=True)
    return tuple((side + 2 * pad - step * (size - 1) - 1) // by + 1 for side, size, by, pad, step in each)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
