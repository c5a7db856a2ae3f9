"""Exact inference on one linear chain of T positions and Y labels.

    unary[t, y]      score of label y at position t
    step[k, y, z]    score of stepping from y at t-1 to z at t, where k = kind[t]
    kind[t]          which of the K step tables leads into position t (kind[0] is not read)
    -inf             forbidden; hence no fastmath in this module

A path scores sum_t unary[t, y_t] + sum_{t>0} step[kind[t], y_{t-1}, y_t].  Ties take the smaller label, at
the last position first and then backwards.  Kernels trust their input (T >= 1, Y >= 1, C order) and release
the GIL; `inference` checks the input and spreads sequences over threads.
"""

from typing import NamedTuple

import numpy as np

from semistruct.compiled import inlined, kernel


class Scorer(NamedTuple):
    """Sequences and the weights that score their labels, as in SequenceBatch and ChainWeights."""

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    tokens: np.ndarray
    step: np.ndarray


class Factors(NamedTuple):
    """Step tables as probabilities: exp(step[k]) = exp(top[k]) * factor[k], and back[k] is factor[k] transposed."""

    factor: np.ndarray
    back: np.ndarray
    top: np.ndarray


@inlined
def token_scores(indptr, indices, values, weights, first, out):
    """out[t, y] = sum of value * weights[feature, y] over the features of row first + t.

    values has one entry per feature, or a single entry shared by all of them (binary features).  Features are added
    in their order, four at a time.
    """
    stride = 0 if len(values) == 1 else 1
    Y = weights.shape[1]
    for t in range(out.shape[0]):
        begin, end = indptr[first + t], indptr[first + t + 1]
        fours = end - (end - begin) % 4
        for y in range(Y):
            out[t, y] = 0.0
        for j in range(begin, fours, 4):
            f, g, h, i = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
            k = j * stride
            a, b, c, d = values[k], values[k + stride], values[k + 2 * stride], values[k + 3 * stride]
            for y in range(Y):
                s = out[t, y] + a * weights[f, y] + b * weights[g, y]
                out[t, y] = s + c * weights[h, y] + d * weights[i, y]
        for j in range(fours, end):
            f, v = indices[j], values[j * stride]
            for y in range(Y):
                out[t, y] += v * weights[f, y]


@kernel
def equal(path, other):
    for t in range(len(path)):  # noqa: SIM110, a generator would be slow here
        if path[t] != other[t]:
            return False
    return True


@kernel
def copy(path, to):
    for t in range(len(path)):
        to[t] = path[t]


@kernel
def path_score(unary, step, kind, path):
    """The score of one labelling."""
    score = unary[0, path[0]]
    for t in range(1, len(path)):
        score += unary[t, path[t]] + step[kind[t], path[t - 1], path[t]]
    return score


@kernel
def max_forward(unary, step, kind, best):
    """best[t, z] = score of the best labelling of positions 0..t that ends in z.

    Four labels z at a time, which fill a register.
    """
    T, Y = unary.shape
    for z in range(Y):
        best[0, z] = unary[0, z]
    for t in range(1, T):
        k, before, here, now = kind[t], best[t - 1], best[t], unary[t]
        for z in range(0, Y - 3, 4):
            s0, s1, s2, s3 = -np.inf, -np.inf, -np.inf, -np.inf
            for y in range(Y):
                b = before[y]
                r0, r1, r2, r3 = b + step[k, y, z], b + step[k, y, z + 1], b + step[k, y, z + 2], b + step[k, y, z + 3]
                s0, s1 = r0 if r0 > s0 else s0, r1 if r1 > s1 else s1
                s2, s3 = r2 if r2 > s2 else s2, r3 if r3 > s3 else s3
            here[z], here[z + 1] = s0 + now[z], s1 + now[z + 1]
            here[z + 2], here[z + 3] = s2 + now[z + 2], s3 + now[z + 3]
        for z in range(Y - Y % 4, Y):
            top = -np.inf
            for y in range(Y):
                s = before[y] + step[k, y, z]
                top = s if s > top else top
            here[z] = top + now[z]


