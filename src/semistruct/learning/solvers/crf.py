"""Conditional random fields on chains, by L-BFGS-B.

    minimise over w    P(w) = 1/2 ||w||^2 + l1 |w| + sum_i C_i (log Z_i(w) - E_i[score_w])

where E_i is over the labellings that are to be learned: a single one, those that agree with the known labels in the
proportions of the model itself (that is, log Z_i(w) - log Z_i(w; known)), or any given distribution.

Features that always occur together are made one: m features of equal values and weight w are one feature of value
sqrt(m) and weight w sqrt(m), which changes neither the scores nor ||w||, and at the minimum such features have equal
weights.  Features that do not occur have weight 0.  In text this removes about half of all features: those of words
that occur once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from semistruct.base.progress import Progress, Watch
from semistruct.base.threads import spread
from semistruct.core.batch import UNKNOWN, SequenceBatch, starts
from semistruct.core.chain.inference import ChainWeights
from semistruct.core.chain.posterior import posterior, summed_steps
from semistruct.core.kernels import kernels
from semistruct.core.lbfgs import minimise
from semistruct.learning.solvers import warn_unconverged

NONE = -1  # the number of the merged feature, for a feature that does not occur
MEMORY = 6  # pairs of differences that L-BFGS-B remembers
PERIOD = 5  # iterations over which the objective must fall
HINTS = {
    "max_iterations": "raise max_iterations or tol",
    "line_search": "no further step lowers it, as numbers are too large or too small; try another C",
}


@dataclass(frozen=True)
class Expected:
    """A distribution over labellings of every sequence, as far as a chain model sees it.

    tokens (n_tokens, Y)  its marginals
    steps  (K, Y, Y)      its expected steps, weighted by C_i, of all sequences together
    """

    tokens: np.ndarray
    steps: np.ndarray

    @classmethod
    def of_labels(cls, batch: SequenceBatch, labels: np.ndarray, n_labels: int, weight: np.ndarray) -> Expected:
        """All mass on one labelling; UNKNOWN tokens have none, nor have the steps from and to them."""
        tokens = (labels[:, None] == np.arange(n_labels)).astype(float)
        steps = np.zeros((batch.n_kinds, n_labels, n_labels))
        into = np.setdiff1d(np.arange(batch.n_tokens), batch.offsets[:-1])
        into = into[(labels[into] != UNKNOWN) & (labels[into - 1] != UNKNOWN)]
        token_weight = np.repeat(weight, batch.lengths)
        np.add.at(steps, (batch.kind[into], labels[into - 1], labels[into]), token_weight[into])
        return cls(tokens, steps)


@dataclass(frozen=True)
class Solution:
    """history has a record per iteration, the first of the start; its detail `gradient` is the largest entry."""

    chain: ChainWeights
    history: list[Progress] = field(repr=False)
    stop: str  # "converged", "max_iterations" or "line_search": see `lbfgs`


@dataclass(frozen=True)
class Merged:
    """The batch with merged features; group (F,) has the number of the feature that each became, root (G,) sqrt(m)."""

    batch: SequenceBatch
    group: np.ndarray
    root: np.ndarray

    def shrink(self, tokens: np.ndarray) -> np.ndarray:
        """(G, Y): weights of the merged features, from those of all (F, Y); exact if merged ones are equal."""
        out = np.zeros((len(self.root), tokens.shape[1]))
        there = self.group != NONE
        np.add.at(out, self.group[there], tokens[there] / self.root[self.group[there]][:, None])
        return out

    def expand(self, tokens: np.ndarray) -> np.ndarray:
        """(F, Y): the weights of all features."""
        each = np.vstack([tokens / self.root[:, None], np.zeros((1, tokens.shape[1]))])
        return each[self.group]


_known: WeakKeyDictionary[SequenceBatch, Merged] = WeakKeyDictionary()


def merged(batch: SequenceBatch) -> Merged:
    """The batch with merged features; kept for as long as the batch is."""
    if batch not in _known:
        _known[batch] = _merge(batch)
    return _known[batch]


def _merge(batch: SequenceBatch) -> Merged:
    shared = len(batch.values) == 1
    rows = batch.table
    columns = rows.tocsc()
    number: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    group = np.full(batch.n_features, NONE)
    for f in np.flatnonzero(np.diff(columns.indptr)):
        piece = slice(columns.indptr[f], columns.indptr[f + 1])
        column = columns.indices[piece].tobytes(), b"" if shared else columns.data[piece].tobytes()
        group[f] = number.setdefault(column, len(number))
        if group[f] == len(first):
            first.append(int(f))
    root = np.sqrt(np.bincount(group[group != NONE], minlength=len(first)))
    kept = np.zeros(batch.n_features, bool)
    kept[first] = True
    entry = kept[rows.indices]
    indices = group[rows.indices[entry]].astype(np.int32)
    token = np.repeat(np.arange(batch.n_tokens), np.diff(rows.indptr))[entry]
    order = np.lexsort((indices, token))
    small = replace(
        batch,
        indptr=starts(np.bincount(token, minlength=batch.n_tokens)),
        indices=indices[order],
        values=(rows.data[entry] * root[indices])[order],
        n_features=max(len(first), 1),
    )
    return Merged(small, group, root if len(first) else np.ones(1))


class Columns:
    """The tokens of every feature."""

    def __init__(self, batch: SequenceBatch, n_jobs: int | None = None) -> None:
        columns = batch.table.tocsc()
        values = batch.values if len(batch.values) == 1 else columns.data
        self.n_features, self.n_jobs = batch.n_features, n_jobs
        self.arrays = columns.indptr.astype(np.int64), columns.indices.astype(np.int32), values

    def gather(self, of: np.ndarray) -> np.ndarray:
        """(F, Y): for every feature the sum over its tokens of its value times `of` (n_tokens, Y)."""
        out = np.empty((self.n_features, of.shape[1]))
        spread(kernels.gather_tokens, np.arange(self.n_features), *self.arrays, of, out, n_jobs=self.n_jobs)
        return out


class Objective:
    """P without its l1 part, and its gradient, for weights laid end to end; those of merged features (merge=True)."""

    def __init__(
        self,
        batch: SequenceBatch,
        n_labels: int,
        weight: np.ndarray,
        goal: np.ndarray | Expected,
        n_jobs: int | None = None,
        merge: bool = True,
    ) -> None:
        """goal: labels (n_tokens,), UNKNOWN where they are not known, or a distribution."""
        self.merged = merged(batch) if merge else None
        batch = self.merged.batch if self.merged else batch
        self.batch, self.n_labels, self.weight, self.n_jobs = batch, n_labels, weight, n_jobs
        self.token_weight = np.repeat(weight, batch.lengths)[:, None]
        self.columns = Columns(batch, n_jobs)
        self.partial: tuple[SequenceBatch, np.ndarray, np.ndarray, np.ndarray] | None = None
        if not isinstance(goal, Expected):
            goal = self._expected(goal)
        tokens = self.columns.gather(goal.tokens * self.token_weight)
        self.goal = ChainWeights(tokens, summed_steps(goal.steps)).flat

    def _expected(self, labels: np.ndarray) -> Expected:
        """What is fixed about the labels; sequences with unknown ones are left for `__call__`."""
        batch = self.batch
        which = np.flatnonzero(np.add.reduceat(labels == UNKNOWN, batch.offsets[:-1]))
        if len(which):
            tokens = batch.tokens_of(which)
            self.partial = (batch.take(which), labels[tokens], self.weight[which], tokens)
            labels = labels.copy()
            labels[tokens] = UNKNOWN
        return Expected.of_labels(batch, labels, self.n_labels, self.weight)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.batch.n_features * self.n_labels + self.batch.n_kinds * self.n_labels**2

    def pack(self, chain: ChainWeights) -> np.ndarray:
        """The weights laid end to end."""
        return ChainWeights(self.merged.shrink(chain.tokens), chain.trans).flat if self.merged else chain.flat

    def unpack(self, w: np.ndarray) -> ChainWeights:
        """The weights of all features."""
        chain = ChainWeights.of_flat(w, self.batch.n_features, self.n_labels)
        return ChainWeights(self.merged.expand(chain.tokens), chain.trans) if self.merged else chain

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        chain = ChainWeights.of_flat(w, self.batch.n_features, self.n_labels)
        p = posterior(self.batch, chain, weight=self.weight, n_jobs=self.n_jobs)
        marginal, steps, losses = p.marginal, p.steps, self.weight @ p.log_z
        marginal *= self.token_weight
        if self.partial is not None:
            batch, known, weight, tokens = self.partial
            q = posterior(batch, chain, weight=weight, known=known, n_jobs=self.n_jobs)
            marginal[tokens] -= q.marginal * self.token_weight[tokens]
            steps, losses = steps - q.steps, losses - weight @ q.log_z
        gradient = ChainWeights(self.columns.gather(marginal), summed_steps(steps)).flat
        gradient += w - self.goal
        return float(0.5 * (w @ w) + losses - w @ self.goal), gradient


class Weighable(Protocol):
    """A function of the weights of a chain model, laid end to end, with its gradient."""

    @property
    def size(self) -> int: ...
    def pack(self, chain: ChainWeights) -> np.ndarray: ...
    def unpack(self, w: np.ndarray) -> ChainWeights: ...
    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]: ...


def solve(
    objective: Weighable,
    *,
    l1: float = 0.0,
    tol: float = 1e-4,
    max_iterations: int = 1000,
    start: ChainWeights | None = None,
    watch: Watch | None = None,
    warn: bool = True,
) -> Solution:
    """Minimise P until it falls by less than tol, relatively, in PERIOD iterations.

    If no step lowers P any more, it has converged where its gradient shows that it is that near to its minimum: P grows
    by half the square of the distance at least.

    warn  when something else ends it
    """
    size = objective.size
    x = np.zeros(size) if start is None else objective.pack(start)
    began = time.perf_counter()
    history: list[Progress] = []
    values: list[float] = []
    last: list[Any] = [0.0, None]

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        if not l1:
            f, gradient = objective(x)
        else:  # w = u - v with u, v >= 0, of which |w| is the sum
            f, g = objective(x[:size] - x[size:])
            f, gradient = f + l1 * float(x.sum()), np.concatenate([g + l1, l1 - g])
        last[:] = f, gradient
        if not history:
            record(f)
        return f, gradient

    def record(f: float) -> None:
        details = {"gradient": float(np.abs(last[1]).max())}
        history.append(Progress("iteration", len(values), f, time.perf_counter() - began, details=details))
        values.append(f)
        if watch:
            watch(history[-1])

    def done(f: float) -> bool:
        record(f)
        return len(values) > PERIOD and values[-1 - PERIOD] - f <= tol * abs(f)

    bounds = None
    if l1:
        x = np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)])
        bounds = np.tile([0.0, np.inf], (2 * size, 1))
    limits: dict[str, Any] = {"max_iterations": max_iterations, "memory": MEMORY, "fall": 0.0, "slope": 1e-9}
    found = minimise(value, x, **limits, bounds=bounds, done=done)
    w = found.x if not l1 else found.x[:size] - found.x[size:]
    slope = np.where(found.x > 0, found.gradient, np.minimum(found.gradient, 0.0)) if l1 else found.gradient
    near = 0.5 * float(slope @ slope) <= tol * abs(found.value)
    stop = "converged" if found.stop == "line_search" and near else found.stop
    if stop != "converged" and warn:
        problem = f"stopped after {len(values) - 1} iterations before the objective converged"
        warn_unconverged(f"{problem}; {HINTS[stop]}")
    return Solution(objective.unpack(w), history, stop)
