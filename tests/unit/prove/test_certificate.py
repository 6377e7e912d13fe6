"""A certificate speaks of the very bytes that it was made of."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build, write_build
from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.make import linear
from mase_hw.prove.certificate import verify, write_certificate
from mase_hw.prove.prove import Proof, prove


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Proof]:
    x = full_range("data_in_0", 3, 3, Fixed(4, 2))
    weight, bias = np.array([[1, -3, 5], [0, 7, 2]]), np.array([1, -2])
    layer = linear("fc", x, weight, bias, Fixed(4, 2), Fixed(4, 2), None, out_lanes=2, folded=False)
    layer = replace(layer, outputs=(layer.output.renamed("data_out_0"),))
    folder = tmp_path_factory.mktemp("build")
    sources = {"config": folder / "model.toml", "checkpoint": folder / "weights.pt"}
    for what, file in sources.items():
        file.write_text(what)
    build = write_build(folder / "a net", Design("net", (layer,)), {}, None, sources)
    return build, prove(build)


@pytest.fixture
def build(made: tuple[Build, Proof], tmp_path: Path) -> Build:
    """A proved build of its own for each test."""
    original, proof = made
    path = tmp_path / "net"
    for file in original.path.rglob("*"):
        if file.is_file():
            place = path / file.relative_to(original.path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    for what in ("config", "checkpoint"):
        (tmp_path / {"config": "model.toml", "checkpoint": "weights.pt"}[what]).write_text(what)
    copy = read_build(path)
    write_certificate(copy, proof)
    return copy


def said(build: Build) -> str:
    with pytest.raises(ProblemsError) as caught:
        verify(read_build(build.path))
    return str(caught.value)


def test_a_proved_build_verifies(build: Build) -> None:
    certificate = verify(build)
    assert certificate["proved"] is True
    assert set(certificate["files"]) == {
        "manifest.json", "parameters.npz", "rtl/files.f", "rtl/mase_requantize.sv", "rtl/mase_stream_check.sv",
        "rtl/net.sv", "rtl/net_fc.sv",
    }  # fmt: skip
    assert {claim["about"] for claim in certificate["claims"]} == {
        *("language", "wiring", "progress", "readers", "timing", "handshake", "values", "widths")
    }


@pytest.mark.parametrize("name", ["rtl/net.sv", "rtl/net_fc.sv", "rtl/files.f", "parameters.npz", "manifest.json"])
def test_one_changed_byte_is_found(name: str, build: Build) -> None:
    file = build.path / name
    content = bytearray(file.read_bytes())
    if name == "manifest.json":
        content[-1] = 0x20  # a manifest that ends with a blank is JSON as before
    else:
        content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert f"{name} has changed since it was proved" in said(build)


@pytest.mark.parametrize("what", ["config", "checkpoint"])
def test_one_changed_byte_of_what_it_was_made_from_is_found(what: str, build: Build, tmp_path: Path) -> None:
    files = {"config": tmp_path / "model.toml", "checkpoint": tmp_path / "weights.pt"}
    assert verify(build, files)["proved"] is True
    content = bytearray(files[what].read_bytes())
    content[0] ^= 1
    files[what].write_bytes(content)
    with pytest.raises(ProblemsError, match=f"{files[what].name} is not the {what} that the build was made from"):
        verify(build, files)
    files[what].unlink()
    with pytest.raises(ProblemsError, match="is missing"):
        verify(build, files)


def test_other_sources_than_the_manifest_has_are_found(build: Build) -> None:
    path = build.path / "certificate.json"
    content = json.loads(path.read_text())
    content["sources"]["checkpoint"]["sha256"] = "0" * 64
    path.write_text(json.dumps(content))
    assert "names other sources than the manifest" in said(build)


def test_every_byte_of_the_rtl_counts(build: Build) -> None:
    for file in sorted((build.path / "rtl").rglob("*")):
        sound = file.read_bytes()
        for at in (0, len(sound) - 1):
            file.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
            assert "has changed since it was proved" in said(build)
        file.write_bytes(sound)
    verify(read_build(build.path))


def test_torch_is_not_needed(build: Build) -> None:
    code = "import sys; sys.modules['torch'] = None; from mase_hw.cli import main; main(['verify', sys.argv[1]])"
    done = subprocess.run([sys.executable, "-c", code, str(build.path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (build.path / "rtl" / "net.sv").write_text("")
    assert subprocess.run([sys.executable, "-c", code, str(build.path)], capture_output=True).returncode == 1


def test_a_file_more_or_less_is_found(build: Build) -> None:
    (build.path / "rtl" / "more.sv").write_text("module more; endmodule\n")
    (build.path / "rtl" / "net.sv").unlink()
    text = said(build)
    assert "rtl/more.sv was not there when the build was proved" in text
    assert "rtl/net.sv was proved and is gone" in text


def test_what_was_not_proved_is_named(build: Build) -> None:
    path = build.path / "certificate.json"
    content = json.loads(path.read_text())
    for claim in content["claims"]:
        if claim["about"] == "values":
            claim |= {"status": "open", "detail": "too hard"}
    content["claims"] = [claim for claim in content["claims"] if claim["about"] != "timing"]
    path.write_text(json.dumps(content))
    text = said(build)
    assert "not proved: values of fc: too hard" in text
    assert "not proved: timing of fc: the certificate does not speak of it" in text


def test_no_certificate_or_an_unreadable_one(build: Build) -> None:
    path = build.path / "certificate.json"
    path.write_text("[1]")
    assert "certificate.json is not a table" in said(build)
    path.write_text("[" * 200_000)
    assert "certificate.json is nested more than 64 deep" in said(build)
    path.write_text('{"schema": 9}')
    assert "another version" in said(build)
    path.unlink()
    assert "has no certificate.json" in said(build)
    assert "mase-hw prove" in said(build)
