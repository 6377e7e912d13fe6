"""Whether files are written in the language of `allowed.py`: their texts, their trees, and what they mean together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.language import allowed
from mase_hw.language.meaning import Located, diagnostic_name, elaborated
from mase_hw.language.module import in_circles, wrong_inside
from mase_hw.language.text import Found, decode, line_of, scan
from mase_hw.language.tree import Tree

SHOWN = 10  # problems; there may be thousands
MOST = 10_000  # that are counted
HINT = "docs/proof.md says what is; `mase-hw emit` writes nothing else"


def check_language(files: Mapping[str, bytes], top: str, folder: Path = Path()) -> str:
    """One line about what was read; a Problem for each place that is outside of the language.

    `files`: the content of every file by its name, of which the modules that nothing else holds are `top` alone. The
    places of Problems are in `folder`.
    """
    return judge(len(files), refusals(files, top), folder)


def refusals(files: Mapping[str, bytes], top: str) -> list[Located]:
    """Every place that is outside of the language."""
    return list(_refused(files, top))


def judge(count: int, found: Sequence[Located], folder: Path) -> str:
    """What is said of so many files, of which this is refused."""
    if not found:
        return f"{count} files hold nothing but what docs/proof.md lists"
    problems = []
    for name, (line, text) in found[:SHOWN]:
        where = Place(folder / name, line) if name else None
        problems.append(Problem(text if line else f"{name}: {text}" if name else text, where, HINT))
    if len(found) > SHOWN:
        problems.append(Problem(f"{len(found) - SHOWN} more places are outside of the language"))
    raise ProblemsError(*problems)


def _refused(files: Mapping[str, bytes], top: str) -> Iterator[Located]:
    """What comes first hides the rest: a parser gets no text that was refused, nor slang a tree."""
    total = sum(map(len, files.values()))
    if total > allowed.MAX_ALL:
        yield "", Found(0, f"the files have {total:,} bytes, more than {allowed.MAX_ALL:,}")
        return
    statements = sum(content.count(b";") for content in files.values())
    if statements > allowed.MAX_STATEMENTS:
        yield "", Found(0, f"the files have {statements:,} semicolons, more than {allowed.MAX_STATEMENTS:,}")
        return
    texts: dict[str, str] = {}
    words: dict[str, frozenset[str]] = {}
    wrong: list[Located] = []
    for name, content in files.items():
        text = decode(content)
        if PurePath(name).suffix not in allowed.PLACES:
            wrong.append((name, Found(0, "its name does not end in .sv or .v")))
        elif isinstance(text, Found):
            wrong.append((name, text))
        else:
            scanned = scan(text)
            texts[name], words[name] = text, scanned.words
            wrong += [(name, each) for each in scanned.refused]
    wrong = wrong or list(_keywords(texts, words))
    yield from wrong
    if not wrong:
        yield from _parsed(texts, top)


def _keywords(texts: Mapping[str, str], words: Mapping[str, frozenset[str]]) -> Iterator[Located]:
    """The words that slang takes for keywords are on the list of their kind of file."""
    from pyslang.parsing import TokenKind

    known = _kinds({word for each in words.values() for word in each})
    for name, used in words.items():
        allowed_here = allowed.KEYWORDS[PurePath(name).suffix]
        for word in sorted(used - allowed_here):
            if known[word] != TokenKind.Identifier:
                yield name, Found(line_of(texts[name], word), f"`{word}` is not in the language")


def _kinds(words: Iterable[str]) -> dict[str, Any]:
    """What slang takes each word for."""
    from pyslang import BumpAllocator, Diagnostics, SourceManager
    from pyslang.parsing import Lexer

    ordered = sorted(words)
    sources = SourceManager()
    lexer = Lexer(sources.assignText("words", "\n".join(ordered)), BumpAllocator(), Diagnostics(), sources)
    return {word: lexer.lex().kind for word in ordered}


def _parsed(texts: Mapping[str, str], top: str) -> Iterator[Located]:
    from pyslang import DiagnosticEngine, SourceManager
    from pyslang.ast import Compilation
    from pyslang.syntax import SyntaxTree

    sources = SourceManager()
    engine = DiagnosticEngine(sources)
    trees: dict[str, Tree] = {}
    wrong: list[Located] = []

    def where(location: Any) -> tuple[str, int]:
        return sources.getFileName(location), sources.getLineNumber(location)

    compilation = Compilation()
    for name, text in texts.items():
        parsed = SyntaxTree.fromText(text, sources, name, name)
        said = list(parsed.diagnostics)
        for each in said:
            wrong.append(
                (name, Found(where(each.location)[1], f"{engine.formatMessage(each)} ({diagnostic_name(each)})"))
            )
        if not said:
            trees[name] = Tree(name, parsed.root, lambda node: sources.getLineNumber(node.sourceRange.start))
            wrong += [(name, each) for each in trees[name].refused]
            compilation.addSyntaxTree(parsed)
    modules = {tree.stem: tree.module for tree in trees.values()}
    if not wrong:
        for name, tree in trees.items():
            wrong += [(name, each) for each in wrong_inside(tree.module, modules)]
        wrong += [(name, Found(0, "it holds itself")) for name in sorted(in_circles(modules))]
    yield from wrong
    if not wrong:
        instances = allowed.MAX_INSTANCES + sum(text.count(";") for text in texts.values())
        yield from elaborated(compilation, top, where, engine.formatMessage, instances)
