"""The packages of mase_hw lie in layers: each imports those of the layers above it in this list, and no others.

Every `import` counts, also one within a function or for type checking alone. A name in a declaration, such as that of
an operator's quantized module, is no import: whoever needs it looks it up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import mase_hw

PACKAGE = Path(mase_hw.__file__).parent
LAYERS = (
    ("diagnostics", "files", "html", "interrupts", "isolated", "limits", "numerics", "resources", "untrusted"),
    ("adders", "config", "geometry", "language", "plot"),
    ("checkpoints", "cost", "datasets", "frontends", "layers"),
    ("config_file", "ir"),
    ("ops",),
    ("emit", "graph", "lowering", "modules"),
    ("models", "passes", "simulate", "vectors"),
    ("export", "float_layers", "given_model", "loading", "pipeline", "prove", "synth"),
    ("mutate", "report", "samples", "training"),
    ("flow", "notebook"),
    ("api", "explore", "search"),
    ("__init__", "cli"),
    ("__main__",),
)
FREE = "__version__"  # all that others may take from the package itself


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the name, such as `ops.relu`, of what a file imports from the package."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "mase_hw" and rest != FREE:
                yield node.lineno, rest


def edges(package: Path) -> dict[str, dict[str, str]]:
    """Of every package: which others it imports, and where first."""
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    found: dict[str, dict[str, str]] = {name: {} for name in sorted(there)}
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        for line, name in imported(path):
            other = name.split(".")[0]
            other = other if other in there else "__init__"
            if other != own:
                found[own].setdefault(other, f"{path.relative_to(package)}:{line}")
    return found


def wrong(package: Path, layers: Sequence[Sequence[str]]) -> list[str]:
    """Every package whose layer is not the one right behind the last package that it imports."""
    level = {name: k for k, names in enumerate(layers) for name in names}
    imports = edges(package)
    found = [f"{name} is listed, or there, but not both" for name in sorted(set(imports) ^ set(level))]
    for own in sorted(set(imports) & set(level)):
        lower = [level[other] for other in imports[own] if other in level]
        for other, place in imports[own].items():
            if level.get(other, len(layers)) >= level[own]:
                found.append(f"{place}: {own} imports {other}")
        if max(lower, default=-1) < level[own] - 1:
            found.append(f"{own} may move up")
    return found


def test_layers() -> None:
    assert wrong(PACKAGE, LAYERS) == []


def test_what_is_forbidden_is_found(tmp_path: Path) -> None:
    files = {
        "low.py": "def f():\n    from mase_hw.high import part\n",
        "beside.py": "from mase_hw import low, thing\n",
        "high/__init__.py": "",
        "high/part.py": "import mase_hw.low\nfrom mase_hw import __version__\n",
        "new.py": "",
        "idle.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert wrong(tmp_path, (("low", "beside"), ("high", "gone", "idle"))) == [
        "gone is listed, or there, but not both",
        "new is listed, or there, but not both",
        "beside.py:1: beside imports low",
        "beside.py:1: beside imports __init__",
        "idle may move up",
        "low.py:2: low imports high",
    ]
