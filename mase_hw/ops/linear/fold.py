"""How a matrix is folded onto a smaller array of multipliers, and how streams of other widths meet that array."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fold:
    """`p_in x p_out` multipliers work on `outputs x inputs` weights in `words * blocks` steps.

    A word is the `p_in` inputs of one step, a block the `p_out` outputs that are summed at the same time. What is
    missing in the last word or block is padded with weights of zero. A beat of the input stream is either one of
    `banks` equal parts of a word, or `slices` words; a beat of the output stream is either one of `parts` equal parts
    of a block, or `joined` blocks.
    """

    inputs: int
    outputs: int
    p_in: int
    p_out: int
    in_lanes: int
    out_lanes: int

    def __post_init__(self) -> None:
        assert 1 <= self.p_in <= self.inputs, f"{self.p_in} x {self.p_out} for {self.inputs} inputs"
        assert 1 <= self.p_out <= self.outputs, f"{self.p_in} x {self.p_out} for {self.outputs} outputs"
        assert fits(self.inputs, self.p_in, self.in_lanes), f"{self.in_lanes} lanes to {self.p_in} of {self.inputs}"
        assert fits(self.outputs, self.p_out, self.out_lanes), f"{self.p_out} to {self.out_lanes} of {self.outputs}"

    @property
    def words(self) -> int:
        return -(-self.inputs // self.p_in)

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.p_out)

    @property
    def steps(self) -> int:
        return self.words * self.blocks

    @property
    def in_beats(self) -> int:
        return self.inputs // self.in_lanes

    @property
    def out_beats(self) -> int:
        return self.outputs // self.out_lanes

    @property
    def banks(self) -> int:
        return max(1, self.p_in // self.in_lanes)

    @property
    def slices(self) -> int:
        return -(-self.in_lanes // self.p_in)

    @property
    def parts(self) -> int:
        return max(1, self.p_out // self.out_lanes)

    @property
    def joined(self) -> int:
        return -(-self.out_lanes // self.p_out)

    @property
    def last_parts(self) -> int:
        """Beats of the last block, where it is handed out in parts: those that are padding are left out."""
        return self.out_beats - (self.blocks - 1) * self.parts if self.parts > 1 else 1

    @property
    def interval(self) -> int:
        """Cycles between vectors: steps, unless a stream is too narrow for that."""
        handing_out = (self.blocks - 1) * max(self.words, self.parts) + max(self.words, self.last_parts)
        return max(handing_out, self.in_beats)

    def latency(self, stages: int) -> int:
        """First input beat to first output beat, where a finished sum stands `stages` cycles after its last step."""
        return max(self.in_beats, self.words) + (self.joined - 1) * self.words + stages + 1


def fits(features: int, p: int, lanes: int) -> bool:
    """Whether a stream of `lanes` lanes meets an array of `p` lanes without a padded step more than there must be."""
    if features % lanes:
        return False
    return p % lanes == 0 or (lanes > p and (features // lanes) * -(-lanes // p) == -(-features // p))


def stream_lanes(inputs: int, outputs: int, array: tuple[int, int]) -> tuple[int, int]:
    """Lanes of the input and of the output stream of a layer on `array`, such that its steps set the interval.

    The array's own where they divide the features, else the fewest that are fast enough.
    """
    p_in, p_out = array
    words, blocks = -(-inputs // p_in), -(-outputs // p_out)
    fast_in = (lanes for lanes in range(1, inputs + 1) if fits(inputs, p_in, lanes))
    fast_out = (lanes for lanes in range(1, outputs + 1) if fits(outputs, p_out, lanes))
    return (
        next(lanes for lanes in fast_in if lanes == p_in or (inputs % p_in and inputs // lanes <= words * blocks)),
        next(lanes for lanes in fast_out if lanes == p_out or (outputs % p_out and p_out <= words * lanes)),
    )
