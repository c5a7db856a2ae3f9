"""Inference on many sequences: allocates, spreads the kernels over threads, turns a silent -inf into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semistruct.base.errors import DataError
from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch
from semistruct.core.kernels import kernels

NOWHERE = np.empty(0, np.int16)
"""Instead of known labels where there are none."""


class Scorer(NamedTuple):
    """Sequences and the weights that score their labels, as the kernels read them (`core/chain.hpp`)."""

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    tokens: np.ndarray
    step: np.ndarray


@dataclass(frozen=True)
class ChainWeights:
    """The weights of a chain model.

    tokens  (F, Y)     of features with labels
    trans   (K, Y, Y)  of steps: trans[0] is in force at every step, trans[k] besides at the steps of kind k
    """

    tokens: np.ndarray
    trans: np.ndarray

    @classmethod
    def of_flat(cls, w: np.ndarray, n_features: int, n_labels: int) -> ChainWeights:
        """What `flat` was made from."""
        cut = n_features * n_labels
        return cls(w[:cut].reshape(n_features, n_labels), w[cut:].reshape(-1, n_labels, n_labels))

    @property
    def flat(self) -> np.ndarray:
        """All weights laid end to end."""
        return np.concatenate([self.tokens.ravel(), self.trans.ravel()])

    @property
    def n_labels(self) -> int:
        return self.tokens.shape[1]

    @property
    def step(self) -> np.ndarray:
        return effective_steps(self.trans)

    @property
    def norm2(self) -> float:
        """The squared length of the weights; not by BLAS, whose threads cost more than they bring."""
        return kernels.norm2(self.tokens.ravel()) + kernels.norm2(self.trans.ravel())


def effective_steps(trans: np.ndarray) -> np.ndarray:
    """The step tables in force: trans[0], and trans[0] + trans[k] for the other kinds."""
    step = trans + trans[0]
    step[0] = trans[0]
    return step


def scorer_of(batch: SequenceBatch, weights: ChainWeights) -> Scorer:
    return Scorer(
        offsets=batch.offsets, indptr=batch.indptr, indices=batch.indices, values=batch.values, kind=batch.kind,
        tokens=weights.tokens, step=weights.step,
    )  # fmt: skip


def token_margins(
    batch: SequenceBatch, weights: ChainWeights, path: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """(n_tokens,): by how much the best labelling with the given label of a token beats the best one without it."""
    margin = np.empty(batch.n_tokens)
    scorer = scorer_of(batch, weights)
    spread(kernels.margins_of_sequences, np.arange(len(batch)), scorer, NOWHERE, path, margin, n_jobs=n_jobs)
    return margin


def decode(
    batch: SequenceBatch,
    weights: ChainWeights,
    *,
    known: np.ndarray | None = None,
    bonus: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The best labelling of every sequence: (labels (n_tokens,), scores (n,)).

    known (n_tokens,) fixes the label of a token where it is not UNKNOWN; bonus (n_tokens, Y) is added to the scores.
    """
    path, score = np.empty(batch.n_tokens, np.int16), np.empty(len(batch))
    fixed = NOWHERE if known is None else known
    extra = np.empty((0, weights.n_labels)) if bonus is None else bonus
    scorer = scorer_of(batch, weights)
    spread(kernels.decode_sequences, np.arange(len(batch)), scorer, fixed, extra, path, score, n_jobs=n_jobs)
    stuck = np.flatnonzero(score == -np.inf)
    if len(stuck):
        raise DataError(f"sequence {stuck[0]}: no labelling is allowed")
    return path, score


def decode_k(
    batch: SequenceBatch, weights: ChainWeights, k: int, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k best labellings, best first: (labels (k, n_tokens), scores (n, k)), -inf where there are no more."""
    paths, scores = np.zeros((k, batch.n_tokens), np.int16), np.empty((len(batch), k))
    scorer = scorer_of(batch, weights)
    spread(kernels.decode_k_sequences, np.arange(len(batch)), scorer, NOWHERE, paths, scores, n_jobs=n_jobs)
    return paths, scores
