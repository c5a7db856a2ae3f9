"""Inference on many sequences: allocates, spreads the kernels over threads, turns a silent -inf into words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from semistruct.batch import SequenceBatch
from semistruct.chain.kernels import k_best, max_marginals, token_scores, viterbi
from semistruct.errors import DataError
from semistruct.threads import spread


@dataclass(frozen=True)
class ChainWeights:
    """The weights of a chain model.

    tokens  (F, Y)     of features with labels
    trans   (K, Y, Y)  of steps: trans[0] is in force at every step, trans[k] besides at the steps of kind k
    """

    tokens: np.ndarray
    trans: np.ndarray

    @property
    def n_labels(self) -> int:
        return self.tokens.shape[1]

    @property
    def step(self) -> np.ndarray:
        return effective_steps(self.trans)

    @property
    def norm2(self) -> float:
        """The squared length of the weights."""
        return float((self.tokens**2).sum() + (self.trans**2).sum())


def effective_steps(trans: np.ndarray) -> np.ndarray:
    """The step tables in force: trans[0], and trans[0] + trans[k] for the other kinds."""
    step = trans + trans[0]
    step[0] = trans[0]
    return step


@njit(cache=True, nogil=True)
def _decode(which, offsets, indptr, indices, values, kind, tokens, step, allowed, bonus, path, score):
    """Viterbi for each sequence; labels y with allowed[t] not in (-1, y) are forbidden at t; bonus is added."""
    Y = tokens.shape[1]
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        unary, best = np.empty((b - a, Y)), np.empty((b - a, Y))
        token_scores(indptr, indices, values, tokens, a, unary)
        if len(bonus):
            for t in range(b - a):
                for y in range(Y):
                    unary[t, y] += bonus[a + t, y]
        if len(allowed):
            for t in range(b - a):
                if allowed[a + t] >= 0:
                    kept = unary[t, allowed[a + t]]
                    unary[t] = -np.inf
                    unary[t, allowed[a + t]] = kept
        score[i] = viterbi(unary, step, kind[a:b], best, path[a:b])


@njit(cache=True, nogil=True)
def _decode_k(which, offsets, indptr, indices, values, kind, tokens, step, paths, scores):
    """The k best labellings of each sequence: paths (k, n_tokens), scores (n, k)."""
    Y = tokens.shape[1]
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        unary = np.empty((b - a, Y))
        token_scores(indptr, indices, values, tokens, a, unary)
        k_best(unary, step, kind[a:b], paths[:, a:b], scores[i])


@njit(cache=True, nogil=True)
def _token_margins(which, offsets, indptr, indices, values, kind, tokens, step, path, margin):
    """By how much the best labelling with path[t] at t beats the best one with another label there."""
    Y = tokens.shape[1]
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        unary, best = np.empty((b - a, Y)), np.empty((b - a, Y))
        token_scores(indptr, indices, values, tokens, a, unary)
        max_marginals(unary, step, kind[a:b], best)
        for t in range(b - a):
            other = -np.inf
            for y in range(Y):
                if y != path[a + t]:
                    other = max(other, best[t, y])
            margin[a + t] = best[t, path[a + t]] - other


def token_margins(
    batch: SequenceBatch, weights: ChainWeights, path: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """(n_tokens,): by how much the best labelling with the given label of a token beats the best one without it."""
    margin = np.empty(batch.n_tokens)
    spread(_token_margins, np.arange(len(batch)), *_arrays(batch, weights), path, margin, n_jobs=n_jobs)
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
    allowed = np.empty(0, np.int16) if known is None else known
    extra = np.empty((0, weights.n_labels)) if bonus is None else bonus
    spread(_decode, np.arange(len(batch)), *_arrays(batch, weights), allowed, extra, path, score, n_jobs=n_jobs)
    stuck = np.flatnonzero(score == -np.inf)
    if len(stuck):
        raise DataError(f"sequence {stuck[0]}: no labelling is allowed")
    return path, score


def decode_k(
    batch: SequenceBatch, weights: ChainWeights, k: int, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k best labellings, best first: (labels (k, n_tokens), scores (n, k)), -inf where there are no more."""
    paths, scores = np.zeros((k, batch.n_tokens), np.int16), np.empty((len(batch), k))
    spread(_decode_k, np.arange(len(batch)), *_arrays(batch, weights), paths, scores, n_jobs=n_jobs)
    return paths, scores


def _arrays(batch: SequenceBatch, weights: ChainWeights) -> tuple[np.ndarray, ...]:
    rows = (batch.offsets, batch.indptr, batch.indices, batch.values, batch.kind)
    return (*rows, weights.tokens, weights.step)
