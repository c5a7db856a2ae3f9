"""Projection: the distribution nearest to a model that meets the expectations of rules.

    min_q  sum_x T * KL(q_x || p_x^(1/T)) + cost of what lies beyond the bounds of the rows

where p(y) is proportional to exp(score(y)), and p^(1/T) to exp(score(y) / T).  The dual has one multiplier per row of
a corpus rule, and one per row of an instance rule and sequence.  Given those of the corpus, the others fall apart
into one small problem per sequence, solved in kernels; what is left is smooth in the few multipliers of the corpus,
and is solved by L-BFGS-B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core.chain.posterior import PIECES, over_pieces
from semistruct.core.kernels import kernels
from semistruct.core.lbfgs import minimise
from semistruct.rules.expectations import Expectations, Rows


class InstanceRows(NamedTuple):
    """Row j is about sign[j] * the count of term[j], times scale[i, j] in sequence i."""

    term: np.ndarray
    sign: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray


class Field(NamedTuple):
    """What scores the labels of all sequences: `Field` in `core/projection.hpp`."""

    scorer: NamedTuple
    costs: NamedTuple
    scale: float
    known: np.ndarray


class Problem(NamedTuple):
    """What the multipliers of every sequence solve, how exactly, and in how many steps at most."""

    events: NamedTuple
    rows: NamedTuple
    scale: float
    tol: float
    rounds: int


class Projected(NamedTuple):
    """What is known of all sequences after projection: `Projected` in `core/projection.hpp`."""

    multiplier: np.ndarray
    value: np.ndarray
    entropy: np.ndarray
    residual: np.ndarray
    expected: np.ndarray
    marginal: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True)
class Multipliers:
    """instance (n, J), corpus (J,)."""

    instance: np.ndarray
    corpus: np.ndarray

    @classmethod
    def zero(cls, expectations: Expectations) -> Multipliers:
        n = len(expectations.tables)
        return cls(np.zeros((n, len(expectations.instance))), np.zeros(len(expectations.corpus)))


@dataclass(frozen=True)
class Projection:
    """The projected distribution.

    marginal (n_tokens, Y), steps (K, Y, Y) of all sequences together, weighted
    expected (n, terms)  the expected counts of every sequence
    entropy (n,)         of each sequence
    dual                 the value of the dual, which no distribution goes below: E_q[-score] - T * entropy + cost
    residual             how far the multipliers are from solving their problem, at most
    """

    multipliers: Multipliers
    marginal: np.ndarray
    steps: np.ndarray
    expected: np.ndarray
    entropy: np.ndarray
    dual: float
    residual: float


@dataclass(frozen=True)
class Projector:
    """Projects models on the expectations of rules for the sequences of a batch.

    known  (n_tokens,) labels that are fixed, UNKNOWN elsewhere
    """

    batch: SequenceBatch
    expectations: Expectations
    known: np.ndarray | None = None
    tol: float = 1e-4
    rounds: int = 100
    n_jobs: int | None = None

    def project(
        self,
        chain: ChainWeights,
        *,
        temperature: float = 1.0,
        start: Multipliers | None = None,
        weight: np.ndarray | None = None,
    ) -> Projection:
        """weight (n,) multiplies the expected steps; start has multipliers to begin with."""
        return _Dual(self, chain, temperature, weight).solve(start or Multipliers.zero(self.expectations))

    def expected(self, chain: ChainWeights, temperature: float = 1.0) -> np.ndarray:
        """(n, terms): the expected counts of the model itself."""
        dual = _Dual(self, chain, temperature, None)
        zero = Multipliers.zero(self.expectations)
        return dual.instance(zero, rounds=0).expected

    def best(self, chain: ChainWeights, multipliers: Multipliers) -> np.ndarray:
        """(n_tokens,): the most probable labelling of every sequence under the projected distribution."""
        dual = _Dual(self, chain, 1.0, None)
        labels, n_terms = np.empty(self.batch.n_tokens, np.int16), self.expectations.tables.n_terms
        field, problem = dual.field(multipliers.corpus), dual.problem(0)
        spread(
            kernels.best_sequences, np.arange(len(self.batch)), field, problem, multipliers.instance, n_terms, labels,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        return labels


class _Dual:
    """The dual problem of one projection."""

    def __init__(
        self, projector: Projector, chain: ChainWeights, temperature: float, weight: np.ndarray | None
    ) -> None:
        self.projector, self.temperature = projector, temperature
        self.batch, self.expectations = projector.batch, projector.expectations
        self.scorer = scorer_of(self.batch, chain)
        self.weight = np.ones(len(self.batch)) if weight is None else weight
        self.known = NOWHERE if projector.known is None else projector.known
        self.rows = instance_rows(self.expectations)

    def field(self, corpus: np.ndarray) -> Field:
        """What scores labels, given the multipliers of corpus rules."""
        costs = self.expectations.tables.costs(corpus @ self.expectations.corpus.a)
        return Field(self.scorer, costs, 1.0 / self.temperature, self.known)

    def problem(self, rounds: int) -> Problem:
        events, tol = self.expectations.tables.events, self.projector.tol
        return Problem(events, self.rows, 1.0 / self.temperature, tol, rounds)

    def instance(self, start: Multipliers, rounds: int) -> Projection:
        """The best multipliers of instance rules, given those of corpus rules."""
        n, (_, Y), (K, _, _) = len(self.batch), self.scorer.tokens.shape, self.scorer.step.shape
        found = Projected(
            multiplier=start.instance.copy(), value=np.empty(n), entropy=np.empty(n), residual=np.zeros(n),
            expected=np.empty((n, self.expectations.tables.n_terms)), marginal=np.empty((self.batch.n_tokens, Y)),
            steps=np.zeros((PIECES, K, Y, Y)),
        )  # fmt: skip
        field, problem = self.field(start.corpus), self.problem(rounds)
        args = n, field, problem, self.weight, found
        over_pieces(kernels.project_sequences, *args, n_jobs=self.projector.n_jobs, at_once=1)
        return Projection(
            multipliers=Multipliers(found.multiplier, start.corpus),
            marginal=found.marginal,
            steps=found.steps.sum(axis=0),
            expected=found.expected,
            entropy=found.entropy,
            dual=-float(found.value.sum()),
            residual=float(found.residual.max(initial=0.0)),
        )

    def solve(self, start: Multipliers) -> Projection:
        """The best multipliers of all rules."""
        rows, rounds = self.expectations.corpus, self.projector.rounds
        if not len(rows):
            return self.instance(start, rounds)
        last = self.instance(start, rounds)
        # counts vary about as much as they are large: in units of this all multipliers are equally stiff
        unit = 1.0 / np.sqrt(rows.slack + np.abs(rows.a) @ last.expected.sum(axis=0) + 1.0)

        def value(z: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal last
            x = unit * z
            last = self.instance(Multipliers(last.multipliers.instance, x), rounds)
            f = -last.dual + float(rows.bound @ x + 0.5 * rows.slack @ x**2)
            return f, unit * (rows.bound + rows.slack * x - rows.a @ last.expected.sum(axis=0))

        low, high = rows.low / unit, rows.high / unit
        tol = self.projector.tol * np.sqrt(len(self.batch))
        limits: dict[str, Any] = {"max_iterations": rounds, "slope": tol, "fall": 0.0, "memory": len(rows) + 5}
        found = minimise(value, start.corpus / unit, **limits, bounds=np.stack([low, high], 1))
        f, gradient = value(found.x)
        far = np.abs(np.clip(found.x - gradient, low, high) - found.x).max() / np.sqrt(len(self.batch))
        return replace(last, dual=-f, residual=max(last.residual, float(far)))


def instance_rows(expectations: Expectations) -> InstanceRows:
    """The rows of instance rules as the kernels read them."""
    rows: Rows = expectations.instance
    term = np.abs(rows.a).argmax(axis=1) if len(rows) else np.zeros(0, np.int64)
    sign = rows.a[np.arange(len(rows)), term]
    low, high = rows.low, rows.high
    return InstanceRows(term, sign, rows.bound, rows.slack, low, high, expectations.instance_scale())
