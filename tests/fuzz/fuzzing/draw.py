"""The case of a number, always the same one; and the smallest case that fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzzing.cases import Case, cases
from fuzzing.run import Result

SHRINK_SECONDS = 600
IMAGES = 1_000_000  # the number of the first case on images
_QUIET = {"database": None, "deadline": None, "derandomize": False, "suppress_health_check": list(HealthCheck)}


def draw_case(number: int) -> Case:
    """Hypothesis tries the simplest case first, whatever the seed; the second is the seed's own.

    A run of its own for each case: within a run, Hypothesis likes to vary what it had before.
    """
    found: list[Case] = []

    @seed(number)
    @settings(max_examples=2, phases=[Phase.generate], **_QUIET)  # type: ignore[arg-type]
    @given(cases(images=number >= IMAGES))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found[-1]


class _StillFailsError(Exception):
    """The case fails in the way that is looked for."""


def shrink(
    number: int, result: Result, run: Callable[[Case], Result], seconds: float = SHRINK_SECONDS, most: int = 10_000
) -> tuple[Case, Result]:
    """The smallest case found whose failure is of the kind of `result`, which case `number` gave.

    `run` tries a case out. After `seconds`, or `most` cases, the smallest so far counts.
    """
    first = draw_case(number)
    results = {repr(first): result}
    failing = [(first, result)]
    tried = 0
    end = time.monotonic() + seconds

    @seed(number)
    @settings(max_examples=2, phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False, **_QUIET)  # type: ignore[arg-type]
    @given(cases(images=number >= IMAGES))
    def attempt(case: Case) -> None:
        nonlocal tried
        tried += 1
        key = repr(case)
        if key not in results:
            late = time.monotonic() > end or tried > most
            results[key] = Result("passed") if late else run(case)
        if results[key].kind == result.kind:
            failing.append((case, results[key]))
            raise _StillFailsError

    try:
        attempt()
    except _StillFailsError:  # the last thing Hypothesis does is to run the smallest again
        return failing[-1]
    return failing[0]
