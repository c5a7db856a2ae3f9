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

from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.calibration.cases import Cases
from semistruct.calibration.curves import Curve
from semistruct.errors import ParameterError, quoted

CONFIDENCE = 0.95
LOOKS_FROM = 0.2  # of all answers
POINTS = 500  # that are kept of a record
LEVELS_TO_OFFER = (0.99, 0.98, 0.97, 0.96, 0.95, 0.93, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)


def checked_level(level: Any) -> float:
    """A share of right answers that can be asked for."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(
            f"the level to accept at is {quoted(level)}, expected a number between 0 and 1, such as 0.99"
        )
    return float(level)


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
    def of(cls, cases: Cases, curve: Curve) -> Record:
        """Of at most POINTS scores."""
        order = np.argsort(-cases.score, kind="stable")
        score, wrong = cases.score[order], np.cumsum(~cases.right[order])
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, int)
        if len(ends) > POINTS:
            ends = ends[np.unique(np.linspace(0, len(ends) - 1, POINTS).astype(int))]
        return cls(score[ends], ends + 1, wrong[ends], _likeness(cases, curve))

    @property
    def total(self) -> int:
        return int(self.n[-1]) if len(self.n) else 0

    def threshold(self, level: float) -> float | None:
        """The score from which on answers can be accepted, None if there is no such promise."""
        found, allowed = None, self._allowed(-1, int(LOOKS_FROM * self.total), level)
        for j, n in enumerate(self.n):
            if not self._keeps(allowed + 1, n, level):
                continue
            allowed = self._allowed(allowed, n, level)
            if self.wrong[j] > allowed:
                break
            found = j
        return None if found is None else float(self.score[found])

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

    def best_level(self) -> float | None:
        """The highest of some levels that can be promised."""
        return next((level for level in LEVELS_TO_OFFER if self.threshold(level) is not None), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "score": self.score.tolist(),
            "n": self.n.tolist(),
            "wrong": self.wrong.tolist(),
            "likeness": self.likeness,
        }

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


def _likeness(cases: Cases, curve: Curve) -> float:
    """By how much the errors of a sequence, beyond what the scores tell, vary more than independent ones would."""
    owners, owner = np.unique(cases.owner, return_inverse=True)
    if len(owners) == len(cases):  # one answer each
        return 1.0
    rest = cases.right - curve(cases.score)
    sums = np.bincount(owner, rest)
    found = float(np.sum(sums**2) / max(np.sum(rest**2), 1e-12))
    return max(found * (1 + 2 * np.sqrt(2 / len(owners))), 1.0)  # two standard errors more: it is an estimate itself
