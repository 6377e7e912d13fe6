"""What a component has to compute: an affine form for each output element, then one requantize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Component
from mase_hw.ir.finish import Finish
from mase_hw.ir.meaning import Affine, Move, Steps, Table
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.carried import UNKNOWN, Bit, Function, Value, Word
from mase_hw.prove.words.ranges import BitRanges
from mase_hw.prove.words.rounding import SUSPECTS, Bits, check_software, multiple, requantized, wrong_places
from mase_hw.prove.words.sums import Sums
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import MAX_WORD, Words

MAX_TABLE = 1 << 24  # values of a sum that are gone through one by one
MAX_SUMS = 1 << 28  # bytes for finding out which sums are met


class Reference:
    """The rows of a component over the variables of one vector."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.step = component.finish
        meaning = component.meaning()
        self.table = meaning if isinstance(meaning, Table | Steps) else None
        x = component.input
        lo, hi = x.bounds
        self.factors, self.constants = rows_of(component)
        self.rows = self.factors  # of whole numbers
        self.serial = component.kind == "linear_serial"  # takes numbers apart: every bit is a variable
        if self.serial:
            count = x.features * x.fixed.width
            ranges = [(int(lo), int(hi)) for lo, hi in zip(x.lo, x.hi, strict=True)]
            used = [int(np.count_nonzero(_places(*ends, x.fixed.width))) for ends in ranges]
            joint = BitRanges(ranges, used, x.fixed.width)
            self.words = Words(np.zeros(count, np.int64), np.ones(count, np.int64), joint)
            places = np.stack([_places(*ends, x.fixed.width) for ends in zip(x.lo, x.hi, strict=True)])
            self.factors = (self.factors[:, :, None] * places).reshape(len(self.factors), -1)
        else:
            self.words = Words(lo, hi)
        self.evaluator = Symbolic(self.words)
        self._formulas: dict[tuple[int, int], Bits] = {}  # results as functions of a word, for each multiple
        self.failed: dict[int, NotProvedError] = {}  # outputs that the words do not prove, and why
        self.variables = [self.words.variable(i) for i in range(len(self.words.lo))]

    @property
    def rounded_by(self) -> str:
        """How rounding and clamping were compared, as a part of a sentence."""
        if self.step is None or not self.step.changes:
            return ""
        return "; rounding as decision diagrams" if self._formulas else "; rounding gone through for every sum"

    def input_bits(self, beat: int) -> list[Value]:
        """A beat of the input vector, as bits of its variables."""
        x = self.component.input
        first = beat * x.lanes
        if self.serial:
            width = x.fixed.width
            found = []
            for i in range(first, first + x.lanes):
                lo, hi = x.lo[i], x.hi[i]
                own = [self.words.bit(word, 0) for word in self.variables[i * width : (i + 1) * width]]
                used = np.count_nonzero(_places(lo, hi, width))
                found += own[:used] + [own[used - 1] if lo < 0 else 0] * (width - used)
            return found
        variables = self.variables[first : first + x.lanes]
        return [self.words.bit(word, k) for word in variables for k in range(x.fixed.width)]

    def check_beat(self, beat: int, bits: list[Value]) -> None:
        """Looks whether a beat of the output is what it has to be."""
        y = self.component.output
        for lane in range(y.lanes):
            element = beat * y.lanes + lane
            part = bits[lane * y.fixed.width : (lane + 1) * y.fixed.width]
            exact = self.words.word(self.factors[element], int(self.constants[element]))
            try:
                self._check(element, exact, part)
            except NotProvedError as error:
                self.failed.setdefault(element, error)

    def _check(self, element: int, exact: Word, bits: list[Value]) -> None:
        y = f"{self.component.output.name}[{element}]"
        if any(bit is UNKNOWN for bit in bits):
            raise NotProvedError(f"{y}: bit {bits.index(UNKNOWN)} is not a function of one affine sum of this vector")
        step: Finish | Looked | Stepped | None = self.step
        if isinstance(self.table, Steps):
            step = Stepped(self.table, element)
        elif self.table is not None:
            step = Looked(self.table.values[element], self.table.lo[element])
        if step is None or not step.changes:
            for k, bit in enumerate(bits):
                if self.words.bit(exact, k) != bit:
                    raise NotProvedError(f"{y}: bit {k} is not bit {k} of {exact}")
            return
        results: dict[tuple[int, ...], Integers] = {}  # for every value of a word
        for k, bit in enumerate(bits):
            base, node, (factor, constant) = self._function(y, k, bit, exact)
            least = factor * base.lo + constant  # a constant by itself may have more than 64 bits
            if base.hi - base.lo >= MAX_TABLE:
                if self.table is not None:
                    raise NotProvedError(f"{y}: a table of more than {MAX_TABLE:,} values")
                wanted = self._rounded(factor, constant)[k]
                wrong = wrong_places(self.words.diagrams, node, wanted, base, self.words)
            else:
                numbers = np.arange(base.lo, base.hi + 1)
                key = factor, constant, base.lo, base.hi
                if key not in results:
                    results[key] = step.execute(factor * (numbers - base.lo) + least)
                every = int(np.gcd.reduce(base.factors)) or 1  # the word meets only every so many-th number
                column = self.words.diagrams.values(node, base.lo, base.hi)
                wrong = numbers[(column != (results[key] >> k & 1)) & ((numbers - base.lo) % every == 0)]
            if len(wrong):
                self._check_sums(
                    element, f"{y}: bit {k}", factor * (wrong - base.lo) + least, some=len(wrong) == SUSPECTS
                )

    def _check_sums(self, element: int, name: str, wrong: Integers, *, some: bool) -> None:
        """Raises where some input gives one of these exact sums, or may; `some`: there may be more of them."""
        lo, hi = self.component.input.bounds
        sums = Sums(self.rows[element], int(self.constants[element]), lo, hi)
        if some or sums.size > MAX_SUMS:
            raise NotProvedError(f"{name} is wrong where the exact sum is {int(wrong[0])}, if any input gives that")
        if (vector := sums.any_of(wrong)) is not None:
            total = int(self.rows[element] @ vector + self.constants[element])
            raise NotProvedError(f"{name} is wrong where the exact sum is {total}", suspect=vector)

    def _rounded(self, factor: int, constant: int) -> Bits:
        """The results for a sum that is a multiple of a word, and a constant."""
        assert self.step is not None
        found = self._formulas.get((factor, constant))
        if found is None:
            make = self.words.diagrams
            if not self._formulas:
                check_software(make, self.step)
            found = self._formulas[factor, constant] = requantized(make, multiple(make, factor, constant), self.step)
        return found

    def _function(self, name: str, k: int, bit: Value, exact: Word) -> tuple[Word, int, tuple[int, int]]:
        """The word that decides about a bit, the bit as a function of it, and the sum as a multiple of it."""
        bases = [bit.word] if isinstance(bit, Function | Bit) else []
        if not isinstance(bit, Function):
            bases.append(self.words.upright(exact) if exact.factors.any() else exact)
        for base in bases:
            ratio = _ratio(exact, base)
            if ratio is None:
                if isinstance(bit, Function):
                    raise NotProvedError(f"{name}: the hardware sums {base}, not {exact}")
                continue
            if isinstance(bit, Function):
                return base, bit.node, ratio
            node = self.words.function(bit, base) if isinstance(bit, Bit) else bit
            if isinstance(node, int):
                return base, node, ratio
        raise NotProvedError(f"{name}: bit {k} is not a function of the sum {exact}")


