"""Whatever a build folder holds, the commands that read one end with a message: no traceback, nothing outside it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.mangle import left_out, mutated, mutated_json, parts_of, replaced
from fuzzing.watch import load_or_refuse, nothing_done
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mase_hw.cli import main
from mase_hw.emit import Build, read_build, write_build
from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.make import linear
from mase_hw.prove.certificate import OF_THE_WHOLE, write_certificate
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.prove import Proof
from mase_hw.simulate.whole import check_whole

FUZZ = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A small build with a certificate that says that all of it was proved."""
    x = full_range("data_in_0", 3, 3, Fixed(4, 2))
    weight, bias = np.array([[1, -3, 5], [0, 7, 2]]), np.array([1, -2])
    layer = linear("fc", x, weight, bias, Fixed(4, 2), Fixed(4, 2), None, out_lanes=2, folded=False)
    design = Design("net", (replace(layer, outputs=(layer.output.renamed("data_out_0"),)),))
    made = write_build(tmp_path_factory.mktemp("build") / "net", design, {}, None)
    about = [
        *(("net", word) for word in OF_THE_WHOLE),
        *(("fc", word) for word in ("timing", "handshake", "values", "widths")),
    ]
    write_certificate(made, Proof(tuple(Claim(name, word, "proved", "by decree") for name, word in about)))
    return made


def run_command(*arguments: str) -> tuple[int, str]:
    """The command's exit code and what it says; a traceback comes through."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(list(arguments))
        except SystemExit as error:
            return int(error.code or 0), said.getvalue()
    return 0, said.getvalue()


def read_all(path: Path) -> int:
    """`verify`, and what `sim` reads before it simulates."""
    with nothing_done():
        code, said = run_command("verify", str(path))
    assert said
    if code:
        assert code == 1
        assert "error" in said
    found = load_or_refuse(lambda: read_build(path))
    if found is not None:
        load_or_refuse(lambda: check_whole(found))
    return code


def copied(build: Build, tmp_path: Path) -> Path:
    folder = tmp_path / "net"
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(build.path, folder))


def test_the_build_itself_is_fine(build: Build) -> None:
    assert read_all(build.path) == 0


@pytest.mark.parametrize("command", ["prove", "synth"])
@pytest.mark.parametrize(("name", "data"), [("manifest.json", b'{"schema": 2}'), ("parameters.npz", b"PK")])
def test_a_damaged_build_is_not_worked_on(command: str, name: str, data: bytes, build: Build, tmp_path: Path) -> None:
    folder = copied(build, tmp_path)
    (folder / name).write_bytes(data)
    with nothing_done():
        code, said = run_command(command, str(folder))
    assert code == 1
    assert said.startswith(f"error: {folder / name}")


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json"])
@FUZZ
@given(seed=st.integers(0, 2**32))
def test_any_value_in_a_manifest_or_a_certificate(name: str, seed: int, build: Build, tmp_path: Path) -> None:
    folder, draw = copied(build, tmp_path), random.Random(seed)
    value = json.loads((folder / name).read_text("utf-8"))
    for _ in range(draw.randint(1, 3)):
        value = mutated_json(value, draw)
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    code = read_all(folder)
    assert code == 1 or name == "certificate.json"  # the certificate holds the manifest's SHA-256


STRANGE: tuple[Any, ...] = (None, [], {}, [[]], {"a": 1}, "", "x; exec -- id", -1, 1.5, True, 1 << 20, 1 << 40, 1 << 70)


def every_place(manifest: dict[str, Any]) -> list[tuple[Any, ...]]:
    """A path to each part of a manifest; of the entries of a list, to those of the first."""
    paths = [path for path in parts_of(manifest) if path]
    return [path for path in paths if not any(isinstance(key, int) and key for key in path)]


@pytest.mark.slow
def test_every_value_of_a_manifest_replaced_in_turn(build: Build, tmp_path: Path) -> None:
    """By each strange value, or left out. What is refused says so; what is not is read without a traceback."""
    folder, manifest = copied(build, tmp_path), dict(build.manifest)
    refused = accepted = 0
    for path in every_place(manifest):
        for change in (*(replaced(manifest, path, value) for value in STRANGE), left_out(manifest, path)):
            (folder / "manifest.json").write_text(json.dumps(change), encoding="utf-8")
            opened = load_or_refuse(lambda: read_build(folder))
            if opened is None or load_or_refuse(lambda opened=opened: check_whole(opened) or opened) is None:  # type: ignore[misc,func-returns-value]
                refused += 1
            else:
                accepted += 1
    assert refused > 9 * accepted  # the others are costs, which nothing is made of, and texts


@FUZZ
@given(st.data())
def test_any_bytes_in_a_build(build: Build, tmp_path: Path, data: st.DataObject) -> None:
    folder = copied(build, tmp_path)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    after = data.draw(st.one_of(st.binary(max_size=100), mutated([before])))
    path.write_bytes(after)
    assert read_all(folder) == 1 or after == before or path.name == "certificate.json"


def _arrays(path: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """Changes the parameters, and the manifest so that it has their hash."""
    with np.load(path / "parameters.npz") as file:
        arrays = dict(file)
    change(arrays)
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    (path / "parameters.npz").write_bytes(data.getvalue())
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    manifest["parameters"]["sha256"] = hashlib.sha256(data.getvalue()).hexdigest()
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


STRANGE_ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "2^62": lambda array: np.full(array.shape, 1 << 62),
    "2^33": lambda array: np.full(array.shape, 1 << 33),  # as a shift, a number of a gigabyte
    "-2^63": lambda array: np.full(array.shape, -(1 << 63)),
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "flat": np.ravel,
    "empty": lambda array: array[:0],
    "floats": lambda array: array.astype(float),
    "not a number": lambda array: np.full(array.shape, np.nan),
    "one number": lambda array: np.array(3),
    "more axes": lambda array: array[None, None],
}


@pytest.mark.parametrize("strange", STRANGE_ARRAYS)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_every_array_replaced_in_turn(strange: str, build: Build, tmp_path: Path) -> None:
    """Integers that a build could not have are refused; other weights are another design, which is read."""
    for name in build.arrays("parameters.npz"):
        folder = copied(build, tmp_path)
        _arrays(folder, lambda arrays, name=name: arrays.update({name: STRANGE_ARRAYS[strange](arrays[name])}))  # type: ignore[misc]
        opened = load_or_refuse(lambda folder=folder: read_build(folder))  # type: ignore[misc]
        assert opened is not None
        refused = load_or_refuse(lambda opened=opened: check_whole(opened) or opened) is None  # type: ignore[misc,func-returns-value]
        assert refused or strange in ("zeros", "ones", "2^33", "flat")  # a bias is flat as it is


def test_a_build_without_an_array_or_with_a_long_shift(build: Build, tmp_path: Path) -> None:
    folder = copied(build, tmp_path)
    _arrays(folder, lambda arrays: arrays.pop("component.fc.matrix"))
    assert "is damaged" in run_command("sim", str(folder))[1]
    folder = copied(build, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["components"][0]["values"]["product_shift"] = 1 << 31
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "product_shift is 2147483648, not an integer within -500..500" in run_command("sim", str(folder))[1]
