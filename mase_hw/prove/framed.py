"""The components that look at the positions of a frame, and the invariant that proves each of them."""

from __future__ import annotations

from typing import Protocol

from mase_hw.ir import Component
from mase_hw.ops.window import Depthwise, GlobalReduce, Reduce, Upsample, Window, WindowWide
from mase_hw.prove.claims.claim import Reached
from mase_hw.prove.folded.depthwise import DepthwiseProof
from mase_hw.prove.netlist.netlist import Netlist
from mase_hw.prove.reductions.taps import ReduceProof
from mase_hw.prove.reductions.whole import GlobalReduceProof
from mase_hw.prove.windows.prove import WindowProof
from mase_hw.prove.windows.upsample import UpsampleProof
from mase_hw.prove.windows.wide import WideProof


class FrameProof(Protocol):
    """Each claim says how it was proved, or raises; values rest on the handshake."""

    def handshake(self) -> str: ...

    def values(self) -> str: ...

    def widths(self) -> str | tuple[str, tuple[Reached, ...]]: ...


def of_frames(component: Component, netlist: Netlist) -> FrameProof | None:
    """None: it is proved vector by vector, as the components of vectors are."""
    if isinstance(component, Window):
        return WindowProof(component, netlist)
    if isinstance(component, WindowWide):
        return WideProof(component, netlist)
    if isinstance(component, Reduce):
        return ReduceProof(component, netlist)
    if isinstance(component, GlobalReduce):
        return GlobalReduceProof(component, netlist)
    if isinstance(component, Depthwise):
        return DepthwiseProof(component, netlist)
    if isinstance(component, Upsample):
        return UpsampleProof(component, netlist)
    return None
