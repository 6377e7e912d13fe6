"""certificate.json: what was proved of a build, bound to the bytes that it was proved of; read without torch."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mase_hw import __version__
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.sources import other_sources
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.prove import Proof

SCHEMA = 1
NAME = "certificate.json"
_SOURCES = "emit and prove again, or give the file as it was"
_NUMBERS = re.compile(r"\[[-\d,\s]+\]")  # a list of them goes on one line
CLAIMS = ("timing", "handshake", "values", "widths")  # of every component


def write_certificate(build: Build, proof: Proof) -> Path:
    """Writes the certificate into the build, whole or not at all."""
    path = build.path / NAME
    content = {
        "schema": SCHEMA,
        "top": build.manifest["top"],
        "proved": proof.proved,
        "files": hashes(build),
        "sources": build.manifest.get("sources", {}),
        "interval": build.manifest["interval"],
        "latency": build.manifest["latency"],
        "claims": [_listed(claim) for claim in proof.claims],
        "tools": {"mase-hw": __version__, "pyosys": version("pyosys")},
    }
    aside = path.with_suffix(".new")
    text = _NUMBERS.sub(lambda found: " ".join(found[0].split()), json.dumps(content, indent=2))
    aside.write_text(text + "\n", encoding="utf-8")
    os.replace(aside, path)
    return path


def _listed(claim: Claim) -> dict[str, Any]:
    """A claim; most have no adders."""
    found = asdict(claim)
    if not claim.adders:
        del found["adders"]
    return found


def verify(build: Build, sources: Mapping[str, Path] | None = None) -> dict[str, Any]:
    """The certificate of a build, if it is of this very build; else a Problem for each thing that differs.

    `sources` are files that it is said to be made from, by what they are: `config`, `checkpoint`.
    """
    path = build.path / NAME
    try:
        certificate = json.loads(path.read_text("utf-8"))
        if not isinstance(certificate, dict):
            raise ValueError("it is not a table")
    except FileNotFoundError:
        hint = f"`mase-hw prove {build.path}` writes one"
        raise ProblemsError(Problem(f"{build.path} has no {NAME}", hint=hint)) from None
    except (OSError, ValueError) as error:
        raise ProblemsError(Problem(f"{path} cannot be read: {error}", hint=_again(build))) from None
    said = certificate.get("sources")
    problems = [*_differences(build, certificate), *other_sources(said, sources or {}, _SOURCES)]
    if isinstance(said, dict) and said != build.manifest.get("sources", {}):
        problems.append(Problem(f"{NAME} names other sources than the manifest", hint=_again(build)))
    if problems:
        raise ProblemsError(*problems)
    return certificate


def _differences(build: Build, certificate: Mapping[str, Any]) -> list[Problem]:
    path = build.path / NAME
    if certificate.get("schema") != SCHEMA:
        return [Problem(f"{path} is of another version: this one reads schema {SCHEMA}", hint=_again(build))]
    found = []
    proved_of, now = certificate.get("files"), hashes(build)
    if not isinstance(proved_of, dict):
        return [Problem(f"{path} does not say which files were proved", hint=_again(build))]
    for name in sorted({*proved_of, *now}):
        if name not in proved_of:
            found.append(Problem(f"{name} was not there when the build was proved", hint=_again(build)))
        elif name not in now:
            found.append(Problem(f"{name} was proved and is gone", Place(build.path / name, 1), hint=_again(build)))
        elif proved_of[name] != now[name]:
            text = f"{name} has changed since it was proved"
            found.append(Problem(text, Place(build.path / name, 1), hint=_again(build)))
    wanted = {(entry["name"], about) for entry in build.manifest["components"] for about in CLAIMS}
    wanted.add((build.manifest["top"], "wiring"))
    if "axis" in build.manifest:
        wanted.add((build.manifest["axis"]["top"], "axis"))
    claims = certificate.get("claims")
    listed: list[dict[str, Any]] = [claim for claim in claims if _is_claim(claim)] if isinstance(claims, list) else []
    wanted |= {(c["component"], c["about"]) for c in listed}
    proved = {(c["component"], c["about"]) for c in listed if c.get("status") == "proved"}
    for component, about in sorted(wanted - proved):
        claim = next((c for c in listed if (c["component"], c["about"]) == (component, about)), {})
        why = claim.get("detail") or "the certificate does not speak of it"
        found.append(Problem(f"not proved: {about} of {component}: {why}"))
    return found


def _is_claim(value: object) -> bool:
    """A table that says of which component it speaks, and about what."""
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("component", "about"))


def _again(build: Build) -> str:
    return f"prove it again: mase-hw prove {build.path}"


def hashes(build: Build) -> dict[str, str]:
    """SHA-256 of every file that the proof read: the RTL in its folder, listed or not, and the parameters."""
    names = {path.relative_to(build.path).as_posix() for path in (build.path / "rtl").rglob("*") if path.is_file()}
    names |= {"parameters.npz", "manifest.json"}
    return {name: hashlib.sha256((build.path / name).read_bytes()).hexdigest() for name in sorted(names)}
