"""Tables in terminals of any width, in pipes and in files: no word split, nothing cut, short cells on one line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from mase_hw.cli.console import Output
from mase_hw.cli.tables import fitted

PROSE = "the cones of data_out_0_valid and data_in_0_ready hold 147 bits, none of them data"
ROWS = [
    ("fc1", "linear", "folded 8x8", "8 -> 8", "2948", PROSE),
    ("batch_norm_of_the_second_block", "batch_norm1d", "stream", "16 -> 16", "12", "short"),
    ("total", "", "", "", "10153", ""),
]


def table(columns: int = 6) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="a title", title_justify="left")
    for title in ("node", "op", "built", "lanes", "LUT", "how")[:columns]:
        made.add_column(title, overflow="fold", justify="right" if title == "LUT" else "left")
    for row in ROWS:
        made.add_row(*row[:columns])
    return made


def printed(what: Table, width: int, *, wider: bool) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=100_000 if wider else width, color_system=None).print(fitted(what, width, wider=wider))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("wider", [True, False])
def test_no_word_is_split_or_lost_at_any_width(wider: bool) -> None:
    for width in range(34, 220):
        lines = printed(table(), width, wider=wider)
        words = " ".join(lines).replace(",", " ").split()
        for cell in (cell for row in ROWS for cell in row):
            assert set(cell.replace(",", " ").split()) <= set(words), (width, cell)
        if not wider:
            assert max(map(cell_len, lines)) <= width


def test_in_a_pipe_a_row_of_short_cells_is_one_line() -> None:
    lines = printed(table(5), 40, wider=True)
    assert max(map(len, lines)) > 60
    assert sum("batch_norm_of_the_second_block" in line and "16 -> 16" in line and "12" in line for line in lines) == 1


def test_text_is_wrapped_where_that_makes_it_fit() -> None:
    lines = printed(table(), 120, wider=True)
    assert max(map(len, lines)) <= 120
    assert not any(PROSE in line for line in lines)
    assert any(PROSE in line for line in printed(table(), 200, wider=True))


def test_columns_move_together_before_rows_become_records() -> None:
    wide = max(map(len, printed(table(5), 1000, wider=False)))
    close = printed(table(5), wide - 5, wider=False)
    assert any(line.split() == ["fc1", "linear", "folded", "8x8", "8", "->", "8", "2948"] for line in close)
    records = printed(table(5), 50, wider=False)
    assert "a title" in records
    at = records.index("fc1")
    assert records[at + 1] == "  op linear, built folded 8x8, lanes 8 -> 8,"
    assert records[at + 2] == "  LUT 2948"
    assert records[records.index("total") + 1] == "  LUT 10153"


def test_a_number_keeps_its_title_in_a_record() -> None:
    made = Table(box=box.SIMPLE_HEAD)
    made.add_column("trial", justify="right")
    made.add_column("chosen")
    made.add_row("29", "x" * 60)
    assert "trial 29" in printed(made, 40, wider=False)


def test_output_asks_for_what_stdout_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    Output().show(table())
    assert max(map(len, (line.rstrip() for line in capsys.readouterr().out.splitlines()))) in range(100, 121)
    monkeypatch.setenv("COLUMNS", "80")
    Output().show(table())
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert any("batch_norm1d" in line and "16 -> 16" in line for line in lines)  # wider than asked for, and whole


def test_every_command_prints_its_tables_so() -> None:
    """A table that goes to a console without `show` would be cut there."""
    folder = Path(__file__).parents[3] / "mase_hw"
    for path in [*(folder / "cli").glob("*.py"), folder / "report" / "terminal.py"]:
        text = path.read_text(encoding="utf-8")
        assert "print(_table" not in text
        assert ".tables().print" not in text or path.name == "console.py"
