"""The loops of the sequential dual method; `sdm` tells what they compute and steers them.

Beside the arrays of a SequenceBatch (n sequences) these hold:

    weights (F, Y), trans (K, Y, Y)   w; trans[0] is in force at every step, trans[k] besides at steps of kind k
    step (K, Y, Y)                    the effective tables: trans[0], and trans[0] + trans[k] for k > 0
    target (n_tokens,)                the labelling y_i that is to win
    cost (n_tokens,)                  loss of a wrong label at a token
    slots (S, n_tokens)               the working sets: slots[a, tokens of i] for a < count[i]
    alpha, loss (n, S)                dual variable and loss L_i of each slot; alpha[i] sums to 1
    weight (n,)                       C_i

The value of a labelling y of example i is h(y) = L_i(y) + w.f(x_i, y) - w.f(x_i, y_i).
"""

import numpy as np
from numba import njit

from semistruct.chain.kernels import path_score, token_scores, viterbi


@njit(cache=True, nogil=True)
def find_violators(
    which, offsets, indptr, indices, values, kind, weights, step, target, cost, slots, alpha, loss, count,
    hinge, mean, found,
):  # fmt: skip
    """Loss-augmented Viterbi at fixed w: hinge[i] = max_y h(y), mean[i] = sum_a alpha h, found = the argmax."""
    longest = 0
    for i in which:
        longest = max(longest, offsets[i + 1] - offsets[i])
    Y = weights.shape[1]
    all_unary, all_best = np.empty((longest, Y)), np.empty((longest, Y))
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        unary, steps, truth = all_unary[: b - a], kind[a:b], target[a:b]
        token_scores(indptr, indices, values, weights, a, unary)
        at_target = path_score(unary, step, steps, truth)
        average = 0.0
        for s in range(count[i]):
            if alpha[i, s] > 0:
                average += alpha[i, s] * (loss[i, s] + path_score(unary, step, steps, slots[s, a:b]))
        mean[i] = average - at_target
        for t in range(b - a):
            for y in range(Y):
                if y != truth[t]:
                    unary[t, y] += cost[a + t]
        hinge[i] = viterbi(unary, step, steps, all_best[: b - a], found[a:b]) - at_target


@njit(cache=True, nogil=True)
def dot(indices, values, a0, a1, b0, b1):
    """The dot product of two sparse rows with increasing indices."""
    stride = 0 if len(values) == 1 else 1
    total = 0.0
    while a0 < a1 and b0 < b1:
        if indices[a0] < indices[b0]:
            a0 += 1
        elif indices[a0] > indices[b0]:
            b0 += 1
        else:
            total += values[a0 * stride] * values[b0 * stride]
            a0 += 1
            b0 += 1
    return total


@njit(cache=True, nogil=True)
def token_gram(which, offsets, indptr, indices, values, start, gram):
    """gram[start[i] + t * T_i + s] = x_t . x_s for the tokens of each sequence i."""
    for i in which:
        a, T = offsets[i], offsets[i + 1] - offsets[i]
        for t in range(T):
            for s in range(t + 1):
                p, q = indptr[a + t], indptr[a + s]
                v = dot(indices, values, p, indptr[a + t + 1], q, indptr[a + s + 1])
                gram[start[i] + t * T + s] = v
                gram[start[i] + s * T + t] = v


@njit(cache=True, nogil=True)
def insert_slot(i, a, b, path, cost, target, slots, alpha, loss, count):
    """Put `path` into the working set of i, dropping slots without mass; False if there is no room."""
    keep = 0
    for s in range(count[i]):
        if alpha[i, s] > 0:
            if s != keep:
                slots[keep, a:b] = slots[s, a:b]
                alpha[i, keep], loss[i, keep] = alpha[i, s], loss[i, s]
            keep += 1
    count[i] = keep
    for s in range(keep):
        if np.array_equal(slots[s, a:b], path):
            return True
    if keep == len(slots):
        return False
    total = 0.0
    for t in range(b - a):
        if path[t] != target[a + t]:
            total += cost[a + t]
    slots[keep, a:b] = path
    alpha[i, keep], loss[i, keep] = 0.0, total
    count[i] = keep + 1
    return True


@njit(cache=True, nogil=True)
def step_norm(trial, kind, up, low, edges):
    """|| steps(low) - steps(up) ||^2; `trial` (K, Y, Y) is all zero on entry and exit.

    Each step counts once in table 0 and, if its kind is not 0, once more in its own table.
    """
    total = 0.0
    for sign in (1.0, -1.0):
        for t in edges:
            if up[t] == low[t] and up[t - 1] == low[t - 1]:
                continue
            for path, v in ((low, sign), (up, -sign)):
                y, z, k = path[t - 1], path[t], kind[t]
                total += v * (2 * trial[0, y, z] + v)
                trial[0, y, z] += v
                if k > 0:
                    total += v * (2 * trial[k, y, z] + v)
                    trial[k, y, z] += v
        if sign == 1.0:
            norm = total
    return norm


