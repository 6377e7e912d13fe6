"""Our own solver: signed digits, and pairs of terms that outputs share, made once. Needs nothing but Python."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from mase_hw.adders.graph import AdderGraph, Builder, Ref
from mase_hw.numerics.rounding import Integers

Term = tuple[int, int, bool]  # node, shift, minus
Pair = tuple[int, int, int, bool]  # node, node, the second's shift beyond the first's, whether their signs differ


def digits(n: int) -> Iterator[tuple[int, bool]]:
    """`n` as the fewest powers of two, added or subtracted: (exponent, minus), the smallest first."""
    minus_n, n, shift = n < 0, abs(n), 0
    while n:
        if n & 1:
            minus = n & 3 == 3
            yield shift, minus != minus_n
            n += 1 if minus else -1
        n >>= 1
        shift += 1


def digit_count(matrix: Integers) -> int:
    """Terms of all outputs together: where the bits of n and 3n differ, the canonical form has a digit."""
    return sum(((3 * n) ^ n).bit_count() for n in map(abs, matrix.ravel().tolist()))


def plain_graph(matrix: Integers) -> AdderGraph:
    """Every output by itself, a balanced tree of its terms: for matrices too large to look for what can be shared."""
    builder = Builder(matrix.shape[1])
    return builder.graph([tree(builder, terms_of(row)) for row in matrix.tolist()])


def shared_graph(matrix: Integers, widths: Sequence[int]) -> AdderGraph:
    """The pair of terms that saves most becomes a node, again and again, until none occurs twice.

    `widths` are the bits of the inputs.
    """
    builder = Builder(matrix.shape[1])
    rows = _Rows([terms_of(row) for row in matrix.tolist()], widths)
    while pair := rows.best():
        made = _make(builder, pair)
        rows.widen(builder)
        rows.replace(pair, made)
    return builder.graph([tree(builder, list(row)) for row in rows.rows])


def terms_of(row: list[int]) -> list[Term]:
    return [(i, shift, minus) for i, weight in enumerate(row) for shift, minus in digits(weight)]


def tree(builder: Builder, terms: list[Term]) -> Ref:
    """The sum of the terms; those that are ready first are added first, so that it is as shallow as can be."""
    level = [0] * builder.inputs
    for add in builder.adds:
        level.append(1 + max(level[add.a], level[add.b]))
    heap = [(level[node], shift, k, Ref(node, shift, minus)) for k, (node, shift, minus) in enumerate(sorted(terms))]
    heapq.heapify(heap)
    while len(heap) > 1:
        (level_a, shift_a, k, a), (level_b, shift_b, _, b) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (1 + max(level_a, level_b), min(shift_a, shift_b), k, builder.add(a, b)))
    return heap[0][3] if heap else Ref(None)


def _make(builder: Builder, pair: Pair) -> Ref:
    """The node of a pair, such that the first term's shift is 0 in it; negative where the second's is below it."""
    first, second, delta, differs = pair
    lift = max(0, -delta)
    made = builder.add(Ref(first, lift), Ref(second, delta + lift, differs))
    return made.shifted(-lift)


class _Rows:
    """The terms of every output, how often each pair of terms occurs in them, and what making it once would save."""

    def __init__(self, rows: list[list[Term]], widths: Sequence[int]) -> None:
        self.highest = [(1 << width) - 1 for width in widths]  # of each node, as an unsigned number
        self.rows: list[dict[Term, None]] = [{} for _ in rows]
        self.counts: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)
        self.heap: list[tuple[int, Pair]] = []
        for j, row in enumerate(rows):
            for term in row:
                self._insert(j, term)

    def best(self) -> Pair | None:
        """The pair that saves most; entries of the heap that are out of date are put right."""
        while self.heap:
            saved, pair = heapq.heappop(self.heap)
            if self.counts[pair] < 2:
                continue
            if saved == -self._saved(pair):
                return pair
            heapq.heappush(self.heap, (-self._saved(pair), pair))
        return None

    def _saved(self, pair: Pair) -> int:
        """Occurrences times the bits in which both terms have bits, which is what an adder costs."""
        first, second, delta, _ = pair
        ends = (self.highest[first].bit_length(), self.highest[second].bit_length() + delta)
        return self.counts[pair] * max(1, min(ends) - max(0, delta))

    def widen(self, builder: Builder) -> None:
        """Follows the builder's new nodes."""
        for add in builder.adds[len(self.highest) - builder.inputs :]:
            ends = [self.highest[add.a], self.highest[add.b]]
            for k, minus in enumerate((add.minus_a, add.minus_b)):
                ends[k] = (1 << ends[k].bit_length()) - 1 if minus else ends[k]
            self.highest.append((ends[0] << add.shift_a) + (ends[1] << add.shift_b))

    def replace(self, pair: Pair, made: Ref) -> None:
        """Uses the node `made` wherever the pair occurs."""
        first, second, delta, differs = pair
        assert made.node is not None
        for j in sorted(self.where.pop(pair)):
            row = self.rows[j]
            for a in [term for term in row if term[0] == first]:
                b = (second, a[1] + delta, a[2] != differs)
                if a in row and b in row and a != b:
                    self._remove(j, a)
                    self._remove(j, b)
                    self._insert(j, (made.node, a[1] + made.shift, a[2] != made.minus))
        self.counts[pair] = 0  # what is left of it overlaps itself, and is not looked at again

    def _insert(self, j: int, term: Term) -> None:
        row = self.rows[j]
        node, shift, minus = term
        if term in row:  # twice the same is once the double
            self._remove(j, term)
            self._insert(j, (node, shift + 1, minus))
        elif (node, shift, not minus) in row:
            self._remove(j, (node, shift, not minus))
        else:
            for pair in self._pairs(row, term):
                self.counts[pair] += 1
                self.where[pair].add(j)
                if self.counts[pair] >= 2:
                    heapq.heappush(self.heap, (-self._saved(pair), pair))
            row[term] = None

    def _remove(self, j: int, term: Term) -> None:
        row = self.rows[j]
        del row[term]
        for pair in self._pairs(row, term):
            self.counts[pair] -= 1

    @staticmethod
    def _pairs(row: dict[Term, None], term: Term) -> Iterator[Pair]:
        for other in row:
            first, second = (other, term) if other[:2] <= term[:2] else (term, other)
            yield first[0], second[0], second[1] - first[1], first[2] != second[2]
