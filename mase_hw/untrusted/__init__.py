"""Reading what somebody else wrote: regular files of a bounded size, JSON and arrays with limits, no links.

Nothing here knows what the bytes are for. What is refused is a `RefusedError`, whose text goes on from the file's name:
"is a FIFO, not a file". Whoever reads makes a Problem of it.
"""

from __future__ import annotations

from mase_hw.untrusted.arrays import parse_npz
from mase_hw.untrusted.folder import Folder, own_folder
from mase_hw.untrusted.json_text import parse_json
from mase_hw.untrusted.regular import RefusedError, expect_regular, read_regular
from mase_hw.untrusted.toml_text import parse_toml

__all__ = [
    "Folder",
    "RefusedError",
    "expect_regular",
    "own_folder",
    "parse_json",
    "parse_npz",
    "parse_toml",
    "read_regular",
]
