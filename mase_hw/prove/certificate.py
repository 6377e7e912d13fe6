"""certificate.json: what was proved of a build, bound to the bytes that it was proved of; read without torch."""

from __future__ import annotations

import json
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
from mase_hw.files import write_whole
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.prove import Proof, prove
from mase_hw.untrusted import Folder, RefusedError, parse_json

SCHEMA = 2  # since 2 the samples are among the files
NAME = "certificate.json"
MODEL = "model"  # the claim of `prove` with a TOML
_SOURCES = "emit and prove again, or give the file as it was"
_NUMBERS = re.compile(r"\[[-\d,\s]+\]")  # a list of them goes on one line
CLAIMS = ("timing", "handshake", "values", "widths")  # of every component
OF_THE_WHOLE = ("language", "wiring", "progress", "readers")  # of the design


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
    text = _NUMBERS.sub(lambda found: " ".join(found[0].split()), json.dumps(content, indent=2))
    write_whole(path, text + "\n")
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
        certificate = parse_json(Folder(build.path).read(NAME))
        if not isinstance(certificate, dict):
            raise RefusedError("is not a table")
    except FileNotFoundError:
        hint = f"`mase-hw prove {build.path}` writes one"
        raise ProblemsError(Problem(f"{build.path} has no {NAME}", hint=hint)) from None
    except OSError as error:
        raise ProblemsError(Problem(f"{path} cannot be read: {error.strerror}", hint=_again(build))) from None
    except RefusedError as error:
        raise ProblemsError(Problem(f"{path} {error}", hint=_again(build))) from None
    said = certificate.get("sources")
    problems = [*_differences(build, certificate), *other_sources(said, sources or {}, _SOURCES)]
    if isinstance(said, dict) and said != build.manifest.get("sources", {}):
        problems.append(Problem(f"{NAME} names other sources than the manifest", hint=_again(build)))
    if problems:
        raise ProblemsError(*problems)
    return certificate


def prove_again(build: Build, certificate: Mapping[str, Any]) -> int:
    """Proves the build anew; how many claims there are. One that is not proved, or not anew, is a Problem."""
    claims = prove(build).claims
    problems = [
        Problem(f"not proved: {claim.about} of {claim.component}: {claim.detail}")
        for claim in claims
        if claim.status != "proved"
    ]
    found = {(claim.component, claim.about) for claim in claims}
    listed = {(claim["component"], claim["about"]) for claim in certificate["claims"] if _is_claim(claim)}
    for component, about in sorted(listed - found):
        if about != MODEL:  # of which the TOML is needed
            problems.append(
                Problem(f"{NAME} has a claim that there is not: {about} of {component}", hint=_again(build))
            )
    if problems:
        raise ProblemsError(*problems)
    return len(claims)


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
    wanted |= {(build.manifest["top"], about) for about in OF_THE_WHOLE}
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
    """SHA-256 of every file that a command reads, and of all others beside the RTL, listed or not."""
    try:
        names = {*build.covered, *build.folder.names("rtl")}
    except (OSError, RefusedError) as error:
        raise ProblemsError(Problem(f"{build.path} {error}", hint=_again(build))) from None
    return {name: build.sha256(name) for name in sorted(names) if build.folder.has(name)}
