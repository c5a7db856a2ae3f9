"""The loops of the sequential dual method; `sdm` tells what they compute and steers them.

Beside the arrays of a SequenceBatch (n sequences) these hold:

    weights (F, Y), trans (K, Y, Y)   w; trans[0] is in force at every step, trans[k] besides at steps of kind k
    step (K, Y, Y)                    the effective tables: trans[0], and trans[0] + trans[k] for k > 0
    target (n_tokens,)                the labelling y_i that is to win
    cost (n_tokens,)                  loss of a wrong label at a token
    slots (S, n_tokens)               the working sets: slots[a, tokens of i] for a < count[i]; slot 0 is y_i
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
def hamming(path, target, cost):
    """The loss of `path`: the cost of every token whose label is not the target's."""
    total = 0.0
    for t in range(len(path)):
        if path[t] != target[t]:
            total += cost[t]
    return total


@njit(cache=True, nogil=True)
def insert_slot(i, a, b, path, cost, target, slots, alpha, loss, count):
    """Put `path` into the working set of i, dropping slots without mass; False if there is no room."""
    n = 1
    for s in range(1, count[i]):
        if alpha[i, s] > 0:
            if s != n:
                slots[n, a:b] = slots[s, a:b]
                alpha[i, n], loss[i, n] = alpha[i, s], loss[i, s]
            n += 1
    alpha[i, n : count[i]] = 0.0
    count[i] = n
    for s in range(n):
        if np.array_equal(slots[s, a:b], path):
            return True
    if n == len(slots):
        return False
    slots[n, a:b] = path
    alpha[i, n], loss[i, n] = 0.0, hamming(path, target[a:b], cost[a:b])
    count[i] = n + 1
    return True


@njit(cache=True, nogil=True)
def disagreement(here):
    """The positions where the labellings `here` (n, T) are not all equal, and the steps that touch them."""
    n, T = here.shape
    differs, touched = np.zeros(T, np.bool_), np.zeros(T, np.bool_)
    for s in range(1, n):
        for t in range(T):
            differs[t] |= here[s, t] != here[0, t]
    for t in range(1, T):
        touched[t] = differs[t - 1] or differs[t]
    return np.flatnonzero(differs), np.flatnonzero(touched)


@njit(cache=True, nogil=True)
def local_gram(a, T, where, indptr, indices, values, first, gram):
    """G[p, q] = x_t . x_s for the tokens t = where[p], s = where[q]; from `gram` unless that was too large."""
    G = np.empty((len(where), len(where)))
    for p, t in enumerate(where):
        for q, s in enumerate(where[: p + 1]):
            if len(gram):
                G[p, q] = gram[first + t * T + s]
            else:
                i, j = indptr[a + t], indptr[a + s]
                G[p, q] = dot(indices, values, i, indptr[a + t + 1], j, indptr[a + s + 1])
            G[q, p] = G[p, q]
    return G


@njit(cache=True, nogil=True)
def local_labels(here, where, edges, kind, Y, cell, entry):
    """Where the labellings look things up: cell[s, p] in the flat U, entry[s, e] in the flat step tables."""
    for s in range(len(here)):
        for p in range(len(where)):
            cell[s, p] = p * Y + here[s, where[p]]
        for e in range(len(edges)):
            t = edges[e]
            entry[s, e] = (kind[t] * Y + here[s, t - 1]) * Y + here[s, t]


@njit(cache=True, nogil=True)
def widest_pair(cell, entry, loss, alpha, U, step):
    """The labelling of largest value, that of smallest value among those with mass, and how far they are apart."""
    up, low, high, small = 0, 0, -np.inf, np.inf
    for s in range(len(cell)):
        v = loss[s]
        for p in range(cell.shape[1]):
            v += U[cell[s, p]]
        for e in range(entry.shape[1]):
            v += step[entry[s, e]]
        if v > high:
            up, high = s, v
        if alpha[s] > 0 and v < small:
            low, small = s, v
    return up, low, high - small


@njit(cache=True, nogil=True)
def token_norm(G, up, low, Y):
    """|| token features(low) - token features(up) ||^2 for two rows of `cell`."""
    total = 0.0
    for p in range(len(up)):
        if up[p] == low[p]:
            continue
        u, v = up[p] - p * Y, low[p] - p * Y
        total += 2 * G[p, p]
        for q in range(p):
            x, y = up[q] - q * Y, low[q] - q * Y
            if x != y:
                total += 2 * G[p, q] * ((u == x) + (v == y) - (u == y) - (v == x))
    return total


@njit(cache=True, nogil=True)
def step_norm(up, low, size, trial):
    """|| steps(low) - steps(up) ||^2 for two rows of `entry`; size = Y * Y; `trial` is all zero before and after.

    Each step counts once in table 0, and once more in its own table if that is another one.
    """
    total = 0.0
    for e in range(len(up)):
        if up[e] != low[e]:
            for x, v in ((low[e], 1.0), (up[e], -1.0)):
                total += v * (2 * trial[x % size] + v)
                trial[x % size] += v
                if x >= size:
                    total += v * (2 * trial[x] + v)
                    trial[x] += v
    for e in range(len(up)):
        for x in (low[e], up[e]):
            trial[x] = trial[x % size] = 0.0
    return total


@njit(cache=True, nogil=True)
def move_tokens(U, moved, G, up, low, Y, amount):
    """Add amount * (token features(low) - token features(up)) to w, as seen in U and noted in `moved`."""
    for q in range(len(up)):
        if up[q] == low[q]:
            continue
        moved[low[q]] += amount
        moved[up[q]] -= amount
        u, v = up[q] - q * Y, low[q] - q * Y
        for p in range(len(up)):
            x = amount * G[q, p]
            U[p * Y + v] += x
            U[p * Y + u] -= x


