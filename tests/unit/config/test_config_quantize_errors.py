"""Every mistake in [passes.quantize] with the exact text it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

# name: (the TOML, the text of every problem)
CASES = {
    "unknown by": (
        """\
model = "m"
[passes.quantize]
by = "typ"
""",
        """\
model.toml:3: error: passes.quantize: by = "typ" is unknown
    3 | by = "typ"
  hint: did you mean type?
""",
    ),
    "entry no table": (
        """\
model = "m"
[passes.quantize]
by = "type"
report = true
""",
        """\
model.toml:4: error: passes.quantize: report = true is not a table
    4 | report = true
  hint: every key but by is an entry, such as [passes.quantize.linear.config]
""",
    ),
    "entry without config": (
        """\
model = "m"
[passes.quantize.linear]
name = "integer"
""",
        """\
model.toml:2: error: passes.quantize.linear: has no config table
    2 | [passes.quantize.linear]
  hint: put its keys under [passes.quantize.linear.config]
""",
    ),
    "config not a table": (
        """\
model = "m"
[passes.quantize.linear]
config = 4
""",
        """\
model.toml:3: error: passes.quantize.linear: config = 4 is not a table
    3 | config = 4
""",
    ),
    "beside config": (
        """\
model = "m"
[passes.quantize.linear]
report = true
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
""",
        """\
model.toml:3: error: passes.quantize.linear: unknown key report
    3 | report = true
  hint: known keys: config
""",
    ),
    "unknown quantizer": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "interger"
data_in_width = 8
data_in_frac_width = 4
""",
        """\
model.toml:3: error: passes.quantize.linear: name = "interger" is no quantizer
    3 | name = "interger"
  hint: did you mean integer?
""",
    ),
    "quantizer number": (
        """\
model = "m"
[passes.quantize.linear.config]
name = 8
data_in_width = 8
data_in_frac_width = 4
""",
        """\
model.toml:3: error: passes.quantize.linear: name = 8 is not a string
    3 | name = 8
  hint: allowed: integer, integer_floor, NA, null
""",
    ),
    "no name": (
        """\
model = "m"
[passes.quantize.linear.config]
data_in_width = 8
data_in_frac_width = 4
""",
        """\
model.toml:2: error: passes.quantize.linear: the quantizer's name is missing
    2 | [passes.quantize.linear.config]
  hint: add name = one of integer, integer_floor, NA, null
""",
    ),
    "unknown width key": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
"wieght_width" = 8
""",
        """\
model.toml:6: error: passes.quantize.linear: unknown key wieght_width
    6 | "wieght_width" = 8
  hint: did you mean weight_width?
""",
    ),
    "width without frac": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
""",
        """\
model.toml:6: error: passes.quantize.linear: weight_width is given without weight_frac_width
    6 | weight_width = 8
  hint: add weight_frac_width
""",
    ),
    "frac without width": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
bias_frac_width = 8
""",
        """\
model.toml:6: error: passes.quantize.linear: bias_frac_width is given without bias_width
    6 | bias_frac_width = 8
  hint: add bias_width
""",
    ),
    "signed alone": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
data_out_signed = false
""",
        """\
model.toml:6: error: passes.quantize.linear: data_out_signed is given without data_out_width
    6 | data_out_signed = false
  hint: add data_out_width
model.toml:6: error: passes.quantize.linear: data_out_signed is given without data_out_frac_width
    6 | data_out_signed = false
  hint: add data_out_frac_width
""",
    ),
    "no data_in": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
weight_width = 8
weight_frac_width = 4
""",
        """\
model.toml:3: error: passes.quantize.linear: name = "integer" needs the type of data_in
    3 | name = "integer"
  hint: add data_in_width and data_in_frac_width
""",
    ),
    "width of string": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = "8"
data_in_frac_width = 4
""",
        """\
model.toml:4: error: passes.quantize.linear: data_in_width = "8" is not an integer
    4 | data_in_width = "8"
""",
    ),
    "width float": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8.0
data_in_frac_width = 4
""",
        """\
model.toml:4: error: passes.quantize.linear: data_in_width = 8.0 is not an integer
    4 | data_in_width = 8.0
""",
    ),
    "width 1": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 1
data_in_frac_width = 4
""",
        """\
model.toml:4: error: passes.quantize.linear: data_in_width = 1 is out of range
    4 | data_in_width = 1
  hint: allowed: 2 to 32
""",
    ),
    "width 33": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 33
data_in_frac_width = 4
""",
        """\
model.toml:4: error: passes.quantize.linear: data_in_width = 33 is out of range
    4 | data_in_width = 33
  hint: allowed: 2 to 32
""",
    ),
    "unsigned 0": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 0
data_in_frac_width = 0
data_in_signed = false
""",
        """\
model.toml:4: error: passes.quantize.linear: data_in_width = 0 is out of range
    4 | data_in_width = 0
  hint: allowed: 1 to 32
""",
    ),
    "frac 65": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 65
""",
        """\
model.toml:5: error: passes.quantize.linear: data_in_frac_width = 65 is out of range
    5 | data_in_frac_width = 65
  hint: allowed: -64 to 64
""",
    ),
    "signed not bool": (
        """\
model = "m"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
data_in_signed = 1
""",
        """\
model.toml:6: error: passes.quantize.linear: data_in_signed = 1 is not true or false
    6 | data_in_signed = 1
""",
    ),
    "bad regex": (
        """\
model = "m"
[passes.quantize]
by = "regex_name"
[passes.quantize."fc(".config]
name = "NA"
""",
        """\
model.toml:4: error: passes.quantize: fc( is not a regular expression: missing ), unterminated subpattern at position 2
    4 | [passes.quantize."fc(".config]
""",
    ),
}


@pytest.mark.parametrize(("toml", "text"), CASES.values(), ids=list(CASES))
def test_text(toml: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text(toml, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        load_config(Path("model.toml"))
    assert f"{caught.value}\n" == text
