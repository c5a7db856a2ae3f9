"""The points of an annealing path, and which of them to take.

With dev data: the one that labels it best, under the rules.  Without: the first one with hardly more known mistakes
than any other, that is, with breaches of instance rules per sequence of the pool plus wrong labels per labelled
sequence, when the model predicts without the rules.  Both are mistakes that can be seen without any further label: a
model that the pool has led astray gets the labelled sequences wrong, and one that has learned too little breaks the
rules.  If all rules are about the corpus, only wrong labels are counted, and of equally good points the last one is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN
from semistruct.chain.inference import ChainWeights, decode
from semistruct.errors import DataError
from semistruct.fitting.data import DevData
from semistruct.fitting.measure import Measure
from semistruct.fitting.task import Task
from semistruct.rules import Rules
from semistruct.rules.tables import RuleTables
from semistruct.search.best import find_best
from semistruct.search.functions import FunctionRules

DEV_WIDTH = 64  # of the search under rules on dev data
SLIGHT = 0.1  # mistakes per sequence: a difference for which nobody leaves a model that has learned less from the pool


def fewest_mistakes(mistakes: Sequence[float]) -> int:
    """The number of the first point with hardly more mistakes than any other."""
    least = min(mistakes)
    return next(i for i, found in enumerate(mistakes) if found <= least + SLIGHT)


@dataclass(frozen=True)
class Point:
    """A model on the path; labels are those of the open sequences.  The supervised start has no place and no labels.

    dev_score, dev_accuracy  on dev data: the metric to choose by, and the token accuracy
    """

    chain: ChainWeights
    place: float | None
    labels: np.ndarray | None
    dev_score: float | None
    dev_accuracy: float | None
    mistakes: float

    def row(self, axis: str) -> dict[str, Any]:
        return {axis: self.place, **self.measured}

    @property
    def measured(self) -> dict[str, float | None]:
        return {key: getattr(self, key) for key in ("dev_score", "dev_accuracy", "mistakes")}


@dataclass(frozen=True)
class Judge:
    """Measures points and chooses among them."""

    task: Task
    dev: tuple[DevData, RuleTables] | None
    select: str
    measure: Measure
    n_jobs: int | None

    @classmethod
    def of(
        cls, task: Task, dev: DevData | None, select: str, measure: Measure, rules: Rules, n_jobs: int | None
    ) -> Judge:
        """Dev data is labelled under the rules."""
        if dev is None:
            return cls(task, None, select, measure, n_jobs)
        if not (dev.known != UNKNOWN).any():
            raise DataError("dev data: no token has a label that occurs in the training data")
        return cls(task, (dev, rules.compile(dev.X, task.labels)), select, measure, n_jobs)

    def point(self, chain: ChainWeights, place: float | None, labels: np.ndarray | None) -> Point:
        """A model as a point."""
        score, accuracy = self._on_dev(chain)
        return Point(chain, place, labels, score, accuracy, self._mistakes(chain))

    def best(self, points: list[Point]) -> int:
        """The number of the point to take; among equally good ones on dev data the last."""
        if self.select == "last":
            return len(points) - 1
        if self.select == "dev":
            return max(range(len(points)), key=lambda i: (points[i].dev_score, points[i].dev_accuracy, i))
        mistakes = [point.mistakes for point in points]
        return (
            fewest_mistakes(mistakes)
            if self._sees_breaches
            else min(range(len(points)), key=lambda i: (mistakes[i], -i))
        )

    def prefers(self, points: list[Point], others: list[Point]) -> bool:
        """Whether the best of some points is better than the best of others, without dev data clearly so."""
        one, other = (found[self.best(found)] for found in (points, others))
        if self.select == "dev":
            return (one.dev_score, one.dev_accuracy) > (other.dev_score, other.dev_accuracy)
        return one.mistakes + SLIGHT < other.mistakes

    def improved(self, points: list[Point], best: int, new: Point) -> list[Point]:
        """The points with a new one in the place of the best, if that is then still the best."""
        changed = [*points[:best], new, *points[best + 1 :]]
        return changed if self.best(changed) == best else points

    @property
    def _sees_breaches(self) -> bool:
        return any(rule.level == "instance" for rule in self.task.tables.rules)

    def _on_dev(self, chain: ChainWeights) -> tuple[float, float] | tuple[None, None]:
        """(the metric, the token accuracy)."""
        if self.dev is None:
            return None, None
        dev, tables = self.dev
        found = find_best(dev.batch, chain, tables, width=DEV_WIDTH, n_jobs=self.n_jobs).labels[0]
        return self.measure.rank(self.measure.standing(dev.known, found, dev.batch.lengths.tolist()))

    def _mistakes(self, chain: ChainWeights) -> float:
        task, tables = self.task, self.task.tables
        found = decode(task.batch, chain, n_jobs=self.n_jobs)[0]
        counted = task.known != UNKNOWN
        labelled = max(int((np.add.reduceat(counted, task.batch.offsets[:-1]) > 0).sum()), 1)
        wrong = float(np.sum(found[counted] != task.known[counted])) / labelled
        if not task.has_rules:
            return wrong
        labels = found[task.first_open :]
        breaches = tables.excess(labels, self.n_jobs).sum()
        breaches += FunctionRules.of(tables).n_broken(labels, tables.offsets)
        return wrong + float(breaches) / len(tables)
