"""Every generated design is in the language, and the list has nothing that none of them uses."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from designs import Files, files_of, small
from pyslang import SourceManager
from pyslang.ast import Compilation
from pyslang.parsing import Token
from pyslang.syntax import SyntaxTree

from mase_hw import resources
from mase_hw.config_file import load_config
from mase_hw.emit.render import render_alone
from mase_hw.flow import emit
from mase_hw.ir import Design
from mase_hw.language import allowed, check_language
from mase_hw.language.meaning import diagnostic_name
from mase_hw.language.text import _TOKEN
from mase_hw.simulate.check import alone

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS / "ops"), str(TESTS / "unit" / "prove"), str(TESTS / "fuzz"), str(TESTS / "unit" / "ops")]

import test_linear_folded  # noqa: E402
import test_linear_serial  # noqa: E402
import test_operators  # noqa: E402
import test_prove_pipes  # noqa: E402
import test_prove_streams  # noqa: E402
from fuzzing.draw import draw_case  # noqa: E402
from fuzzing.run import emit_case  # noqa: E402

from mase_hw.emit import Build  # noqa: E402
from mase_hw.geometry import Geometry  # noqa: E402
from mase_hw.ir import full_range  # noqa: E402
from mase_hw.numerics import Fixed  # noqa: E402
from mase_hw.ops.window import window  # noqa: E402

HAND = {design.name: design for design in small()}
PROVED = {**test_prove_pipes.DESIGNS, **test_prove_streams.DESIGNS}


@pytest.mark.parametrize("name", HAND)
def test_designs_built_by_hand(name: str) -> None:
    check_language(*files_of(HAND[name]))


@pytest.mark.parametrize("name", PROVED)
def test_designs_that_are_proved(name: str) -> None:
    check_language(*files_of(PROVED[name]()))


@pytest.mark.parametrize("name", test_operators.CORNERS)
def test_operators_at_their_corners(name: str) -> None:
    check_language(*files_of(test_operators.CORNERS[name].compile().design))


@pytest.mark.parametrize("name", test_linear_folded.CASES)
def test_folded_layers(name: str) -> None:
    check_language(*files_of(test_linear_folded.alone(test_linear_folded.CASES[name])))


@pytest.mark.parametrize("name", test_linear_serial.CASES)
def test_serial_layers(name: str) -> None:
    check_language(*files_of(Design("dut", (test_linear_serial.CASES[name].component(),))))


@pytest.mark.slow
def test_operators_drawn() -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        check_language(*files_of(test_operators.drawn(rng).compile().design))


@pytest.mark.slow
def test_random_networks(tmp_path: Path) -> None:
    made = 0
    for number in range(12):
        built = emit_case(draw_case(number), tmp_path / str(number))
        if isinstance(built, Build):
            made += 1
            check_language(*files_of(built.design))
    assert made > 6


@pytest.mark.slow
@pytest.mark.parametrize("example", ["digits", "jets"])
def test_examples(example: str, tmp_path: Path) -> None:
    toml = TESTS.parent / "examples" / example / "model.toml"
    check_language(*files_of(emit(load_config(toml), tmp_path / "build")[0].design))


def test_the_top_of_a_component_alone() -> None:
    """What `sim` puts around one component is written by the same templates."""
    design = HAND["residual"]
    files, _ = files_of(design)
    for component in design.components:
        single = alone(design, component)
        top = render_alone(design, single).encode()
        needed = {name: text for name, text in files.items() if not name.startswith(("residual.", "residual_axis"))}
        tree = {**needed, f"{single.name}.sv": top}
        with_top = _reachable(tree, single.name)
        check_language(with_top, single.name)


def _reachable(files: Files, top: str) -> Files:
    todo, found = [f"{top}.sv"], {}
    while todo:
        name = todo.pop()
        found[name] = files[name]
        words = set(files[name].decode().replace("(", " ").split())
        todo += [other for other in files if other not in found and other.removesuffix(".sv") in words]
    return found


def test_the_names_of_benches_are_reserved() -> None:
    templates = [*resources.sim().glob("*.sv"), *resources.sim().glob("*.sv.j2")]
    texts = [path.read_text("utf-8") for path in templates]
    named = {line.split()[1].rstrip(";") for text in texts for line in text.splitlines() if line.startswith("module ")}
    assert named == allowed.BENCH


class Used:
    """What some designs use of the list."""

    def __init__(self, designs: Iterable[tuple[Files, str]]) -> None:
        self.tokens: dict[str, set[str]] = {".sv": set(), ".v": set()}
        self.pairs: dict[str, set[tuple[str, str]]] = {".sv": set(), ".v": set()}
        self.attributes: set[tuple[str, str]] = set()
        self.diagnostics: set[str] = set()
        for files, _ in designs:
            sources, compilation = SourceManager(), Compilation()
            for name, content in files.items():
                tree = SyntaxTree.fromText(content.decode(), sources, name, name)
                self._read(tree.root, Path(name).suffix)
                self.tokens[Path(name).suffix] |= set(_TOKEN.findall(content.decode()))
                compilation.addSyntaxTree(tree)
            self.diagnostics |= {diagnostic_name(each) for each in compilation.getAllDiagnostics()}

    def _read(self, root: object, suffix: str) -> None:
        todo = [(root, "")]
        while todo:
            node, around = todo.pop()
            kind = node.kind.name  # type: ignore[attr-defined]
            self.pairs[suffix].add((kind, around))
            if kind == "AttributeSpec":
                value = node.value  # type: ignore[attr-defined]
                text = "" if value is None else str(value.expr).strip()
                self.attributes.add((node.name.valueText, text))  # type: ignore[attr-defined]
            todo += [(each, kind) for each in node if not isinstance(each, Token)]  # type: ignore[attr-defined]


def _windowed() -> Design:
    x = full_range("data_in_0", 2, 1, Fixed(8, 4), (4, 4))
    made = window("window", x, Geometry.of((4, 4), (3, 3), None, ((1, 1), (1, 1))))
    return Design("windowed", (replace(made, outputs=(made.output.renamed("data_out_0"),)),))


@pytest.fixture(scope="module")
def used() -> Used:
    """Few designs that have everything: an entry that none of them uses is one too many."""
    cases = test_linear_folded.CASES
    layers = [cases["7 inputs on 4, 7 outputs on 2"], cases["steps that are no power of two in block RAM"]]
    layers.append(test_linear_folded.folded((65, 1), (1, 1)))  # a large buffer
    designs = [test_linear_folded.alone(layer) for layer in layers]
    designs += [PROVED["folded, two products in a DSP"](), HAND["queued"], HAND["added"], _windowed()]
    return Used(files_of(design) for design in designs)


def test_every_keyword_mark_and_system_name_is_used(used: Used) -> None:
    for suffix, words in allowed.KEYWORDS.items():
        assert words - used.tokens[suffix] == set()
    every = used.tokens[".sv"] | used.tokens[".v"]
    assert allowed.MARKS - every == set()
    assert allowed.SYSTEM.keys() - every == set()


def test_every_kind_is_used_in_each_of_its_places(used: Used) -> None:
    expressions = allowed.OPERANDS | allowed.OPERATORS
    general = allowed.OPERATORS | allowed.EXPRESSION_PLACES
    pairs = used.pairs[".sv"] | used.pairs[".v"] | {("ModuleDeclaration", "CompilationUnit")}
    kinds = {kind for kind, _ in pairs}
    assert allowed.PLACES[".v"].keys() - kinds == set()
    idle = []
    for kind, places in allowed.PLACES[".v"].items():
        listed = places - general if kind in expressions else places
        idle += [f"{kind} in {place}" for place in sorted(listed) if (kind, place) not in pairs]
    assert idle == []
    standing = {around for kind, around in pairs if kind in expressions}
    assert general - standing == set()


def test_every_attribute_and_diagnostic_is_used(used: Used) -> None:
    listed = {(name, value) for name, values in allowed.ATTRIBUTES.items() for value in values}
    assert listed == used.attributes
    assert used.diagnostics == allowed.DIAGNOSTICS
