"""Accepting answers by a promise: of those accepted, no more than a certain share is wrong, with stated confidence.

Answers to held-out sequences, whose truth is known, are sorted by score, the surest first.  Among the surest n of them,
k are wrong.  The share of wrong answers among all answers, also to new sequences, that are at least as sure is below

    the (k + 1, n - k) beta distribution's quantile at CONFIDENCE,

the exact binomial bound.  The score from which on answers are accepted is found by going down, from few answers to
many, for as long as the bound keeps the promise (tests in a fixed sequence, so that all of them together err no more
often than one).  The first look is at as few answers as could keep the promise if none were wrong, but at more than a
fifth of all; each look allows at least one more wrong answer than the one before would have.

Answers to one sequence are not independent.  If they vary together as if there were fewer of them, they count as fewer
(`likeness`), which is estimated, with some caution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.base.errors import ParameterError, quoted
from semistruct.model.answers import Cases, Scores

ACCEPTED_BY = {"sequence": "sequence", "field": "block"}
"""What can be accepted, and the level of it."""
CONFIDENCE = 0.95
LOOKS_FROM = 0.2  # of all answers
POINTS = 500  # that are kept of a record
LEVELS_TO_OFFER = (0.99, 0.98, 0.97, 0.96, 0.95, 0.93, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Record:
    """How right the surest answers to held-out sequences were.

    score  falling: the j-th entry is about the answers with at least this score
    n      how many these are
    wrong  how many of them are wrong
    likeness  how many answers, that vary together, count as one
    """

    score: np.ndarray
    n: np.ndarray
    wrong: np.ndarray
    likeness: float = 1.0

    @classmethod
    def of(cls, cases: Cases, probability: np.ndarray) -> Record:
        """Of at most POINTS scores; probability (n,) of each case, by its score, to be right."""
        order = np.argsort(-cases.score, kind="stable")
        score, wrong = cases.score[order], np.cumsum(~cases.right[order])
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, int)
        if len(ends) > POINTS:
            ends = ends[np.unique(np.linspace(0, len(ends) - 1, POINTS).astype(int))]
        return cls(score[ends], ends + 1, wrong[ends], _likeness(cases, probability))

    @property
    def total(self) -> int:
        return int(self.n[-1]) if len(self.n) else 0

    def threshold(self, level: float) -> float | None:
        """The score from which on answers can be accepted, None if there is no such promise."""
        found, allowed = None, self._allowed(-1, int(LOOKS_FROM * self.total), level)
        for score, n, wrong in zip(self.score, self.n, self.wrong, strict=True):
            if not self._keeps(allowed + 1, n, level):
                continue
            allowed = self._allowed(allowed, n, level)
            if wrong > allowed:
                break
            found = float(score)
        return found

    def _allowed(self, wrong: int, n: int, level: float) -> int:
        """How many of n answers may be wrong; at least `wrong`."""
        while self._keeps(wrong + 1, n, level):
            wrong += 1
        return wrong

    def _keeps(self, wrong: int, n: int, level: float) -> bool:
        """Whether so many answers keep the promise if so many of them are wrong."""
        return keeps(wrong / self.likeness, n / self.likeness, level)

    def share(self, threshold: float) -> float:
        """Of the answers to held-out sequences, those with at least this score."""
        return float(self.n[self.score >= threshold].max(initial=0)) / max(self.total, 1)

    def to_dict(self) -> dict[str, Any]:
        columns = {key: getattr(self, key).tolist() for key in ("score", "n", "wrong")}
        return {**columns, "likeness": self.likeness}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Record:
        score, n, wrong = (np.array(about[key], float) for key in ("score", "n", "wrong"))
        likeness = float(about["likeness"])
        sound = score.ndim == 1 and score.shape == n.shape == wrong.shape and np.isfinite(n).all() and likeness >= 1
        if not sound or (np.diff(n) < 0).any() or (np.diff(score) > 0).any() or (wrong < 0).any() or (wrong > n).any():
            raise ValueError("the record of held-out answers is not in order")
        return cls(score, n.astype(np.int64), wrong.astype(np.int64), likeness)


def keeps(wrong: float, n: float, level: float) -> bool:
    """Whether the exact binomial bound of a share, of which `wrong` in n were seen, is at most 1 - level."""
    from scipy.special import betainc

    return wrong < n and float(betainc(wrong + 1, n - wrong, 1 - level)) >= CONFIDENCE


def needed(level: float, likeness: float = 1.0) -> int:
    """How many answers, all of them right, are needed to promise anything."""
    return int(np.ceil(likeness * np.log(1 - CONFIDENCE) / np.log(level)))


def _likeness(cases: Cases, probability: np.ndarray) -> float:
    """By how much the errors of a sequence, beyond what the scores tell, vary more than independent ones would."""
    owners, owner = np.unique(cases.owner, return_inverse=True)
    if len(owners) == len(cases):  # one answer each
        return 1.0
    rest = cases.right - probability
    found = float(np.sum(np.bincount(owner, rest) ** 2) / max(np.sum(rest**2), 1e-12))
    return max(found * (1 + 2 * np.sqrt(2 / len(owners))), 1.0)  # two standard errors more: it is an estimate itself


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
    def of(cls, records: Mapping[str, Record], level: Any, by: str) -> Promise:
        """From the records of blocks and sequences; raises a ParameterError where there is nothing to promise."""
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            wanted = "expected a number between 0 and 1, such as 0.99"
            raise ParameterError(f"the level to accept at is {quoted(level)}, {wanted}")
        if by not in ACCEPTED_BY:
            raise ParameterError(f"by={quoted(by)}: must be 'sequence' or 'field'")
        record = records[ACCEPTED_BY[by]]
        score = record.threshold(level)
        if score is not None:
            return cls(float(level), by, score, record.total, record.share(score))
        best = next((lower for lower in LEVELS_TO_OFFER if record.threshold(lower) is not None), None)
        hint = "" if best is None else f"; {best:g} can be promised"
        if record.total < (fewest := needed(level, record.likeness)):
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
