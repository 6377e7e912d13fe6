"""The same input gives the same bytes, wherever and whenever it is emitted, and a build says truly what it holds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mase_hw.simulate import find

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
MANIFEST = "schema top clock reset files inputs outputs interval latency nodes config tools"
PORT = "name features lanes beats width frac signed"
NODE = "name op implementation data_in_parallelism data_out_parallelism data_in weight bias data_out interval latency"
TEXT = (".sv", ".f", ".json")

ABSOLUTE = re.compile(rb"(?<![\w/.)*])/(?:[\w.+-]+/)+[\w.+-]*")
DATE = re.compile(rb"\b(?:19|20)\d\d[-/.]\d\d?[-/.]\d\d?\b|\b\d\d?:\d\d:\d\d\b")


def _emit(folder: Path, out: Path, hash_seed: int) -> None:
    """In a process of its own, from another working folder than the model's."""
    code = "import sys; from mase_hw.cli import main; main(sys.argv[1:])"
    work = folder.parent / f"work{hash_seed}"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", code, "emit", str(folder / "model.toml"), "--out", str(out)],
        cwd=work,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _project(place: Path) -> Path:
    """The digits example, copied to `place`."""
    source = CHECKOUT / "examples" / "digits"
    place.mkdir(parents=True)
    for name in ("model.toml", "digits.safetensors"):
        shutil.copy(source / name, place)
    return place


def _contents(build: Path) -> dict[str, bytes]:
    return {path.relative_to(build).as_posix(): path.read_bytes() for path in build.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One model, emitted from two folders to two folders with two orders of hashes."""
    root = tmp_path_factory.mktemp("determinism")
    made = []
    for seed, place in ((0, "here"), (4242, "a/longer way to there")):
        folder = _project(root / place / "digits")
        made.append(root / place / "out" / f"build{seed}")
        _emit(folder, made[-1], seed)
    return made[0], made[1]


@pytest.fixture(scope="module")
def manifest(builds: tuple[Path, Path]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((builds[0] / "manifest.json").read_text("utf-8"))
    return loaded


def test_same_bytes(builds: tuple[Path, Path]) -> None:
    first, second = map(_contents, builds)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert {"manifest.json", "parameters.npz", "rtl/files.f", "rtl/digits.sv", "sim/samples.npz"} <= set(first)


def test_no_absolute_path_and_no_date(builds: tuple[Path, Path]) -> None:
    found = []
    for name, text in _contents(builds[0]).items():
        places = [str(path).encode() for path in (builds[0].parent, CHECKOUT, Path.home(), sys.prefix)]
        found += [(name, place) for place in places if len(place) > 1 and place in text]
        if name.endswith(TEXT):
            found += [(name, match[0]) for pattern in (ABSOLUTE, DATE) for match in pattern.finditer(text)]
    assert found == []
    assert ABSOLUTE.search(b'$readmemh("/tmp/rom/fc1.mem")')
    assert DATE.search(b"// generated 2024-02-29 12:00:01")


def test_archives_carry_no_date(builds: tuple[Path, Path]) -> None:
    for name in ("parameters.npz", "sim/samples.npz"):
        with zipfile.ZipFile(builds[0] / name) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}, name


def test_a_build_is_replaced_whole(builds: tuple[Path, Path], tmp_path: Path) -> None:
    """What an older build had and the new one has not is gone; what is written is what a fresh emit writes."""
    folder = _project(tmp_path / "digits")
    out = tmp_path / "builds" / "digits"
    shutil.copytree(builds[1], out)
    (out / "rtl" / "digits_gone.sv").write_text("module digits_gone; endmodule\n", "utf-8")
    (out / "sim" / "results.json").write_text("{}", "utf-8")
    (out / "rtl" / "digits.sv").write_text("changed by hand\n", "utf-8")
    _emit(folder, out, 1)
    assert _contents(out) == _contents(builds[0])
    assert list(out.parent.iterdir()) == [out], "nothing temporary is left beside it"


def test_manifest_has_every_key(manifest: dict[str, Any]) -> None:
    assert [key for key in MANIFEST.split() if key not in manifest] == []
    assert (manifest["schema"], manifest["top"]) == (2, "digits")
    assert (manifest["clock"], manifest["reset"]) == ("clk", "rst")
    for port, name in ((manifest["inputs"][0], "data_in_0"), (manifest["outputs"][0], "data_out_0")):
        assert [key for key in PORT.split() if key not in port] == []
        assert port["name"] == name
        assert port["lanes"] * port["beats"] == port["features"]
    assert (manifest["inputs"][0]["features"], manifest["outputs"][0]["features"]) == (64, 10)
    for node in manifest["nodes"]:
        assert [key for key in NODE.split() if key not in node] == [], node["name"]
        for side in ("data_in", "weight", "bias", "data_out"):
            assert node[side] is None or set(node[side]) == {"width", "frac", "signed"}
    assert [node["name"] for node in manifest["nodes"]] == ["fc1", "bn1", "relu1", "fc2", "bn2", "relu2", "fc3"]
    assert manifest["config"]["model"] == "digits-mlp"
    assert manifest["config"]["passes"]["quantize"]["linear"]["config"]["data_in_frac_width"] == 5
    assert {"mase-hw", "torch", "numpy"} <= set(manifest["tools"])


def test_manifest_cycles_are_the_design_s(manifest: dict[str, Any]) -> None:
    assert manifest["interval"] == max(node["interval"] for node in manifest["nodes"]) == 32
    assert manifest["latency"] >= sum(node["latency"] for node in manifest["nodes"])


def test_manifest_hashes(builds: tuple[Path, Path], manifest: dict[str, Any]) -> None:
    for entry in (*manifest["files"], manifest["parameters"]):
        assert entry["sha256"] == hashlib.sha256((builds[0] / entry["path"]).read_bytes()).hexdigest(), entry["path"]
    listed = {entry["path"] for entry in manifest["files"]}
    assert listed == {f"rtl/{path.name}" for path in (builds[0] / "rtl").glob("*.sv")}
    with np.load(builds[0] / "parameters.npz", allow_pickle=False) as arrays:
        assert {array.dtype.kind for array in arrays.values()} == {"i"}, "parameters are integers"


def test_files_f_compiles_in_order(builds: tuple[Path, Path], manifest: dict[str, Any]) -> None:
    rtl = builds[0] / "rtl"
    names = (rtl / "files.f").read_text("utf-8").split()
    assert [f"rtl/{name}" for name in names] == [entry["path"] for entry in manifest["files"]]
    assert names[-1] == f"{manifest['top']}.sv"
    tools = find()
    done = subprocess.run(
        [str(tools.verilator), "--lint-only", "-Wall", "--timing", "--top-module", "digits", "-f", "files.f"],
        cwd=rtl,
        env={**os.environ, "VERILATOR_ROOT": str(tools.verilator_root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    # Library, components, top: no other order is needed, since no file holds a package or a macro that others use.
    kinds = [0 if name.startswith("mase_") else 2 if name == names[-1] else 1 for name in names]
    assert kinds == sorted(kinds)
    assert {*kinds} == {0, 1, 2}
    shared = re.compile(r"^\s*(package\b|`define\b|`include\b)", re.MULTILINE)
    assert [name for name in names if shared.search((rtl / name).read_text("utf-8"))] == []