@kernel
def max_backward(unary, step, kind, best):
    """best[t, y] = score of the best labelling of positions t+1.. given label y at t."""
    T, Y = unary.shape
    for y in range(Y):
        best[T - 1, y] = 0.0
    after = np.empty(Y)
    for t in range(T - 2, -1, -1):
        for z in range(Y):
            after[z] = unary[t + 1, z] + best[t + 1, z]
        for y in range(Y):
            top = -np.inf
            for z in range(Y):
                s = step[kind[t + 1], y, z] + after[z]
                top = s if s > top else top
            best[t, y] = top


@kernel
def viterbi(unary, step, kind, best, path):
    """Write a best labelling into path and return its score; best (T, Y) is left as by `max_forward`."""
    T, Y = unary.shape
    max_forward(unary, step, kind, best)
    last = 0
    for z in range(1, Y):
        if best[T - 1, z] > best[T - 1, last]:
            last = z
    path[T - 1] = last
    for t in range(T - 1, 0, -1):
        # no back pointers: the predecessor is found again, which keeps the forward loop a plain maximum
        k, z, arg = kind[t], path[t], 0
        top = best[t - 1, 0] + step[k, 0, z]
        for y in range(1, Y):
            s = best[t - 1, y] + step[k, y, z]
            if s > top:
                arg, top = y, s
        path[t - 1] = arg
    return best[T - 1, last]


@kernel
def k_best(unary, step, kind, paths, scores):
    """The len(paths) best labellings, best first; scores are -inf where there are no more.

    Ties at a cell take the smaller previous label, then its better rank.
    """
    T, Y = unary.shape
    k = len(scores)
    top = np.full((T, Y, k), -np.inf)
    back = np.zeros((T, Y, k), np.int64)  # previous label * k + its rank
    next_rank = np.zeros(Y, np.int64)
    for y in range(Y):
        top[0, y, 0] = unary[0, y]
    for t in range(1, T):
        for z in range(Y):
            for y in range(Y):
                next_rank[y] = 0
            for r in range(k):
                arg, high = -1, -np.inf
                for y in range(Y):
                    if next_rank[y] < k:
                        s = top[t - 1, y, next_rank[y]] + step[kind[t], y, z]
                        if s > high:
                            arg, high = y, s
                if arg < 0:
                    break
                top[t, z, r] = high + unary[t, z]
                back[t, z, r] = arg * k + next_rank[arg]
                next_rank[arg] += 1
    for y in range(Y):
        next_rank[y] = 0
    for r in range(k):
        arg, high = -1, -np.inf
        for y in range(Y):
            if next_rank[y] < k and top[T - 1, y, next_rank[y]] > high:
                arg, high = y, top[T - 1, y, next_rank[y]]
        scores[r] = high
        if arg < 0:
            continue
        label, rank = arg, next_rank[arg]
        next_rank[arg] += 1
        for t in range(T - 1, -1, -1):
            paths[r, t] = label
            cell = back[t, label, rank]
            label, rank = cell // k, cell % k


@kernel
def max_marginals(unary, step, kind, out):
    """out[t, y] = score of the best labelling that has y at t."""
    T, Y = unary.shape
    backward = np.empty((T, Y))
    max_forward(unary, step, kind, out)
    max_backward(unary, step, kind, backward)
    for t in range(T):
        for y in range(Y):
            out[t, y] += backward[t, y]


@kernel
def log_sum_exp(x):
    """log sum exp(x), -inf if all of x is."""
    top = -np.inf
    for v in x:
        top = max(top, v)
    if top == -np.inf:
        return top
    total = 0.0
    for v in x:
        total += np.exp(v - top)
    return top + np.log(total)


@kernel
def factors_of(step):
    """The Factors of step tables; top[k] is the largest entry, or 0 if all are -inf."""
    K, Y, _ = step.shape
    factor, back, top = np.empty((K, Y, Y)), np.empty((K, Y, Y)), np.empty(K)
    for k in range(K):
        top[k] = -np.inf
        for y in range(Y):
            for z in range(Y):
                top[k] = max(top[k], step[k, y, z])
        top[k] = top[k] if top[k] > -np.inf else 0.0
        for y in range(Y):
            for z in range(Y):
                factor[k, y, z] = np.exp(step[k, y, z] - top[k])
                back[k, z, y] = factor[k, y, z]
    return Factors(factor, back, top)


