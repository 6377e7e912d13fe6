"""The bundled data sets, a user's own, and what is said when one cannot be had."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from mase_hw.datasets import Dataset, dataset_names, load_dataset
from mase_hw.diagnostics import Place, ProblemsError


def check_shape(data: Dataset) -> None:
    for split in ("train", "val", "test"):
        x, y = getattr(data, f"x_{split}"), getattr(data, f"y_{split}")
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        assert len(x) == len(y)


def test_digits() -> None:
    data = load_dataset("digits", Path(), 0)
    check_shape(data)
    assert [len(x) for x in (data.x_train, data.x_val, data.x_test)] == [1266, 176, 355]
    assert (data.sample_shape, data.classes, data.statistics) == ((64,), 10, None)
    everything = np.concatenate([data.x_train, data.x_val, data.x_test])
    assert (everything.min(), everything.max()) == (0, 1)
    assert np.array_equal(everything * 16, np.floor(everything * 16))
    for y, share in ((data.y_train, 0.7), (data.y_val, 0.1), (data.y_test, 0.2)):
        assert np.bincount(y).min() > share * 174 - 3  # the rarest digit has 174 images
    # The split is part of every accuracy that is ever quoted: it must not move.
    assert hashlib.sha256(data.x_test.tobytes()).hexdigest()[:16] == "d0bf35573d6f37a6"


def test_digits_split_does_not_depend_on_the_seed() -> None:
    first, second = load_dataset("digits", Path(), 0), load_dataset("digits", Path(), 1)
    assert np.array_equal(first.x_test, second.x_test)


def test_no_digit_is_in_two_splits() -> None:
    data = load_dataset("digits", Path(), 0)
    seen = [{x.tobytes() for x in part} for part in (data.x_train, data.x_val, data.x_test)]
    assert not seen[0] & (seen[1] | seen[2])
    assert not seen[1] & seen[2]


def test_random() -> None:
    data = load_dataset("random", Path(), 5)
    check_shape(data)
    assert (data.sample_shape, data.classes, data.statistics) == ((16,), 5, None)
    assert np.array_equal(data.x_test, load_dataset("random", Path(), 5).x_test)
    assert not np.array_equal(data.x_test, load_dataset("random", Path(), 6).x_test)
    assert 0.8 < nearest_mean(data) < 0.995  # it can be learnt, and not by anything


@pytest.mark.parametrize(("shape", "classes"), [((3, 32, 32), 10), ((1, 5, 7), 2), ((64,), 10), ((2, 9), 3), ((1,), 1)])
def test_random_fits_the_model(shape: tuple[int, ...], classes: int) -> None:
    data = load_dataset("random", Path(), 1, shape=shape, classes=classes)
    check_shape(data)
    assert (data.sample_shape, data.classes) == (shape, classes)
    for y in (data.y_train, data.y_val, data.y_test):
        assert np.ptp(np.bincount(y, minlength=classes)) <= 1
    assert nearest_mean(data) > 0.8


def nearest_mean(data: Dataset) -> float:
    """The accuracy of taking the class whose mean in the training split is nearest."""
    x, test = (part.reshape(len(part), -1) for part in (data.x_train, data.x_test))
    means = np.stack([x[data.y_train == label].mean(axis=0) for label in range(data.classes)])
    scores = test @ means.T - (means**2).sum(axis=1) / 2
    return float((scores.argmax(axis=1) == data.y_test).mean())


def problem(name: str) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_dataset(name, Path(), 0, Place(Path("x.toml"), 2))
    return str(caught.value)


def test_names() -> None:
    assert dataset_names() == ("cifar10", "digits", "jsc", "mnist", "random")


def test_not_available() -> None:
    assert problem("imagenet") == (
        'x.toml:2: error: dataset = "imagenet" is not available\n'
        "  hint: data sets here: cifar10, digits, jsc, mnist, random\n"
        '        your own: dataset = "file.py:function"\n'
        "        a build needs no data set: delete the line"
    )


def test_nearest() -> None:
    assert problem("digit") == (
        'x.toml:2: error: dataset = "digit" is not available\n'
        "  hint: did you mean digits?\n"
        '        your own: dataset = "file.py:function"\n'
        "        a build needs no data set: delete the line"
    )


GOOD = """
import numpy as np

def six(seed):
    x = np.full((4, 3), seed, dtype=np.float64)
    y = np.arange(4, dtype=np.int32)
    return x, y, x[:2], y[:2], x[:1], y[:1]

