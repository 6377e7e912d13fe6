"""The handshake of a component that takes a vector in one beat and works through it digit by digit, beat by beat."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, SingleControl


class SerialControl(SingleControl):
    """A vector in a shift register, `stages` registers from its digits to the output, all digits for each output beat.

    With more than one digit the pipeline stops when the last digit's result finds the output taken, even if it is just
    leaving: so nothing but registers decides. In an unstalled run that never happens.
    """

    def __init__(self, digits: int, stages: int, groups: int = 1) -> None:
        self.digits = digits
        self.steps = digits * groups
        self.busy = False
        self.step = 0
        self.finishing = [False] * (stages - 1)  # is a beat's last digit in this stage? without the output's register

    def _last(self) -> bool:
        """Whether this is the last digit of a beat."""
        return self.busy and self.step % self.digits == self.digits - 1

    def _over(self) -> bool:
        """Whether it is the last of the vector."""
        return self.busy and self.step == self.steps - 1

    def _done(self) -> bool:
        """Whether a result is about to enter the output's register."""
        return self.finishing[-1] if self.finishing else self._last()

    def _moves(self, out_ready: bool) -> bool:
        if self.digits == 1:
            return out_ready or not self.valid
        return not (self.valid and self._done())

    def ready(self, out_ready: bool) -> bool:
        return not self.busy or (self._over() and self._moves(out_ready))

    def tick(self, take: bool, out_ready: bool) -> None:
        moves, last, over, done = self._moves(out_ready), self._last(), self._over(), self._done()
        if moves and done:
            self.valid = True
        elif out_ready:
            self.valid = False
        if moves:
            self.finishing = [last, *self.finishing[:-1]] if self.finishing else []
            if self.busy:
                self.step = 0 if over else self.step + 1
        if take or (moves and over):
            self.busy = take

    def state(self) -> tuple[int, ...]:
        return (self.valid, self.busy, self.step, *self.finishing)

    def quiet(self, out_ready: bool) -> int:
        if not self._moves(out_ready):
            return FOREVER
        if any(self.finishing):
            return 0
        return self.digits - 1 - self.step % self.digits if self.busy else FOREVER

    def skip(self, cycles: int, out_ready: bool) -> None:
        if self.busy and self._moves(out_ready):
            self.step += cycles
