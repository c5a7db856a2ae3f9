"""How far a matching is from the best one: a lower bound on its objective.

Per sequence, the slack  max_z [ |z != y| + score(z) ] - score(y)  is at least its value for any mixture of rivals z in
place of the maximum, and with a mixture fixed the best y is a search as in decoding.  Mixtures are improved by
fictitious play: the answer to the present mixture is found, and the rival that is hardest for it joins in.  Corpus
rules are replaced by their tangents at the totals of the matching, which prices every event.

With loss 0 there is but one rival and the bound of instance rules is exact.  With loss 1 it cannot be: a mixture of
labellings would have less slack than any single one, and mixtures are all that the bound can exclude.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights, decode
from semistruct.rules.event_kernels import distance, total_of
from semistruct.rules.events import StartEvent, StepEvent, TokenEvent
from semistruct.rules.tables import RuleTables
from semistruct.search.best import find_best
from semistruct.switching.matching import Matching

CERTAIN = 1e-6  # relative gap at which a sequence counts as matched optimally


@dataclass(frozen=True)
class Certificate:
    """A proof of how good a matching is.

    lower     (n,) lower bounds on the parts of the objective that belong to one sequence
    value     (n,) the parts themselves
    constant  the part that belongs to none
    objective of the matching
    """

    lower: np.ndarray
    value: np.ndarray
    constant: float
    objective: float

    @property
    def bound(self) -> float:
        """No labelling has a lower objective."""
        return float(self.lower.sum()) + self.constant

    @property
    def gap(self) -> float:
        """By how much the objective can be lowered at most."""
        return max(0.0, self.objective - self.bound)

    @property
    def certain(self) -> np.ndarray:
        """(n,): the sequences that are certainly labelled as well as they can be, given the corpus prices."""
        return self.value - self.lower <= CERTAIN * (1 + np.abs(self.value))


def certify(
    batch: SequenceBatch,
    weights: ChainWeights,
    tables: RuleTables,
    matching: Matching,
    *,
    known: np.ndarray | None = None,
    rounds: int = 4,
    width: int = 64,
    n_jobs: int | None = None,
) -> Certificate:
    """Bound the objective of a matching from below; more rounds and a wider search, a closer bound."""
    n, Y, every = len(batch), weights.n_labels, np.arange(batch.n_tokens)
    counts = tables.count(matching.labels, n_jobs)
    price, constant = _tangent(tables, counts, float(batch.n_tokens), float(n))
    lower = np.full(n, -np.inf)
    for scale in np.unique(matching.scale):
        mixture, score = np.zeros((batch.n_tokens, Y)), np.zeros(n)
        rival, rival_score = decode(batch, weights, n_jobs=n_jobs)
        for r in range(rounds if matching.loss else 1):
            mixture *= r / (r + 1)
            mixture[every, rival] += 1 / (r + 1)
            score += (rival_score - score) / (r + 1)
            bonus = scale * matching.loss * mixture
            answer = find_best(
                batch, weights, tables, known=known, scale=scale, bonus=bonus, price=price, width=width, n_jobs=n_jobs
            )
            found = scale * (matching.loss * batch.lengths + score) - answer.ceiling
            lower = np.where(matching.scale == scale, np.maximum(lower, found), lower)
            rival, rival_score = _hardest(batch, weights, answer.labels[0], matching.loss, n_jobs)
    value = matching.scale * matching.slack + matching.instance + counts @ price
    return Certificate(np.minimum(lower, value), value, constant, matching.objective)


def _hardest(
    batch: SequenceBatch, weights: ChainWeights, y: np.ndarray, loss: float, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The rival in the slack of y, and its score."""
    bonus = np.zeros((batch.n_tokens, weights.n_labels))
    bonus[np.arange(batch.n_tokens), y] = -loss
    rival, value = decode(batch, weights, bonus=bonus, n_jobs=n_jobs)
    return rival, value + loss * np.add.reduceat((rival == y).astype(float), batch.offsets[:-1])


def _tangent(tables: RuleTables, counts: np.ndarray, n_tokens: float, n_sequences: float) -> tuple[np.ndarray, float]:
    """(price of every event (K,), constant): a linear lower bound on the corpus penalty, tight at these counts."""
    t, totals = tables.targets, np.zeros(tables.n_terms)
    total_of(counts, totals)
    price, constant = np.zeros(tables.n_terms), 0.0
    for k in tables.corpus:
        divisor = {-1: 1.0, -2: n_tokens, -3: n_sequences}.get(int(t.per[k]), 0.0)
        if not divisor and _is_constant(tables, int(t.per[k])):
            divisor = totals[t.per[k]]
        linear = isinstance(tables.terms[k].event, TokenEvent | StepEvent | StartEvent)
        v = distance(t, k, totals[k] / divisor) if divisor else 0.0
        if not linear or v == 0:
            continue
        slope = t.weight[k] * t.unit[k] / divisor * (2 * v if t.power[k] == 2 else 1.0)
        price[k] = slope if totals[k] / divisor > t.high[k] else -slope
        constant += t.weight[k] * v ** t.power[k] - price[k] * totals[k]
    return price, constant


def _is_constant(tables: RuleTables, k: int) -> bool:
    """A divisor that counts words whatever their labels."""
    e = tables.events
    return k in e.test_term and bool(e.test_mask[e.test_term == k].all()) and k not in e.label_term
