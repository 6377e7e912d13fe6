"""How the report says things: states in words, numbers in figures. The page and the terminal share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["good", "bad", "mixed", "none"]

SIMULATION: dict[str, tuple[Tone, str]] = {
    "passed": ("good", "simulated: every output equal"),
    "failed": ("bad", "simulation failed"),
    "stopped": ("mixed", "simulation stopped before its end"),
    "stale": ("mixed", "simulation is stale: files have changed since"),
    "unknown": ("mixed", "simulation without a verdict"),
    "none": ("none", "not simulated"),
}
PROOF: dict[str, tuple[Tone, str]] = {
    "proved": ("good", "proved for every input"),
    "open": ("mixed", "not everything is proved"),
    "refuted": ("bad", "a claim is false"),
    "stale": ("mixed", "certificate is stale: files have changed since"),
    "unknown": ("mixed", "certificate cannot be read"),
    "none": ("none", "not proved"),
}
SYNTHESIS: dict[str, tuple[Tone, str]] = {
    "measured": ("good", "synthesized"),
    "stale": ("mixed", "synthesis is stale: RTL has changed since"),
    "unknown": ("mixed", "synthesis report cannot be read"),
    "none": ("none", "not synthesized"),
}


@dataclass(frozen=True)
class Badge:
    tone: Tone
    text: str
    where: str  # the section that says more


def headline(content: Mapping[str, Any]) -> list[Badge]:
    """What can be said of the build at a glance."""
    targets = [entry["status"] for entry in content["synthesis"]["targets"]]
    synthesis = next((state for state in ("measured", "stale", "unknown") if state in targets), "none")
    return [
        Badge(*SIMULATION[content["simulation"]["status"]], "simulated"),
        Badge(*PROOF[content["proof"]["status"]], "proved"),
        Badge(*SYNTHESIS[synthesis], "layers"),
    ]


def number(value: float) -> str:
    """1234567 as 1,234,567."""
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def real(value: float) -> str:
    """Three digits that matter."""
    return f"{value:.3g}"


def pattern_totals(bench: Mapping[str, Any]) -> dict[str, int]:
    """Over all stall patterns of a bench."""
    keys = ("compared", "equal", "inside_compared", "inside_equal")
    return {key: sum(pattern[key] for pattern in bench["patterns"]) for key in keys}


def claims(found: Sequence[Mapping[str, str]]) -> dict[str, dict[str, Mapping[str, str]]]:
    """By component, then by what is claimed."""
    table: dict[str, dict[str, Mapping[str, str]]] = {}
    for claim in found:
        table.setdefault(claim["component"], {})[claim["about"]] = claim
    return table


def sizes(port: Mapping[str, Any]) -> str:
    """The features of a port; of a frame with its positions: `28 x 28 x 3`."""
    return " x ".join(map(str, (*port["frame"], port["features"])))


def scales(ports: Mapping[str, Any]) -> list[str]:
    """What an integer of each port stands for, where that takes a scale."""
    found = []
    for port in (*ports["inputs"], *ports["outputs"]):
        if "scale" not in port:
            continue
        scale, zero = port["scale"], port["zero_point"]
        if isinstance(scale, list):
            text = f"{len(scale)} scales, {min(scale):.6g} to {max(scale):.6g}: see the manifest"
        else:
            text = f"{scale:.6g} * n" if not zero else f"{scale:.6g} * (n {'-' if zero > 0 else '+'} {abs(zero):.6g})"
        found.append(f"{port['name']}: an integer n stands for {text}")
    return found
