"""Distributions over labellings, p(y) proportional to exp(score(y)): what is expected of them, for many sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core.kernels import kernels

PIECES = 64
"""Sums over sequences are made in this many pieces and then added up, so that threads do not change their rounding."""

NOBODY = -1
SMALLEST = 1e-15  # of what is missing to 1, as far as 64 bits can tell


class Factors(NamedTuple):
    """Step tables as probabilities: exp(step[k]) = exp(top[k]) * factor[k], and back[k] is factor[k] transposed."""

    factor: np.ndarray
    back: np.ndarray
    top: np.ndarray


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

    What each piece sums up for itself does not depend on threads, which take `at_once` pieces at a time.
    """
    bounds = np.linspace(0, n, PIECES + 1).astype(np.int64)
    few = n < PIECES
    spread(kernel, np.arange(PIECES), bounds, *args, n_jobs=1 if few else n_jobs, piece=PIECES if few else at_once)


def log_odds(
    batch: SequenceBatch,
    weights: ChainWeights,
    path: np.ndarray,
    beside: np.ndarray,
    blocks: Sequence[Sequence[tuple[int, int]]],
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """(of each token's label in `path`, of the blocks of each sequence, of each whole sequence).

    blocks                (start, end) pairs, end excluded, for each sequence
    beside (n_tokens, 2)  the label that, at the token before (after), would make a block that begins (ends) here a
                          longer one; NOBODY if there is none

    A block is there if all its tokens have their labels in `path`, and no token beside it has such a label.
    """
    out = np.empty((batch.n_tokens, 5))
    scorer = scorer_of(batch, weights)
    spread(kernels.given_sequences, np.arange(len(batch)), scorer, NOWHERE, path, beside, out, n_jobs=n_jobs)
    found = []
    for row, own in zip(batch.split(out), blocks, strict=True):
        found.append(_odds(np.array([_block(row, *block) for block in own])))
    return _odds(out[:, 0]), found, _odds(out[batch.offsets[:-1], 4])


def _block(row: np.ndarray, start: int, end: int) -> float:
    """The logarithm of its probability: given a label, what is left of it does not depend on what is right of it."""
    own, pair, left, right = row[:, 0], row[:, 1], row[:, 2], row[:, 3]
    ends = -np.expm1([left[start] - own[start], right[end - 1] - own[end - 1]])
    if not (ends > 0).all():
        return -np.inf
    return float(own[start] + np.sum(pair[start + 1 : end] - own[start : end - 1]) + np.log(ends).sum())


def _odds(log_p: np.ndarray) -> np.ndarray:
    return np.minimum(log_p, 0.0) - np.log(np.maximum(-np.expm1(log_p), SMALLEST))
