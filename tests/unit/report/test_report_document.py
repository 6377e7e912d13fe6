"""The document: what is in the files, and nothing that is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_files import edit_rtl, leave_certificate, leave_simulation, leave_synthesis

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build
from mase_hw.report import document
from mase_hw.simulate import check as check_module
from mase_hw.simulate.check import SimRequest, accuracy, check
from mase_hw.simulate.verdict import NAME


def test_a_build_that_was_only_emitted_claims_nothing(build: Build) -> None:
    content = document(build)
    assert content["simulation"]["status"] == content["proof"]["status"] == content["front"]["status"] == "none"
    assert content["synthesis"]["targets"] == []
    assert content["accuracy"]["hardware"] is None
    assert content["accuracy"]["why"] == "not simulated"
    assert content["simulation"]["command"] == f"mase-hw sim {build.path}"
    assert content["proof"]["command"] == f"mase-hw prove {build.path}"
    assert content["front"]["command"] == "mase-hw explore model.toml"
    assert content["simulation"]["not_run"] == ["design", "fc1", "bn", "fc2"]
    assert set(content["tools"]) == {"emit", "report"}
    json.dumps(content, allow_nan=False)


def test_what_the_model_is(build: Build) -> None:
    model = document(build)["model"]
    assert (model["project"], model["model"], model["dataset"]) == ("small", "net.py:Net", "net.py:load")
    assert model["sources"]["config"]["name"] == "model.toml"
    assert [[port["features"] for port in model[side]] for side in ("inputs", "outputs")] == [[4], [3]]
    assert model["inputs"][0]["type"] == "6.3"


def test_a_passed_simulation_gives_the_hardware_its_accuracy(build: Build) -> None:
    leave_simulation(build)
    content = document(build)
    software = accuracy(build)
    assert software is not None
    assert content["simulation"]["status"] == "passed"
    assert content["accuracy"]["hardware"] == software["quantized"]
    bench = content["simulation"]["benches"][0]
    assert bench["groups"] == [("data set", 40), ("random", 8)]
    assert [pattern["compared"] for pattern in bench["patterns"]] == [144, 144]
    assert content["tools"]["sim"]["verilator"]


def test_without_the_test_split_the_hardware_has_no_accuracy(build: Build) -> None:
    leave_simulation(build, data=False)
    content = document(build)
    assert content["simulation"]["status"] == "passed"
    assert content["accuracy"]["hardware"] is None
    assert content["accuracy"]["why"] == "the simulation did not have the whole test split"


@pytest.mark.parametrize(
    ("left", "status"),
    [
        ({"failures": ("none: data_out_0 is wrong",), "wrong": 1}, "failed"),
        ({"stopped": True}, "stopped"),
        ({"wrong": 1}, "failed"),  # a verdict that its own results contradict
    ],
)
def test_a_simulation_that_did_not_pass_is_not_shown_as_passed(build: Build, left: dict, status: str) -> None:
    leave_simulation(build, **left)
    content = document(build)
    assert content["simulation"]["status"] == status
    assert content["simulation"]["benches"][0]["why"]
    assert content["accuracy"]["hardware"] is None


def test_a_changed_byte_makes_everything_stale(build: Build) -> None:
    leave_simulation(build)
    leave_certificate(build)
    leave_synthesis(build)
    name = edit_rtl(build)
    content = document(read_build(build.path))
    for found in (content["simulation"]["benches"][0], content["proof"], content["synthesis"]["targets"][0]):
        assert found["status"] == "stale"
        assert name in found["why"]
    assert content["simulation"]["status"] == "stale"
    assert content["accuracy"]["hardware"] is None
    assert content["layers"]["total"]["measured"] == {}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": 1}', '{"schema": 9}', '{"schema": 1, "patterns": 3}'])
@pytest.mark.parametrize("name", ["results.json", NAME])
def test_damaged_results_say_so(build: Build, name: str, damage: str) -> None:
    folder = leave_simulation(build)
    (folder / name).write_text(damage)
    content = document(build)
    assert content["simulation"]["status"] == "unknown"
    assert content["simulation"]["benches"][0]["why"]
    assert content["accuracy"]["hardware"] is None


def test_results_without_a_verdict_are_no_pass(build: Build) -> None:
    folder = leave_simulation(build)
    (folder / NAME).unlink()
    content = document(build)
    assert content["simulation"]["status"] == "unknown"
    assert "no verdict" in content["simulation"]["benches"][0]["why"]


def test_a_run_that_is_interrupted_takes_the_old_verdict_away(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_simulation(build)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_module, "_check_cocotb", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(check(build, SimRequest(only="design")))
    assert document(build)["simulation"]["status"] == "unknown"


def test_a_component_that_failed_alone_is_not_hidden_by_the_design(build: Build) -> None:
    folder = leave_simulation(build, failures=("none: wrong",), wrong=1)
    alone = build.path / "sim" / "components" / "fc1"
    alone.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(alone)
    leave_simulation(build)
    content = document(build)
    assert {bench["bench"]: bench["status"] for bench in content["simulation"]["benches"]} == {
        "design": "passed",
        "fc1": "failed",
    }
    assert content["simulation"]["status"] == "failed"
    assert content["simulation"]["not_run"] == ["bn", "fc2"]


def test_a_certificate_counts_when_verify_would_say_so(build: Build) -> None:
    leave_certificate(build)
    content = document(build)
    assert content["proof"]["status"] == "proved"
    assert {claim["status"] for claim in content["proof"]["claims"]} == {"proved"}


@pytest.mark.parametrize("status", ["open", "refuted"])
def test_one_claim_that_is_not_proved_is_named(build: Build, status: str) -> None:
    leave_certificate(build, {("fc1", "values"): status})
    proof = document(build)["proof"]
    assert proof["status"] == status
    assert [c["component"] for c in proof["claims"] if c["status"] != "proved"] == ["fc1"]


def test_a_certificate_that_leaves_a_claim_out_proves_nothing(build: Build) -> None:
    path = leave_certificate(build)
    content = json.loads(path.read_text())
    content["claims"] = content["claims"][1:]
    path.write_text(json.dumps(content))
    proof = document(build)["proof"]
    assert proof["status"] == "open"
    assert "does not speak of it" in proof["why"]


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"schema": 1}', '{"schema": 1, "claims": [{}], "files": {}, "tools": {}}']
)
def test_a_damaged_certificate_says_so(build: Build, damage: str) -> None:
    (build.path / "certificate.json").write_text(damage)
    proof = document(build)["proof"]
    assert (proof["status"], proof["claims"]) == ("unknown", [])
    assert proof["why"]


def test_measured_cells_stand_beside_the_predicted(build: Build) -> None:
    leave_synthesis(build)
    table = document(build)["layers"]
    rows = {row["name"]: row for row in table["rows"]}
    measured = rows["fc1"]["measured"]["xcup"]
    assert (measured["sites"], measured["lut"]) == (151, 101)  # memory LUTs are LUTs
    assert table["total"]["measured"]["xcup"] == {"sites": 999, "lut": 778, "ff": 20, "dsp": 0, "bram": 0}
    assert table["total"]["predicted"]["ff"] == build.manifest["cost"]["ff"]


def test_a_front_is_read_and_a_missing_one_is_a_problem(build: Build, tmp_path: Path) -> None:
    cost = {"sites": 120, "lut": 90, "lutram": 10, "ff": 5, "carry": 0, "dsp": 1, "bram": 0, "depth": 2}
    choice = {"implementation": "folded", "array_in": 2, "array_out": 3, "use_dsp": True, "digit_bits": None}
    point = {
        "interval": 4,
        "latency": 9,
        "sites": 130,
        "luts": 100,
        "cost": cost,
        "hardware": {},
        "nodes": {"fc1": choice},
    }
    file = tmp_path / "front.json"
    file.write_text(json.dumps({"project": "other", "points": [point]}))
    front = document(build, file)["front"]
    assert front["status"] == "explored"
    assert front["points"][0]["chosen"] == {"fc1": "folded 2x3 DSP"}
    assert [front["points"][0][key] for key in ("sites", "lut", "dsp")] == [130, 100, 1]
    assert front["own"]["interval"] == build.manifest["interval"]
    assert document(build, tmp_path)["front"] == front  # its folder does too
    assert front["file"] == str(file)
    with pytest.raises(ProblemsError, match="is not there"):
        document(build, tmp_path / "nowhere.json")


def test_a_damaged_front_says_so(build: Build, tmp_path: Path) -> None:
    file = tmp_path / "front.json"
    for damage in ("{", "[]", "{}", '{"points": [{}]}', '{"points": [{"interval": 0, "latency": 1, "nodes": {}}]}'):
        file.write_text(damage)
        front = document(build, file)["front"]
        assert (front["status"], front["points"]) == ("unknown", [])
        assert front["why"]


def test_damaged_float_values_are_a_problem(build: Build) -> None:
    (build.path / "sim" / "floats.npz").write_bytes(b"123")
    with pytest.raises(ProblemsError, match=r"floats\.npz is no npz, or it is damaged"):
        document(build)


def test_a_build_of_before_has_no_errors_but_all_the_rest(build: Build) -> None:
    (build.path / "sim" / "floats.npz").unlink()
    found = document(build)["values"]
    assert [layer["error"] for layer in found["layers"]] == [None] * 4
    assert found["layers"][1]["clamped"]["high"] > 0


def test_the_project_s_own_front_is_found_and_another_s_is_not(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mase_output" / "small" / "hardware" / "front.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"project": "small", "points": []}))
    assert document(build)["front"]["status"] == "explored"
    file.write_text(json.dumps({"project": "other", "points": []}))
    assert document(build)["front"]["status"] == "unknown"
