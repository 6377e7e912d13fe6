"""`mnist` from IDX files, and what is said of files that are not whole."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from web import Web

import mase_hw.datasets.mnist as mnist_module
from mase_hw.datasets import Dataset, load_dataset
from mase_hw.datasets.mnist import FILES
from mase_hw.diagnostics import ProblemsError

DRAW = np.random.default_rng(2)
COUNTS = {"train": 100, "t10k": 30}
IMAGES = {name: DRAW.integers(0, 200, (count, 28, 28), dtype=np.uint8) for name, count in COUNTS.items()}
LABELS = {name: (np.arange(count) % 10).astype(np.uint8) for name, count in COUNTS.items()}


def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes((0, 0, 8, array.ndim)) + sizes + array.tobytes()


CONTENT = {name: idx((IMAGES if "images" in name else LABELS)[name.partition("-")[0]]) for name in FILES}


def save(folder: Path, **changed: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in CONTENT.items():
        (folder / name).write_bytes(changed.get(name.replace("-", "_"), content))


def check(data: Dataset, shape: tuple[int, ...] = (1, 28, 28)) -> None:
    assert (data.name, data.sample_shape, data.classes) == ("mnist", shape, 10)
    assert [np.bincount(y).tolist() for y in (data.y_train, data.y_val, data.y_test)] == [[9] * 10, [1] * 10, [3] * 10]
    assert data.y_test.tolist() == LABELS["t10k"].tolist()
    assert (data.x_test.dtype, data.y_test.dtype) == (np.float32, np.int64)
    assert data.statistics is not None
    assert abs(data.x_train.mean()) < 1e-5
    assert abs(data.x_train.std() - 1) < 1e-5
    # The statistics are of the training images alone, in [0, 1].
    unit = IMAGES["t10k"].reshape(-1, *shape) / 255
    assert np.array_equal(data.statistics.apply(unit), data.x_test)
    back = np.rint((data.x_train.astype(np.float64) * data.statistics.std + data.statistics.mean) * 255)
    assert abs(back.mean() / 255 - float(data.statistics.mean.ravel()[0])) < 1e-6
    whole = {image.tobytes() for image in IMAGES["train"]}
    assert {image.astype(np.uint8).tobytes() for image in back} < whole


@pytest.mark.parametrize("where", ["", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("form", ["plain", "gz", "dotted"])
def test_files(where: str, form: str, tmp_path: Path, data: Path) -> None:
    save(data / where)
    for name in FILES:
        path = data / where / name
        if form == "gz":
            path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        elif form == "dotted":
            path.rename(path.with_name(name.replace("-idx", ".idx")))
    check(load_dataset("mnist", tmp_path))


def test_flattened_for_a_model_that_takes_vectors(tmp_path: Path, data: Path) -> None:
    save(data)
    check(load_dataset("mnist", tmp_path, shape=(784,)), (784,))
    assert load_dataset("mnist", tmp_path, shape=(16,)).sample_shape == (1, 28, 28)


def test_download(tmp_path: Path, cache: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {name: gzip.compress(content) for name, content in CONTENT.items()}
    web.files.update({f"/mnist/{name}.gz": content for name, content in packed.items()})
    monkeypatch.setattr(mnist_module, "URL", f"{web.url}/mnist/")
    for name, content in packed.items():
        monkeypatch.setitem(FILES, name, hashlib.md5(content).hexdigest())
    web.cut["/mnist/t10k-images-idx3-ubyte.gz"] = 100
    assert "broke off after 100 of" in problem(tmp_path)
    assert sorted(path.name for path in (cache / "mnist").iterdir()) == [f"{name}.gz" for name in list(FILES)[:2]]
    web.cut.clear()
    web.asked.clear()
    check(load_dataset("mnist", tmp_path))
    assert len(web.asked) == 2  # what was whole is not fetched again
    check(load_dataset("mnist", tmp_path))
    assert len(web.asked) == 2


def problem(base: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_dataset("mnist", base)
    return str(caught.value)


def test_missing(tmp_path: Path, data: Path) -> None:
    said = problem(tmp_path)
    assert "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte" in said
    assert f"          {data}\n" in said
    save(data)
    (data / "t10k-labels-idx1-ubyte").unlink()
    assert f"{data} has train-images-idx3-ubyte but no t10k-labels-idx1-ubyte" in problem(tmp_path)


GOOD = CONTENT["train-images-idx3-ubyte"]
SMALL = IMAGES["train"][:, :27]
WRONG: dict[str, bytes] = {
    "starts with nothing, an IDX file like this with 00000803": b"",
    "starts with 1f8b0800, an IDX": b"\x1f\x8b\x08\x00more",
    "starts with 00000801, an IDX": b"\0\0\x08\x01" + GOOD[4:],
    "states the sizes (100, 28, 0), which cannot be": GOOD[:14],
    "states the sizes (4294967295, 4294967295, 4294967295), which cannot be": GOOD[:4] + b"\xff" * 12,
    "states 78400 values of the sizes (100, 28, 28) and has only 78399": GOOD[:-1],
    "states 78400 values of the sizes (100, 28, 28) and has more": GOOD + b"x",
    "its images have 27 x 28 pixels, not 28 x 28": idx(SMALL),
    "has 99 images, train-labels-idx1-ubyte has 100 labels": idx(IMAGES["train"][:99]),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_images(text: str, tmp_path: Path, data: Path) -> None:
    save(data, train_images_idx3_ubyte=WRONG[text])
    assert text in problem(tmp_path)


def test_wrong_label(tmp_path: Path, data: Path) -> None:
    labels = LABELS["t10k"].copy()
    labels[7] = 10
    save(data, t10k_labels_idx1_ubyte=idx(labels))
    assert "t10k-labels-idx1-ubyte: label 10 of image 7 is not one of 0 to 9" in problem(tmp_path)


def test_damaged_gzip(tmp_path: Path, data: Path) -> None:
    save(data)
    for content in (gzip.compress(GOOD)[:-100], b"hello"):
        (data / "train-images-idx3-ubyte").unlink(missing_ok=True)
        (data / "train-images-idx3-ubyte.gz").write_bytes(content)
        assert "train-images-idx3-ubyte.gz cannot be read" in problem(tmp_path)
