"""Promises in words, and answers that are accepted because of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from semistruct.calibration.calibration import ACCEPTED_BY, Standing
from semistruct.calibration.cases import Scores
from semistruct.calibration.promises import CONFIDENCE, checked_level, needed
from semistruct.errors import ParameterError, quoted


@dataclass(frozen=True)
class Promise:
    """Answers with at least this score are accepted: of those, at least the share `level` is right.

    by        "sequence" or "field": what is accepted
    held_out  how many answers the promise is based on
    share     of these that would have been accepted
    """

    level: float
    by: str
    score: float
    held_out: int
    share: float

    @classmethod
    def of(cls, standing: Standing, level: Any, by: str) -> Promise:
        """Raises a ParameterError where there is nothing to promise."""
        level = checked_level(level)
        if by not in ACCEPTED_BY:
            raise ParameterError(f"by={quoted(by)}: must be 'sequence' or 'field'")
        record = standing.records[ACCEPTED_BY[by]]
        score = record.threshold(level)
        if score is not None:
            return cls(level, by, score, record.total, record.share(score))
        fewest, best = needed(level, record.likeness), record.best_level()
        hint = "" if best is None else f"; {best:g} can be promised"
        if record.total < fewest:
            have = f"there {'is' if record.total == 1 else 'are'} {record.total or 'none'}"
            problem = f"too few labels to promise anything: it takes at least {fewest} held-out {by}s, and {have}"
            more = " (train with more labels, or with more dev data)"
            raise ParameterError(f"accepting at {level:g}: {problem}{hint or more}")
        raise ParameterError(
            f"accepting at {level:g}: too many mistakes to promise that, even among the surest of {record.total} "
            f"held-out {by}s{hint}"
        )

    @property
    def text(self) -> str:
        return (
            f"of the {self.by}s accepted, at most {100 * (1 - self.level):.3g}% are wrong, with {CONFIDENCE:.0%} "
            f"confidence (from {self.held_out} held-out {self.by}s, of which {self.share:.0%} would be accepted)"
        )

    def keeps(self, scores: Scores) -> Any:
        """Whether a sequence is accepted, or a list of that for its blocks."""
        if self.by == "sequence":
            return scores.sequence >= self.score
        return [bool(score >= self.score) for score in scores.block]


@dataclass(frozen=True)
class Accepted:
    """Labels, and which of them need no second look.

    labels   of each sequence
    sure     for each sequence whether it is accepted; for fields, a list with that for each block
    promise  what holds for those accepted; its `text` says it in words
    """

    labels: list[list[str]]
    sure: Sequence[Any]
    promise: Promise
