"""The score: how many mutants were killed, by whom, and which are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mase_hw.mutate.campaign import Judged, MutationRequest


@dataclass(frozen=True)
class Score:
    """The mutants of a run, or of as much of it as there is."""

    judged: tuple[Judged, ...]

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> Score:
        order = {"alive": 0, "killed": 1, "equivalent": 2, "invalid": 3}
        return cls(
            tuple(sorted(judged, key=lambda j: (order[j.verdict.status], j.mutant.file, j.mutant.line, j.mutant.what)))
        )

    def those(self, status: str) -> list[Judged]:
        return [each for each in self.judged if each.verdict.status == status]

    @property
    def counted(self) -> int:
        """Those that something could notice."""
        return len(self.those("killed")) + len(self.those("alive"))

    def seen_by(self, who: str) -> int:
        return sum(who in each.verdict.by for each in self.those("killed"))

    def lines(self) -> list[str]:
        """The summary, every mutant that is equivalent, with its proof, and every one that is alive."""
        killed, counted = len(self.those("killed")), self.counted
        share = f" ({100 * killed / counted:.1f} %)" if counted else ""
        said = [f"{killed} of {counted} mutants killed{share}"]
        for who, text in (("bench", "by the bench"), ("prover", "by the prover")):
            asked = [j for j in self.judged if getattr(j.verdict, who) is not None and j.verdict.status != "equivalent"]
            if asked:
                some = f" of {len(asked)} that it was asked about" if len(asked) < counted else ""
                said.append(f"  {text}: {self.seen_by(who)}{some}")
        said.append(f"not counted: {len(self.those('equivalent'))} equivalent, {len(self.those('invalid'))} invalid")
        said += [f"equivalent {describe(each)}\n    {each.verdict.why}" for each in self.those("equivalent")]
        for each in self.those("alive"):
            said.append(f"ALIVE {describe(each)}")
            said += [f"    {text}" for text in (each.verdict.why, _silent(each)) if text]
        return said

    def tally(self, of: Callable[[Judged], str]) -> dict[str, dict[str, int]]:
        """How many ended how, by what `of` says of a mutant."""
        found: dict[str, Counter[str]] = {}
        for each in self.judged:
            found.setdefault(of(each), Counter())[each.verdict.status] += 1
        return {key: dict(found[key]) for key in sorted(found)}


def describe(each: Judged) -> str:
    where = f" ({each.mutant.component})" if each.mutant.component else ""
    return f"{each.mutant.place}{where}: {each.mutant.operator}: {each.mutant.what}"


def _silent(each: Judged) -> str:
    return f"prover: {each.verdict.prover}" if each.verdict.prover else ""


def document(
    score: Score, request: MutationRequest, *, stopped: bool, drawn: int, untouched: Sequence[str] = ()
) -> dict[str, Any]:
    """The whole run as plain values."""
    return {
        "schema": 1,
        "count": request.count,
        "all": request.everywhere,
        "seed": request.seed,
        "engine": request.engine,
        "drawn": drawn,
        "stopped": stopped,
        "killed": len(score.those("killed")),
        "killed_by_bench": score.seen_by("bench"),
        "killed_by_prover": score.seen_by("prover"),
        "alive": len(score.those("alive")),
        "equivalent": len(score.those("equivalent")),
        "invalid": len(score.those("invalid")),
        "untouched": list(untouched),
        "operators": score.tally(lambda each: each.mutant.operator),
        "files": score.tally(lambda each: each.mutant.file),
        "mutants": [_entry(each) for each in score.judged],
    }


def _entry(each: Judged) -> dict[str, Any]:
    mutant, verdict = each.mutant, each.verdict
    return {
        "kind": mutant.kind,
        "operator": mutant.operator,
        "file": mutant.file,
        "line": mutant.line,
        "component": mutant.component or verdict.subject,
        "what": mutant.what,
        "status": verdict.status,
        "by": list(verdict.by),
        "bench": verdict.bench,
        "prover": verdict.prover,
        "why": verdict.why,
        "seconds": verdict.seconds,
    }
