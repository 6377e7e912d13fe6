"""Where a study lives: an SQLite file, a journal file or PostgreSQL. In each, a dead worker's trial is noticed."""

from __future__ import annotations

import importlib.util
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from optuna import Study
from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.storages._rdb import models
from optuna.storages._rdb.storage import _create_scoped_session
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import insert, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from mase_hw.diagnostics import Problem, ProblemsError

MAX_RETRY = 3
SQLITE = (".db", ".sqlite", ".sqlite3")
JOURNAL = (".journal", ".log", ".jsonl")
_KINDS = "a file study.db (SQLite), a file study.journal (journal), or postgresql://user@host/database"
_BEAT = "mase_hw:heartbeat"
_Callback = Callable[[Study, FrozenTrial], None]


class _Sqlite(sqlite3.Connection):
    """Commits that survive the end of the process, and do not wait for the disk: a trial is a dozen of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        try:
            self.execute("PRAGMA journal_mode=WAL")
            self.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.DatabaseError:
            self.close()
            raise


class Database(RDBStorage):
    """Writes all that is chosen for a trial at once: Optuna's own way is a transaction for each parameter."""

    def __init__(self, url: str, **more: Any) -> None:
        super().__init__(url, **more)
        self._kept = threading.local()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What this thread sets in the block is in the database after it."""
        self._kept.rows = []
        try:
            yield
            self._write(self._kept.rows)
        finally:
            del self._kept.rows

    def _set_trial_param(self, trial_id: int, name: str, value: float, kind: BaseDistribution, *more: Any) -> None:
        rows = getattr(self._kept, "rows", None)
        if rows is None:
            super()._set_trial_param(trial_id, name, value, kind, *more)
        else:
            rows.append((trial_id, name, value, kind))

    def _get_stale_trial_ids(self, study_id: int) -> list[int]:
        """With those whose worker died before the first heartbeat, which for Optuna are never stale."""
        stale = super()._get_stale_trial_ids(study_id)
        assert self.heartbeat_interval is not None
        begun_before = datetime.now() - timedelta(seconds=4 * self.heartbeat_interval)
        model = models.TrialModel
        with _create_scoped_session(self.scoped_session) as session:
            silent = session.query(model).filter(
                model.study_id == study_id, model.state == TrialState.RUNNING, ~model.heartbeats.any()
            )
            return stale + [cast(int, trial.trial_id) for trial in silent if _started(trial) < begun_before]

    def _write(self, rows: list[tuple[int, str, float, BaseDistribution]]) -> None:
        # That a name always has the same choices needs no look at other trials: `open_study` compares the searches.
        with _create_scoped_session(self.scoped_session) as session:
            for trial_id in {row[0] for row in rows}:
                trial = models.TrialModel.find_or_raise_by_id(trial_id, session)
                self.check_trial_is_updatable(trial_id, cast(TrialState, trial.state))
            names = ("trial_id", "param_name", "param_value", "distribution_json")
            made = [(trial_id, name, value, distribution_to_json(kind)) for trial_id, name, value, kind in rows]
            if made:
                session.execute(insert(models.TrialParamModel), [dict(zip(names, row, strict=True)) for row in made])


def _started(trial: Any) -> datetime:
    started: datetime | None = trial.datetime_start
    assert started is not None
    return started


def at_once(storage: BaseStorage) -> AbstractContextManager[None]:
    """Around the choices of one trial."""
    backend = getattr(storage, "_backend", None)  # Optuna wraps a database in a cache
    return backend.at_once() if isinstance(backend, Database) else nullcontext()


class BeatingJournal(JournalStorage, BaseHeartbeat):
    """A journal with heartbeats, which Optuna's own has not: the time is kept among the trial's attributes."""

    def __init__(self, path: Path, interval: int, callback: _Callback) -> None:
        super().__init__(JournalFileBackend(str(path)))
        self._interval, self._callback = interval, callback

    def record_heartbeat(self, trial_id: int) -> None:
        self.set_trial_system_attr(trial_id, _BEAT, time.time())

    def _get_stale_trial_ids(self, study_id: int) -> list[int]:
        running = self.get_all_trials(study_id, deepcopy=False, states=(TrialState.RUNNING,))
        oldest = time.time() - 2 * self._interval
        return [trial._trial_id for trial in running if self._last_sign(trial) < oldest]

    def _last_sign(self, trial: FrozenTrial) -> float:
        # The start counts too: a worker may die before its first heartbeat, and a retry has its dead forerunner's.
        beat: float = trial.system_attrs.get(_BEAT, 0.0)
        return max(_started(trial).timestamp(), beat)

    def get_heartbeat_interval(self) -> int | None:
        return self._interval

    def get_heartbeat_stale_trial_callback(self) -> _Callback | None:
        return self._callback


def retry_callback() -> _Callback:
    """Puts a trial whose worker is gone back into the queue, with the same parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return RetryHeartbeatStaleTrialCallback(max_retry=MAX_RETRY)


