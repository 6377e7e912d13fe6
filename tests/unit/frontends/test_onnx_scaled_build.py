"""A build of a file with scales: its RTL, its manifest, and what `prove` says of it when something is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scaled_nets import ScaledNet, random_scaled
from test_onnx_scaled import BATCH, prepared
from together import assert_all_equal

from mase_hw.cli import main
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build
from mase_hw.flow import prepare
from mase_hw.prove.claims.model import claim_model
from mase_hw.report.words import scales
from mase_hw.samples import reals
from mase_hw.simulate.whole import check_whole

WEIGHT = np.array([[1.0, -0.6, 0.3], [-0.4, 0.9, 1.1]])


def small(scale: float = 0.3, middle: float = 0.21, last: float = 0.4) -> ScaledNet:
    made = ScaledNet((3,)).scaled(scale, 3)
    made.gemm(made.scaled_of(made.constant(WEIGHT), 0.37, 3), made.constant([0.1, -0.2]), 2, name="fc1")
    made.norm([1.3, -0.8], 0.1, 0.3, 2.0).relu().scaled(middle, 2, signed=0)
    return made.gemm(made.scaled_of(made.constant(WEIGHT[:, :2]), last, 3), outs=2, name="fc2")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("scaled")
    path = small().save(folder / "net.onnx")
    main(["emit", str(path), "--out", str(folder / "build"), "--quiet"])
    return read_build(folder / "build")


def test_the_manifest_has_scale_and_zero_point(build: Build) -> None:
    (x,), (y,) = build.manifest["inputs"], build.manifest["outputs"]
    assert (x["scale"], x["zero_point"]) == (float(np.float32(0.3)), 0.0)
    assert y["scale"] == pytest.approx(0.21 * 0.4, rel=1e-6)
    check_whole(build)
    told = scales(build.manifest)
    assert told[0] == "data_in_0: an integer n stands for 0.3 * n"
    assert told[1].startswith("data_out_0: an integer n stands for 0.084 * n")


@pytest.mark.parametrize(("side", "key"), [("inputs", "scale"), ("outputs", "zero_point")])
def test_a_scale_that_is_changed_in_the_manifest_is_seen(build: Build, side: str, key: str, tmp_path: Path) -> None:
    manifest: dict[str, Any] = json.loads(json.dumps(build.manifest))
    manifest[side][0][key] += 1.0
    build.copy_to(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ProblemsError, match=f"{side} are not those of the design"):
        check_whole(read_build(tmp_path))


@pytest.mark.parametrize("wrong", [[0, 1], [1, 0], [1], "1", [1 << 400, 1]])
def test_a_scale_that_is_no_fraction_is_refused(build: Build, wrong: object, tmp_path: Path) -> None:
    manifest: dict[str, Any] = json.loads(json.dumps(build.manifest))
    manifest["reals"]["codes"][0]["scale"] = wrong
    build.copy_to(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ProblemsError, match=r"is damaged: reals\.codes\[0\]\.scale"):
        read_build(tmp_path)


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({}, "proved", "the same layers, types and roundings"),
        ({"last": 0.41}, "refuted", "data_out_0: scale and zero point are"),
        ({"scale": 0.30001}, "refuted", "data_in_0: scale and zero point are"),
        ({"middle": 0.33, "last": 0.21 * 0.4 / 0.33}, "refuted", "relu"),
    ],
)
def test_the_model_binds_scales_and_thresholds(
    build: Build, given: dict[str, float], status: str, said: str, tmp_path: Path
) -> None:
    again = prepare(load_config(small(**given).save(tmp_path / "net.onnx"))).compiled
    claim = claim_model(build.design, again.design, "net.onnx", (build.reals, reals(again.layers)))
    assert claim.status == status
    if said != "relu":
        assert said in claim.method + claim.detail
    else:  # the outputs stand for nearly the same; without the ports, the thresholds tell
        claim = claim_model(build.design, again.design, "net.onnx")
        assert "limit [" in claim.detail


@pytest.mark.slow
def test_every_claim_is_proved_and_a_threshold_that_is_changed_is_refuted(
    build: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    def claims() -> list[tuple[str, str, str]]:
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(["prove", str(build.path), "--json"])
        return [(one["component"], one["about"], one["status"]) for one in json.loads(capsys.readouterr().out)]

    assert {status for _, _, status in claims()} == {"proved"}
    [file] = [file for file in build.places if ">= limit" in file.read_text("utf-8")]
    text = file.read_text("utf-8")
    first = text.index("'{", text.index("Thresholds0[")) + 3
    digit = text.index("'h", first) + 2
    while text[digit + 1] in "0123456789abcdef":
        digit += 1
    other = "0123456789abcdef"[int(text[digit], 16) ^ 1]
    try:
        file.write_text(text[:digit] + other + text[digit + 1 :], encoding="utf-8")
        assert [(about, status) for _, about, status in claims() if status == "refuted"][:1] == [("values", "refuted")]
    finally:
        file.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_rtl_of_random_files(tmp_path: Path) -> None:
    designs = {}
    for seed in (0, 3, 4, 11):
        folder = tmp_path / str(seed)
        folder.mkdir()
        designs[str(seed)] = prepared(random_scaled(seed, BATCH)[0], folder).compiled.design
    assert_all_equal(designs, tmp_path / "all", 24)


def test_host_programs_are_refused(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(build.path), "--to", "python"])
    assert "its ports have scales that are no powers of two" in capsys.readouterr().err
