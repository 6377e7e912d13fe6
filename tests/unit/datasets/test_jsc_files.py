"""Jets from every kind of file, and the cells that are wrong in one."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mase_hw.datasets.jsc import read_jsc
from mase_hw.datasets.jsc.columns import CLASSES, FEATURES
from mase_hw.diagnostics import ProblemsError

ROWS = 60
X = np.random.default_rng(3).normal(3, 20, (ROWS, 16)).astype(np.float32).astype(np.float64)
Y = np.arange(ROWS) % 5
LETTERS = [CLASSES[label] for label in Y]
HOT = np.eye(5, dtype=np.int64)[Y]
HEADER = ",".join([*FEATURES, "class"])


def text_rows(labels: list[str] | None = None, mark: str = ",") -> list[str]:
    labels = LETTERS if labels is None else labels
    return [mark.join([*map(repr, row), label]) for row, label in zip(X.tolist(), labels, strict=True)]


def write(path: Path, lines: list[str], end: str = "\n") -> None:
    data = (end.join(lines) + end).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def check(path: Path) -> None:
    x, y = read_jsc(path)
    assert np.array_equal(x, X)
    assert np.array_equal(y, Y)
    assert y.dtype == np.int64


def other_order(row: str) -> str:
    cells = row.split(",")
    return ",".join([cells[-1], "7", *cells[:-1][::-1]])


CSV: dict[str, list[str]] = {
    "header": [HEADER, *text_rows()],
    "no header": text_rows(),
    "numbers": [HEADER, *text_rows([str(label) for label in Y])],
    "numbers as floats": text_rows([f"{label}.0" for label in Y]),
    "other names": [",".join([*(f"f{i}" for i in range(16)), "Target"]), *text_rows()],
    "other order": [
        ",".join(["label", "extra", *reversed(FEATURES)]),
        *(other_order(row) for row in text_rows()),
    ],
    "an index, as pandas writes it": ["," + HEADER, *(f"{i},{row}" for i, row in enumerate(text_rows()))],
    "an index before other names": [
        ",".join(["", *(f"f{i}" for i in range(16)), "y"]),
        *(f"{i},{row}" for i, row in enumerate(text_rows())),
    ],
    "semicolons": [HEADER.replace(",", ";"), *text_rows(mark=";")],
    "tabs": text_rows(mark="\t"),
    "blanks, as savetxt writes it": ["# " + HEADER.replace(",", " "), *text_rows(mark=" ")],
    "quotes": [",".join(f'"{name}"' for name in HEADER.split(",")), *text_rows([f'"{letter}"' for letter in LETTERS])],
    "capitals, j_, blank lines": [
        ",".join(f" j_{name.upper()} " for name in FEATURES) + ",Class",
        "",
        *text_rows([letter.upper() for letter in LETTERS]),
        "  ",
    ],
    "five columns": text_rows([",".join(map(str, row)) for row in HOT]),
    "five named columns": [
        ",".join([*FEATURES, "j_g", "j_q", "j_w", "j_z", "j_t"]),
        *text_rows([",".join(str(float(row["gqtwz".index(name)])) for name in "gqwzt") for row in HOT]),
    ],
}


@pytest.mark.parametrize("kind", CSV)
@pytest.mark.parametrize("name", ["jsc.csv", "jsc.csv.gz"])
def test_csv(kind: str, name: str, tmp_path: Path) -> None:
    write(tmp_path / name, CSV[kind])
    check(tmp_path / name)


def test_csv_with_marks_of_other_systems(tmp_path: Path) -> None:
    write(tmp_path / "jsc.csv", ["\ufeff" + HEADER, *text_rows()], end="\r\n")
    check(tmp_path / "jsc.csv")


ARFF = ["% a comment", "@RELATION jets", "", *(f"@attribute '{name}' real" for name in FEATURES)]


@pytest.mark.parametrize("name", ["jsc.arff", "jsc.arff.gz"])
@pytest.mark.parametrize("label", ["@ATTRIBUTE class {g, q, w, z, t}", '@attribute\t"class"\t{g,q,w,z,t}'])
def test_arff(name: str, label: str, tmp_path: Path) -> None:
    rows = text_rows([f"'{letter}'" for letter in LETTERS])
    write(tmp_path / name, [*ARFF, label, "@data", "% the rows", *rows])
    check(tmp_path / name)


def compound(letters: bool) -> np.ndarray:
    kinds = [(f"j_{name}", "f8") for name in ("pt", *FEATURES)]
    kinds += [("class", "S1")] if letters else [(f"j_{name}", "i8") for name in "gqwzt"]
    table = np.zeros(ROWS, kinds)
    for index, name in enumerate(FEATURES):
        table[f"j_{name}"] = X[:, index]
    if letters:
        table["class"] = LETTERS
    else:
        for name in "gqwzt":
            table[f"j_{name}"] = HOT[:, "gqtwz".index(name)]
    return table


MOVED = np.array(["gqwzt".index(letter) for letter in LETTERS])
ARRAYS: dict[str, dict[str, np.ndarray]] = {
    "X and y": {"X": X, "y": Y},
    "single precision, bytes": {"x": X.astype(np.float32), "labels": Y.astype(np.uint8)},
    "letters": {"features": X, "target": np.array(LETTERS, "S1")},
    "one 1": {"data": X, "y": HOT},
    "physical units before standardised": {"X_std": X * 0, "X_physical": X, "y": Y.astype(np.float64)},
    "names in another order": {"X": X[:, ::-1], "y": Y, "feature_names": np.array(FEATURES[::-1], "S20")},
    "more columns": {
        "jets": np.column_stack([Y * 0, X, HOT[:, ::-1]]),
        "jetFeatureNames": np.array(["j_pt", *(f"j_{name}" for name in FEATURES), *"zwtqg"], "S20"),
    },
    "classes in another order": {"X": X, "y": MOVED, "class_names": np.array(list("gqwzt"), "S1")},
    "one 1 in another order": {"X": X, "y": np.eye(5)[MOVED], "class_names": np.array(list("gqwzt"), "S1")},
    "letters need no order": {"X": X, "y": np.array(LETTERS, "S1"), "class_names": np.array(list("gqwzt"), "S1")},
    "class in the matrix": {"X": np.column_stack([X, Y])},
    "compound": {"t_allPar_new": compound(False)},
    "compound with letters": {"table": compound(True)},
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_npz(kind: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "jsc.npz", **ARRAYS[kind])
    check(tmp_path / "jsc.npz")


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", ["jsc.h5", "jsc.hdf5", "jsc.z"])
def test_h5(kind: str, name: str, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / name, "w") as file:
        for key, value in ARRAYS[kind].items():
            file[key] = value
    check(tmp_path / name)


def test_h5_does_not_follow_links_to_other_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"], file["y"] = X, Y
    with h5py.File(tmp_path / "jsc.h5", "w") as file:
        file["X"], file["y"] = (h5py.ExternalLink("other.h5", key) for key in "Xy")
    assert "jsc.h5 has no samples; it holds nothing" in problem(tmp_path / "jsc.h5")


def problem(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        read_jsc(path)
    return str(caught.value)


def test_h5_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "jsc.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert problem(tmp_path / "jsc.h5") == (
        f"{tmp_path}/jsc.h5: error: jsc.h5 is HDF5, and h5py is not installed\n"
        "  hint: pip install 'mase-hw[data]', or save the table as npz or csv"
    )


def changed(row: int, column: int, cell: str) -> list[str]:
    rows = [line.split(",") for line in text_rows()]
    rows[row][column] = cell
    return [HEADER, *(",".join(line) for line in rows)]


def test_wrong_cells_are_told_with_line_row_and_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [HEADER, "", *text_rows()]
    lines[4] = lines[4].replace(repr(X.tolist()[2][14]), "?")
    lines[6] = lines[6][:-1] + "x"
    lines[7] += ",1"
    lines[9] = lines[9].replace(repr(X.tolist()[7][0]), "nan")
    write(Path("jsc.csv"), lines)
    said = problem(Path("jsc.csv")).splitlines()
    assert [line for line in said if "error" in line] == [
        "jsc.csv:5: error: row 3, column mass_mmdt: '?' is not a number in the range of single precision",
        "jsc.csv:7: error: row 5, column class: 'x' is no class",
        "jsc.csv:8: error: row 6 has 18 columns, not 17",
        "jsc.csv:10: error: row 8, column zlogz: nan is not a number in the range of single precision",
    ]
    assert said.count("  hint: clean such rows, or leave them out") == 1
    assert "  hint: a class is one of g, q, t, w, z, or 0 to 4 in that order" in said
    assert f"    8 | {lines[7]}" in said


@pytest.mark.parametrize("cell", ["nan", "-inf", "1e39", "-1e39", "", "abc", "?"])
def test_no_number(cell: str, tmp_path: Path) -> None:
    write(tmp_path / "jsc.csv", changed(4, 0, cell))
    said = repr(cell) if cell in ("", "abc", "?") else str(float(cell))
    assert f"jsc.csv:6: error: row 5, column zlogz: {said} is not a number" in problem(tmp_path / "jsc.csv")


@pytest.mark.parametrize("cell", ["5", "-1", "1.5", "gluon", "", "nan"])
def test_no_class(cell: str, tmp_path: Path) -> None:
    write(tmp_path / "jsc.csv", changed(4, 16, cell))
    assert f"jsc.csv:6: error: row 5, column class: '{cell}' is no class" in problem(tmp_path / "jsc.csv")


@pytest.mark.parametrize("cells", ["0,0,0,0,0", "1,1,0,0,0", "0,2,0,0,0", "0.5,0.5,0,0,0", "0,x,0,0,1", "nan,0,0,0,1"])
def test_five_columns_with_one_1(cells: str, tmp_path: Path) -> None:
    hot = [",".join(map(str, row)) for row in HOT]
    write(tmp_path / "jsc.csv", text_rows([*hot[:9], cells, *hot[10:]]))
    expected = f"jsc.csv:10: error: row 10, column g, q, t, w, z: '{cells.replace(',', ' ')}' is no class"
    assert expected in problem(tmp_path / "jsc.csv")


def test_many_wrong_cells_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "jsc.csv", [HEADER, *(line[:-1] + "x" for line in text_rows())])
    said = problem(tmp_path / "jsc.csv")
    assert said.count("is no class") == 10
    assert said.endswith("jsc.csv: error: 50 more such values")
    x = X.copy()
    x[:, 3] = np.nan
    np.savez(tmp_path / "jsc.npz", X=x, y=Y + 5)
    said = problem(tmp_path / "jsc.npz")
    assert said.count("row ") == 10
    assert "row 9 (from 0), column 4: nan" in said
    assert said.endswith(f"{2 * ROWS - 10} more such values")


def bad(**arrays: object) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **{"X": X, "y": Y, **arrays})  # type: ignore[arg-type]


def with_cell(row: int, column: int, value: float) -> np.ndarray:
    x = X.copy()
    x[row, column] = value
    return x


NPZ: dict[str, Callable[[Path], None]] = {
    "row 7 (from 0), column mass_mmdt: nan": bad(X=with_cell(7, 14, np.nan), names=np.array(FEATURES)),
    "row 7 (from 0), column 1: 1e+39": bad(X=with_cell(7, 0, 1e39)),
    "row 3 (from 0), column of the class: '9' is no class": bad(y=np.where(np.arange(ROWS) == 3, 9, Y)),
    "row 0 (from 0), column of the class: 'x' is no class": bad(y=np.array(["x", *LETTERS[1:]])),
    "row 0 (from 0), column g, q, t, w, z: [1, 1, 1, 1, 1] is no class": bad(y=np.where(Y[:, None] == 0, 1, HOT)),
    "jsc.npz has 15 columns, and they are not named": bad(X=X[:, :15]),
    "jsc.npz has 18 columns, and they are not named": bad(X=np.column_stack([X, X[:, :2]])),
    "jsc.npz has 60 rows of features and 59 labels": bad(y=Y[1:]),
    "the samples have shape (60, 4, 4), not (rows, 16)": bad(X=X.reshape(ROWS, 4, 4)),
    "the labels have shape (60, 4)": bad(y=HOT[:, :4]),
    "jsc.npz names 15 columns and has 16": bad(names=np.array(FEATURES[1:])),
    "jsc.npz has no column zlogz": bad(names=np.array(["z", *FEATURES[1:]])),
    "jsc.npz has 2 columns c1_b1_mmdt": bad(names=np.array([*FEATURES[:15], FEATURES[2]])),
    "class_names = g, q, w, z": bad(class_names=np.array(list("gqwz"))),
    "column 1 holds <U32, not numbers": bad(X=X.astype("U32")),
    "it holds y int64[60]": lambda path: np.savez(path, y=Y),
    "jsc.npz has too few rows of a class: g 10, q 9, t 9, w 9, z 9": bad(X=X[:46], y=Y[:46]),
    "jsc.npz is no npz": lambda path: path.write_bytes(b"PK not really") and None,
}


@pytest.mark.parametrize("text", NPZ)
def test_wrong_npz(text: str, tmp_path: Path) -> None:
    NPZ[text](tmp_path / "jsc.npz")
    assert text in problem(tmp_path / "jsc.npz")


WHOLE = "\n".join(text_rows()).encode()
TEXT = {
    "jsc.csv is empty": ("jsc.csv", b""),
    "jsc.csv has 3 columns, and they are not named": ("jsc.csv", b"1,2,3\n"),
    "jsc.csv has no column with the class": ("jsc.csv", ",".join(FEATURES).encode()),
    "jsc.csv has no column zlogz, c1_b0_mmdt": ("jsc.csv", HEADER.partition("mmdt,")[2].encode()),
    "jsc.csv is no text: byte 0 is not UTF-8": ("jsc.csv", b"\x80abc\n"),
    "jsc.csv.gz cannot be read: Not a gzipped file": ("jsc.csv.gz", b"1,2,3\n"),
    "jsc.csv.gz cannot be read: Compressed file ended": ("jsc.csv.gz", gzip.compress(WHOLE)[:-9]),
    "jsc.arff has no @data": ("jsc.arff", "\n".join(ARFF).encode()),
    "'1,2,3' is no line of an arff header": ("jsc.arff", b"@relation x\n1,2,3\n"),
    "row 1 has 1 columns, not 17": ("jsc.arff", "\n".join([*ARFF, "@attribute y real", "@data", "{1 2}"]).encode()),
    "jsc.csv has too few rows of a class: g 0, q 0, t 0, w 0, z 0": ("jsc.csv", HEADER.encode()),
}


@pytest.mark.parametrize("text", TEXT)
def test_wrong_text(text: str, tmp_path: Path) -> None:
    name, content = TEXT[text]
    (tmp_path / name).write_bytes(content)
    assert f"error: {text}" in problem(tmp_path / name)


def test_pickled_arrays_are_refused_and_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    y = np.array([Evil(ran)] * ROWS, dtype=object)
    np.savez(tmp_path / "jsc.npz", X=X, y=y)
    assert "jsc.npz has the array 'y.npy' of object, which is not read" in problem(tmp_path / "jsc.npz")
    assert not ran.exists()


class Evil:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)
