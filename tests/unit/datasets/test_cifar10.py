"""`cifar10` from its two archives, packed and unpacked, and from hostile ones."""

from __future__ import annotations

import hashlib
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from web import Web

import mase_hw.datasets.cifar10 as cifar10_module
from mase_hw.datasets import Dataset, load_dataset
from mase_hw.datasets.cifar10 import BATCHES
from mase_hw.diagnostics import ProblemsError

DRAW = np.random.default_rng(2)
COUNT = 20
PIXELS = {name: DRAW.integers(0, 180, (COUNT, 3, 32, 32), dtype=np.uint8) for name in BATCHES}
for _images in PIXELS.values():
    _images[:, 1] //= 2  # the channels differ
LABELS = np.arange(COUNT) % 10

FOLDERS = {"bin": "cifar-10-batches-bin", "py": "cifar-10-batches-py"}
ARCHIVES = {"bin": "cifar-10-binary.tar.gz", "py": "cifar-10-python.tar.gz"}


def save(folder: Path, kind: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, images in PIXELS.items():
        rows = images.reshape(COUNT, -1)
        if kind == "bin":
            (folder / f"{name}.bin").write_bytes(np.column_stack([LABELS.astype(np.uint8), rows]).tobytes())
        else:
            content = {b"labels": LABELS.tolist(), b"data": rows, b"filenames": [b"a.png"] * COUNT}
            (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    (folder / "batches.meta").write_bytes(b"not read")
    return folder


def pack(place: Path, folder: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place, "w:gz") as tar:
        tar.add(folder, folder.name)
    return place


def check(data: Dataset, shape: tuple[int, ...] = (3, 32, 32)) -> None:
    assert (data.name, data.sample_shape, data.classes) == ("cifar10", shape, 10)
    assert [np.bincount(y).tolist() for y in (data.y_train, data.y_val, data.y_test)] == [[9] * 10, [1] * 10, [2] * 10]
    assert data.y_test.tolist() == LABELS.tolist()
    assert data.x_test.dtype == np.float32
    assert data.statistics is not None
    assert np.array_equal(data.statistics.apply(PIXELS["test_batch"].reshape(-1, *shape) / 255), data.x_test)
    images = data.x_train.reshape(-1, 3, 32, 32)
    assert np.abs(images.mean(axis=(0, 2, 3))).max() < 1e-5
    assert np.abs(images.std(axis=(0, 2, 3)) - 1).max() < 1e-5


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("where", ["", "cifar10"])
@pytest.mark.parametrize("form", ["archive", "folder", "bare"])
def test_files(kind: str, where: str, form: str, tmp_path: Path, data: Path, cache: Path) -> None:
    place = data / where
    if form == "archive":
        pack(place / ARCHIVES[kind], save(tmp_path / "made" / FOLDERS[kind], kind))
    else:
        save(place / FOLDERS[kind] if form == "folder" else place, kind)
    found = load_dataset("cifar10", tmp_path)
    check(found)
    assert found.statistics is not None
    assert found.statistics.mean.shape == (3, 1, 1)
    assert found.statistics.mean[1] < 0.6 * found.statistics.mean[0]
    assert cache.exists() == (form == "archive")


def test_flattened(tmp_path: Path, data: Path) -> None:
    save(data, "bin")
    check(load_dataset("cifar10", tmp_path, shape=(3072,)), (3072,))


def test_download(tmp_path: Path, cache: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "a.tar.gz", save(tmp_path / FOLDERS["bin"], "bin")).read_bytes()
    web.files["/c.tar.gz"] = archive
    monkeypatch.setattr(cifar10_module, "URL", f"{web.url}/c.tar.gz")
    monkeypatch.setattr(cifar10_module, "MD5", hashlib.md5(archive).hexdigest())
    for _ in range(2):
        check(load_dataset("cifar10", tmp_path))
    assert len(web.asked) == 1
    assert sorted(name.partition("-")[0] for name in os.listdir(cache)) == ["cifar", "unpacked"]


def problem(base: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_dataset("cifar10", base)
    return str(caught.value)


def test_missing(tmp_path: Path, data: Path) -> None:
    said = problem(tmp_path)
    assert "put cifar-10-binary.tar.gz or cifar-10-python.tar.gz, or the folder cifar-10-batches-bin" in said
    assert str(data) in said
    save(data, "py")
    (data / "data_batch_4").unlink()
    (data / "test_batch").unlink()
    said = problem(tmp_path)
    assert "data_batch_4 is missing" in said
    assert "test_batch is missing" in said


def test_archive_of_something_else(tmp_path: Path, data: Path) -> None:
    (tmp_path / "x").mkdir()
    pack(data / ARCHIVES["py"], tmp_path / "x")
    assert "cifar-10-python.tar.gz has no data_batch_1.bin and no data_batch_1" in problem(tmp_path)


def test_hostile_archive(tmp_path: Path, data: Path) -> None:
    folder = save(tmp_path / FOLDERS["py"], "py")
    (folder / "test_batch").unlink()
    (folder / "test_batch").symlink_to(tmp_path / "secret")
    pack(data / ARCHIVES["py"], folder)
    assert "its member 'cifar-10-batches-py/test_batch' is a link to" in problem(tmp_path)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


def test_hostile_batch_does_not_run(tmp_path: Path, data: Path) -> None:
    ran = tmp_path / "ran"
    folder = save(tmp_path / FOLDERS["py"], "py")
    hostile = pickle.dumps({b"data": PIXELS["test_batch"], b"labels": Evil(ran)}, protocol=2)
    (folder / "data_batch_3").write_bytes(hostile)
    pack(data / ARCHIVES["py"], folder)
    assert "data_batch_3 is refused: it names posix.mkdir" in problem(tmp_path)
    assert not ran.exists()
    pickle.loads(hostile)
    assert ran.exists()


ROWS = PIXELS["test_batch"].reshape(COUNT, -1)
WRONG: dict[str, object] = {
    "its data is a NoneType, not uint8[images, 3072]": {"labels": [1]},
    "its data is a NoneType, not uint8[images, 3072] ": [1, 2],
    "its data is uint8[20, 3071], not": {"data": ROWS[:, 1:].copy(), "labels": LABELS.tolist()},
    "its data is float64[20, 3072], not": {"data": ROWS / 2, "labels": LABELS.tolist()},
    "20 images and 19 labels": {"data": ROWS, "labels": LABELS.tolist()[1:]},
    "20 images and no list of labels": {"data": ROWS, "labels": LABELS},
    "20 images and 20 labels": {"data": ROWS, "labels": ["a"] * 20},
    "label 10 of image 3 is not one of 0 to 9": {"data": ROWS, "labels": [0, 0, 0, 10, *[1] * 16]},
    "label 255 of image 0 is not one of 0 to 9": {"data": ROWS, "labels": [1 << 80, *[1] * 19]},
    "has no images": {"data": ROWS[:0], "labels": []},
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_batch(text: str, tmp_path: Path, data: Path) -> None:
    save(data, "py")
    (data / "data_batch_2").write_bytes(pickle.dumps(WRONG[text]))
    said = problem(tmp_path)
    assert f"{data}/data_batch_2: error: data_batch_2" in said
    assert text.strip() in said


def test_wrong_binary(tmp_path: Path, data: Path) -> None:
    save(data, "bin")
    path = data / "data_batch_2.bin"
    whole = path.read_bytes()
    for content in (b"", whole[:-1]):
        path.write_bytes(content)
        assert f"data_batch_2.bin has {len(content)} bytes, which is no multiple of 3073" in problem(tmp_path)
    path.write_bytes(b"\x0b" + whole[1:])
    assert "data_batch_2.bin: label 11 of image 0 is not one of 0 to 9" in problem(tmp_path)
