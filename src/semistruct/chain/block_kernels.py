"""The probability of labels as they are given, of neighbouring ones together, and of all of them; as logarithms."""

import numpy as np

from semistruct.chain.kernels import log_sum_exp, path_score
from semistruct.chain.sequence_kernels import scores_of
from semistruct.compiled import kernel


@kernel
def log_backward(unary, step, kind, beta):
    """beta[t, y] = log sum exp of the scores of all labellings of positions t+1.. given label y at t."""
    T, Y = unary.shape
    terms = np.empty(Y)
    for y in range(Y):
        beta[T - 1, y] = 0.0
    for t in range(T - 2, -1, -1):
        for y in range(Y):
            for z in range(Y):
                terms[z] = step[kind[t + 1], y, z] + unary[t + 1, z] + beta[t + 1, z]
            beta[t, y] = log_sum_exp(terms)


@kernel
def given_sequences(which, scorer, known, path, beside, out):
    """For each token t of each sequence, where z = path[t], the logarithms of

    out[t, 0]  p(y_t = z)
    out[t, 1]  p(y_t = z and y_{t-1} = path[t-1])         -inf at first tokens
    out[t, 2]  p(y_t = z and y_{t-1} = beside[t, 0])      -inf at first tokens and where beside is negative
    out[t, 3]  p(y_t = z and y_{t+1} = beside[t, 1])      -inf at last tokens and where beside is negative
    out[t, 4]  the probability of the whole path
    """
    Y = scorer.tokens.shape[1]
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        T, kind, unary = b - a, scorer.kind[a:b], scores_of(scorer, i, known)
        beta, alpha, last, terms = np.empty((T, Y)), np.empty(Y), np.empty(Y), np.empty(Y)
        log_backward(unary, scorer.step, kind, beta)
        for y in range(Y):
            terms[y] = unary[0, y] + beta[0, y]
        log_z = log_sum_exp(terms)
        log_p = path_score(unary, scorer.step, kind, path[a:b]) - log_z
        for t in range(T):
            z, left, right, row = path[a + t], beside[a + t, 0], beside[a + t, 1], out[a + t]
            row[1], row[2], row[3], row[4] = -np.inf, -np.inf, -np.inf, log_p
            for y in range(Y):
                last[y] = alpha[y]
            for y in range(Y):
                alpha[y] = unary[t, y]
                if t > 0:
                    for x in range(Y):
                        terms[x] = last[x] + scorer.step[kind[t], x, y]
                    alpha[y] += log_sum_exp(terms)
            row[0] = alpha[z] + beta[t, z] - log_z
            if t > 0:
                here = unary[t, z] + beta[t, z] - log_z
                row[1] = last[path[a + t - 1]] + scorer.step[kind[t], path[a + t - 1], z] + here
                if left >= 0:
                    row[2] = last[left] + scorer.step[kind[t], left, z] + here
            if t < T - 1 and right >= 0:
                k = kind[t + 1]
                row[3] = alpha[z] + scorer.step[k, z, right] + unary[t + 1, right] + beta[t + 1, right] - log_z
