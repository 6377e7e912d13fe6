"""`mase-hw search` as its users run it: several processes, killed and interrupted ones, and a PostgreSQL server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from mase_hw.cli import main

pytestmark = pytest.mark.slow

COMMAND = "import sys; from mase_hw.cli import main; main(sys.argv[1:])"
DATA = '''"""So many samples that measuring a trial takes a while."""
import numpy as np

def data():
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(SAMPLES, 16)).astype(np.float32), draw.integers(0, 5, SAMPLES)
    return {"x_train": x[:8], "y_train": y[:8], "x_val": x, "y_val": y, "x_test": x[:8], "y_test": y[:8]}
'''
SAMPLES = 30_000
CONFIG = """model = "jsc-tiny"
dataset = "data.py:data"
project = "found"
[search.search_space]
name = "graph/quantize/mixed_precision_ptq"
[search.search_space.setup]
by = "type"
[search.search_space.seed.default.config]
name = "integer"
data_in_width = [6, 8]
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
[search.search_space.seed.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
[search.strategy]
name = "optuna"
[search.strategy.sw_runner.basic_evaluation]
data_loader = "val_dataloader"
[search.strategy.hw_runner.average_bitwidth]
[search.strategy.hw_runner.interval]
[search.strategy.setup]
sampler = "brute"
sum_scaled_metrics = false
[search.strategy.metrics]
accuracy.scale = 1.0
average_bitwidth.scale = 0.2
"""
CHOICES = 3  # an input width for each node but the linear one
POINTS = 2**CHOICES


def write(folder: Path, samples: int) -> Path:
    (folder / "data.py").write_text(DATA.replace("SAMPLES", str(samples)), encoding="utf-8")
    path = folder / "search.toml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def search(folder: Path, *more: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", COMMAND, "search", "--config", "search.toml", "--heartbeat", "1", *more]
    return subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str], expected: int = 0) -> tuple[str, str]:
    try:
        out, err = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the search does not end\n{out}\n{err}") from None
    assert process.returncode == expected, err
    return out, err


def trials(storage: str) -> list[FrozenTrial]:
    return optuna.load_study(study_name="found", storage=storage).get_trials()


def wait_for_trial(address: str, process: subprocess.Popen[str], *, name: str = "found", done: int = 0) -> FrozenTrial:
    """A trial that the worker is at, after so many finished ones. The worker is stopped: nothing changes any more."""
    storage: optuna.storages.RDBStorage | None = None
    for _ in range(1200):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
        try:
            storage = storage or optuna.storages.RDBStorage(address)
            study = optuna.load_study(study_name=name, storage=storage)
        except (KeyError, optuna.exceptions.StorageInternalError, AssertionError):  # not made yet
            continue
        process.send_signal(signal.SIGSTOP)
        found = study.get_trials(deepcopy=False)
        running = [trial for trial in found if trial.state == TrialState.RUNNING and len(trial.params) == CHOICES]
        if running and sum(trial.state == TrialState.COMPLETE for trial in found) >= done:
            return running[0]
        process.send_signal(signal.SIGCONT)
    raise AssertionError("no trial was begun")


def points(found: list[FrozenTrial]) -> list[str]:
    return [json.dumps(trial.params, sort_keys=True) for trial in found if trial.state == TrialState.COMPLETE]


@pytest.mark.nightly
def test_the_trial_of_a_killed_worker_is_done_by_another(tmp_path: Path) -> None:
    write(tmp_path, SAMPLES)
    storage = tmp_path / "study.db"
    first = search(tmp_path, "--storage", "study.db")
    lost = wait_for_trial(f"sqlite:///{storage}", first)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    second, third = (search(tmp_path, "--storage", "study.db") for _ in range(2))
    finish(second)
    finish(third)
    found = trials(f"sqlite:///{storage}")
    assert found[lost.number].state == TrialState.FAIL
    retry = [trial for trial in found if trial.system_attrs.get("failed_trial") == lost.number]
    assert [trial.state for trial in retry] == [TrialState.COMPLETE]
    assert retry[0].params == lost.params
    seen = points(found)
    assert len(seen) == len(set(seen)) == POINTS  # every point once, by whichever worker
    assert not [trial for trial in found if trial.state in (TrialState.RUNNING, TrialState.WAITING)]


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    write(tmp_path, SAMPLES)
    storage = tmp_path / "mase_output" / "found" / "software" / "search" / "study.db"
    storage.parent.mkdir(parents=True)
    process = search(tmp_path)
    wait_for_trial(f"sqlite:///{storage}", process, done=2)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, err = finish(process, 130)
    assert "mase-hw search --config search.toml" in err
    assert "Traceback" not in err
    before = points(trials(f"sqlite:///{storage}"))
    assert 2 <= len(before) < POINTS
    assert set(json.loads((storage.parent / "best.json").read_text("utf-8"))) >= {"0"}
    out, _ = finish(search(tmp_path))
    after = points(trials(f"sqlite:///{storage}"))
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) == POINTS
    assert "--emit-best" in out


@pytest.mark.nightly
def test_emit_best_carries_the_winner_to_rtl(tmp_path: Path) -> None:
    write(tmp_path, 500)
    out, _ = finish(search(tmp_path, "--n-trials", "3", "--emit-best"))
    assert "mase-hw sim build/found-best" in out
    folder = tmp_path / "mase_output" / "found" / "software" / "search"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"best.json", "best.toml", "pareto.png", "pareto.html", "study.db"}
    command = [sys.executable, "-c", COMMAND, "sim", "build/found-best", "--vectors", "8", "--stall", "none"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_mistakes_end_with_1_and_no_traceback(tmp_path: Path) -> None:
    path = write(tmp_path, 100)
    path.write_text(path.read_text("utf-8").replace('"brute"', '"brutal"'), encoding="utf-8")
    _, err = finish(search(tmp_path), 1)
    assert "search.toml:" in err
    assert "did you mean brute?" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("storage", ["study.txt", "mysql://host/db", "postgresql://me:secret@127.0.0.1:1/none", "."])
def test_a_storage_that_cannot_be(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, 100)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["search", "--config", "search.toml", "--storage", storage])
    err = capsys.readouterr().err
    assert ended.value.code == 1, err
    assert "error: --storage" in err
    assert "secret" not in err


def _server_binaries() -> Path | None:
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))  # not on PATH there
    on_path = shutil.which("initdb")
    return debian[-1].parent if debian else Path(on_path).resolve().parent if on_path else None


def _user() -> str | None:
    """PostgreSQL does not run as root: an account that it can run as, or None for our own."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _answers(address: str) -> bool:
    import psycopg

    try:
        psycopg.connect(address, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as these tests."""
    binaries, user = _server_binaries(), _user()
    if binaries is None:
        pytest.skip("no PostgreSQL server here: neither initdb on PATH nor /usr/lib/postgresql/*/bin")
    if os.geteuid() == 0 and user is None:
        pytest.skip("PostgreSQL does not run as root, and there is no other account")
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="mase-hw-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "me", "-A", "trust", "--no-sync", "-E", "UTF8"]
    made = subprocess.run(initdb, user=user, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-c", "fsync=off"]
    process = subprocess.Popen(
        [str(binaries / "postgres"), "-D", str(data), *options],
        user=user,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            if _answers(f"postgresql://me@127.0.0.1:{port}/postgres"):
                break
            assert process.poll() is None, "the server ended"
            time.sleep(0.1)
        yield f"postgresql://me@127.0.0.1:{port}/postgres"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.nightly
def test_workers_share_a_study_in_postgresql(tmp_path: Path, server: str) -> None:
    write(tmp_path, SAMPLES)
    workers = [search(tmp_path, "--storage", server) for _ in range(2)]
    time.sleep(0.1)
    for worker in workers:
        finish(worker)
    found = trials(server.replace("postgresql://", "postgresql+psycopg://"))
    seen = points(found)
    assert len(seen) == len(set(seen)) == POINTS


@pytest.mark.nightly
def test_a_killed_workers_trial_is_retried_in_postgresql(tmp_path: Path, server: str) -> None:
    write(tmp_path, SAMPLES)
    address = server.replace("postgresql://", "postgresql+psycopg://")
    more = ("--storage", server, "--study-name", "killed")
    first = search(tmp_path, *more)
    lost = wait_for_trial(address, first, name="killed")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    finish(search(tmp_path, *more))
    found = optuna.load_study(study_name="killed", storage=address).get_trials()
    assert found[lost.number].state == TrialState.FAIL
    assert len(set(points(found))) == len(points(found)) == POINTS