@kernel
def sum_product(unary, step, factors, kind, place, marginal, counts):
    """Return log Z; write marginal[t, y] = p(y_t = y) and add p(y_{t-1} = y, y_t = z) to counts[place[t], y, z].

    factors is what `factors_of` makes of step.  Works with probabilities that are scaled at every position, and
    with logarithms where these are too small.  If no labelling is allowed, log Z is -inf and the marginals are NaN.
    """
    log_z = in_probabilities(unary, factors, kind, place, marginal, counts)
    return in_logs(unary, step, kind, place, marginal, counts) if np.isnan(log_z) else log_z


@kernel
def in_probabilities(unary, factors, kind, place, marginal, counts):
    """`sum_product` with probabilities; NaN, and no counts added, if something that matters may have been lost."""
    T, Y = unary.shape
    alpha, beta, local = np.empty((T, Y)), np.empty((T, Y)), np.empty((T, Y))
    scale = np.empty(T)
    log_z = 0.0
    for t in range(T):
        high = -np.inf
        for z in range(Y):
            high = max(high, unary[t, z])
        if high == -np.inf:
            return np.nan
        for z in range(Y):
            local[t, z] = np.exp(unary[t, z] - high)
            alpha[t, z] = 1.0 if t == 0 else 0.0
        if t > 0:
            k = kind[t]
            log_z += factors.top[k]
            for y in range(Y):
                a = alpha[t - 1, y]
                for z in range(Y):
                    alpha[t, z] += a * factors.factor[k, y, z]
        total = 0.0
        for z in range(Y):
            alpha[t, z] *= local[t, z]
            total += alpha[t, z]
        if not total > 1e-100:
            return np.nan
        scale[t] = 1.0 / total
        log_z += high + np.log(total)
        for z in range(Y):
            alpha[t, z] *= scale[t]
            local[t, z] *= scale[t]
    for y in range(Y):
        beta[T - 1, y] = 1.0
        marginal[T - 1, y] = alpha[T - 1, y]
    for t in range(T - 2, -1, -1):
        k = kind[t + 1]
        for y in range(Y):
            beta[t, y] = 0.0
        for z in range(Y):
            local[t + 1, z] *= beta[t + 1, z]
            after = local[t + 1, z]
            for y in range(Y):
                beta[t, y] += after * factors.back[k, z, y]
        total, high = 0.0, 0.0
        for y in range(Y):
            marginal[t, y] = alpha[t, y] * beta[t, y]
            total += marginal[t, y]
            high = max(high, beta[t, y])
        if not abs(total - 1.0) < 1e-9:  # a path was lost on one way and not on the other
            return np.nan
        if not high < 1e200:  # or it may have been lost on both: what was too small for alpha matters here
            return np.nan
    for t in range(1, T):
        k, p = kind[t], place[t]
        for y in range(Y):
            a = alpha[t - 1, y]
            for z in range(Y):
                counts[p, y, z] += a * factors.factor[k, y, z] * local[t, z]
    return log_z


@kernel
def in_logs(unary, step, kind, place, marginal, counts):
    """`sum_product` with logarithms."""
    T, Y = unary.shape
    alpha, beta = np.empty((T, Y)), np.zeros((T, Y))
    terms = np.empty(Y)
    for z in range(Y):
        alpha[0, z] = unary[0, z]
    for t in range(1, T):
        for z in range(Y):
            for y in range(Y):
                terms[y] = alpha[t - 1, y] + step[kind[t], y, z]
            alpha[t, z] = log_sum_exp(terms) + unary[t, z]
    log_z = log_sum_exp(alpha[T - 1])
    for t in range(T - 2, -1, -1):
        k, p = kind[t + 1], place[t + 1]
        for y in range(Y):
            for z in range(Y):
                terms[z] = step[k, y, z] + unary[t + 1, z] + beta[t + 1, z]
            beta[t, y] = log_sum_exp(terms)
            if log_z > -np.inf:
                for z in range(Y):
                    counts[p, y, z] += np.exp(alpha[t, y] + terms[z] - log_z)
    for t in range(T):
        for y in range(Y):
            marginal[t, y] = np.exp(alpha[t, y] + beta[t, y] - log_z)
    return log_z
