"""How often a rule holds: in the labelled sequences, and in the pool as a model labels it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from semistruct.rules import AtMostOnce, Pattern, Rule, Words
from semistruct.rules.cases import CaseCounter, Cases, count
from semistruct.rules.events import TokenEvent

Z = 1.0
"""Standard errors between a share and its cautious bound."""

WORTH = 0.1
"""What a pool sequence that the model is sure of is worth beside a labelled one; together at most as much as those."""

SURE = 0.5
"""The model is sure of the labels whose doubt is below this: the surer half of the pool."""

Labelled = Sequence[Sequence[str]]


def cautious_share(share: float, n: float) -> float:
    """The lower end of Wilson's interval for a share seen in n independent trials; 0 without any."""
    if n <= 0:
        return 0.0
    centre, half = share + Z * Z / (2 * n), Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(centre - half, 0.0) / (1 + Z * Z / n)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a rule.

    applies, holds  cases in the labelled data, and those that obey
    sequences       labelled sequences with cases
    bound           a cautious estimate of the share of cases that obey: cases of one sequence resemble one another, so
                    that only sequences count as independent trials
    coverage        pool sequences with cases
    broken          pool sequences that break the rule as the model labels them
    gain            how many of these the rule would put right: each counts as much as the model doubts its labels
                    there, times the bound
    """

    applies: int
    holds: int
    sequences: int
    bound: float
    coverage: int
    broken: int
    gain: float

    @property
    def share(self) -> float:
        return self.holds / self.applies if self.applies else 0.0


class Seen:
    """Labelled sequences, and the pool with the labels of a model and its margins.

    labels  all labels
    doubt   for each token of the pool, the share of the tokens there of whose label the model is surer
    """

    def __init__(
        self, X: Sequence[Any], y: Labelled, pool: Sequence[Any], found: Labelled, margins: Sequence[np.ndarray],
        labels: Sequence[str],
    ) -> None:  # fmt: skip
        self.X, self.y, self.pool, self.found = list(X), list(y), list(pool), list(found)
        self.labels = tuple(labels)
        ranked = np.sort(np.concatenate([np.zeros(0), *margins]))
        self.doubt = [1 - np.searchsorted(ranked, row, "right") / len(ranked) for row in margins]

    @cached_property
    def in_labelled(self) -> CaseCounter:
        return CaseCounter(self.X, self.y)

    @cached_property
    def in_pool(self) -> CaseCounter:
        return CaseCounter(self.pool, self.found)

    def evidence(self, rule: Rule, surprises: int = 0, weakest: int | None = None) -> Evidence:
        """What speaks for a rule.

        surprises  cases that obey only because the rule was made to fit them: they count as broken in the bound
        weakest    the fewest labelled sequences that show a part of the rule; default: all that have cases
        """
        cases = _about(rule, self.in_labelled.of(rule, self.labels), self.y)
        applies, holds = count(cases)
        right, total = float(holds - surprises), float(applies)
        trials = float(len(cases) if weakest is None else weakest)
        if isinstance(rule, Words | Pattern):
            agree, sure, n = self._sure_of(rule)
            worth = min(WORTH, trials / n) if n else 0.0
            right, total, trials = right + worth * agree, total + worth * sure, trials + worth * n
        bound = cautious_share(max(right, 0.0) / total, trials) if total else 0.0
        there = _about(rule, self.in_pool.of(rule, self.labels), self.found)
        doubts = [self._doubt(i, case.broken) for i, case in there.items() if case.broken]
        gain = bound * sum(doubts)
        return Evidence(applies, holds, len(cases), bound, len(there), len(doubts), gain)

    def _sure_of(self, rule: Rule) -> tuple[int, int, int]:
        """Of the words of a rule that the model is sure of: (those that obey, all, their sequences)."""
        event = rule.terms(self.labels)[0].event
        assert isinstance(event, TokenEvent)
        sure = [(i, t) for i, t in self.in_pool.where.of(event) if self.doubt[i][t] < SURE]
        agree = sum(self.found[i][t] not in event.labels for i, t in sure)
        return agree, len(sure), len({i for i, _ in sure})

    def _doubt(self, i: int, places: Sequence[int | None]) -> float:
        """How much the model doubts its labels at the places of a sequence: at the one where it is surest.

        If the place is the sequence as a whole, that is where it is least sure, as something there has to change.
        """
        return float(min(self.doubt[i].max() if t is None else self.doubt[i][t] for t in places))


def _about(rule: Rule, cases: dict[int, Cases], y: Labelled) -> dict[int, Cases]:
    """The cases without those of sequences that have none of the labels that a rule wants at most once."""
    if not isinstance(rule, AtMostOnce) or rule.at_most_once == "all":
        return cases
    return {i: case for i, case in cases.items() if not rule.mentioned().isdisjoint(y[i])}