def two():
    return np.zeros((4, 3), np.uint8), np.array([0, 1, 1, 0])

def named():
    x, y = two()
    return {"x_test": x, "y_test": y, "x_train": x[:0], "y_train": y[:0]}

def whole():
    from mase_hw.datasets import Dataset, Statistics
    x, y = two()
    one = np.ones(3, np.float32)
    return Dataset("mine", x, y, x, y, x, y, Statistics(one, one * 2))
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("data.py")


def test_user_function(source: Path) -> None:
    source.write_text(GOOD)
    six = load_dataset("data.py:six", Path(), 9)
    check_shape(six)
    assert [len(six.x_train), len(six.x_val), len(six.x_test)] == [4, 2, 1]
    assert six.x_test.tolist() == [[9, 9, 9]]
    assert six.classes == 4
    for name in ("two", "named"):
        data = load_dataset(f"data.py:{name}", Path(), 0)
        check_shape(data)
        assert (data.sample_shape, len(data.x_test), data.x_train.shape) == ((3,), 4, (0, 3))


def test_user_statistics_are_kept(source: Path) -> None:
    source.write_text(GOOD)
    data = load_dataset("data.py:whole", Path(), 0)
    check_shape(data)
    assert data.statistics is not None
    assert (data.statistics.mean.tolist(), data.statistics.std.tolist()) == ([1, 1, 1], [2, 2, 2])
    assert load_dataset("data.py:two", Path(), 0).statistics is None


WRONG = {
    "returned a list": "return [x, y]",
    "returned a tuple of 3": "return x, y, x",
    "the dict has no x_test": "return {'y_test': y}",
    "the dict has the unknown key x_tset": "return {'x_test': x, 'y_test': y, 'x_tset': x}",
    "x_test has shape (4,), not (samples, features)": "return x[:, 0], y",
    "x_test holds <U1, not numbers": "return x.astype(str).astype('U1'), y",
    "x_test is nan in sample 2 at [1]": "x[2, 1] = np.nan; return x, y",
    "x_test is inf in sample 0 at [0] (12 such values)": "return x + 1e300, y",
    "y_test is float64 of shape (4,), not one integer label per sample": "return x, y / 2",
    "y_test has the label -3 in sample 3; labels count from 0": "return x, -y",
    "x_test has 4 samples, y_test has 3": "return x, y[:3]",
    "x_test has no samples": "return x[:0], y[:0]",
    "samples of x_train have shape (2,), of x_test (3,)": "return x[:, :2], y, x, y",
    "x_val and y_val come together": "return {'x_test': x, 'y_test': y, 'x_val': x}",
}


@pytest.mark.parametrize("text", WRONG)
def test_user_mistake(text: str, source: Path) -> None:
    source.write_text(
        f"import numpy as np\n\ndef fn():\n    x, y = np.zeros((4, 3)), np.arange(4)\n    {WRONG[text]}\n"
    )
    lines = problem("data.py:fn").splitlines()
    assert lines[:2] == [f'data.py:3: error: dataset = "data.py:fn": {text}', "    3 | def fn():"]


def test_user_mistakes_come_together(source: Path) -> None:
    source.write_text("import numpy as np\ndef fn():\n    return np.full((2, 2), np.nan), np.array([0, -1])\n")
    found = [line for line in problem("data.py:fn").splitlines() if "error" in line]
    assert found == [
        'data.py:2: error: dataset = "data.py:fn": x_test is nan in sample 0 at [0] (4 such values)',
        'data.py:2: error: dataset = "data.py:fn": y_test has the label -1 in sample 1; labels count from 0',
    ]


def test_user_code_fails(source: Path) -> None:
    source.write_text("def fn():\n    open('nowhere.csv')\n")
    assert problem("data.py:fn") == (
        'data.py:2: error: dataset = "data.py:fn": FileNotFoundError: [Errno 2] No such file or directory: '
        "'nowhere.csv'\n    2 |     open('nowhere.csv')\n"
        "  hint: paths in data.py are relative to the current folder; Path(__file__).parent is that of data.py"
    )


def test_not_a_function(source: Path) -> None:
    source.write_text("fn = 3\n")
    assert problem("data.py:fn") == 'data.py: error: dataset = "data.py:fn" is of type int, not a function'
    assert problem("data.py") == (
        'x.toml:2: error: dataset = "data.py" does not name what to take from the file\n'
        '  hint: write "file.py:function"'
    )
