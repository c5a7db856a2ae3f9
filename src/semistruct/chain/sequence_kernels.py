"""Inference on many sequences, one after the other; `inference` and `posterior` allocate and spread them over threads.

which, scorer    the sequences to look at, and what scores their labels
known (n_tokens,)  labels that are fixed, UNKNOWN elsewhere; or empty
"""

import numpy as np

from semistruct.chain.kernels import k_best, max_marginals, sum_product, token_scores, viterbi
from semistruct.compiled import inlined, kernel


@inlined
def scores_of(scorer, i, known):
    """unary (T, Y) of sequence i; labels other than a known one are forbidden."""
    a, b = scorer.offsets[i], scorer.offsets[i + 1]
    Y = scorer.tokens.shape[1]
    unary = np.empty((b - a, Y))
    token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
    if len(known):
        for t in range(b - a):
            for y in range(Y):
                if known[a + t] >= 0 and known[a + t] != y:
                    unary[t, y] = -np.inf
    return unary


@kernel
def decode_sequences(which, scorer, known, bonus, path, score):
    """Viterbi for each sequence; bonus (n_tokens, Y), or empty, is added to the scores."""
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary = scores_of(scorer, i, known)
        if len(bonus):
            for t in range(b - a):
                for y in range(unary.shape[1]):
                    unary[t, y] += bonus[a + t, y]
        score[i] = viterbi(unary, scorer.step, scorer.kind[a:b], np.empty(unary.shape), path[a:b])


@kernel
def decode_k_sequences(which, scorer, known, paths, scores):
    """The k best labellings of each sequence: paths (k, n_tokens), scores (n, k)."""
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        k_best(scores_of(scorer, i, known), scorer.step, scorer.kind[a:b], paths[:, a:b], scores[i])


@kernel
def margins_of_sequences(which, scorer, known, path, margin):
    """By how much the best labelling with path[t] at t beats the best one with another label there."""
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary = scores_of(scorer, i, known)
        best = np.empty(unary.shape)
        max_marginals(unary, scorer.step, scorer.kind[a:b], best)
        for t in range(b - a):
            other = -np.inf
            for y in range(best.shape[1]):
                if y != path[a + t]:
                    other = max(other, best[t, y])
            margin[a + t] = best[t, path[a + t]] - other


@kernel
def expect_sequences(pieces, bounds, scorer, known, factors, weight, log_z, out):
    """Piece p is the sequences bounds[p]:bounds[p+1]; out is (marginal (n_tokens, Y), steps (pieces, K, Y, Y))."""
    marginal, steps = out
    K, Y, _ = scorer.step.shape
    counts = np.empty((K, Y, Y))
    for p in pieces:
        for i in range(bounds[p], bounds[p + 1]):
            a, b = scorer.offsets[i], scorer.offsets[i + 1]
            counts[:] = 0.0
            kind, unary = scorer.kind[a:b], scores_of(scorer, i, known)
            log_z[i] = sum_product(unary, scorer.step, factors, kind, kind, marginal[a:b], counts)
            for k in range(K):
                for y in range(Y):
                    for z in range(Y):
                        steps[p, k, y, z] += weight[i] * counts[k, y, z]
