"""Jets from text: csv (comma, semicolon, tab or blanks; with or without a header) and arff, either also gzipped."""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import IO

import numpy as np

from mase_hw.datasets.files import FileReader
from mase_hw.datasets.jsc.columns import LARGEST, Columns, Faults, label_of, plain, resolve
from mase_hw.datasets.registry import Labels

_LINE = 1 << 16  # characters
_RATIO = 100  # that gzip makes a table of numbers smaller by, at the most
_LEAST = 16 << 20
Lines = Iterator[tuple[int, str]]
Table = tuple[np.ndarray, Labels]


def read_csv(path: Path) -> Table:
    """The features in double precision and the classes of a csv."""
    reader = FileReader(path)
    with _Readable(reader), _open(path) as source:
        lines = _lines(reader, source, "")
        first = next(lines, None)
        if first is None:
            raise reader.refuse(f"{path.name} is empty")
        line, text = first
        delimiter = next((mark for mark in ",;\t" if mark in text), None)
        head = _fields(text.lstrip("# "), delimiter)
        if _is_header(head):
            columns = resolve(reader, head, len(head), False, line)
            return _table(reader, columns, delimiter, lines)
        return _table(reader, resolve(reader, None, len(head), False, line), delimiter, _put_back(first, lines))


def read_arff(path: Path) -> Table:
    """The features in double precision and the classes of an arff."""
    reader = FileReader(path)
    with _Readable(reader), _open(path) as source:
        lines = _lines(reader, source, "%")
        names: list[str] = []
        for line, text in lines:
            word, *rest = text.split(None, 1)
            if word.lower() == "@attribute":
                names.append(_attribute("".join(rest)))
            elif word.lower() == "@data":
                return _table(reader, resolve(reader, names, len(names), False, line), ",", lines)
            elif word.lower() != "@relation":
                raise reader.refuse(f"{text[:40]!r} is no line of an arff header", "see @relation, @attribute", line)
        raise reader.refuse(f"{path.name} has no @data", "is it the whole file?")


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


class _Readable:
    """What reading may raise, as a Problem with the file."""

    def __init__(self, reader: FileReader) -> None:
        self.reader = reader

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        name = self.reader.path.name
        if isinstance(error, UnicodeDecodeError):
            raise self.reader.refuse(f"{name} is no text: byte {error.start} is not UTF-8") from None
        if isinstance(error, OSError | EOFError | zlib.error):
            raise self.reader.refuse(f"{name} cannot be read: {error}", "fetch it again") from None
        if isinstance(error, csv.Error):
            raise self.reader.refuse(f"{name} is no table: {error}") from None


def _lines(reader: FileReader, source: IO[str], comment: str) -> Lines:
    """Lines of a bounded length; a file that unpacks to far more than it has is no table."""
    left = max(_LEAST, reader.path.stat().st_size * _RATIO)
    for line, raw in enumerate(iter(lambda: source.readline(_LINE), ""), start=1):
        left -= len(raw)
        if left < 0 or len(raw) >= _LINE:
            what = "unpacks to far more than it has" if left < 0 else f"has a line of {_LINE} characters or more"
            raise reader.refuse(f"{reader.path.name} {what}", "is it the table of jets?", line)
        text = raw.strip()
        if text and not (comment and text.startswith(comment)):
            yield line, text


def _put_back(first: tuple[int, str], lines: Lines) -> Lines:
    yield first
    yield from lines


def _fields(text: str, delimiter: str | None) -> list[str]:
    if '"' in text:
        return next(csv.reader([text], delimiter=delimiter or " ", skipinitialspace=True))
    return text.split(delimiter)


def _is_header(fields: list[str]) -> bool:
    """A header names columns; the class's letter alone, in a row of numbers, does not make one."""
    return sum(_number(field) is None for field in fields) > len(fields) // 2


def _attribute(rest: str) -> str:
    if rest[:1] in ("'", '"'):
        return rest[1:].partition(rest[0])[0]
    return rest.split(None, 1)[0] if rest else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _table(reader: FileReader, columns: Columns, delimiter: str | None, lines: Lines) -> Table:
    """Row by row, the plain case first: there may be a million of them. Wrong cells are told at the end."""
    faults = Faults(reader)
    pick = itemgetter(*columns.features)
    x, y, places = array("d"), array("b"), []
    for row, (line, text) in enumerate(lines, start=1):
        fields = _fields(text, delimiter)
        if len(fields) != len(columns.names):
            hint = "sparse rows are not read" if text.startswith("{") else None
            faults.add(f"row {row} has {len(fields)} columns, not {len(columns.names)}", hint, line=line)
            continue
        try:
            x.extend([float(cell) for cell in pick(fields)])
        except ValueError:
            for index in columns.features:
                value = _number(fields[index])
                if value is None:
                    faults.number(f"row {row}", columns.names[index], repr(fields[index].strip()), line)
                x.append(value or 0.0)
        label = _label(fields, columns)
        if label is None:
            cells = [fields[index] for index in columns.one_hot] or [fields[columns.label or 0]]
            name = "g, q, t, w, z" if columns.one_hot else columns.names[columns.label or 0]
            faults.label(f"row {row}", name, repr(" ".join(plain(cell) for cell in cells)), line)
        y.append(0 if label is None else label)
        places.append((row, line))
    table = np.array(x).reshape(-1, len(columns.features))
    wrong = np.argwhere(~(np.abs(table) <= LARGEST))
    for index, column in wrong[:10].tolist():
        name = columns.names[columns.features[column]]
        row, line = places[index]
        faults.number(f"row {row}", name, table[index, column], line)
    faults.others += max(0, len(wrong) - 10)
    faults.raise_if_any()
    return table, np.array(y, dtype=np.int64)


def _label(fields: list[str], columns: Columns) -> int | None:
    if columns.label is not None:
        return _known_label(fields[columns.label])
    hot = [_number(fields[index]) for index in columns.one_hot]
    return hot.index(1.0) if sorted(hot, key=lambda cell: cell or 0.0) == [0.0] * (len(hot) - 1) + [1.0] else None


_known_label = lru_cache(maxsize=64)(label_of)
