"""Any bytes in a checkpoint give a Problem or tensors; whatever code they hold is not run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fuzzing.mangle import mutated
from fuzzing.watch import load_or_refuse, nothing_done
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save as to_safetensors

from mase_hw.checkpoints import read as read_module
from mase_hw.checkpoints.read import read_state
from mase_hw.config.load import LOAD_TYPES
from mase_hw.diagnostics import ProblemsError

FUZZ = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
HEADERS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2**70), st.sampled_from(("F32", "BF16", "x", ""))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("dtype", "shape", "data_offsets", "t", "__metadata__")), inner, max_size=4),
    ),
    max_leaves=12,
)


def _saved(content: object, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file, **options)
    return file.getvalue()


STATE = {"fc.weight": torch.arange(6.0).reshape(2, 3), "fc.bias": torch.zeros(2), "n": torch.tensor(3)}
LIGHTNING = {"state_dict": {f"model.{key}": value for key, value in STATE.items()}, "epoch": 2}
CHECKPOINTS = [
    _saved(STATE),
    _saved(LIGHTNING),
    _saved(STATE, _use_new_zipfile_serialization=False),
    _saved(LIGHTNING, _use_new_zipfile_serialization=False),
    to_safetensors(STATE),
    pickle.dumps({"a": 1, "b": [2.0, None]}),
]


class _Runs:
    """Unpickled in the usual way, it calls what it holds."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def _evil(path: Path) -> list[bytes]:
    """Pickles that would write a file, bare and inside what torch writes."""
    code = f"open({str(path)!r}, 'w').close()"
    calls = [_Runs(os.system, f"touch {path}"), _Runs(exec, code), _Runs(eval, code), _Runs(os.mkdir, str(path))]
    calls += [_Runs(torch.save, {}, str(path))]
    found = []
    for call in calls:
        for content in (call, {"fc.weight": call}, {"state_dict": {"model.fc.weight": call}}):
            found += [pickle.dumps(content), pickle.dumps(content, protocol=0)]
            found += [_saved(content), _saved(content, _use_new_zipfile_serialization=False)]
    return found


EVIL_PATH = Path(tempfile.gettempdir()) / f"mase-hw-fuzz-{os.getpid()}"
EVIL = _evil(EVIL_PATH)


def test_these_pickles_do_bite() -> None:
    """The watch sees what an ordinary reader would do with them."""
    with contextlib.suppress(FileNotFoundError):
        EVIL_PATH.unlink()
    with pytest.raises(AssertionError, match="open"), nothing_done():
        pickle.loads(next(data for data in EVIL if b"exec" in data))
    EVIL_PATH.unlink()


@pytest.mark.parametrize("load_type", LOAD_TYPES)
def test_no_checkpoint_runs_code(load_type: str, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    for data in EVIL:
        path.write_bytes(data)
        assert load_or_refuse(lambda: read_state(path, load_type)) is None
    assert not EVIL_PATH.exists()


@FUZZ
@given(
    data=st.one_of(st.binary(max_size=200), mutated(CHECKPOINTS), mutated(CHECKPOINTS + EVIL)),
    load_type=st.sampled_from(LOAD_TYPES),
)
def test_any_bytes_as_a_checkpoint(data: bytes, load_type: str, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    found = load_or_refuse(lambda: read_state(path, load_type))
    assert found is None or all(isinstance(tensor, torch.Tensor) for tensor in found[0].values())
    assert not EVIL_PATH.exists()


@settings(max_examples=150)
@given(header=HEADERS, length=st.one_of(st.none(), st.integers(0, 2**64 - 1)), tail=st.binary(max_size=32))
def test_any_header_of_a_safetensors_file(
    header: Any, length: int | None, tail: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps({"t": header} if not isinstance(header, dict) else header).encode()
    data = (len(text) if length is None else length).to_bytes(8, "little") + text + tail
    path = tmp_path_factory.getbasetemp() / "header.safetensors"
    path.write_bytes(data)
    for load_type in ("auto", "safetensors"):
        load_or_refuse(lambda load_type=load_type: read_state(path, load_type))  # type: ignore[misc]


def _refused(path: Path, load_type: str = "auto") -> str:
    with pytest.raises(ProblemsError) as caught:
        read_state(path, load_type)
    return str(caught.value)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    os.mkfifo(path)
    assert "is a FIFO, not a file" in _refused(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "is a device, not a file" in _refused(path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "1,073,741,824 are the most" in _refused(path)


def test_an_archive_that_unpacks_to_more_than_it_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"w": torch.zeros(1 << 18)}, tmp_path / "plain.pt")
    with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for member in plain.infolist():
            packed.writestr(member.filename, plain.read(member))
    assert path.stat().st_size < 20_000
    assert read_state(tmp_path / "plain.pt", "auto")[0]["w"].numel() == 1 << 18
    assert "unpacks to 1,0" in _refused(path)


def test_a_pickle_of_many_steps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(b"\x80\x02N" + b"q\0" * (1 << 20))
    assert "takes more than 1,048,576 steps to read" in _refused(path)


@pytest.mark.parametrize(
    ("header", "said"),
    {
        '{"w":' * 100_000: "nested more than 64 deep",
        '{"w": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}': "",
        '{"w": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 4]}}': "",
        '{"w": {"dtype": "F32", "shape": [' + "1" * 5_000 + '], "data_offsets": [0, 4]}}': "5,000 digits",
        '{"w": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 4]}}': "",
    }.items(),
)
def test_headers_of_safetensors_that_cannot_be(header: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    data = header.encode() + b"\0\0\0\0"
    for length in (len(header), 1 << 60):
        path.write_bytes(length.to_bytes(8, "little") + data)
        found = _refused(path, "safetensors")
        assert "is not a safetensors file" in found or "is not read" in found
        assert said in found or length > len(header)
        _refused(path)


class Endless(tuple[int, ...]):
    """Stands for a tuple that holds itself many times: it would take for ever to write it out."""

    def __repr__(self) -> str:
        raise AssertionError("written out")


def test_a_key_is_not_written_out(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save({"w": torch.zeros(1), 5: 1}, path)
    assert "5 holds a int" in _refused(path)
    path.write_bytes(CHECKPOINTS[0])
    reader = read_module._Reader(path, None)
    with pytest.raises(ProblemsError, match="not a state dict: Endless holds a int"):
        read_module._tensors(reader, {Endless((1, 2)): 1})
