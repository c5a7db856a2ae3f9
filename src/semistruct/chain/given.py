"""Exact probabilities of labels, of blocks of them and of whole labellings: p(y) is proportional to exp(score(y)).

As logarithms of odds: they tell apart what is very likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core import kernels
from semistruct.threads import spread

NOBODY = -1
SMALLEST = 1e-15  # of what is missing to 1, as far as 64 bits can tell


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
