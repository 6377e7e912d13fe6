"""Whether a build is still of the files that it was made from, and of which TOML it is; read without torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mase_hw.config import Config
from mase_hw.config.opened import place_of
from mase_hw.diagnostics import Place, Problem, ProblemsError

_SHOWN = 5  # changed keys
_LARGEST = 256 << 20  # bytes of a file whose place a build says
_KINDS = ("config", "checkpoint", "model", "dataset")
Manifest = Mapping[str, Any]


def sha256_of(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def toml_path(toml: Path | None, build: Path) -> str | None:
    """The path from a build folder to its TOML; None where the two have only the root of the disk in common."""
    if toml is None:
        return None
    toml, build = toml.resolve(), build.resolve()
    common = Path(os.path.commonpath([toml, build]))
    return None if common == common.parent else Path(os.path.relpath(toml, build)).as_posix()


def toml_of(manifest: Manifest, build: Path) -> Path | None:
    """The TOML that a build was made from, where its place is known and it is still there."""
    told = manifest.get("toml")
    if not isinstance(told, str) or not told.endswith((".toml", ".onnx")) or os.path.isabs(told) or "\0" in told:
        return None
    path = Path(os.path.normpath(build / told))
    return path if path.is_file() and path.stat().st_size <= _LARGEST else None


def what_it_is(manifest: Manifest, build: Path) -> str:
    """One line: `build/digits: digits of examples/digits/model.toml`."""
    config, sources = manifest.get("config"), manifest.get("sources")
    project = config.get("project") if isinstance(config, dict) else None
    said = sources.get("config") if isinstance(sources, dict) else None
    line = f"{build}: {project or manifest.get('top')}"
    if not isinstance(said, dict):
        return f"{line}, made without a TOML"
    toml = toml_of(manifest, build)
    if toml is None:
        return f"{line} of {said.get('name')}"
    return f"{line} of {Place(toml)}" + (", which has changed since" if sha256_of(toml) != said.get("sha256") else "")


def refuse_other_toml(manifest: Manifest, build: Path, toml: Path) -> None:
    """A Problem if the build at this place was made from another TOML than the one that would replace it."""
    sources = manifest.get("sources")
    said = sources.get("config") if isinstance(sources, dict) else None
    if not isinstance(said, dict):
        return
    there = toml_of(manifest, build)
    same = there.samefile(toml) if there is not None else said.get("name") == toml.name
    if not same:
        other = Place(there) if there is not None else said.get("name")
        text = f"{build} is the build of {other}, and {Place(toml)} would replace it"
        hint = "write to another folder with --out, give one of the two TOMLs another `project`, or add --replace"
        raise ProblemsError(Problem(text, hint=hint))


def sources_now(manifest: Manifest, config: Config) -> dict[str, Path]:
    """The files that a configuration stands for today, with those that a build's manifest lists beside them."""
    said = manifest.get("sources")
    listed = {key: place_of(key, config.base) for key in said} if isinstance(said, dict) else {}
    return {key: path for key, path in listed.items() if path is not None} | config.sources


def check_sources(manifest: Manifest, config: Config) -> None:
    """A Problem for each file that is another one than the build was made from; changed keys of the TOML are listed."""
    hint = f"emit it again: mase-hw emit {config.path}"
    problems = other_sources(manifest.get("sources"), sources_now(manifest, config), hint)
    notes = tuple(_changes(manifest.get("config"), config.raw))
    if problems:
        raise ProblemsError(*(_noted(problem, notes) if _is(problem, config.path) else problem for problem in problems))


def other_sources(said: object, sources: Mapping[str, Path], hint: str) -> list[Problem]:
    """Files that are not those that a build is said to be made from."""
    found = []
    for what, file in sources.items():
        known = said.get(what) if isinstance(said, dict) else None
        kind = what if what in _KINDS else "file"
        if not isinstance(known, dict):
            known_as = f"which {kind} it was made from" if kind in _KINDS else f"that it was made from {file}"
            found.append(Problem(f"the build does not say {known_as}", hint=hint))
        elif not file.is_file():
            found.append(Problem(f"{file} is missing: the {kind} that the build was made from", hint=hint))
        elif sha256_of(file) != known.get("sha256"):
            found.append(Problem(f"{file} is not the {kind} that the build was made from", Place(file), hint=hint))
    return found


def _is(problem: Problem, path: Path) -> bool:
    return problem.where is not None and problem.where.path == path


def _noted(problem: Problem, notes: tuple[str, ...]) -> Problem:
    return Problem(problem.message, problem.where, problem.hint, notes)


def _changes(before: object, now: Mapping[str, Any]) -> Iterator[str]:
    """The keys whose values differ, with both values."""
    old, new = dict(_flat(before)), dict(_flat(now))
    changed = [key for key in {**new, **old} if old.get(key) != new.get(key)]
    for key in changed[:_SHOWN]:
        yield f"{key} is {new.get(key, 'not given')}, and was {old.get(key, 'not given')}"
    if len(changed) > _SHOWN:
        yield f"{len(changed) - _SHOWN} more keys have other values"


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, str(value)
