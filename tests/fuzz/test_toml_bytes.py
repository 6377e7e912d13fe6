"""Any bytes and any values in a TOML give a Problem or a configuration, and name nothing outside the build folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fuzzing.mangle import mutated
from fuzzing.watch import load_or_refuse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mase_hw.config.search import parse_search
from mase_hw.config.write import toml_text
from mase_hw.config_file import load_config
from mase_hw.diagnostics import Collector

EXAMPLES = Path(__file__).parents[2] / "examples"
VALID_TOML = [path.read_bytes() for path in sorted(EXAMPLES.rglob("*.toml"))]
FUZZ = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def read_config(path: Path) -> None:
    """Names that are written to stay inside the build folder, whatever the TOML says."""
    config = load_or_refuse(lambda: load_config(path))
    if config is not None:
        place = Path(os.path.normpath(Path("build") / config.project))
        assert place.parent == Path("build")
        assert config.target.top.isidentifier()
        assert config.target.top.isascii()
        json.dumps(dict(config.raw), allow_nan=False)
        if config.search:
            load_or_refuse(lambda: _search(config))


def _search(config: Any) -> None:
    with Collector() as problems:
        parse_search(config.search, problems, config.places)


@FUZZ
@given(data=st.one_of(st.binary(max_size=200), mutated(VALID_TOML)))
def test_any_bytes_as_a_toml(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_bytes(data)
    read_config(path)


_KEYS = """
model dataset task project project_dir seed load_name load_type max_epochs batch_size learning_rate cpu passes
quantize fuse_batch_norm hardware enabled by config default linear relu batch_norm1d name data_in_width weight_width
data_in_frac_width weight_frac_width bias_width bias_frac_width data_out_signed data_in_signed implementation
digit_bits array_in use_dsp data_in_parallelism data_in_fifo_depth top interface target_interval lut_budget
adders_per_stage solver_seconds search search_space setup seed strategy sw_runner hw_runner metrics scale direction
sampler n_trials basic_evaluation basic_train num_samples latency accuracy redefine channel_multiplier at_least a.* [
( x
"""
KEYS = _KEYS.split()
WORDS = ["type", "name", "regex_name", "integer", "integer_floor", "NA", "null", "auto", "folded", "serial", "stream"]
WORDS += [
    "../out",
    "/etc",
    "..",
    ".",
    "",
    "mz",
    "pt",
    "both",
    "output_only",
    "tpe",
    "minimize",
    "file.py:Net",
    "(",
    "é",
]
NUMBERS = st.one_of(st.integers(-2, 40), st.sampled_from((2**63, -(2**64), 10**30)), st.floats(allow_nan=True))
VALUES = st.one_of(st.booleans(), NUMBERS, st.sampled_from(WORDS), st.text(max_size=5), st.lists(NUMBERS, max_size=3))
TABLES = st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=5), max_leaves=12)


@FUZZ
@given(values=st.dictionaries(st.sampled_from(KEYS), TABLES, max_size=8), named=st.booleans())
def test_any_values_of_known_keys(values: dict[str, Any], named: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(toml_text({"model": "m", **values} if named else values), encoding="utf-8", errors="replace")
    read_config(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stem=st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_file_name_is_a_project(stem: str, tmp_path: Path) -> None:
    path = tmp_path / f"{stem}.toml"
    path.write_text('model = "m"\n', encoding="utf-8")
    read_config(path)
