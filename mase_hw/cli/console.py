"""What every command prints, and where: --quiet, --verbose and --json in one place, for all of them."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:  # loaded when something is printed: --help and completion do without
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.status import Status
    from rich.table import Table

Function = TypeVar("Function", bound=Callable[..., Any])

_KEY = "mase_hw.output"
_HEADING = "mase_hw.heading"
_STDOUT = "mase_hw.stdout"
_TABLE_WIDTH = 120  # where stdout is no terminal: text in tables is wrapped to it, if it can be
_WIDE = 100_000  # more than any table
HINTS = {
    "quiet": "Print errors and the last line alone.",
    "verbose": "Print more, to stderr: the tools that are run, with their arguments.",
    "json": "Print one JSON document to stdout, and nothing else; notes, and what your code prints, go to stderr.",
}


@dataclass(frozen=True)
class Output:
    """How a command speaks. Lines and tables go to stdout, notes too, progress to stderr.

    Quiet, only the last line is left. With JSON, stdout gets the document, and stderr the notes.
    """

    quiet: bool = False
    verbose: bool = False
    json: bool = False

    @property
    def talks(self) -> bool:
        """Whether lines and tables are printed."""
        return not self.quiet and not self.json

    def show(self, table: Table) -> None:
        """A table that fits: see `tables.fitted`."""
        if not self.talks:
            return
        from mase_hw.cli.tables import fitted

        terminal = sys.stdout.isatty()
        asked = os.environ.get("COLUMNS", "")
        width = self.tables().width if terminal else int(asked) if asked.isdecimal() else _TABLE_WIDTH
        what = fitted(table, width, wider=not terminal)
        (self.tables() if terminal else self._stdout(width=_WIDE)).print(what)

    def line(self, text: str, style: str | None = None) -> None:
        if self.talks:
            self._stdout().print(text, style=style)

    def heading(self, text: str) -> None:
        """The first line of what goes to stdout. It is printed with the next one: a refusal prints none."""
        context = click.get_current_context(silent=True)
        if context is not None and self.talks:
            context.meta[_HEADING] = text

    def notes(self, notes: Iterable[str]) -> None:
        """What the user should know and did not ask for."""
        for note in () if self.quiet else notes:
            text = note if note.startswith("WARNING: ") else f"note: {note}"
            (self._stderr() if self.json else self._stdout()).print(text)

    def final(self, text: str, style: str | None = None) -> None:
        """The last line: what came of it."""
        if not self.json:
            self._stdout().print(text, style=style)

    def document(self, content: Mapping[str, Any] | list[Any]) -> None:
        """All of it for programs, with --json."""
        if self.json:
            context = click.get_current_context(silent=True)
            stream = None if context is None else context.meta.get(_STDOUT)
            click.echo(json.dumps(_finite(content), indent=2, allow_nan=False), file=stream)

    def tables(self) -> Console:
        """stdout for those who print more than lines."""
        return self._stdout(width=None if sys.stdout.isatty() else _TABLE_WIDTH, wide=False)

    def status(self, text: str) -> Status:
        """A spinner while something takes long."""
        return self.errors().status(text)

    def progress(self, *columns: ProgressColumn, transient: bool = True) -> Progress:
        """A bar, on a terminal alone."""
        from rich.progress import Progress

        errors = self.errors()
        return Progress(*columns, console=errors, transient=transient, disable=self.quiet or not errors.is_terminal)

    def errors(self) -> Console:
        """stderr, silent with --quiet: a Problem is printed by `main`, not here."""
        return self._stderr(quiet=self.quiet)

    def _stdout(self, *, width: int | None = None, wide: bool = True) -> Console:
        from rich.console import Console

        context = click.get_current_context(silent=True)
        heading = None if context is None else context.meta.pop(_HEADING, None)
        if heading is not None:
            self._stdout().print(heading)
        return Console(markup=False, highlight=False, soft_wrap=wide and width is None, width=width)

    def _stderr(self, quiet: bool = False) -> Console:
        from rich.console import Console

        return Console(stderr=True, quiet=quiet, markup=False, highlight=False, soft_wrap=True)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: they are written as strings."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def output() -> Output:
    """That of the command that runs."""
    context = click.get_current_context(silent=True)
    found = Output() if context is None else context.meta.get(_KEY, Output())
    assert isinstance(found, Output)
    return found


def json_option(function: Function) -> Function:
    """Adds --json; the command hands its document to `output().document`."""
    return click.option("--json", is_flag=True, expose_value=False, is_eager=True, callback=_set, help=HINTS["json"])(
        function
    )


def with_output_options(command: click.Command) -> click.Command:
    """Adds --quiet and --verbose to a command, once."""
    known = {name for parameter in command.params for name in parameter.opts}
    for name in ("quiet", "verbose"):
        if f"--{name}" not in known:
            flags = [f"--{name}"] if f"-{name[0]}" in known else [f"-{name[0]}", f"--{name}"]
            command.params.append(
                click.Option(flags, is_flag=True, expose_value=False, is_eager=True, callback=_set, help=HINTS[name])
            )
    return command


def _set(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """One of the flags was read. The contexts of a group and of its command share their `meta`."""
    if not value or parameter.name is None or context.resilient_parsing:
        return
    context.meta[_KEY] = now = replace(output_of(context), **{parameter.name: True})
    if now.quiet and now.verbose:
        raise click.UsageError("--quiet and --verbose contradict each other", context)
    if parameter.name == "verbose":
        _log_to_stderr(context)
    if parameter.name == "json" and _STDOUT not in context.meta:
        context.meta[_STDOUT] = context.with_resource(_kept_stdout())


@contextmanager
def _kept_stdout() -> Iterator[TextIO]:
    """stdout for the document alone. What a user's code prints, its C code and its processes too, goes to stderr."""
    stdout = sys.stdout
    real = stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))
        if not real:
            yield stdout  # a test's or a caller's, which has no file descriptor to keep
            return
        stdout.flush()
        kept = os.dup(stdout.fileno())
        stack.callback(os.close, kept)
        stack.callback(os.dup2, kept, stdout.fileno())
        os.dup2(sys.stderr.fileno(), stdout.fileno())
        with open(kept, "w", encoding=stdout.encoding, errors=stdout.errors, closefd=False) as stream:
            yield stream
        stdout.flush()  # what was written to it by name, before it is itself again


def output_of(context: click.Context) -> Output:
    found = context.meta.get(_KEY, Output())
    assert isinstance(found, Output)
    return found


def _log_to_stderr(context: click.Context) -> None:
    """Shows what the package logs, until the command ends."""
    logger, handler = logging.getLogger("mase_hw"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)

    def end() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)

    context.call_on_close(end)
