"""What was proved of a build: the claims of its certificate, if it speaks of the files that are there."""

from __future__ import annotations

from typing import Any

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build
from mase_hw.prove.certificate import NAME, SCHEMA, hashes, verify
from mase_hw.report.reading import DAMAGED, changed, read_table, said

PROVED = "proved"


def proved(build: Build) -> dict[str, Any]:
    """The `status` is `proved` only where `mase-hw verify` would say so too."""
    content = read_table(build.path, NAME, SCHEMA)
    entry: dict[str, Any] = {
        "status": "none",
        "why": "",
        "claims": [],
        "tools": {},
        "command": said("prove", build.path),
    }
    if content is None:
        return entry
    if isinstance(content, str):
        return {**entry, "status": "unknown", "why": content}
    try:
        entry["claims"] = [_claim(claim) for claim in content["claims"]]
        entry["tools"] = dict(content["tools"])
        differ = changed(content["files"], hashes(build))
    except DAMAGED as error:
        return {
            **entry,
            "claims": [],
            "status": "unknown",
            "why": f"{NAME} is damaged: {type(error).__name__}: {error}",
        }
    if differ:
        return {**entry, "status": "stale", "why": f"changed since it was proved: {', '.join(differ)}"}
    if any(claim["status"] == "refuted" for claim in entry["claims"]):
        return {**entry, "status": "refuted", "why": "a claim is false"}
    try:
        verify(build)
    except ProblemsError as error:
        return {**entry, "status": "open", "why": "; ".join(problem.message for problem in error.problems)}
    return {**entry, "status": PROVED}


def _claim(claim: dict[str, Any]) -> dict[str, str]:
    keys = ("component", "about", "status", "method", "detail")
    found = {key: str(claim[key]) for key in keys}
    if found["status"] not in (PROVED, "refuted", "open"):
        raise ValueError(f"a claim is {found['status']}")
    return found
