"""What the pages must not leave out: passes, keys of the TOML, extras, commands."""

from __future__ import annotations

import re
import tomllib

from pages import ROOT

import mase_hw.passes
from mase_hw.cli import COMMANDS
from mase_hw.config import training
from mase_hw.config.load import _OWN_KEYS, PASSES

README = (ROOT / "README.md").read_text("utf-8")
FROM_MASE = (ROOT / "docs" / "from_mase.md").read_text("utf-8")
CONFIG = (ROOT / "docs" / "config.md").read_text("utf-8")
# MASE has no such pass; they are in passes.md alone.
OWN = {"calibrate_transform_pass", "remove_identity_transform_pass"}


def quoted(text: str) -> set[str]:
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\w+", span)}


def test_every_pass_has_its_line() -> None:
    listed = quoted((ROOT / "docs" / "passes.md").read_text("utf-8"))
    assert set(mase_hw.passes.__all__) - listed == set()
    assert set(mase_hw.passes.__all__) - OWN - quoted(FROM_MASE) == set()


def test_every_key_of_mase_has_its_line() -> None:
    keys = {*_OWN_KEYS, *training.KEYS}
    assert keys - quoted(CONFIG) == set()
    assert keys - {"project_dir"} - quoted(FROM_MASE) == set()
    assert set(PASSES) <= quoted(FROM_MASE)


def test_every_extra_is_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = README[README.index("| extra | for |") :].split("\n\n")[0]
    listed = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == set(project["optional-dependencies"]) - {"dev"}


def test_every_command_is_in_the_readme() -> None:
    table = README[README.index("| command | what it does | writes |") :].split("\n\n")[0]
    listed = {row.split("`mase-hw ")[1].split("`")[0].split()[0] for row in table.splitlines()[2:]}
    assert listed == set(COMMANDS)
