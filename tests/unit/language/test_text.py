"""Texts that are refused before anything parses them, each at its line."""

from __future__ import annotations

import pytest
from attacks import BYTES, COMMENTS, DIRECTIVES, LAYER, MARKS, SYSTEM, WORDS, Attack, more
from refusing import refused

from mase_hw.language import allowed
from mase_hw.language.text import Found, decode, scan

ATTACKS: dict[str, Attack] = {
    f"{group}: {name}": attack
    for group, attacks in (
        ("directive", DIRECTIVES),
        ("comment", COMMENTS),
        ("byte", BYTES),
        ("word", WORDS),
        ("mark", MARKS),
        ("system", SYSTEM),
    )
    for name, attack in attacks.items()
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_text_is_refused_at_its_line(name: str) -> None:
    refused(ATTACKS[name])


def test_a_comment_with_a_name_of_a_tool_within_is_fine() -> None:
    assert scan("// The layer synthesis, folded; Yosys and `keep`.\n").refused == ()


DEEP = {
    "brackets": "assign x = " + "(" * 5000 + "a" + ")" * 5000 + ";",
    "inversions": "assign x = " + "~" * 5000 + "a;",
    "a chain of operators": "assign x = " + "a + " * 5000 + "a;",
    "conditions": "assign x = " + "a ? b : " * 5000 + "c;",
    "branches": "always_comb begin " + "if (a) x = b; else " * 5000 + "x = c; end",
    "blocks in branches": "always_comb begin " + "if (a) begin x = b; end else " * 5000 + "x = c; end",
    "blocks": "always_comb " + "begin " * 5000 + "end " * 5000,
    "conditions without blocks": "always_comb " + "if (a) " * 5000 + "x = b;",
    "selections": "assign x = a" + "[0]" * 5000 + ";",
    "members": "assign x = a" + ".a" * 5000 + ";",
    "lists": "assign x = " + "{1'b0, " * 5000 + "a" + "}" * 5000 + ";",
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deep_is_refused(name: str) -> None:
    (found,) = scan(DEEP[name].replace("; ", ";\n") + "\n").refused
    assert "brackets and operators are nested" in found.text


def test_brackets_that_do_not_match_are_refused() -> None:
    assert scan("assign x = (a];\n").refused == (Found(1, "`]` closes another bracket than the one that is open"),)


def test_long_lists_and_long_blocks_are_not_deep() -> None:
    wide = "assign x = ^{" + ", ".join(f"a{k} & ~b[{k}]" for k in range(5000)) + "};\n"
    block = "always_ff @(posedge clk) begin\n" + "  if (a) x <= b + c; else x <= d;\n" * 5000 + "end\n"
    assert scan(wide).refused == scan(block * 3).refused == ()


def test_a_large_file_is_refused_without_being_read() -> None:
    found = decode(b" " * (allowed.MAX_FILE + 1))
    assert isinstance(found, Found)
    assert "more than 16,777,216" in found.text


REPEATED = ("'", '"', "$", "(", "/", "9", "'h", "~", "<", "|=", '"a', "0'", "a", "//")

FINE = ("//", "/", '"', '"a')  # comments and strings, for the parser to judge


@pytest.mark.parametrize("part", REPEATED)
def test_a_megabyte_of_anything_is_read_once(part: str) -> None:
    """No pattern goes over the same characters again and again: this would take hours."""
    found = scan(part * (1_000_000 // len(part)) + "\n").refused
    assert bool(found) == (part not in FINE)


def test_every_refusal_names_its_file_and_line() -> None:
    problem = refused(more(LAYER, "\n\n  logic u;\n  initial u = 1'b0;", "`initial`"))
    assert problem.hint == "docs/proof.md says what is; `mase-hw emit` writes nothing else"