@njit(cache=True, nogil=True)
def move_steps(trans, step, up, low, size, amount):
    """Add amount * (steps(low) - steps(up)) to trans and to the effective tables."""
    for e in range(len(up)):
        if up[e] != low[e]:
            for x, v in ((low[e], amount), (up[e], -amount)):
                trans[x % size] += v
                for y in range(x % size, len(step), size):
                    step[y] += v
                if x >= size:
                    trans[x] += v
                    step[x] += v


@njit(cache=True, nogil=True)
def add_tokens(indptr, indices, values, a, where, moved, weights):
    """weights += moved[p] for every feature of token where[p]."""
    stride = 0 if len(values) == 1 else 1
    for p, t in enumerate(where):
        for j in range(indptr[a + t], indptr[a + t + 1]):
            w, v = weights[indices[j]], values[j * stride]
            for y in range(len(w)):
                w[y] += v * moved[p, y]


@njit(cache=True, nogil=True)
def improve(
    which, offsets, indptr, indices, values, kind, start, gram, weights, trans, step, target, cost,
    slots, alpha, loss, count, weight, found, insert, max_pairs, tol, trial, seen,
):  # fmt: skip
    """Raise the dual on the working set of each example in turn, by steps between pairs of labellings.

    With insert, found[tokens of i] joins the working set first; returns how often there was no room for it.
    seen[i] tells how far apart the first pair was.  Within one example the token scores live in a local copy U
    that is updated through the products of the tokens; weights are touched once at the end.
    """
    refused = 0
    Y = weights.shape[1]
    flat_trans, flat_step = trans.reshape(-1), step.reshape(-1)
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        if insert and not insert_slot(i, a, b, found[a:b], cost, target, slots, alpha, loss, count):
            refused += 1
        n, C = count[i], weight[i]
        if n < 2 or C <= 0:
            continue
        here, mass = slots[:n, a:b], alpha[i, :n]
        where, edges = disagreement(here)
        cell, entry = np.empty((n, len(where)), np.int32), np.empty((n, len(edges)), np.int32)
        local_labels(here, where, edges, kind[a:b], Y, cell, entry)
        G = local_gram(a, b - a, where, indptr, indices, values, start[i], gram)
        U, moved = np.empty((len(where), Y)), np.zeros((len(where), Y))
        for p in range(len(where)):
            token_scores(indptr, indices, values, weights, a + where[p], U[p : p + 1])
        flat_u, flat_moved = U.reshape(-1), moved.reshape(-1)
        changed = False
        for r in range(max_pairs):
            up, low, violation = widest_pair(cell, entry, loss[i], mass, flat_u, flat_step)
            if r == 0:
                seen[i] = C * violation
            if violation <= tol:
                break
            norm = token_norm(G, cell[up], cell[low], Y) + step_norm(entry[up], entry[low], Y * Y, trial)
            if mass[low] * C * norm > violation:
                size = violation / (C * norm)
                mass[low] -= size
            else:
                size = mass[low]
                mass[low] = 0.0
            mass[up] += size
            move_tokens(flat_u, flat_moved, G, cell[up], cell[low], Y, C * size)
            move_steps(flat_trans, flat_step, entry[up], entry[low], Y * Y, C * size)
            changed = True
        if changed:
            add_tokens(indptr, indices, values, a, where, moved, weights)
    return refused


@njit(cache=True, nogil=True)
def rebase(
    offsets, indptr, indices, values, kind, old_weight, target, weight, cost,
    slots, alpha, loss, count, weights, trans,
):  # fmt: skip
    """Carry the dual variables over to new targets and new C_i; writes the w they stand for.

    Mass on the old target moves to the new one.  Where C_i grew the other masses shrink by the same factor, which
    leaves their share of w as it was.  Losses are counted anew.
    """
    weights[:] = 0.0
    trans[:] = 0.0
    for i in range(len(offsets) - 1):
        a, b = offsets[i], offsets[i + 1]
        keep = min(1.0, old_weight[i] / weight[i]) if weight[i] > 0 else 0.0
        slots[0, a:b] = target[a:b]
        rest, n = 1.0, 1
        for s in range(1, count[i]):
            if alpha[i, s] * keep > 0 and not np.array_equal(slots[s, a:b], target[a:b]):
                if s != n:
                    slots[n, a:b] = slots[s, a:b]
                alpha[i, n] = alpha[i, s] * keep
                loss[i, n] = hamming(slots[n, a:b], target[a:b], cost[a:b])
                rest -= alpha[i, n]
                n += 1
        alpha[i, n : count[i]] = 0.0
        alpha[i, 0], count[i] = max(rest, 0.0), n
        if n == 1:
            continue
        moved = np.zeros((b - a, weights.shape[1]))
        for s in range(1, n):
            amount = weight[i] * alpha[i, s]
            here = slots[s, a:b]
            for t in range(b - a):
                moved[t, target[a + t]] += amount
                moved[t, here[t]] -= amount
                if t > 0:
                    k = kind[a + t]
                    for path, v in ((target[a:b], amount), (here, -amount)):
                        trans[0, path[t - 1], path[t]] += v
                        if k > 0:
                            trans[k, path[t - 1], path[t]] += v
        add_tokens(indptr, indices, values, a, np.arange(b - a), moved, weights)
