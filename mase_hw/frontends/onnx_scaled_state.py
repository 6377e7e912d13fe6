"""Where the walk through a file with scales is: integer streams, and the chain of exact steps on each tensor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from mase_hw.frontends.onnx_graph import OnnxNode
from mase_hw.frontends.onnx_names import node_candidates
from mase_hw.frontends.onnx_scaled_quant import Quantizer
from mase_hw.frontends.onnx_staircase import (
    Chain,
    Line,
    Raw,
    Rounded,
    TwoRootsError,
    affine,
    crossings,
    directions,
    of_all,
    spread,
)
from mase_hw.frontends.onnx_state import Walk
from mase_hw.frontends.onnx_steps import Conv, Linear, Link, Staircase
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.codes import Codes
from mase_hw.numerics.crossing import Mode
from mase_hw.numerics.rounding import Integers


@dataclass
class Flowing:
    """The integers of a stream: bounds for each feature or channel, and their type where a quantizer gave one.

    `signs`: -1 where the stream carries the negative of what the file has. `taken`: somebody reads it.
    """

    lo: Integers
    hi: Integers
    fixed: Fixed | None = None
    signs: Integers | None = None
    taken: bool = False

    @property
    def type(self) -> Fixed:
        width = signed_width(int(self.lo.min()), int(self.hi.max()))
        return self.fixed or Fixed(width, 0)


@dataclass
class Input:
    """An input of the model: how real numbers become its integers, once a quantizer behind it has said so."""

    name: str
    codes: Codes | None = None
    fixed: Fixed | None = None


@dataclass
class ScaledWalk(Walk):
    """A Walk on which every tensor is an integer stream with a chain of steps behind it; an input is a real stream."""

    chain: Chain = ()
    chains: dict[str, Chain] = field(default_factory=dict)  # by tensor
    streams: dict[str, Flowing] = field(default_factory=dict)  # by source
    real: dict[str, Input] = field(default_factory=dict)  # sources that are inputs, as they are or reshaped
    coded: dict[str, Quantizer] = field(default_factory=dict)  # by the tensor of the file
    staircases: dict[str, str] = field(default_factory=dict)  # by the tensor of the file: the stream
    padded: frozenset[str] = frozenset()  # tensors of which zeros are padded: 0 must stand for the number 0

    def enter(self, node: OnnxNode, read: str, *, shared: bool) -> None:
        super().enter(node, read, shared=shared)
        self.chain = self.chains.get(read, ())

    def leave(self) -> None:
        super().leave()
        self.chains[self.makes] = self.chain

    @property
    def flowing(self) -> Flowing:
        return self.streams[self.source]

    @property
    def channels(self) -> int:
        return self.shape[0] if len(self.shape) > 1 else len(self.order)

    @property
    def raw(self) -> bool:
        """Whether the tensor is an input of the model that is not quantized yet."""
        return bool(self.chain) and isinstance(self.chain[0], Raw)

    def moved_on(self, before: Flowing, after: Flowing) -> None:
        """A step that keeps numbers made a new stream of them."""
        self.streams[self.source] = replace(after, signs=before.signs, taken=False)

    def flattened(self, before: Flowing) -> None:
        """One vector of all positions: torch's order has a channel's positions one after the other."""
        times = len(self.order) // len(before.lo)
        lo, hi = (np.repeat(side, times) for side in (before.lo, before.hi))
        signs = None if before.signs is None else np.repeat(before.signs, times)
        self.streams[self.source] = Flowing(lo, hi, before.fixed, signs)
        self.chain = spread(self.chain, times)

    def whole_chain(self) -> Chain:
        """The chain from what the stream carries."""
        signs = self.flowing.signs
        return self.chain if signs is None else (Line(_ratios(signs), of_all(0)), *self.chain)

    def settle(self, node: OnnxNode, *, outward: bool = False) -> bool:
        """Puts a staircase behind the last rounding of the chain: what is left of it are lines. False: a problem.

        `outward`: the stream is an output of the model, whose integers are those that the file means.
        """
        if self.raw:
            text = "its input has no type: no Quant stands before it"
            self.finder.node(node, text, "put a Quant before it (Brevitas: qnn.QuantIdentity)")
            return False
        index = max((k for k, part in enumerate(self.chain) if isinstance(part, Rounded)), default=None)
        if index is None:
            return True
        last = self.chain[index]
        assert isinstance(last, Rounded)
        rest = self.chain[index + 1 :]
        quantizer, step, center = self._form(last, outward)
        name = f"{last.key} out" if outward else last.key
        if name not in self.staircases:
            made = self._staircase(node, self.chain[: index + 1], quantizer, step, center, outward)
            if made is None:
                return False
            self.staircases[name] = made
        self.source = self.staircases[name]
        self.chain = (Line(of_all(Fraction(1, step)), of_all(-Fraction(center, step))), *rest)
        return True

    def _form(self, last: Rounded, outward: bool) -> tuple[Quantizer, int, int]:
        """A stream carries `step * rounded + center`: as the file means it, or so that 0 stands for the number 0."""
        quantizer = self.coded[last.key]
        zero = int(quantizer.zero.flat[0])
        if outward:
            return quantizer, 1, zero
        before = int(quantizer.before.flat[0])
        if quantizer.mode is Mode.SIGN:
            return quantizer, *((2, -1) if last.key in self.padded else (1, 0))
        lo, hi = quantizer.lo - before, quantizer.hi - before
        small = signed_width(lo, hi) if lo < 0 else hi.bit_length()
        return quantizer, 1, -before if last.key in self.padded or small <= quantizer.fixed.width else zero

    def _staircase(
        self, node: OnnxNode, chain: Chain, quantizer: Quantizer, step: int, center: int, outward: bool
    ) -> str | None:
        if not self.rises(node, chain):
            return None
        if self.flowing.signs is not None:
            chain = (Line(_ratios(self.flowing.signs), of_all(0)), *chain)
        before = self.flowing
        try:
            limits = crossings(chain, before.lo, before.hi)
        except TwoRootsError:
            self.finder.node(node, "has two batch norms in front of it, one behind the other", "fold one of them")
            return None
        start = step * quantizer.lo + center
        always, never = ((limits <= before.lo[:, None]).all(0), (limits > before.hi[:, None]).all(0))
        first, last = int(always.sum()), limits.shape[1] - int(never.sum())
        first = min(first, limits.shape[1] - 1)
        kept = limits[:, first : max(last, first + 1)]
        levels = start + step * (first + np.arange(kept.shape[1] + 1))
        lo, hi = int(levels[0]), int(levels[-1])
        fixed = quantizer.fixed if outward else _narrowest(lo, hi)
        name = self.names.take(node_candidates(quantizer.node.name, quantizer.node.scope), "quant")
        made = Staircase(name, quantizer.node, kept, lo, step, fixed, len(before.lo), before.type, outward)
        makes = f"{quantizer.node.outputs[0]} {'out' if outward else 'codes'}"
        self.links.append(Link(made, (self.source,), makes))
        before.taken = True
        reached = (limits <= before.lo[:, None]).sum(1), (limits <= before.hi[:, None]).sum(1)
        ends = [step * (quantizer.lo + each) + center for each in reached]
        self.streams[makes] = Flowing(ends[0], ends[1], fixed)
        return makes

    def rises(self, node: OnnxNode, chain: Chain) -> bool:
        """Makes a chain that falls somewhere rise: the rows of the matrix before it change their sign."""
        flowing, name = self.flowing, self.source
        own = np.ones(len(flowing.lo), np.int64) if flowing.signs is None else flowing.signs
        falling = directions(chain, len(flowing.lo)) * own < 0
        if not falling.any():
            return True
        index = self._makers.get(name)
        step = None if index is None else self.links[index].step
        if flowing.taken or not isinstance(step, Linear | Conv):
            text = "numbers fall where those before it rise, and no matrix of its own stands before it"
            self.finder.node(node, text, "a negative factor is taken in by the weights of the layer before it")
            return False
        assert index is not None
        values = step.weight.values.copy()
        values[falling] *= -1
        weight = replace(step.weight, values=values)
        ends = (int(values.min(initial=0)), int(values.max(initial=0)))
        weight = replace(weight, fixed=Fixed(signed_width(*ends), 0))
        self.links[index] = replace(self.links[index], step=replace(step, weight=weight))
        lo, hi = np.where(falling, -flowing.hi, flowing.lo), np.where(falling, -flowing.lo, flowing.hi)
        flowing.lo, flowing.hi, flowing.signs = lo, hi, np.where(falling, -own, own)
        return True

    def lines(self, node: OnnxNode) -> tuple[np.ndarray, np.ndarray] | None:
        """What the integers of the stream stand for: factors and offsets, for each channel; else a problem."""
        found = affine(self.whole_chain(), len(self.flowing.lo))
        if found is None:
            text = "no Quant stands between it and the ReLU, the Clip or the batch norm before it"
            self.finder.node(node, text, "put a Quant before it (Brevitas: a QuantReLU, a QuantIdentity)")
        return found


def _ratios(signs: Integers) -> np.ndarray:
    made = np.empty(len(signs), object)
    made[:] = [Fraction(int(sign)) for sign in signs]
    return made


def _narrowest(lo: int, hi: int) -> Fixed:
    return Fixed(signed_width(lo, hi), 0) if lo < 0 else Fixed(max(hi.bit_length(), 1), 0, signed=False)
