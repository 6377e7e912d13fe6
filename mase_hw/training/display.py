"""What a run shows and logs: a progress bar, one line per epoch, TensorBoard scalars."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mase_hw.training.result import Epoch

NO_TENSORBOARD = "no TensorBoard logs: `pip install 'mase-hw[train]'` to have them"


class Display:
    """A bar for the epoch under way (on a terminal), and a line for each that is done. Silent when not `shown`."""

    def __init__(self, epochs: int, batches: int, shown: bool) -> None:
        self._console = Console(quiet=not shown, soft_wrap=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        hidden = not shown or not self._console.is_terminal
        self._bar = Progress(*columns, console=self._console, transient=True, disable=hidden)
        self._task = self._bar.add_task("training", total=batches)
        self._epochs = epochs

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, epoch: int) -> None:
        self._bar.reset(self._task, description=f"epoch {epoch}/{self._epochs}")

    def batches(self, epoch: int, count: int, loss: float, accuracy: float) -> None:
        said = f"epoch {epoch}/{self._epochs}  loss {loss:.4f}  accuracy {accuracy:6.2%}"
        self._bar.update(self._task, advance=count, description=said)

    def end(self, done: Epoch, best: bool) -> None:
        width = len(str(self._epochs))
        said = f"epoch {done.epoch:>{width}}/{self._epochs}  loss {done.loss:.4f}  accuracy {done.accuracy:6.2%}"
        if done.score is not None:
            said += f"  validation loss {done.score.loss:.4f}  accuracy {done.score.accuracy:6.2%}"
        self._console.print(said + ("  best so far" if best else ""))


class Logs:
    """TensorBoard's event files under `folder`, one `version_N` for each run; a resumed run goes on in the last one."""

    def __init__(self, folder: Path | None, resumed_at: int | None) -> None:
        self.note: str | None = None
        self._writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter  # takes a second, and may not be installed
        except ImportError:
            self.note = NO_TENSORBOARD
            return
        versions = [int(path.name[8:]) for path in folder.glob("version_*") if path.name[8:].isdecimal()]
        last = max(versions, default=-1)
        version = max(last, 0) if resumed_at is not None else last + 1
        purge = None if resumed_at is None else resumed_at + 1
        self._writer = SummaryWriter(str(folder / f"version_{version}"), purge_step=purge)

    def __enter__(self) -> Logs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def step(self, step: int, loss: float, accuracy: float, rate: float) -> None:
        self._write(step, train_loss_step=loss, train_acc_step=accuracy, learning_rate=rate)

    def epoch(self, done: Epoch) -> None:
        scalars = {"train_loss_epoch": done.loss, "train_acc_epoch": done.accuracy, "epoch": float(done.epoch)}
        if done.score is not None:
            scalars |= {"val_loss_epoch": done.score.loss, "val_acc_epoch": done.score.accuracy}
        self._write(done.step, **scalars)

    def _write(self, step: int, **scalars: float) -> None:
        if self._writer is not None:
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, step)
