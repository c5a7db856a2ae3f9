"""Distributions over labellings, p(y) proportional to exp(score(y)): what is expected of them, for many sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.chain.records import Factors
from semistruct.core import kernels
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
    log_z, marginal, steps = np.empty(n), np.empty((batch.n_tokens, Y)), np.zeros((PIECES, *step.shape))
    over_pieces(
        kernels.expect_sequences, n, scorer_of(batch, weights), NOWHERE if known is None else known,
        factors_of(step), np.ones(n) if weight is None else weight, log_z, marginal, steps, n_jobs=n_jobs,
    )  # fmt: skip
    return Posterior(log_z, marginal, steps.sum(axis=0))


def factors_of(step: np.ndarray) -> Factors:
    """Step tables as probabilities."""
    out = Factors(np.empty(step.shape), np.empty(step.shape), np.empty(len(step)))
    kernels.factors_of(step, *out)
    return out


def over_pieces(kernel: Callable[..., object], n: int, *args: object, n_jobs: int | None, at_once: int = 4) -> None:
    """Call kernel(pieces, bounds, *args), where the sequences bounds[p] to bounds[p + 1] of n are those of piece p.

    What each piece sums up for itself does not depend on threads; an interruption is answered after `at_once` pieces.
    """
    bounds = np.linspace(0, n, PIECES + 1).astype(np.int64)
    few = n < PIECES
    spread(kernel, np.arange(PIECES), bounds, *args, n_jobs=1 if few else n_jobs, piece=PIECES if few else at_once)
