"""What a simulation found, read from what the simulator left behind; anything missing is a failure."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Mismatch:
    """The first wrong integer of a stream; `cycle` counts from the first input beat taken."""

    vector: int
    element: int
    lane: int
    expected: int
    got: int
    cycle: int


@dataclass(frozen=True)
class CycleDifference:
    """The first beat that was not taken in its predicted cycle; None stands for no such beat."""

    beat: int
    predicted: int | None
    observed: int | None


@dataclass(frozen=True)
class StreamResult:
    """One stream under one pattern."""

    name: str
    label: str
    role: str
    beats: int
    beats_expected: int
    compared: int
    equal: int
    mismatch: Mismatch | None
    broken_cycle: int | None
    cycles_checked: bool
    cycle_difference: CycleDifference | None
    complaint: str | None


@dataclass(frozen=True)
class PatternResult:
    """One stall pattern: cycles from the first input beat taken to the last output beat, and every stream."""

    pattern: str
    passed: bool
    message: str | None
    vectors: int
    hang: str | None
    end_cycle: int
    cycles: int | None
    latency: int | None
    interval: int | None
    seconds: float
    streams: tuple[StreamResult, ...]
    origin: int = 0  # cycles from reset to the first input beat taken
    start_time: int | None = None  # of the first clock edge after reset; None where there are no waves to look at

    def outputs(self) -> tuple[StreamResult, ...]:
        return tuple(stream for stream in self.streams if stream.role == "output")


@dataclass(frozen=True)
class Outcome:
    """The whole simulation. `failures` has one line per pattern that failed, or says why there is no result."""

    passed: bool
    failures: tuple[str, ...]
    patterns: tuple[PatternResult, ...]
    torch_imported: bool
    log: Path
    waves: Path | None
    build_seconds: float
    run_seconds: float
    stopped: bool = False  # by the user, before the end
    notes: tuple[str, ...] = ()  # what else was checked

    @property
    def mismatches(self) -> tuple[tuple[str, StreamResult], ...]:
        """Every stream with a wrong integer, with its pattern, in design order within a pattern."""
        return tuple((p.pattern, s) for p in self.patterns for s in p.streams if s.mismatch)

    @property
    def hangs(self) -> tuple[str, ...]:
        return tuple(p.hang for p in self.patterns if p.hang)

    def pattern(self, name: str) -> PatternResult:
        return next(p for p in self.patterns if p.pattern == name)


def read_results(work: Path, wanted: tuple[str, ...]) -> tuple[tuple[PatternResult, ...], bool, list[str]]:
    """The patterns that ran, whether torch was loaded, and what is wrong; each wanted pattern must be in both files."""
    failures: list[str] = []
    verdicts = _read_xml(work / "results.xml", failures)
    patterns, torch_imported = _read_json(work / "results.json", failures)
    by_name = {result.pattern: result for result in patterns}
    for name in wanted:
        result, verdict = by_name.get(name), verdicts.get(name)
        if result is None:
            failures.append(f"{name}: no result{': ' + verdict if verdict else ''}")
        elif result.message:
            failures.append(f"{name}: {result.message}")
        elif verdict is None:
            failures.append(f"{name}: cocotb reports no verdict")
        elif verdict:
            failures.append(f"{name}: {verdict}")
        elif not result.passed:
            failures.append(f"{name}: failed")
    return patterns, torch_imported, failures


def _read_xml(path: Path, failures: list[str]) -> dict[str, str]:
    """Pattern to cocotb's verdict, where the empty text is a pass."""
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        failures.append(f"{path.name} was not written: the simulator did not reach its end")
        return {}
    except ElementTree.ParseError as error:
        failures.append(f"{path.name} is not whole: {error}")
        return {}
    verdicts: dict[str, str] = {}
    for case in root.iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error", "skipped")]
        pattern = case.get("name", "").rpartition("=")[2].rstrip("]")
        text = f"cocotb: {bad[0].tag}: {bad[0].get('message') or (bad[0].text or '').strip()}" if bad else ""
        verdicts[pattern] = text
    return verdicts


def _read_json(path: Path, failures: list[str]) -> tuple[tuple[PatternResult, ...], bool]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        failures.append(f"{path.name} was not written: no run was compared")
        return (), False
    except json.JSONDecodeError as error:
        failures.append(f"{path.name} is not whole: {error}")
        return (), False
    return tuple(_pattern(entry) for entry in document["patterns"]), bool(document["torch_imported"])


def _pattern(entry: dict[str, Any]) -> PatternResult:
    return PatternResult(**{**entry, "streams": tuple(_stream(stream) for stream in entry["streams"])})


def _stream(entry: dict[str, Any]) -> StreamResult:
    mismatch, difference = entry["mismatch"], entry["cycle_difference"]
    typed = {
        "mismatch": Mismatch(**mismatch) if mismatch else None,
        "cycle_difference": CycleDifference(**difference) if difference else None,
    }
    return StreamResult(**{**entry, **typed})
