"""How many states of a control are gone through: in proportion to those of the model that it has to be."""

from __future__ import annotations

from collections.abc import Hashable

from mase_hw.prove.claims.claim import NotProvedError

ALWAYS = 1 << 12  # states that are always gone through
ALIKE = 16  # to each of the model, on average; up to 6 have been seen, of registers that nobody looks at for a while


class States:
    """Raises where there are too many: a counter of years beside a small control would be gone through for minutes."""

    def __init__(self, most: int, always: int = ALWAYS) -> None:
        self.most, self._always = most, always
        self._found = 0
        self._predicted: set[Hashable] = set()

    def add(self, predicted: Hashable) -> None:
        """One state more, in which the model is in the predicted one."""
        self._found += 1
        self._predicted.add(predicted)
        if self._found > self.most:
            raise NotProvedError(f"its control has more than {self.most:,} states")
        if self._found > self._always + ALIKE * len(self._predicted):
            few = len(self._predicted)
            raise NotProvedError(f"its control has {self._found:,} states and more where its model has {few:,}")
