"""A worker ends what takes too long, outlives what crashes, and can be stopped from another thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from mase_hw.mutate.worker import CrashedError, StoppedError, TimedOutError, Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def test_an_answer_an_error_and_a_process_that_ends(worker: Worker) -> None:
    assert worker.call(divmod, 7, 2, seconds=60) == (3, 1)
    with pytest.raises(CrashedError, match="ZeroDivisionError"):
        worker.call(divmod, 7, 0, seconds=60)
    process = worker.call(os.getpid, seconds=60)
    assert process == worker.call(os.getpid, seconds=60) != os.getpid()
    with pytest.raises(CrashedError, match="its process ended"):
        worker.call(os._exit, 3, seconds=60)
    assert worker.call(os.getpid, seconds=60) not in (process, os.getpid())


def test_what_a_step_prints_is_not_in_the_report(worker: Worker, capfd: pytest.CaptureFixture[str]) -> None:
    worker.call(os.write, 1, b"from a simulation\n", seconds=60)
    said = capfd.readouterr()
    assert (said.out, "from a simulation" in said.err) == ("", True)


def test_a_step_that_takes_too_long_is_ended_with_its_process(worker: Worker) -> None:
    process = worker.call(os.getpid, seconds=60)
    with pytest.raises(TimedOutError):
        worker.call(time.sleep, 600, seconds=0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_stopping_ends_a_step_that_runs(worker: Worker) -> None:
    worker.call(os.getpid, seconds=60)
    threading.Timer(0.2, worker.stop).start()
    with pytest.raises(StoppedError):
        worker.call(time.sleep, 600, seconds=120)
    with pytest.raises(StoppedError):
        worker.call(os.getpid, seconds=60)
