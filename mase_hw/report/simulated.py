"""What was simulated of a build: each bench that left results, and whether these speak of the RTL that is there."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.ir.plumbing import Plumbing
from mase_hw.report.reading import DAMAGED, changed, read_table, said
from mase_hw.simulate.verdict import NAME, SCHEMA, file_hashes
from mase_hw.untrusted import Folder, RefusedError

RESULTS = "results.json"
DATA_SET = "data set"  # the stimulus' name for the test split
_TRACED = ("native", "traced")  # a few vectors around a failure, run once more: part of that failure's text


def simulated(build: Build) -> dict[str, Any]:
    """All benches. The `status` is that of the whole design (passed, failed, stopped, stale, unknown or none).

    It is `failed` also where a component alone failed.
    """
    now = file_hashes(build)
    try:
        files = Folder(build.path).names("sim")
    except FileNotFoundError:
        files = []
    except RefusedError as error:
        raise ProblemsError(Problem(f"{build.path} {error}", hint="delete it: a build holds files alone")) from None
    places = {PurePosixPath(file).parent for file in files if file.endswith((f"/{NAME}", f"/{RESULTS}"))}
    benches = [_bench(build, place, now) for place in sorted(places) if place.parts[-2:] != _TRACED]
    order = ["design", "axis", *(component.name for component in build.design.components)]
    benches.sort(key=lambda bench: order.index(bench["bench"]) if bench["bench"] in order else len(order))
    whole = [bench for bench in benches if bench["bench"] == "design"]
    there = {bench["bench"] for bench in benches}
    components = [c.name for c in build.design.components if not isinstance(c, Plumbing)]
    alone = components if len(build.design.components) > 1 else []
    wanted = ["design", *(["axis"] if build.axis else []), *alone]
    design = _worst([bench["status"] for bench in whole])
    return {
        "status": "failed" if any(bench["status"] == "failed" for bench in benches) else design,
        "design": design,
        "benches": benches,
        "not_run": [name for name in wanted if name not in there],
        "command": said("sim", build.path),
    }


def data_set_passed(simulation: dict[str, Any], samples: int) -> bool:
    """Whether the whole design, as it is, was driven with the test split and every output was equal."""
    passed = [b for b in simulation["benches"] if b["bench"] == "design" and b["status"] == "passed"]
    return simulation["design"] == "passed" and any((DATA_SET, samples) in bench["groups"] for bench in passed)


def _worst(states: list[str]) -> str:
    """Of two engines' runs of one design, a failure outweighs a pass; a pass outweighs what says nothing."""
    return next((state for state in ("failed", "passed", "stopped", "stale", "unknown") if state in states), "none")


def _bench(build: Build, place: PurePosixPath, now: dict[str, str]) -> dict[str, Any]:
    """One bench. It passed only if its verdict says so, of these files, and its results bear it out."""
    verdict = read_table(build.path, f"{place}/{NAME}", SCHEMA)
    results = read_table(build.path, f"{place}/{RESULTS}", 1)
    parts = place.parts[1:] or ("",)
    native = parts[-1] == "native" and parts != ("components", "native")  # a component may be called so
    name = parts[1] if parts[0] == "components" else parts[0]
    entry: dict[str, Any] = {
        "bench": name,
        "engine": "native" if native else "cocotb",
        "folder": str(place),
        "status": "unknown",
        "why": "",
        "groups": [],
        "patterns": [],
        "notes": [],
        "tools": {},
    }
    try:
        entry["patterns"] = [_pattern(result) for result in results["patterns"]] if isinstance(results, dict) else []
        if not isinstance(verdict, dict):
            text = verdict or "no verdict was written: the run did not end, or an older mase-hw made it"
            return {**entry, "why": text}
        entry["groups"] = [(str(label), int(count)) for label, count in verdict["groups"]]
        entry |= {
            "tools": dict(verdict["tools"]),
            "seed": int(verdict["seed"]),
            "notes": [str(note) for note in verdict["notes"]],
        }
        return {**entry, **_state(verdict, results, entry["patterns"], changed(verdict["files"], now))}
    except DAMAGED as error:
        return {**entry, "patterns": [], "why": f"the results are damaged: {type(error).__name__}: {error}"}


def _state(
    verdict: dict[str, Any], results: object, patterns: list[dict[str, Any]], differ: list[str]
) -> dict[str, Any]:
    if differ:
        return {"status": "stale", "why": f"changed since it was simulated: {', '.join(differ)}"}
    if verdict["stopped"] is True:
        return {"status": "stopped", "why": "stopped before the end; what was compared until then is below"}
    if verdict["passed"] is not True:
        return {
            "status": "failed",
            "why": "; ".join(str(line) for line in verdict["failures"]) or "no reason was noted",
        }
    if not isinstance(results, dict):
        return {"status": "unknown", "why": str(results or f"{RESULTS} is gone")}
    ran = [pattern["pattern"] for pattern in patterns]
    whole = bool(ran) and ran == verdict["patterns"]
    equal = all(p["passed"] is True and p["compared"] == p["equal"] > 0 for p in patterns)
    if not (whole and equal):
        return {"status": "failed", "why": f"{RESULTS} does not bear the verdict out"}
    return {"status": "passed"}


def _pattern(result: dict[str, Any]) -> dict[str, Any]:
    ends = [stream for stream in result["streams"] if stream["role"] == "output"]
    inner = [stream for stream in result["streams"] if stream["role"] == "probe"]
    return {
        "pattern": str(result["pattern"]),
        "passed": result["passed"],
        "message": result["message"],
        "vectors": int(result["vectors"]),
        "compared": sum(int(stream["compared"]) for stream in ends),
        "equal": sum(int(stream["equal"]) for stream in ends),
        "inside_compared": sum(int(stream["compared"]) for stream in inner),
        "inside_equal": sum(int(stream["equal"]) for stream in inner),
        **{key: None if result[key] is None else int(result[key]) for key in ("cycles", "interval", "latency")},
    }
