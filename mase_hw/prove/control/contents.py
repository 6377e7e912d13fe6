"""What registers hold in a node: bits, each of them known, or of some vector, or unknown."""

from __future__ import annotations

from collections.abc import Sequence

from mase_hw.prove.words.carried import UNKNOWN, Value

Bits = tuple[Value, ...]
Held = tuple[int, int]  # the number of some bits, and the vector that they are of, 0 the oldest; NO_VECTOR: of none
NO_VECTOR = -1


class Contents:
    """Numbers bits, so that what is held is compared, joined and looked up as two integers."""

    def __init__(self) -> None:
        self.bits: list[Bits] = []
        self._number: dict[Bits, int] = {}
        self._joined: dict[tuple[Held, Held], Held] = {}
        self._forgotten: dict[int, int] = {}

    def hold(self, bits: Sequence[Value], vector: int) -> Held:
        """Bits that are known, or functions of the inputs of this vector."""
        found = tuple(bits)
        number = self._number.setdefault(found, len(self.bits))
        if number == len(self.bits):
            self.bits.append(found)
        return number, vector if any(not isinstance(bit, int) and bit is not UNKNOWN for bit in found) else NO_VECTOR

    def unknown(self, width: int) -> Held:
        return self.hold([UNKNOWN] * width, NO_VECTOR)

    def of(self, held: Held, vector: int) -> Bits:
        """The bits where only those of one vector count; what is of another one is unknown."""
        return self.bits[held[0] if held[1] in (vector, NO_VECTOR) else self.forgotten(held[0])]

    def forgotten(self, number: int) -> int:
        """The same bits without those of a vector."""
        found = self._forgotten.get(number)
        if found is None:
            bits = [bit if isinstance(bit, int) else UNKNOWN for bit in self.bits[number]]
            found = self._forgotten[number] = self.hold(bits, NO_VECTOR)[0]
        return found

    def older(self, held: Held) -> Held:
        """When the oldest vector is gone: the others are one nearer, and what is left of it is of no use."""
        number, vector = held
        if vector > 0:
            return number, vector - 1
        return (self.forgotten(number), NO_VECTOR) if vector == 0 else held

    def joined(self, a: Held, b: Held) -> Held:
        """What holds of both: bits that are the same."""
        if a == b:
            return a
        found = self._joined.get((a, b))
        if found is None:
            bits = [
                x if (x is y or x == y) and (isinstance(x, int) or a[1] == b[1]) else UNKNOWN
                for x, y in zip(self.bits[a[0]], self.bits[b[0]], strict=True)
            ]
            found = self._joined[a, b] = self.hold(bits, a[1])
        return found
