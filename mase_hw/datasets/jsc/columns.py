"""The columns of a table of jets: which are the features, which tell the class, and what is wrong with their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.datasets.files import FileReader
from mase_hw.diagnostics import Place, Problem, ProblemsError

FEATURES = (
    *("zlogz", "c1_b0_mmdt", "c1_b1_mmdt", "c1_b2_mmdt", "c2_b1_mmdt", "c2_b2_mmdt", "d2_b1_mmdt", "d2_b2_mmdt"),
    *("d2_a1_b1_mmdt", "d2_a1_b2_mmdt", "m2_b1_mmdt", "m2_b2_mmdt", "n2_b1_mmdt", "n2_b2_mmdt", "mass_mmdt"),
    "multiplicity",
)
CLASSES = ("g", "q", "t", "w", "z")  # the labels 0 to 4
LABELS = ("class", "label", "labels", "target", "targets", "y")
LARGEST = 3.4028234e38  # of single precision

_NO_FEATURES = ("", "id", "index", "unnamed: 0")  # what tools put before a table
_SHOWN = 10
_MOST = 100_000  # wrong cells that are counted
_WANTED = "16 features (by name, or the first 16 columns), then the class as a letter, as 0 to 4, or in five columns"


@dataclass(frozen=True)
class Columns:
    """Indices of the 16 features, and either of the class or of five columns g, q, t, w, z with one 1."""

    features: tuple[int, ...]
    label: int | None
    one_hot: tuple[int, ...]
    names: tuple[str, ...]  # of all columns, for messages


def plain(name: str) -> str:
    """A column's name as this file writes it: in the physicists' files a jet's columns start with j_."""
    return name.strip().strip("'\"").strip().lower().removeprefix("j_")


def label_of(value: str) -> int | None:
    """0 to 4 for a class's letter or number."""
    text = plain(value)
    if text in CLASSES:
        return CLASSES.index(text)
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number in range(len(CLASSES)) else None


def resolve(reader: FileReader, names: Sequence[str] | None, count: int, labelled: bool, line: int = 0) -> Columns:
    """Where everything is in a table of `count` columns. `labelled`: the classes come from elsewhere."""
    known = [plain(name) for name in names] if names is not None else [str(i + 1) for i in range(count)]
    _once(reader, known, line)
    place = {name: index for index, name in enumerate(known)}
    found = [name for name in FEATURES if name in place]
    lacking = [name for name in FEATURES if name not in place]
    label = next((place[name] for name in LABELS if name in place), None)
    one_hot = tuple(place[name] for name in CLASSES) if label is None and set(CLASSES) <= set(place) else ()
    if found and lacking:
        text = f"{reader.path.name} has no column {', '.join(lacking)}"
        raise reader.refuse(text, f"its columns: {', '.join(known)}", line)
    if found:
        features = tuple(place[name] for name in FEATURES)
    else:
        taken = {label, *one_hot}
        rest = [i for i in range(count) if i not in taken and known[i] not in _NO_FEATURES]
        features, more = tuple(rest[: len(FEATURES)]), tuple(rest[len(FEATURES) :])
        if not labelled and label is None and not one_hot:
            label = more[0] if len(more) == 1 else None
            one_hot = more if len(more) == len(CLASSES) else ()
            more = () if label is not None or one_hot else more
        if len(features) < len(FEATURES) or more:
            raise reader.refuse(f"{reader.path.name} has {count} columns, and they are not named", _WANTED, line)
    if not labelled and label is None and not one_hot:
        names_shown = ", ".join(known)
        text = f"{reader.path.name} has no column with the class"
        raise reader.refuse(text, f"name it {', '.join(LABELS[:4])} or y; its columns: {names_shown}", line)
    return Columns(features, label, one_hot, tuple(known))


def _once(reader: FileReader, known: Sequence[str], line: int) -> None:
    for name in (*FEATURES, *LABELS, *CLASSES):
        if known.count(name) > 1:
            raise reader.refuse(f"{reader.path.name} has {known.count(name)} columns {name}", "leave one of them", line)


class Faults:
    """The wrong cells of one file: the first ones are shown, the others are counted."""

    def __init__(self, reader: FileReader) -> None:
        self.reader = reader
        self.shown: list[Problem] = []
        self.others = 0

    def add(self, text: str, hint: str | None = None, *, line: int = 0, times: int = 1) -> None:
        if len(self.shown) < _SHOWN:
            self.shown.append(Problem(text, Place(self.reader.path, line), hint))
            times -= 1
        self.others += times
        if self.others > _MOST:  # it is no such table
            self.raise_if_any()

    def number(self, row: str, column: str, value: object, line: int = 0) -> None:
        hint = self._once("clean such rows, or leave them out")
        self.add(f"{row}, column {column}: {value} is not a number in the range of single precision", hint, line=line)

    def label(self, row: str, column: str, value: object, line: int = 0) -> None:
        hint = self._once(f"a class is one of {', '.join(CLASSES)}, or 0 to {len(CLASSES) - 1} in that order")
        self.add(f"{row}, column {column}: {value} is no class", hint, line=line)

    def _once(self, hint: str) -> str | None:
        return None if any(problem.hint == hint for problem in self.shown) else hint

    def raise_if_any(self) -> None:
        if self.shown:
            rest = [Problem(f"{self.others} more such values", Place(self.reader.path))] if self.others else []
            raise ProblemsError(*sorted(self.shown, key=_line), *rest)


def _line(problem: Problem) -> int:
    return problem.where.line if problem.where else 0
