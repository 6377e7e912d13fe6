"""The check of the language in a process of its own, with limits: parsers are given what anybody has written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.interrupts import uninterrupted
from mase_hw.isolated import python_command, tool_environment
from mase_hw.language.check import HINT, MOST, judge, refusals
from mase_hw.language.text import Found
from mase_hw.limits import Limits, limits_for

# A megabyte of honest RTL takes half a second, and 50 MB.
SECONDS, MEGABYTES = (8, 4), (900, 200)
_CHILD = "from mase_hw.language.apart import answer; answer()"


def check_apart(files: Mapping[str, bytes], top: str, folder: Path = Path()) -> str:
    """As `check_language`; what takes more than RTL of this size can need is a Problem too."""
    limits = limits_for(map(len, files.values()), SECONDS, MEGABYTES)
    asked = {
        "files": {name: content.decode("latin-1") for name, content in files.items()},
        "top": top,
        "limits": [limits.seconds, limits.memory],
    }
    with uninterrupted():  # it ends within its limits, in a second as a rule, and is not left behind
        done = subprocess.run(
            python_command("-c", _CHILD),
            input=json.dumps(asked).encode(),
            env=tool_environment(),
            capture_output=True,
            check=False,
            start_new_session=True,
        )
    if done.returncode:
        text = f"{folder}: it cannot be read with {limits}"
        last = done.stderr.decode("utf-8", errors="replace").strip().splitlines()[-1:]
        raise ProblemsError(Problem(text, hint=HINT, notes=tuple(last)))
    return judge(len(files), [(name, Found(line, text)) for name, line, text in json.loads(done.stdout)], folder)


def answer() -> None:
    """The child: a question on its input, what is refused on its output."""
    asked = json.load(sys.stdin)
    Limits(*asked["limits"]).of_this()
    files = {name: text.encode("latin-1") for name, text in asked["files"].items()}
    found = refusals(files, asked["top"])
    json.dump([(name, *each) for name, each in found[:MOST]], sys.stdout)
