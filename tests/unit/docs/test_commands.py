"""Every `mase-hw` command line in the documentation: the command and each of its options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from pages import FENCED, PAGES, ROOT, name

from mase_hw.cli import cli

SCRIPTS = sorted((ROOT / "examples").glob("*/*.sh"))
# In code a command starts a line, or follows a prompt; in the text it stands between backticks.
IN_CODE = re.compile(r"^(?: {4})?(?:\$ )?(?:\.venv/bin/)?mase-hw ((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
IN_TEXT = re.compile(r"`(?:\.venv/bin/)?mase-hw ([^`]*)`")
INDENTED = re.compile(r"^ {4}.*$", re.MULTILINE)
PLACEHOLDERS = re.compile(r"COMMAND|BUILD|[A-Z]+")


def command_lines(page: Path) -> list[str]:
    text = page.read_text("utf-8")
    if page.suffix == ".sh":
        return IN_CODE.findall(text)
    code = [found[0] for found in FENCED.finditer(text)]
    rest = FENCED.sub("", text)
    lines = [line for block in (*code, *INDENTED.findall(rest)) for line in IN_CODE.findall(block)]
    return [line.replace("\n", " ").replace("\\", " ") for line in (*lines, *IN_TEXT.findall(rest))]


def words(line: str) -> list[str]:
    """Without a comment, an output that was piped on, or what follows in another command."""
    line = re.split(r"\s#|[|;)>]|&&|,| \.\.\.", line)[0]
    try:
        return shlex.split(line)
    except ValueError:  # a quote that ends on the next line of the text
        return line.split()


def wrong(line: str) -> str:
    """What is wrong with a command line; nothing, where all of it exists."""
    parts = [part.strip("[]") for part in words(line)]
    if not parts or parts[0].startswith("-") or PLACEHOLDERS.fullmatch(parts[0]):
        options, command = parts, cli
    else:
        with click.Context(cli) as context:
            found = cli.get_command(context, parts[0])
        if found is None:
            return f"no command {parts[0]}"
        options, command = parts[1:], found
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    unknown = [part for part in options if part.startswith("-") and part.partition("=")[0] not in known]
    return f"{' '.join(parts[:1])} has no {', '.join(unknown)}" if unknown else ""


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=name)
def test_commands_exist(page: Path) -> None:
    lines = command_lines(page)
    assert [f"mase-hw {line}: {text}" for line in lines if (text := wrong(line))] == []


def test_the_pages_have_commands() -> None:
    """The pattern finds them: every command of the program is somewhere in the documentation."""
    named = {parts[0] for page in PAGES for line in command_lines(page) if (parts := words(line))}
    with click.Context(cli) as context:
        assert set(cli.list_commands(context)) - named == set()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("emit model.toml --out build/net", ""),
        ("simulate build/net", "no command simulate"),
        ("sim build/net --wave", "sim has no --wave"),
        ("export BUILD --to vivado|quartus [--part DEVICE]", ""),
        ("train --config=a.toml --speed 3  # fast", "train has no --speed"),
    ],
)
def test_a_wrong_one_is_seen(line: str, text: str) -> None:
    assert wrong(line) == text
