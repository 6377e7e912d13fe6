"""Pickles of arrays are read; a pickle with anything else in it is refused, and its code does not run."""

from __future__ import annotations

import collections
import copyreg
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mase_hw.datasets.pickles import read_pickle
from mase_hw.diagnostics import ProblemsError

PIXELS = np.random.default_rng(1).integers(0, 256, (3, 8), dtype=np.uint8)


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "data_batch_1"
    path.write_bytes(data)
    return path


def problem(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(ProblemsError) as caught:
        read_pickle(write(tmp_path, data))
    return str(caught.value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", ["u1", "i1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(protocol: int, kind: str, order: Any, tmp_path: Path) -> None:
    array = np.array(PIXELS.astype(kind), order=order)
    content = {"data": array, "labels": [3, 1, -2], b"batch_label": b"first \xff", "none": None, "x": [1.5, "é"]}
    read = read_pickle(write(tmp_path, pickle.dumps(content, protocol)))
    assert list(read) == ["data", "labels", "batch_label", "none", "x"]
    assert read["data"].dtype == array.dtype
    assert np.array_equal(read["data"], array)
    assert {key: value for key, value in read.items() if key != "data"} == {
        "labels": [3, 1, -2],
        "batch_label": b"first \xff",
        "none": None,
        "x": [1.5, "é"],
    }


def test_what_python_2_wrote(tmp_path: Path) -> None:
    """Byte strings, as in the published batches."""
    data = b"".join(
        [
            b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R",
            b"(K\x01K\x02K\x03\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff",
            b"K\x00tb\x89U\x06\x00\x01\x02\xfd\xfe\xfftbU\x06labels](K\x07K\x08eu.",
        ]
    )
    read = read_pickle(write(tmp_path, data))
    assert read["data"].tolist() == [[0, 1, 2], [253, 254, 255]]
    assert read["labels"] == [7, 8]


class Evil:
    """Unpickling it makes a file."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call[0], self.call[1:]


def test_code_does_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for call in ((os.mkdir, str(ran)), (eval, f"open({str(ran)!r}, 'w')"), (Path.touch, ran)):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps({"data": PIXELS, "labels": [Evil(*call)]}, protocol)
            said = problem(tmp_path, data)
            assert "data_batch_1 is refused: it names " in said
            assert any(name in said for name in ("mkdir", "eval", "pathlib", "getattr"))
            assert not ran.exists()
            pickle.loads(data)  # the pickle is what it is said to be
            assert ran.exists()
            ran.rmdir() if ran.is_dir() else ran.unlink()


def test_old_opcodes_do_not_run_either(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    call = f"(S{str(ran)!r}\nios\nmkdir\n.".encode()  # INST
    assert problem(tmp_path, call).count("names os.mkdir") == 1
    call = f"(cos\nmkdir\nS{str(ran)!r}\no.".encode()  # OBJ
    assert problem(tmp_path, call).count("names os.mkdir") == 1
    assert not ran.exists()
    pickle.loads(call)
    assert ran.exists()


def test_extensions_and_persistent_objects(tmp_path: Path) -> None:
    copyreg.add_extension("os", "getcwd", 240)  # type: ignore[arg-type]
    try:
        assert "names the extension 240" in problem(tmp_path, b"\x80\x02\x82\xf0.")
    finally:
        copyreg.remove_extension("os", "getcwd", 240)  # type: ignore[arg-type]
    assert "names an object outside of it" in problem(tmp_path, b"Pabc\n.")


@pytest.mark.parametrize(
    "value",
    [
        collections.OrderedDict(a=1),
        {1, 2},
        (1, 2),
        1j,
        np.float64(3),
        range(3),
        int,
        np.zeros(2, object),
        np.array("a"),
    ],
    ids=repr,
)
def test_other_values_are_refused(value: object, tmp_path: Path) -> None:
    assert "data_batch_1 is refused: it" in problem(tmp_path, pickle.dumps({"x": value}))


def test_names_of_numpy_alone_are_refused(tmp_path: Path) -> None:
    for name in (b"cnumpy\nndarray\n.", b"cnumpy\ndtype\n.", b"cnumpy.core.multiarray\n_reconstruct\n."):
        assert "is refused: it holds a Stub" in problem(tmp_path, name)
    for name in (b"cnumpy\nload\n.", b"cnumpy.core.multiarray\nscalar\n.", b"cnumpy.f2py\ncompile\n."):
        assert "is refused: it names numpy" in problem(tmp_path, name)


def array_pickle(shape: bytes, raw: bytes, kind: bytes = b"u1", order: bytes = b"|") -> bytes:
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01" + shape
    state = b"(K\x03U\x01" + order + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    text = b"U" + bytes([len(kind)]) + kind
    return head + b"cnumpy\ndtype\n" + text + b"K\x00K\x01\x87R" + state + b"\x89U" + bytes([len(raw)]) + raw + b"tb."


def test_arrays_that_lie(tmp_path: Path) -> None:
    assert read_pickle(write(tmp_path, array_pickle(b"K\x02\x85", b"ab"))).tolist() == [97, 98]
    huge = b"J\xff\xff\xff\x7f"
    for shape in (
        b"K\x03\x85",
        huge + b"\x85",
        huge * 3 + b"\x87",
        b"J\xff\xff\xff\xffJ\xfe\xff\xff\xff\x86",
        b"]",
        b"G@\0\0\0\0\0\0\0\x85",
    ):
        assert "shape and bytes do not fit" in problem(tmp_path, array_pickle(shape, b"ab"))
    assert "holds an array of 'O'" in problem(tmp_path, array_pickle(b"K\x01\x85", b"abcdefgh", b"O"))
    assert "holds an array of >i8" in problem(tmp_path, array_pickle(b"K\x01\x85", b"abcdefgh", b"i8", b">"))


def test_what_stands_for_numpy_cannot_be_changed(tmp_path: Path) -> None:
    for change in (b"}(U\x04nameU\x06encodeub.", b"N}(U\x04nameU\x06encodeu\x86b."):
        assert "sets the state of dtype" in problem(tmp_path, b"\x80\x02cnumpy\ndtype\n" + change)


def test_damaged(tmp_path: Path) -> None:
    whole = pickle.dumps({"data": PIXELS, "labels": [1, 2, 3]}, 2)
    for end in range(len(whole)):
        said = problem(tmp_path, whole[:end])
        assert "is no pickle, or it is damaged" in said or "is refused: it names" in said  # half of a name
    assert "is no pickle, or it is damaged" in problem(tmp_path, b"hello")
    with pytest.raises(ProblemsError, match="cannot be read: No such file"):
        read_pickle(tmp_path / "nothing")


def test_flipped_bytes_never_run_or_crash(tmp_path: Path) -> None:
    whole = pickle.dumps({"data": PIXELS, "labels": [1, 2, 3]}, 2)
    draw = np.random.default_rng(4)
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for index in draw.integers(0, len(data), 2):
            data[index] = draw.integers(0, 256)
        try:
            read_pickle(write(tmp_path, bytes(data)))
        except ProblemsError:
            refused += 1
    assert refused > 100


def test_small_files_that_would_fill_the_memory(tmp_path: Path) -> None:
    shared = (
        b"]" + b"".join(b"q" + bytes([i]) + b"](h" + bytes([i]) + b"h" + bytes([i]) + b"e" for i in range(60)) + b"."
    )
    deep = read_pickle(write(tmp_path, shared))  # 2 ** 60 lists, if each were copied
    assert len(deep) == 2
    memo = b"]r" + struct.pack("<I", 0xFFFFFFFF) + b"."
    assert read_pickle(write(tmp_path, memo)) == []
    assert "damaged" in problem(tmp_path, b"\x96" + struct.pack("<Q", 1 << 62) + b".")
    itself: list[Any] = []
    itself.append(itself)
    assert "damaged: RecursionError" in problem(tmp_path, pickle.dumps(itself))
