"""A user's mistake: what is wrong, where, and how to mend it. Collected until a phase ends, then shown together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_SHOWN_FILE = 64 << 20  # bytes, of a file whose line is shown
_SHOWN_LINE = 400  # characters
MOST = 100  # problems of a phase; nobody reads more
PLACE_KEY = "place"  # of node.meta


@dataclass(frozen=True)
class Place:
    """A line of a text file; line 0 stands for the file as a whole."""

    path: Path
    line: int = 0

    def __str__(self) -> str:
        try:
            shown = self.path.resolve().relative_to(Path.cwd().resolve())
        except ValueError:
            shown = self.path
        return f"{shown}:{self.line}" if self.line else f"{shown}"

    def source(self) -> str | None:
        """The line's text, when the file can be read."""
        if not self.line:
            return None
        try:
            if not self.path.is_file() or self.path.stat().st_size > _SHOWN_FILE:
                return None
            line = self.path.read_text(encoding="utf-8").splitlines()[self.line - 1].rstrip()
        except (OSError, UnicodeDecodeError, IndexError):
            return None
        return line if len(line) <= _SHOWN_LINE else f"{line[:_SHOWN_LINE]}..."


@dataclass(frozen=True)
class Problem:
    """One mistake of the user's. `message` starts with the subject (a TOML key path, a node, a file)."""

    message: str
    where: Place | None = None
    hint: str | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.where}: error: {self.message}" if self.where else f"error: {self.message}"]
        source = self.where.source() if self.where else None
        if self.where and source is not None:
            lines.append(f"{self.where.line:>5} | {source}")
        if self.hint:
            lines.append("\n        ".join(f"  hint: {self.hint}".splitlines()))
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


class ProblemsError(Exception):
    """Raised at the end of a phase that found problems; the command line prints them and exits with 1."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in the place of a traceback: what the command line prints."""
        return str(self).splitlines()


class Collector:
    """Gathers the problems of a phase: `with Collector() as found: ... found.add(...)` raises them all at its end."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(
        self, message: str, where: Place | None = None, hint: str | None = None, notes: tuple[str, ...] = ()
    ) -> None:
        self.problems.append(Problem(message, where, hint, notes))
        if len(self.problems) >= MOST:
            self.problems.append(Problem(f"there may be more than these {MOST} problems"))
            self.raise_if_any()

    def attempt(self, step: Callable[[], Result]) -> Result | None:
        """What `step` gives, or None: its problems are kept, so that those of the next step are shown with them."""
        try:
            return step()
        except ProblemsError as error:
            self.problems += error.problems
            return None

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ProblemsError):
            raise ProblemsError(*self.problems, *error.problems) from None
        if error is None:
            self.raise_if_any()

    def raise_if_any(self) -> None:
        problems, self.problems = self.problems, []  # handed over: the end of the `with` must not show them again
        if problems:
            raise ProblemsError(*problems)
