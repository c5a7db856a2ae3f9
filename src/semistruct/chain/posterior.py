"""Distributions over labellings, p(y) proportional to exp(score(y)): what is expected of them, for many sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.chain.kernels import factors_of, sum_product, token_scores
from semistruct.threads import spread

PIECES = 64
"""Sums over sequences are made in this many pieces and then added up, so that threads do not change their rounding."""


@dataclass(frozen=True)
class Posterior:
    """log_z (n,), marginal (n_tokens, Y), and the expected steps (K, Y, Y) of all sequences together, weighted."""

    log_z: np.ndarray
    marginal: np.ndarray
    steps: np.ndarray

    @property
    def trans(self) -> np.ndarray:
        """The expected steps as the gradient of the weights `trans`: its table 0 is in force at every step."""
        return summed_steps(self.steps)


def summed_steps(steps: np.ndarray) -> np.ndarray:
    out = steps.copy()
    out[0] = steps.sum(axis=0)
    return out


@njit(cache=True, nogil=True)
def _posterior(
    pieces, bounds, offsets, indptr, indices, values, kind, tokens, step, factors, weight, known, log_z, marginal, steps
):
    """Piece p is the sequences bounds[p]:bounds[p+1]; labels y with known[t] not in (-1, y) are forbidden at t."""
    K, Y, _ = step.shape
    counts = np.empty((K, Y, Y))
    for p in pieces:
        for i in range(bounds[p], bounds[p + 1]):
            a, b = offsets[i], offsets[i + 1]
            unary = np.empty((b - a, Y))
            token_scores(indptr, indices, values, tokens, a, unary)
            if len(known):
                for t in range(b - a):
                    for y in range(Y):
                        if known[a + t] >= 0 and known[a + t] != y:
                            unary[t, y] = -np.inf
            counts[:] = 0.0
            log_z[i] = sum_product(unary, step, factors, kind[a:b], kind[a:b], marginal[a:b], counts)
            for k in range(K):
                for y in range(Y):
                    for z in range(Y):
                        steps[p, k, y, z] += weight[i] * counts[k, y, z]


def posterior(
    batch: SequenceBatch,
    weights: ChainWeights,
    *,
    weight: np.ndarray | None = None,
    known: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Posterior:
    """What is expected of every sequence.

    weight (n,)        multiplies the expected steps of a sequence
    known  (n_tokens,) restricts labellings to those that agree, where it is not UNKNOWN
    """
    n, Y, step = len(batch), weights.n_labels, weights.step
    bounds = np.linspace(0, n, PIECES + 1).astype(np.int64)
    log_z, marginal, steps = np.empty(n), np.empty((batch.n_tokens, Y)), np.zeros((PIECES, *step.shape))
    spread(
        _posterior, np.arange(PIECES), bounds,
        batch.offsets, batch.indptr, batch.indices, batch.values, batch.kind, weights.tokens, step, factors_of(step),
        np.ones(n) if weight is None else weight, np.empty(0, np.int16) if known is None else known,
        log_z, marginal, steps, n_jobs=n_jobs,
    )  # fmt: skip
    return Posterior(log_z, marginal, steps.sum(axis=0))
