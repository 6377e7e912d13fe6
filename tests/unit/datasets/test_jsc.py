"""The data set `jsc`: where its file is found, its split, its statistics, its download."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from web import Web

import mase_hw.datasets.jsc as jsc_module
from mase_hw.datasets import Dataset, load_dataset
from mase_hw.datasets.jsc.columns import CLASSES, FEATURES
from mase_hw.diagnostics import Place, ProblemsError

ROWS = 200
DRAW = np.random.default_rng(7)
Y = DRAW.permutation(np.arange(ROWS) % 5)
X = DRAW.normal(loc=np.arange(16) * 10, scale=np.arange(1, 17), size=(ROWS, 16))


def save(place: Path, x: np.ndarray = X, y: np.ndarray = Y) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.suffix == ".npz":
        np.savez(place, X=x, y=y)
    else:
        rows = [",".join([*map(repr, row), CLASSES[label]]) for row, label in zip(x.tolist(), y.tolist(), strict=True)]
        place.write_text("\n".join([",".join([*FEATURES, "class"]), *rows]))


def load(base: Path) -> Dataset:
    return load_dataset("jsc", base, 0, Place(base / "x.toml", 2))


def test_split_and_statistics(tmp_path: Path, data: Path) -> None:
    save(data / "jsc.npz")
    found = load(tmp_path)
    assert (found.name, found.sample_shape, found.classes) == ("jsc", (16,), 5)
    for split, each in (("train", 28), ("val", 4), ("test", 8)):
        x, y = getattr(found, f"x_{split}"), getattr(found, f"y_{split}")
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        assert np.bincount(y).tolist() == [each] * 5
        assert len(x) == 5 * each
    statistics = found.statistics
    assert statistics is not None
    assert (statistics.mean.dtype, statistics.std.dtype) == (np.float32, np.float32)
    # Each standardised row is one of the file's, and no row is in two splits.
    whole = np.concatenate([found.x_train, found.x_val, found.x_test])
    labels = np.concatenate([found.y_train, found.y_val, found.y_test])
    expected = {row.tobytes(): label for row, label in zip(statistics.apply(X), Y.tolist(), strict=True)}
    assert {row.tobytes(): label for row, label in zip(whole, labels.tolist(), strict=True)} == expected
    # The statistics are the training split's, and of no other rows.
    assert np.abs(found.x_train.mean(axis=0)).max() < 1e-6
    assert np.abs(found.x_train.std(axis=0) - 1).max() < 1e-6
    assert np.abs(whole.mean(axis=0)).max() > 1e-3


def test_same_split_for_every_seed(tmp_path: Path, data: Path) -> None:
    save(data / "jsc.npz")
    first, second = (load_dataset("jsc", tmp_path, seed) for seed in (0, 1))
    assert np.array_equal(first.x_test, second.x_test)


def test_a_constant_feature_becomes_zero(tmp_path: Path, data: Path) -> None:
    x = X.copy()
    x[:, 4] = 0.1  # its mean over the rows is not exactly 0.1
    save(data / "jsc.npz", x)
    found = load(tmp_path)
    assert found.statistics is not None
    assert found.statistics.std[4] == 1
    assert np.abs(found.x_test[:, 4]).max() < 1e-6


def test_search_order(tmp_path: Path, data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place holds other values; the earlier one wins until it is taken away."""
    named = tmp_path / "named"
    places = [
        named / "jsc.csv",
        named / "jsc" / "jsc.npz",
        data / "jsc.npz",
        data / "jsc" / "jsc.csv",
        cache / "jsc.npz",
    ]
    for index, place in enumerate(places):
        save(place, X + 1000 * index)
    monkeypatch.setenv("MASE_HW_DATA", str(named))
    for index, place in enumerate(places):
        statistics = load(tmp_path).statistics
        assert statistics is not None
        assert round((statistics.mean[0] - X[:, 0].mean()) / 1000) == index
        place.unlink()
    with pytest.raises(ProblemsError):
        load(tmp_path)


def test_npz_before_csv_and_openml_name(tmp_path: Path, data: Path) -> None:
    save(data / "hls4ml_lhc_jets_hlf.npz", X + 2000)
    save(data / "jsc.csv", X + 1000)
    save(data / "jsc.npz")
    for index, name in enumerate(("jsc.npz", "jsc.csv", "hls4ml_lhc_jets_hlf.npz")):
        statistics = load(tmp_path).statistics
        assert statistics is not None
        assert round((statistics.mean[0] - X[:, 0].mean()) / 1000) == index
        (data / name).unlink()


def problem(base: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load(base)
    return str(caught.value)


def test_nowhere(tmp_path: Path, cache: Path) -> None:
    assert problem(tmp_path) == (
        f'{tmp_path}/x.toml:2: error: dataset = "jsc": no file of it is on this machine, '
        "and MASE_HW_OFFLINE forbids to download it\n"
        "  hint: put jsc.npz, jsc.h5, jsc.arff or jsc.csv (16 features and the class; OpenML's data set 42468)\n"
        "        in one of\n"
        f"          {tmp_path}/data\n"
        f"          {cache}\n"
        "        or in a folder jsc there; MASE_HW_DATA names another folder"
    )


@pytest.mark.parametrize("what", ["does not exist", "is a file"])
def test_wrong_folder(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "elsewhere"
    if what == "is a file":
        place.touch()
    monkeypatch.setenv("MASE_HW_DATA", str(place))
    assert f"MASE_HW_DATA = {place} {what}" in problem(tmp_path)


@pytest.fixture
def openml(web: Web, monkeypatch: pytest.MonkeyPatch) -> Web:
    rows = [",".join([*map(repr, row), CLASSES[label]]) for row, label in zip(X.tolist(), Y.tolist(), strict=True)]
    head = [
        "@relation jets",
        *(f"@attribute {name} real" for name in FEATURES),
        "@attribute class {g,q,w,z,t}",
        "@data",
    ]
    arff = "\n".join([*head, *rows]).encode()
    web.files["/jets.arff"] = arff
    described = {"url": f"{web.url}/jets.arff", "md5_checksum": hashlib.md5(arff).hexdigest()}
    web.files["/42468"] = json.dumps({"data_set_description": described}).encode()
    monkeypatch.setattr(jsc_module, "DESCRIPTION", f"{web.url}/42468")
    return web


def test_download_is_kept(tmp_path: Path, data: Path, cache: Path, openml: Web) -> None:
    first = load(tmp_path)
    assert openml.asked == ["/42468", "/jets.arff"]
    assert [path.name for path in cache.iterdir()] == ["jsc.npz"]
    second = load(tmp_path)
    assert len(openml.asked) == 2
    save(data / "jsc.csv")
    for other in (second, load(tmp_path)):
        assert np.array_equal(first.x_test, other.x_test)
        assert np.array_equal(first.y_test, other.y_test)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "/42468 answers something else than a description"),
        (b"[]", "/42468 answers something else than a description"),
        (b'{"data_set_description": {"url": "file:///etc/passwd"}}', "file:///etc/passwd is neither http nor https"),
    ],
)
def test_strange_answer(answer: bytes, said: str, tmp_path: Path, cache: Path, openml: Web) -> None:
    openml.files["/42468"] = answer
    assert said in problem(tmp_path)
    assert not cache.exists() or not list(cache.iterdir())


def test_damaged_download(tmp_path: Path, cache: Path, openml: Web) -> None:
    openml.files["/jets.arff"] += b"x"
    assert "jets.arff is damaged: its MD5 is" in problem(tmp_path)
    assert not list(cache.iterdir())
