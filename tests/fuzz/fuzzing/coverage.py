"""What the cases of a run were made of: plain words that are counted, one line of the log for each case."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fuzzing.batch import Ran
from fuzzing.cases import Case
from fuzzing.nets import JOINS
from mase_hw.emit import Build

LOG = "log.jsonl"
GROUPS = (
    "built",
    "component",
    "graph",
    "op",
    "rounding",
    "input",
    "weight",
    "lanes",
    "hardware",
    "weights",
    "checkpoint",
    "data",
)


def facts(case: Case, build: Build | None) -> list[str]:
    """`group: word` for everything that the case has, each once."""
    found = {f"weights: {case.weights}", f"checkpoint: {case.checkpoint or 'none'}"}
    found |= {f"op: {layer.op}" for layer in case.layers}
    found |= {"data: samples" if case.samples else "data: none", f"data: {len(case.shapes[0])}-dimensional"}
    found |= _branches(case)
    configs = [entry["config"] for key, entry in case.quantize.items() if key != "by"]
    found |= {f"rounding: {config['name']}" for config in configs}
    for argument, group in (("data_in", "input"), ("weight", "weight")):
        for config in configs:
            if f"{argument}_width" in config:
                width, frac = config[f"{argument}_width"], config[f"{argument}_frac_width"]
                found.add(f"{group}: {_bucket(width)} bits")
                found |= {f"{group}: unsigned"} if not config.get(f"{argument}_signed", True) else set()
                found |= {f"{group}: point outside"} if not 0 <= frac <= width else set()
    nodes = [entry["config"] for key, entry in case.hardware.items() if key != "by"]
    found |= {f"hardware: {key}" for config in nodes for key in config}
    found |= {f"hardware: {key}" for key in case.target} | ({"hardware: fuse_batch_norm"} if case.fuse else set())
    if build is not None:
        found |= {f"built: {node.implementation}" for node in build.design.nodes}
        found |= {f"component: {component.kind}" for component in build.design.components}
        several = any(stream.beats > 1 for stream in build.design.streams)
        found.add("lanes: several beats" if several else "lanes: one beat")
    return sorted(found)


def _branches(case: Case) -> set[str]:
    """How the graph of layers is shaped."""
    net = case.net
    several = [x for x in range(len(net.shapes) + len(net.layers)) if len(net.readers(x)) > 1]
    found = {f"graph: {len(net.shapes)} inputs"} if len(net.shapes) > 1 else set()
    found |= {f"graph: {len(net.outputs)} outputs"} if len(net.outputs) > 1 else set()
    found |= {"graph: a result read several times"} if several else set()
    joins = sum(layer.op in JOINS for layer in net.layers)
    found |= {f"graph: {min(joins, 3)}{'+' if joins > 2 else ''} joins"} if joins else set()
    return found or {"graph: chain"}


def _bucket(width: int) -> str:
    return next(f"{lo}-{hi}" for lo, hi in ((1, 4), (5, 8), (9, 16), (17, 32)) if width <= hi)


def entry(number: int, ran: Ran) -> dict[str, Any]:
    """A case's line of the log."""
    result = ran.result
    return {
        "case": number,
        "status": result.status,
        "kind": result.kind,
        "detail": result.detail,
        "claims": dict(result.claims),
        "open": sorted({claim.partition(" ")[0] for claim in result.opened}),
        "why_open": sorted(result.opened),
        "seconds": dict(ran.seconds),
        "facts": facts(ran.case, ran.build),
    }


def read_log(folder: Path) -> dict[int, dict[str, Any]]:
    """The cases that are done, by number. A line that was cut off by a crash is as if it had not been."""
    found: dict[int, dict[str, Any]] = {}
    path = folder / LOG
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[int(one["case"])] = one
    return found


def summary(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a run did, in lines."""
    done = list(entries)
    status, claims, opened = Counter[str](), Counter[str](), Counter[str]()
    seen: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for one in done:
        status[one["status"]] += 1
        claims.update(one["claims"])
        opened.update(one["open"])
        for fact in one["facts"]:
            group, _, word = fact.partition(": ")
            seen[group][word] += 1
    lines = [f"cases: {len(done)}, {_list(status)}"]
    lines += [
        f"claims: {_list(claims)}"
        + (f"; cases with open ones, by what they are about: {_list(opened)}" if opened else "")
    ]
    lines += [f"{group}: {_list(counts)}" for group, counts in seen.items() if counts]
    return lines


def _list(counts: Counter[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