def open_storage(storage: str | None, out: Path, heartbeat: int = 30) -> tuple[BaseStorage, str]:
    """The storage that `--storage` names, or the SQLite file in `out`; and how to name it on another command line."""
    if storage is None:
        storage = str(out / "study.db")
    scheme = storage.partition("://")[0] if "://" in storage else ""
    if scheme in ("", "sqlite"):
        path = Path(storage.removeprefix("sqlite:///") if scheme else storage)
        if scheme == "" and path.suffix in JOURNAL:
            return _journal(path, heartbeat), str(path)
        if scheme == "sqlite" or path.suffix in SQLITE:
            return _database(f"sqlite:///{_parent(path)}", storage, heartbeat), storage
        raise _refused(f"--storage {storage}: the file's ending says neither SQLite nor journal", storage)
    if scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise _refused(f"--storage {storage}: {scheme} is no storage of a search", storage)
    if importlib.util.find_spec("psycopg") is None:
        hint = "pip install 'mase-hw[postgres]'"
        raise ProblemsError(Problem(f"--storage {_safe(storage)}: PostgreSQL needs the package psycopg", hint=hint))
    url = "postgresql+psycopg://" + storage.partition("://")[2]
    return _database(url, storage, heartbeat), _safe(storage)


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise ProblemsError(Problem(f"--storage {path} is a folder", hint=f"name a file in it: {path / 'study.db'}"))
    return path


def _journal(path: Path, heartbeat: int) -> BaseStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        try:
            return BeatingJournal(_parent(path), heartbeat, retry_callback())
        except ValueError as error:  # a line that is no JSON
            raise ProblemsError(Problem(f"--storage {path} is no journal of a study: {error}", hint=_KINDS)) from None


def _database(url: str, named: str, heartbeat: int) -> BaseStorage:
    arguments: dict[str, Any] = (
        {"timeout": 60, "factory": _Sqlite} if url.startswith("sqlite") else {"connect_timeout": 10}
    )
    last: Exception | None = None
    for _ in range(5):  # two workers that make the tables of a new database at once trip over each other
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                return Database(
                    url,
                    engine_kwargs={"connect_args": arguments},
                    heartbeat_interval=heartbeat,
                    heartbeat_stale_trial_callback=retry_callback(),
                )
        except ArgumentError as error:
            raise _refused(f"--storage {_safe(named)}: {error}", named) from None
        except (DatabaseError, StorageInternalError) as error:
            last = error
            if isinstance(error, OperationalError) and not url.startswith("sqlite"):
                break  # no such server: asking again at once does not help
            time.sleep(0.2)
        except sqlite3.DatabaseError as error:
            last = error
            break
    origin = getattr(last, "orig", None) or last
    said = " ".join(str(origin).split())
    raise ProblemsError(Problem(f"--storage {_safe(named)} cannot be opened: {said}", hint=_hint(url)))


def _hint(url: str) -> str:
    if url.startswith("sqlite"):
        return "is it an SQLite file of another program? name another file"
    return "does the server run, does the database exist, may this user write to it?"


def _safe(storage: str) -> str:
    """The address without its password."""
    try:
        return make_url(storage).render_as_string(hide_password=True) if "://" in storage else storage
    except ArgumentError:
        return storage.partition("://")[0] + "://..."


def _refused(text: str, storage: str) -> ProblemsError:
    return ProblemsError(Problem(text.replace(storage, _safe(storage)), hint=_KINDS))