@dataclass(frozen=True)
class Looked:
    """A function of one element as the last step of a component: looked up in a table that begins at `lo`."""

    values: Integers
    lo: int
    changes = True

    def execute(self, exact: Integers) -> Integers:
        return self.values[exact - self.lo]


@dataclass(frozen=True)
class Stepped:
    """The same by thresholds."""

    steps: Steps
    element: int
    changes = True

    def execute(self, exact: Integers) -> Integers:
        return self.steps.of(self.element, exact)


def _ratio(exact: Word, base: Word) -> tuple[int, int] | None:
    """The exact sum as a multiple of the word that the hardware looks at, and a constant."""
    nonzero = np.flatnonzero(exact.factors)
    if not len(nonzero):
        return 0, exact.constant
    ratio, rest = divmod(int(exact.factors[nonzero[0]]), int(base.factors[nonzero[0]]) or 1)
    fits = base.largest * abs(ratio) < MAX_WORD  # or the product would be one modulo 2**64
    if rest or not fits or not np.array_equal(exact.factors, base.factors * ratio):
        return None
    return ratio, exact.constant - base.constant * ratio


def rows_of(component: Component) -> tuple[Integers, Integers]:
    """Factors [out, in] and constants [out] of what the component says that it computes exactly."""
    meaning = component.meaning()
    if isinstance(meaning, Affine):
        return np.concatenate(meaning.factors, axis=1), meaning.constants
    if isinstance(meaning, Table):
        return np.eye(component.input.features, dtype=np.int64)[list(meaning.index)], np.zeros(
            len(meaning.index), np.int64
        )
    if isinstance(meaning, Steps):
        features = component.input.features
        return np.eye(features, dtype=np.int64), np.zeros(features, np.int64)
    if isinstance(meaning, Move):
        starts = np.cumsum([0, *(x.features for x in component.inputs)])
        rows = [starts[port] + element for port, element in meaning.sources[0]]
        return np.eye(int(starts[-1]), dtype=np.int64)[rows], np.zeros(len(rows), np.int64)
    said = "nothing" if meaning is None else f"a {type(meaning).__name__}"
    raise NotProvedError(f"{component.name} states {said} as its meaning, which no rule compares with a netlist")


def _places(lo: int, hi: int, width: int) -> Integers:
    """What each bit of a number within these bounds counts; 0 for bits above, which are copies of its sign, or 0."""
    places = 1 << np.arange(width)
    bits = max(lo, ~lo, hi, ~hi).bit_length() + (lo < 0)
    places[bits:] = 0
    if lo < 0:
        places[bits - 1] *= -1
    return places