@njit(cache=True, nogil=True)
def move_steps(trans, step, kind, up, low, edges, amount):
    """trans += amount * (steps(low) - steps(up)), keeping step = effective tables."""
    K = len(step)
    for t in edges:
        if up[t] == low[t] and up[t - 1] == low[t - 1]:
            continue
        for path, v in ((low, amount), (up, -amount)):
            y, z, k = path[t - 1], path[t], kind[t]
            trans[0, y, z] += v
            for m in range(K):
                step[m, y, z] += v
            if k > 0:
                trans[k, y, z] += v
                step[k, y, z] += v


@njit(cache=True, nogil=True)
def improve(
    which, offsets, indptr, indices, values, kind, start, gram, weights, trans, step, target, cost,
    slots, alpha, loss, count, weight, found, insert, max_steps, tol, trial,
):  # fmt: skip
    """Raise the dual on the working set of each example in turn, by pairwise steps; returns the rise.

    With insert, found[tokens of i] joins the working set first.  Within one example the unary scores live in a
    local copy U that is updated through the Gram matrix of the tokens; weights are touched once at the end.
    """
    longest = 0
    for i in which:
        longest = max(longest, offsets[i + 1] - offsets[i])
    Y, stride = weights.shape[1], 0 if len(values) == 1 else 1
    U, moved = np.empty((longest, Y)), np.empty((longest, Y))
    h = np.empty(len(slots))
    rise, refused = 0.0, 0
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        T, C = b - a, weight[i]
        if insert and not insert_slot(i, a, b, found[a:b], cost, target, slots, alpha, loss, count):
            refused += 1
        n = count[i]
        if n < 2 or C <= 0:
            continue
        here, steps = slots[:n, a:b], kind[a:b]
        # positions where the working set is not of one mind, and the steps that touch them
        differs = np.zeros(T, np.bool_)
        for s in range(1, n):
            for t in range(T):
                if here[s, t] != here[0, t]:
                    differs[t] = True
        where = np.flatnonzero(differs)
        touched = differs.copy()
        touched[0] = False
        for t in range(1, T):
            touched[t] = differs[t] or differs[t - 1]
        edges = np.flatnonzero(touched)
        for t in where:
            token_scores(indptr, indices, values, weights, a + t, U[t : t + 1])
            moved[t] = 0.0
        changed = False
        for _ in range(max_steps):
            up, low = 0, -1
            for s in range(n):
                v = loss[i, s]
                for t in where:
                    v += U[t, here[s, t]]
                for t in edges:
                    v += step[steps[t], here[s, t - 1], here[s, t]]
                h[s] = v
                if v > h[up]:
                    up = s
                if alpha[i, s] > 0 and (low < 0 or v < h[low]):
                    low = s
            violation = h[up] - h[low]
            if violation <= tol:
                break
            y_up, y_low = here[up], here[low]
            norm = step_norm(trial, steps, y_up, y_low, edges)
            for t in where:
                if y_up[t] == y_low[t]:
                    continue
                row = start[i] + t * T
                for s in where:
                    if y_up[s] != y_low[s]:
                        same = (y_up[s] == y_up[t]) + (y_low[s] == y_low[t])
                        cross = (y_up[s] == y_low[t]) + (y_low[s] == y_up[t])
                        norm += gram[row + s] * (same - cross)
            size = alpha[i, low]
            if size * C * norm > violation:
                size = violation / (C * norm)
                alpha[i, low] -= size
            else:
                alpha[i, low] = 0.0
            alpha[i, up] += size
            rise += C * size * (violation - 0.5 * C * size * norm)
            changed = True
            amount = C * size
            for s in where:
                if y_up[s] == y_low[s]:
                    continue
                moved[s, y_low[s]] += amount
                moved[s, y_up[s]] -= amount
                row = start[i] + s * T
                for t in where:
                    v = amount * gram[row + t]
                    U[t, y_low[s]] += v
                    U[t, y_up[s]] -= v
            move_steps(trans, step, steps, y_up, y_low, edges, amount)
        if changed:
            for t in where:
                delta = moved[t]
                for j in range(indptr[a + t], indptr[a + t + 1]):
                    w, v = weights[indices[j]], values[j * stride]
                    for y in range(Y):
                        w[y] += v * delta[y]
    return rise, refused
