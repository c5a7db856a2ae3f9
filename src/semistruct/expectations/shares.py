"""The shares that a model expects of what corpus rules speak of, as part of an objective.

    loss(w) = sum_k KL(target_k || share_k(w)),    share_k = E_w[count_k] / E_w[divisor_k]

summed over all sequences; KL is that of two outcomes.  Where a rule allows a range, the target is the nearest share in
it.  The gradient is the covariance of the counts, each at its present rate, with the features: one pass, see `covary`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.chain.posterior import PIECES, over_pieces, summed_steps
from semistruct.core import kernels
from semistruct.errors import ParameterError
from semistruct.expectations.projection import Projector
from semistruct.expectations.records import Field
from semistruct.expectations.rows import Expectations
from semistruct.rules.records import PER_SEQUENCE, PER_TOKEN
from semistruct.rules.tables import RuleTables
from semistruct.solvers.crf import Columns, Objective

EDGE = 1e-6  # shares are kept this far from 0 and 1, where the divergence is infinite


class Shares:
    """The targets of corpus rules for the sequences of a batch; refuses rules that speak of anything but shares."""

    def __init__(self, batch: SequenceBatch, tables: RuleTables, n_jobs: int | None = None) -> None:
        expectations = Expectations.of(tables, lambda level, n: 1.0)  # refuses what has no expectation
        for k, r in enumerate(tables.rule_of):
            rule = tables.rules[r]
            if rule.level == "instance" or tables.targets["per"][k] == PER_SEQUENCE:
                problem = "is about single sequences" if rule.level == "instance" else "is about numbers"
                either = rule.level == "instance" and "corpus" in rule.levels
                hint = "; give it `level: corpus` and a `fraction`" if either else ""
                raise ParameterError(f"rule {rule.text!r} {problem}, not about shares in the corpus{hint}")
        self.batch, self.tables, self.n_jobs = batch, tables, n_jobs
        self.projector = Projector(batch, expectations, n_jobs=n_jobs)
        self.columns = Columns(batch, n_jobs)
        spoken_of = np.unique([np.flatnonzero(row)[0] for row in expectations.corpus.a]).astype(np.int64)
        self.terms = spoken_of  # those of words that occur
        self.low, self.high = tables.targets["low"][self.terms], tables.targets["high"][self.terms]

    def values(self, chain: ChainWeights) -> tuple[np.ndarray, np.ndarray]:
        """(shares, divisors) of the terms."""
        total = self.projector.expected(chain).sum(axis=0)
        per = self.tables.targets["per"][self.terms]
        n_tokens = float(self.batch.n_tokens)
        divisor = np.array([n_tokens if p == PER_TOKEN else total[p] for p in per.tolist()])
        return total[self.terms] / np.maximum(divisor, EDGE), np.maximum(divisor, EDGE)

    def __call__(self, chain: ChainWeights) -> tuple[float, np.ndarray, np.ndarray]:
        """(loss, its gradient by `tokens`, and by `trans`)."""
        share, divisor = self.values(chain)
        target = np.clip(np.clip(share, self.low, self.high), 0.0, 1.0)
        s = np.clip(share, EDGE, 1 - EDGE)
        loss = float(np.sum(_relative(target, s) + _relative(1 - target, 1 - s)))
        rate = np.where(share == target, 0.0, (1 - target) / (1 - s) - target / s)
        price = np.zeros(self.tables.n_terms)
        np.add.at(price, self.terms, rate / divisor)
        for k, p in zip(range(len(self.terms)), self.tables.targets["per"][self.terms], strict=True):
            if p >= 0:
                price[p] -= rate[k] * share[k] / divisor[k]
        return loss, *self._covariance(chain, price)

    def _covariance(self, chain: ChainWeights, price: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the features with the counts at these prices."""
        Y, tables = chain.n_labels, self.tables
        marginal, steps = np.empty((self.batch.n_tokens, Y)), np.zeros((PIECES, *chain.trans.shape))
        costs, nothing = tables.costs(price), tables.costs(np.zeros(tables.n_terms))
        field = Field(scorer_of(self.batch, chain), nothing, 1.0, NOWHERE)
        over_pieces(kernels.covary, len(self.batch), field, costs, marginal, steps, n_jobs=self.n_jobs)
        return self.columns.gather(marginal), summed_steps(steps.sum(axis=0))

    def told(self, before: ChainWeights, after: ChainWeights) -> list[dict[str, Any]]:
        """The shares that two models expect, beside what the rules say."""
        start, end = self.values(before)[0], self.values(after)[0]
        return [
            {
                "rule": self.tables.terms[k].text,
                "low": float(self.low[j]),
                "high": float(self.high[j]),
                "start": float(start[j]),
                "end": float(end[j]),
            }
            for j, k in enumerate(self.terms)
        ]


class WithShares:
    """An objective, and the loss of shares at some rate."""

    def __init__(self, objective: Objective, shares: Shares, rate: float) -> None:
        self.objective, self.shares, self.rate = objective, shares, rate
        self.size, self.pack, self.unpack = objective.size, objective.pack, objective.unpack

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        f, gradient = self.objective(w)
        loss, tokens, trans = self.shares(self.unpack(w))
        return f + self.rate * loss, gradient + self.rate * self.pack(ChainWeights(tokens, trans))


def _relative(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p log(p / q), 0 where p is."""
    return p * np.log(np.where(p > 0, p, 1.0) / q)
