"""A random network with everything that a user would write about it, and the strategy that draws one."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from fuzzing.hardware import draw_hardware, draw_target
from fuzzing.images import draw_images
from fuzzing.nets import Draw, Layer, Net, Shape, draw_net, names_of
from fuzzing.types import Table, draw_types

WEIGHTS = ("ones", "normal", "ties", "powers", "sparse", "extremes", "zeros")
CHECKPOINTS = (None, "pt", "pl", "safetensors")


@dataclass(frozen=True)
class Case:
    """Everything that a case's files are made from, and how its simulation is driven."""

    net: Net
    sequential: bool
    quantize: Table
    hardware: Table
    target: Table
    fuse: bool
    weights: str
    checkpoint: str | None
    samples: int  # 0: no data set
    seed: int  # of weights and samples
    vectors: int
    sim_seed: int

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.net.layers

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return self.net.shapes

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names in the graph, layer by layer."""
        return names_of(self.layers, self.sequential)


@st.composite
def cases(draw: Draw, images: bool = False) -> Case:
    """Mostly networks that can be built. One in eight asks for what may not be possible: that must be a Problem."""
    wild = draw(st.integers(0, 7)) == 7
    net = draw_images(draw) if images else draw_net(draw)
    sequential = net.chained and draw(st.booleans())
    names = names_of(net.layers, sequential)
    quantize = draw_types(draw, net, names, wild)
    fuse = draw(st.booleans()) and (wild or quantize["by"] == "type")  # a batch norm that is gone has no name
    return Case(
        net,
        sequential,
        quantize,
        draw_hardware(draw, net, names, quantize, fuse, wild),
        draw_target(draw, wild),
        fuse,
        draw(st.sampled_from(WEIGHTS)),
        draw(st.sampled_from(CHECKPOINTS)),
        draw(st.sampled_from((0, 3, 24))) if len(net.shapes) == 1 else 0,  # a data set has one array
        draw(st.integers(0, 2**16)),
        draw(st.sampled_from((3, 8) if images else (4, 32, 100))),
        draw(st.integers(0, 2**16)),
    )
