"""The line of every key, in all the ways that TOML lets one write keys."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mase_hw.config import Places

TEXT = '''\
# model = "not this one"
model = "a # b" # a comment with model = 1
"quoted" = 1
'single' = 2
accuracy.scale = 1.0
accuracy . direction = "x"
text = """
fake = 1
[fake]
quoted \\""" still inside""""
literal = \'\'\'
fake2 = 2\'\'\'
list = [
  1, # fake = 3
  "]", [2,
  3],
]
inline = { a = 1, "b.c" = { d = "}" } }
date = 1979-05-27 07:32:00
after = true

[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "NA"
[ passes . quantize . "my.layer" . config ]
"data_in_width" = 8

[[runs]]
n = 1
[[runs]]
n = 2
[passes]
late = 1
'''

LINES = {
    ("model",): 2,
    ("quoted",): 3,
    ("single",): 4,
    ("accuracy", "scale"): 5,
    ("accuracy", "direction"): 6,
    ("accuracy",): 5,
    ("text",): 7,
    ("literal",): 11,
    ("list",): 13,
    ("list", "0"): 14,
    ("list", "2", "1"): 16,
    ("inline",): 18,
    ("inline", "b.c", "d"): 18,
    ("date",): 19,
    ("after",): 20,
    ("passes", "quantize"): 22,
    ("passes", "quantize", "by"): 23,
    ("passes", "quantize", "default", "config", "name"): 25,
    ("passes", "quantize", "default"): 24,
    ("passes", "quantize", "my.layer", "config"): 26,
    ("passes", "quantize", "my.layer", "config", "data_in_width"): 27,
    ("runs", "0", "n"): 30,
    ("runs", "1", "n"): 32,
    ("passes", "late"): 34,
    ("passes",): 33,
    # what is not there falls back to what is around it
    ("passes", "quantize", "default", "config", "data_in_width"): 24,
    ("passes", "quantize", "linear"): 22,
    ("fake",): 0,
    ("fake2",): 0,
}


@pytest.mark.parametrize("keys", LINES, ids=".".join)
def test_line(keys: tuple[str, ...]) -> None:
    tomllib.loads(TEXT)
    place = Places(Path("x.toml"), TEXT).of(*keys)
    assert place.line == LINES[keys]


def test_windows_line_ends() -> None:
    places = Places(Path("x.toml"), TEXT.replace("\n", "\r\n"))
    assert {keys: places.of(*keys).line for keys in LINES} == LINES


def test_a_backslash_ends_no_literal_string() -> None:
    text = "path = 'C:\\'\nnext = 'x'\nlast = 1\n"
    assert tomllib.loads(text)["path"] == "C:\\"
    assert Places(Path("x.toml"), text).of("last").line == 3


@pytest.mark.parametrize("text", ["a = ", "[", '"', "a = [1,", "a = {b", "= 3", 'a = """x', "[[a]\n"])
def test_text_that_is_no_toml_is_no_crash(text: str) -> None:
    assert Places(Path("x.toml"), text).of("zzz").line == 0


@given(st.text(alphabet="ab.='\"[]{}#\\\n ,1"))
def test_any_text_ends(text: str) -> None:
    """On whatever tomllib accepts, every key path it has is found at a line that holds its last part."""
    places = Places(Path("x.toml"), text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    for keys in _paths(values):
        assert places.of(*keys).line > 0


def _paths(values: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in values.items():
        if key and key.isalnum():
            found.append((*above, key))
            if isinstance(value, dict):
                found += _paths(value, (*above, key))
    return found
