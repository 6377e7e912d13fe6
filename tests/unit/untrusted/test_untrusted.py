"""What is read from elsewhere: regular files inside a folder, once; JSON, arrays and TOML within limits."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mase_hw.untrusted import Folder, RefusedError, own_folder, parse_json, parse_npz, parse_toml, read_regular
from mase_hw.untrusted import folder as folder_module

LIMIT = 1 << 20


def refusal(*call: object) -> str:
    function, *arguments = call
    with pytest.raises(RefusedError) as caught:
        function(*arguments)  # type: ignore[operator]
    return str(caught.value)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("then")
    folder = Folder(tmp_path)
    assert folder.read("inner/file") == b"then"
    (tmp_path / "inner" / "file").write_text("now")
    assert folder.read("inner/file") == b"then"
    assert Folder(tmp_path).read("inner/file") == b"now"


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "a//b", "./a", "", "a/../b", "a\0b", "a\\b", "/".join("a" * 9)]
)
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    assert "is refused" in refusal(Folder(tmp_path).read, name)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "file").touch()
    folder = Folder(tmp_path)
    assert refusal(folder.read, "fifo") == "is a FIFO, not a file"
    assert refusal(folder.read, "link") == "is a link, not a file"
    assert refusal(folder.read, "folder") == "is a folder, not a file"
    assert refusal(folder.read, "linked/file") == "is a link, not a folder"
    assert folder.read("folder/file") == b""
    assert refusal(read_regular, tmp_path / "device", LIMIT) == "is a device, not a file"
    assert refusal(read_regular, tmp_path / "fifo", LIMIT) == "is a FIFO, not a file"
    assert Folder(tmp_path / "linked").read("file") == b""  # the folder itself is what the user named
    assert "is a link" in refusal(own_folder, tmp_path, "linked")
    assert "fifo is a FIFO" in refusal(Folder(tmp_path.parent).names, tmp_path.name)


@pytest.mark.parametrize("name", ["rtl/top.sv", "top.sv"])
def test_a_link_that_appears_after_the_check_is_not_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody swaps the file, or its folder, between the look at it and the opening."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "top.sv").write_text("of somebody else")
    build = tmp_path / "build"
    build.mkdir()
    if name == "top.sv":
        (build / name).symlink_to(secret / "top.sv")
    else:
        (build / "rtl").symlink_to(secret)
    monkeypatch.setattr(folder_module, "_expect", lambda *given: None)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        Folder(build).read(name)


def test_files_have_a_limit(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert "1,048,576 are the most" in refusal(Folder(tmp_path).read, "sparse", LIMIT)
    assert "1,048,576 are the most" in refusal(read_regular, tmp_path / "sparse", LIMIT)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "[" * 200_000: "is nested more than 64 deep",
        '{"a":' * 200_000: "is nested more than 64 deep",
        "1" * 5_000: "an integer of 5,000 digits",
        "NaN": "not finite",
        "[-Infinity]": "not finite",
        "1e999": "not finite",
        '{"files": [], "files": [1]}': "more than once",
        "{": "is no JSON",
        "": "is no JSON",
        '"' + "\\" * 99_999: "is no JSON",
    }.items(),
)
def test_json_within_limits(text: str, said: str) -> None:
    assert said in refusal(parse_json, text.encode())


def test_json_as_it_should_be() -> None:
    assert parse_json(b'{"a": [1, -2.5, "[[[", "\\"{", null, true]}') == {"a": [1, -2.5, "[[[", '"{', None, True]}
    assert "UTF-8" in refusal(parse_json, b"\xff")


def npz(content: bytes, name: str = "x.npy", compression: int = zipfile.ZIP_STORED, times: int = 1) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for k in range(times):
            archive.writestr(name if k == 0 else f"{k}{name}", content)
    return file.getvalue()


def npy(shape: str, descr: str = "'<i8'", data: bytes = b"") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK", "is no npz"),
        (npz(npy(f"({1 << 40},)")), "does not have the bytes of its shape"),
        (npz(npy(f"({1 << 40}, 0)", data=b"12345678")), "does not have the bytes"),
        (npz(npy("(-1,)", data=b"12345678")), "does not have the bytes"),
        (npz(npy("(1,)", "'|O'", b"12345678")), "of object, which is not read"),
        (npz(npy("(1,)", "[('a', '<i8')]", b"12345678")), "which is not read"),
        (npz(npy("(" * 300)), "the header of 'x.npy'"),
        (npz(b"nothing"), "the header of 'x.npy'"),
        (npz(b"", "x.txt"), "which is no array"),
        (npz(bytes(LIMIT + 1)), "unpacks to 1,048,577 bytes"),
        (npz(bytes(1000), compression=zipfile.ZIP_DEFLATED), "is compressed"),
    ],
)
def test_arrays_within_limits(data: bytes, said: str) -> None:
    assert said in refusal(parse_npz, data, LIMIT)


def test_the_sizes_of_all_members_are_added_up() -> None:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(LIMIT // 16), b=np.zeros(LIMIT // 16))
    assert "unpacks to 1,048,832 bytes" in refusal(parse_npz, file.getvalue(), LIMIT)


def test_arrays_as_they_should_be() -> None:
    file = io.BytesIO()
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.zeros((0, 3)), "c": np.array(True), "d": np.eye(3).T[::-1]}
    np.savez(file, allow_pickle=False, **arrays)
    found = parse_npz(file.getvalue(), LIMIT)
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[key], arrays[key]) and found[key].dtype == arrays[key].dtype for key in arrays)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "a" + ".a" * 50_000 + " = 1": "is nested more than 32 deep",
        "[" + '"a".' * 50_000 + "a]": "is nested more than 32 deep",
        "a = " + "[" * 50_000: "is nested more than 32 deep",
        "a = " + "{a = " * 5_000: "is nested more than 32 deep",
        "a = " + "{a.b.c.d.e.f.g.h = " * 20 + "1" + "}" * 20: "is nested more than 32 deep",
        "a = 0x" + "f" * 5_000: "an integer of more than 256 bits",
    }.items(),
)
def test_toml_within_limits(text: str, said: str) -> None:
    assert said in refusal(parse_toml, text)


def test_toml_as_it_should_be() -> None:
    words = ".".join("a" * 99)
    text = f'a = "{words}" # {words}\nb."c.d".e = [{{f = 1.5}}]\ng = """\n{words}"""\n'
    assert parse_toml(text) == {"a": words, "b": {"c.d": {"e": [{"f": 1.5}]}}, "g": words}
    for broken in ('a = "x', 'a = """x', "a = 'x", '"""' * 9):
        with pytest.raises(ValueError):  # noqa: PT011
            parse_toml(broken)
