"""All that is chosen by data: C, the point of a path, and the strength of rules in prediction.

C and the strength of rules are those that label held-out data best: dev data, else (C only) parts of the labelled data.

The point of a path is the one that labels dev data best, under the rules.  Without dev data it is the first one with
hardly more known mistakes than any other, that is, with breaches of instance rules per sequence of the pool plus wrong
labels per labelled sequence, when the model predicts without the rules.  Both are mistakes that can be seen without any
further label: a model that the pool has led astray gets the labelled sequences wrong, and one that has learned too
little breaks the rules.  If all rules are about the corpus, only wrong labels are counted, and of equally good points
the last one is taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from semistruct.base.errors import DataError, UncertainWarning
from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.data import metrics
from semistruct.learning import settings
from semistruct.learning.data import Pairs
from semistruct.learning.learners import Learned, Learner
from semistruct.learning.task import DevData, Task
from semistruct.learning.trust import Trust
from semistruct.model.model import Model
from semistruct.rules import Rules
from semistruct.rules.search import find_best
from semistruct.rules.tables import RuleTables
from semistruct.rules.whole_sequences import FunctionRules

Known = tuple[SequenceBatch, np.ndarray]
Parts = list[tuple[np.ndarray, ChainWeights]]
"""Numbers of labelled sequences, and the weights that were learned without them."""


@dataclass(frozen=True)
class Measure:
    """A metric for labels as numbers; the names of the labels tell which of them are spans."""

    metric: str
    labels: tuple[str, ...]

    def standing(self, known: np.ndarray, found: np.ndarray, lengths: Sequence[int]) -> metrics.Standing:
        """How well `found` agrees with `known` (n_tokens,), in sequences of these lengths."""
        edges = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        gold, predicted = ([row[a:b] for a, b in pairwise(edges)] for row in map(self._names, (known, found)))
        return metrics.standing(gold, predicted, self.metric)

    def _names(self, codes: np.ndarray) -> list[str | None]:
        return np.array([*self.labels, None], object)[np.where(codes == UNKNOWN, len(self.labels), codes)].tolist()

    def rank(self, found: metrics.Standing) -> tuple[float, float]:
        return metrics.rank(found, self.metric)


# ---- C


@dataclass(frozen=True)
class Choice:
    """The C, the scores by which it was chosen, and the models that were learned with it for cross-validation."""

    C: float
    rows: list[dict[str, Any]]
    without: Parts


@dataclass(frozen=True)
class Start:
    """The supervised model, at which a path starts.

    learned  all that its learner told, None for one that was kept in a file
    """

    chain: ChainWeights
    choice: Choice
    learned: Learned | None = None


def choose_C(
    C: float | str,
    learner: Learner,
    measure: Measure,
    labelled: tuple[SequenceBatch, np.ndarray, np.ndarray],
    dev: DevData | None,
    seed: int,
    n_jobs: int | None = None,
) -> Choice:
    """For "auto" the best of the learner's grid on held-out data, the default if nothing can be held out.

    labelled  (batch, known labels, factors of C)

    For each part that is held out, C grows, and every problem starts where the last one ended.
    """
    if not isinstance(C, str):
        return Choice(float(C), [], [])
    folds = _folds(labelled, dev, seed)
    found: list[list[np.ndarray]] = [[] for _ in learner.grid]
    without: list[Parts] = [[] for _ in learner.grid]
    for train, held, rest, part in folds:
        start: Any = None
        for k, value in enumerate(learner.grid):
            learned = learner.learn(*train, value * rest, rough=True, start=start)
            start = learned.start
            found[k].append(decode(held[0], learned.chain, n_jobs=n_jobs)[0])
            if len(part):
                without[k].append((part, learned.chain))
    known = np.concatenate([held[1] for _, held, _, _ in folds]) if folds else np.empty(0)
    if not (known != UNKNOWN).any():
        return Choice(learner.default_C, [], [])
    lengths = [n for _, held, _, _ in folds for n in held[0].lengths.tolist()]
    rows = [
        {"C": value, **measure.standing(known, np.concatenate(labels), lengths)}
        for value, labels in zip(learner.grid, found, strict=True)
    ]
    best = max(range(len(rows)), key=lambda k: measure.rank(rows[k]))
    return Choice(learner.grid[best], rows, without[best])


def _folds(
    labelled: tuple[SequenceBatch, np.ndarray, np.ndarray], dev: DevData | None, seed: int
) -> list[tuple[Known, Known, np.ndarray, np.ndarray]]:
    """(train, held out, weights of train, numbers of those held out, none of which are dev data)."""
    batch, known, weight = labelled
    if dev is not None:
        return [((batch, known), (dev.batch, dev.known), weight, np.empty(0, np.int64))]

    def take(which: np.ndarray) -> Known:
        return batch.take(which), known[batch.tokens_of(which)]

    n = len(batch)
    parts = np.array_split(np.random.default_rng(seed).permutation(n), min(settings.PARTS, n))
    folds = []
    for part in parts[:1] if n >= settings.MANY else parts:
        rest = np.setdiff1d(np.arange(n), part)
        if len(rest):
            folds.append((take(rest), take(part), weight[rest], part))
    return folds


# ---- the point of a path


def fewest_mistakes(mistakes: Sequence[float]) -> int:
    """The number of the first point with hardly more mistakes than any other."""
    least = min(mistakes)
    return next(i for i, found in enumerate(mistakes) if found <= least + settings.SLIGHT)


@dataclass(frozen=True)
class Point:
    """A model on the path; labels are those of the open sequences.  The supervised start has no place and no labels.

    dev_score, dev_accuracy  on dev data: the metric to choose by, and the token accuracy
    """

    chain: ChainWeights
    place: float | None = None
    labels: np.ndarray | None = None
    dev_score: float | None = None
    dev_accuracy: float | None = None
    mistakes: float = 0.0

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

    def point(self, chain: ChainWeights, place: float | None = None, labels: np.ndarray | None = None) -> Point:
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
        if any(rule.level == "instance" for rule in self.task.tables.rules):
            return fewest_mistakes(mistakes)
        return min(range(len(points)), key=lambda i: (mistakes[i], -i))

    def prefers(self, points: list[Point], others: list[Point]) -> bool:
        """Whether the best of some points is better than the best of others, without dev data clearly so."""
        one, other = (found[self.best(found)] for found in (points, others))
        if self.select == "dev":
            return (one.dev_score, one.dev_accuracy) > (other.dev_score, other.dev_accuracy)
        return one.mistakes + settings.SLIGHT < other.mistakes

    def improved(self, points: list[Point], best: int, new: Point) -> list[Point]:
        """The points with a new one in the place of the best, if that is then still the best."""
        changed = [*points[:best], new, *points[best + 1 :]]
        return changed if self.best(changed) == best else points

    def _on_dev(self, chain: ChainWeights) -> tuple[float, float] | tuple[None, None]:
        """(the metric, the token accuracy)."""
        if self.dev is None:
            return None, None
        dev, tables = self.dev
        found = find_best(dev.batch, chain, tables, width=settings.DEV_WIDTH, n_jobs=self.n_jobs).labels[0]
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


# ---- the strength of rules


def best_strength(trust: Trust, model: Model, dev: Pairs, metric: str, n_jobs: int | None) -> float:
    """The strength of rules for prediction: the best of a grid on dev data, the largest among equals."""

    def rank(strength: float) -> tuple[float, float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainWarning)  # good enough to choose by
            found = model.predict(dev[0], n_jobs, trust.weighted(strength))
        return *metrics.rank(metrics.standing(dev[1], found, metric), metric), strength

    return max(settings.STRENGTHS, key=rank)
