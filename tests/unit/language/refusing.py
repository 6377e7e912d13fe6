"""An attack on an emitted build, and the one Problem that it must end in."""

from __future__ import annotations

from pathlib import Path

import pytest
from attacks import Attack
from designs import folded_files, joined_files

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.language import check_language

NEAR = 7  # lines: where the statement begins that a change is part of


def refused(attack: Attack) -> Problem:
    """What is said of the change, at the line that it has changed or near it."""
    file, old, new, says = attack
    files, top = joined_files() if file in joined_files()[0] else folded_files()
    before = files[file].decode()
    assert old in before
    after = before.replace(old, new, 1)
    with pytest.raises(ProblemsError) as error:
        check_language({**files, file: after.encode()}, top, Path("build/rtl"))
    found = [problem for problem in error.value.problems if says in problem.message]
    assert found, str(error.value)
    where = found[0].where
    assert where is not None
    assert where.path == Path("build/rtl") / file
    first = before[: before.index(old)].count("\n") + 1
    assert first - NEAR <= where.line <= first + new.count("\n") + NEAR
    return found[0]
