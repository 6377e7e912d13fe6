"""The files that a configuration names, and those that its Python files import from beside them; nothing is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from mase_hw.config.user_code import is_onnx, is_user_code


def named_files(model: str, dataset: str | None, base: Path) -> dict[str, Path]:
    """The files of `model` and `dataset` by what they are; an imported file has its path from `base` as its key."""
    found: dict[str, Path] = {}
    imported: set[Path] = set()
    for what, name in (("model", model), ("dataset", dataset or "")):
        if what == "model" and is_onnx(name):
            found[what] = base / name
        elif is_user_code(name):
            found[what] = base / (name.rpartition(":")[0] or name)
            _follow(found[what], found[what].parent, imported)
    own = {file.resolve() for file in found.values()}
    others = {relative(file, base): file for file in imported if file.resolve() not in own}
    return found | dict(sorted(others.items()))


def relative(file: Path, base: Path) -> str:
    """The path from `base` to the file, as a key: it begins with a dot, which no other key does."""
    path = Path(os.path.relpath(file.resolve(), base.resolve())).as_posix()
    return path if path.startswith("..") else f"./{path}"


def _follow(file: Path, folder: Path, imported: set[Path]) -> None:
    """Adds what `file` imports from `folder`, and what these files import in turn."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # told when the file is run
    for start, name in _imports(tree, file.parent, folder):
        place = start
        for part in name.split("."):
            place = place / part
            for candidate in (place.parent / f"{part}.py", place / "__init__.py"):
                if candidate not in imported and candidate != file and candidate.is_file():
                    imported.add(candidate)
                    _follow(candidate, folder, imported)


def _imports(tree: ast.AST, here: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Dotted names with the folder in which the first part is looked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((folder, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = folder if node.level == 0 else here.joinpath(*[".."] * (node.level - 1))
            names = [f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names]
            yield from ((start, name) for name in names)
