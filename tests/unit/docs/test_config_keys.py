"""The page of the TOML and the schema have the same keys: each is told of where its table is, and no other is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from pages import ROOT

from mase_hw.config.quantize import ARGUMENTS
from mase_hw.config.search import HW_RUNNERS, METRICS, parse_search
from mase_hw.config.table import Table
from mase_hw.config_file import config_of
from mase_hw.diagnostics import Collector, ProblemsError

PAGE = (ROOT / "docs" / "config.md").read_text("utf-8")
TRAINING = ("Model and data", "Training")
SECTIONS = {"passes": ("Passes",), "hardware": ("Hardware",), "search": ("Search",)}
OF_ARGUMENT = re.compile(rf"({'|'.join(ARGUMENTS)})_(width|frac_width|signed)")
# Every table is there; what its values are does not matter, as the tables say which keys they take either way.
EVERYTHING: dict[str, Any] = {
    "passes": {
        "quantize": {"default": {"config": {}}},
        "fuse_batch_norm": {},
        "hardware": {"default": {"config": {}}},
    },
    "hardware": {},
    "search": {
        "search_space": {"setup": {}, "seed": {"default": {"config": {}}}},
        "strategy": {
            "sw_runner": {"basic_evaluation": {}, "basic_train": {}},
            "hw_runner": {name: {} for name in HW_RUNNERS},
            "setup": {},
            "metrics": {name: {} for name in METRICS},
        },
    },
}


@pytest.fixture
def schema(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """By the first word of the tables: every key that a table of the TOML may have."""
    keys: dict[str, set[str]] = {}
    only = Table.only

    def listen(table: Table, known: Iterable[str]) -> None:
        names = list(known)
        keys.setdefault(table.path[0] if table.path else "", set()).update(names)
        only(table, names)

    monkeypatch.setattr(Table, "only", listen)
    with pytest.raises(ProblemsError, match="the quantizer's name is missing"):
        config_of(EVERYTHING)
    parse_search(EVERYTHING["search"], Collector())
    keys["search"] |= set(HW_RUNNERS)
    return keys


def told(*headings: str) -> set[str]:
    """The words between backticks in the first columns of the tables under these headings."""
    cells = []
    for heading in headings:
        section = re.split(r"^## ", PAGE.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
        cells += [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| ")]
    return {word for span in re.findall(r"`([^`]+)`", " ".join(cells)) for word in re.findall(r"\w+", span)}


def test_every_key_is_told(schema: dict[str, set[str]]) -> None:
    for table, headings in {"": TRAINING, **SECTIONS}.items():
        known = {OF_ARGUMENT.sub(r"A_\2", key) for key in schema[table]} - {"config", *SECTIONS}
        if table == "search":  # these stand for "the keys of [passes.quantize.X.config]" and for `M`
            known -= {"A_width", "A_frac_width", "A_signed", *METRICS} - set(HW_RUNNERS)
        assert known - told(*headings) == set(), table


def test_every_word_is_a_key(schema: dict[str, set[str]]) -> None:
    names = set().union(*schema.values(), SECTIONS, {"X", "M", "by", "config"})
    names |= {f"A_{kind}" for kind in ("width", "frac_width", "signed")} | {"A"}
    for headings in (TRAINING, *SECTIONS.values()):
        assert told(*headings) - names == set(), headings


def test_every_metric_is_told() -> None:
    (row,) = [row for row in PAGE.splitlines() if row.startswith("| `[search.strategy.metrics]`")]
    assert set(re.findall(r"`(\w+)`", row.split("`M` is")[1])) == set(METRICS)
