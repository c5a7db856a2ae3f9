"""The loops of the sequential dual method; `sdm` explains what they compute, and calls them.

Every example i has a working set of labellings ("slots"), slot 0 being its target y_i.  In the formulas below
psi_s = f(x_i, y_i) - f(x_i, y_s), the value of slot s is h_s = L_s - w.psi_s, and w = sum_i C_i sum_s alpha_s psi_s.
Step features count once in table 0, and once more in the table of their kind if that is not 0.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, equal, path_score, token_scores, viterbi
from semistruct.compiled import kernel


class Sequences(NamedTuple):
    """The sequences, as in SequenceBatch, with the products of their tokens where these fit into memory.

    product[product_start[i] + t * T_i + s] = x_t . x_s for the tokens t, s of sequence i
    """

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    product_start: np.ndarray
    product: np.ndarray


class Goal(NamedTuple):
    """What is to be learned: target and cost (n_tokens,), weight C_i (n,)."""

    target: np.ndarray
    cost: np.ndarray
    weight: np.ndarray


class Sets(NamedTuple):
    """The working sets, with room for room[i] slots of which used[i] are in use.

    alpha, loss  slot s of example i at slot_start[i] + s
    labels       its labelling at label_start[i] + s * T_i, T_i labels
    gram         psi_s . psi_r at gram_start[i] + s * room[i] + r
    """

    room: np.ndarray
    used: np.ndarray
    slot_start: np.ndarray
    label_start: np.ndarray
    gram_start: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    labels: np.ndarray
    gram: np.ndarray


class W(NamedTuple):
    """tokens (F, Y); trans (K, Y, Y); step (K, Y, Y), the effective tables trans[0] and trans[0] + trans[k]."""

    tokens: np.ndarray
    trans: np.ndarray
    step: np.ndarray


@kernel
def labellings(sets, i, T, n):
    """The first n labellings of example i, (n, T)."""
    a = sets.label_start[i]
    return sets.labels[a : a + n * T].reshape(n, T)


@kernel
def masses(sets, i, n):
    a = sets.slot_start[i]
    return sets.alpha[a : a + n], sets.loss[a : a + n]


@kernel
def slot_gram(sets, i):
    a, room = sets.gram_start[i], sets.room[i]
    return sets.gram[a : a + room * room].reshape(room, room)


@kernel
def find_violators(which, rows, goal, sets, w, hinge, mean, found):
    """Loss-augmented Viterbi at fixed w: hinge[i] = max_y h(y), mean[i] = sum_s alpha_s h_s, found = the argmax."""
    longest = 0
    for i in which:
        longest = max(longest, rows.offsets[i + 1] - rows.offsets[i])
    Y = w.tokens.shape[1]
    all_unary, all_best = np.empty((longest, Y)), np.empty((longest, Y))
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        unary, kind, target = all_unary[: b - a], rows.kind[a:b], goal.target[a:b]
        token_scores(rows.indptr, rows.indices, rows.values, w.tokens, a, unary)
        at_target = path_score(unary, w.step, kind, target)
        alpha, loss = masses(sets, i, sets.used[i])
        here = labellings(sets, i, b - a, sets.used[i])
        average = 0.0
        for s in range(1, len(alpha)):
            if alpha[s] > 0:
                average += alpha[s] * (loss[s] + path_score(unary, w.step, kind, here[s]) - at_target)
        mean[i] = average
        for t in range(b - a):
            for y in range(Y):
                if y != target[t]:
                    unary[t, y] += goal.cost[a + t]
        hinge[i] = viterbi(unary, w.step, kind, all_best[: b - a], found[a:b]) - at_target


@kernel
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


@kernel
def token_product(rows, t, s):
    """x_t . x_s for two tokens counted over all sequences."""
    p = rows.indptr
    return dot(rows.indices, rows.values, p[t], p[t + 1], p[s], p[s + 1])


@kernel
def token_products(which, rows):
    """Fill rows.product."""
    for i in which:
        a, T = rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]
        square = rows.product[rows.product_start[i] : rows.product_start[i] + T * T].reshape(T, T)
        for t in range(T):
            for s in range(t + 1):
                square[t, s] = square[s, t] = token_product(rows, a + t, a + s)


@kernel
def hamming(path, target, cost):
    """The loss of `path`: the cost of every token whose label is not the target's."""
    total = 0.0
    for t in range(len(path)):
        if path[t] != target[t]:
            total += cost[t]
    return total


@kernel
def add_steps(table, kind, target, path, amount):
    """table (K, Y, Y) += amount * the step part of psi for the labelling `path`."""
    for t in range(1, len(path)):
        if path[t] != target[t] or path[t - 1] != target[t - 1]:
            k = kind[t]
            table[0, target[t - 1], target[t]] += amount
            table[0, path[t - 1], path[t]] -= amount
            if k > 0:
                table[k, target[t - 1], target[t]] += amount
                table[k, path[t - 1], path[t]] -= amount


@kernel
def gram_row(i, rows, target, here, last, row, trial):
    """row[s] = psi_last . psi_s for s <= last; `trial` (K, Y, Y) is all zero before and after.

    psi_last is laid out as scores, U for the tokens and `trial` for the steps, and each psi_s is scored with it.
    """
    a, T, Y = rows.offsets[i], len(target), trial.shape[1]
    new, kind, p = here[last], rows.kind[rows.offsets[i] : rows.offsets[i + 1]], rows.product_start[i]
    U = np.zeros((T, Y))
    for s in range(T):
        if new[s] != target[s]:
            for t in range(T):
                v = rows.product[p + s * T + t] if len(rows.product) else token_product(rows, a + s, a + t)
                U[t, target[s]] += v
                U[t, new[s]] -= v
    add_steps(trial, kind, target, new, 1.0)
    for s in range(last + 1):
        path, total = here[s], 0.0
        for t in range(T):
            if path[t] != target[t]:
                total += U[t, target[t]] - U[t, path[t]]
            if t > 0 and (path[t] != target[t] or path[t - 1] != target[t - 1]):
                k = kind[t]
                total += trial[0, target[t - 1], target[t]] - trial[0, path[t - 1], path[t]]
                if k > 0:
                    total += trial[k, target[t - 1], target[t]] - trial[k, path[t - 1], path[t]]
        row[s] = total
    add_steps(trial, kind, target, new, -1.0)


@kernel
def append_slot(i, rows, goal, sets, path, mass, trial):
    """Add a labelling that is not in the working set yet."""
    a, b, n = rows.offsets[i], rows.offsets[i + 1], sets.used[i]
    sets.used[i] = n + 1
    here, target = labellings(sets, i, b - a, n + 1), goal.target[a:b]
    alpha, loss = masses(sets, i, n + 1)
    copy(path, here[n])
    alpha[n], loss[n] = mass, hamming(path, target, goal.cost[a:b])
    gram = slot_gram(sets, i)
    gram_row(i, rows, target, here, n, gram[n], trial)
    for s in range(n):
        gram[s, n] = gram[n, s]


@kernel
def drop_empty(i, T, sets):
    """Forget the labellings of example i that have no mass, except the target."""
    old = sets.used[i]
    here, gram = labellings(sets, i, T, old), slot_gram(sets, i)
    alpha, loss = masses(sets, i, old)
    kept = np.empty(old, np.int64)
    n = 0
    for s in range(old):
        if s == 0 or alpha[s] > 0:
            kept[n] = s
            if s != n:
                copy(here[s], here[n])
                alpha[n], loss[n] = alpha[s], loss[s]
            n += 1
    if n < old:
        for s in range(n):
            for r in range(n):
                gram[s, r] = gram[kept[s], kept[r]]
    sets.used[i] = n


@kernel
def copy_gram(old, new):
    """Move the products of the slots to working sets with more room."""
    for i in range(len(old.room)):
        before, after = slot_gram(old, i), slot_gram(new, i)
        for s in range(old.used[i]):
            for r in range(old.used[i]):
                after[s, r] = before[s, r]


@kernel
def insert(which, rows, goal, sets, found, trial, full):
    """Put the labellings `found` into the working sets; marks in full (n,) the examples that have no room."""
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        drop_empty(i, b - a, sets)
        n, path, present = sets.used[i], found[a:b], False
        here = labellings(sets, i, b - a, n)
        for s in range(n):
            present = present or equal(here[s], path)
        full[i] = not present and n == sets.room[i]
        if not present and n < sets.room[i]:
            append_slot(i, rows, goal, sets, path, 0.0, trial)


@kernel
def disagreement(here):
    """The positions where the labellings `here` (n, T) are not all equal, and the steps that touch them."""
    n, T = here.shape
    where, edges = np.empty(T, np.int64), np.empty(T, np.int64)
    p = e = 0
    before = False
    for t in range(T):
        differs = False
        for s in range(1, n):
            if here[s, t] != here[0, t]:
                differs = True
                break
        if differs:
            where[p] = t
            p += 1
        if t > 0 and (differs or before):
            edges[e] = t
            e += 1
        before = differs
    return where[:p], edges[:e]


@kernel
def slot_values(a, rows, w, here, loss, where, edges, h):
    """h[s], up to a constant that all slots share; only positions where they differ are scored."""
    U = np.empty((len(where), w.tokens.shape[1]))
    for p in range(len(where)):
        token_scores(rows.indptr, rows.indices, rows.values, w.tokens, a + where[p], U[p : p + 1])
    for s in range(len(here)):
        v = loss[s]
        for p in range(len(where)):
            v += U[p, here[s, where[p]]]
        for e in range(len(edges)):
            t = edges[e]
            v += w.step[rows.kind[a + t], here[s, t - 1], here[s, t]]
        h[s] = v


@kernel
def balance(h, alpha, gram, C, tol, max_pairs):
    """Move mass between pairs of slots until the values of those with mass are within tol of the largest.

    The receiver has the largest value, the giver is the one that raises the dual most.  Returns how far the values
    were apart at first.  Moving m from r to s changes w by C m (psi_s - psi_r), hence h_q by -C m (G_sq - G_rq).
    """
    first = -1.0
    for _ in range(max_pairs):
        up, spread = 0, 0.0
        for s in range(1, len(h)):
            if h[s] > h[up]:
                up = s
        low, size, best = -1, 0.0, 0.0
        for s in range(len(h)):
            if alpha[s] > 0 and s != up:
                apart = h[up] - h[s]
                spread = max(spread, apart)
                curve = C * (gram[up, up] + gram[s, s] - 2 * gram[up, s])
                move = alpha[s] if alpha[s] * curve <= apart else apart / curve
                gain = move * (apart - 0.5 * move * curve)
                if gain > best:
                    low, size, best = s, move, gain
        if first < 0:
            first = spread
        if low < 0 or spread <= tol:
            break
        alpha[up] += size
        alpha[low] = 0.0 if size == alpha[low] else alpha[low] - size
        for s in range(len(h)):
            h[s] -= C * size * (gram[up, s] - gram[low, s])
    return first


@kernel
def move_weights(a, rows, w, here, change, where, edges):
    """w -= sum_s change[s] * f(x, y_s) for changes that sum to zero, where the labellings differ."""
    K, Y = w.trans.shape[:2]
    stride = 0 if len(rows.values) == 1 else 1
    moved = np.zeros(Y)
    for t in where:
        for y in range(Y):
            moved[y] = 0.0
        for s in range(len(here)):
            moved[here[s, t]] -= change[s]
        for j in range(rows.indptr[a + t], rows.indptr[a + t + 1]):
            f, v = rows.indices[j], rows.values[j * stride]
            for y in range(Y):
                w.tokens[f, y] += v * moved[y]
    for s in range(len(here)):
        if change[s] == 0:
            continue
        for t in edges:
            k, y, z = rows.kind[a + t], here[s, t - 1], here[s, t]
            w.trans[0, y, z] -= change[s]
            for m in range(K):
                w.step[m, y, z] -= change[s]
            if k > 0:
                w.trans[k, y, z] -= change[s]
                w.step[k, y, z] -= change[s]


@kernel
def improve(which, rows, goal, sets, w, tol, max_pairs, apart):
    """Balance the working set of each example in turn; apart[i] = C_i * how far its values were apart before."""
    for i in which:
        n, C, a = sets.used[i], goal.weight[i], rows.offsets[i]
        if n < 2 or C <= 0:
            apart[i] = 0.0
            continue
        here = labellings(sets, i, rows.offsets[i + 1] - a, n)
        alpha, loss = masses(sets, i, n)
        where, edges = disagreement(here)
        h, change = np.empty(n), alpha.copy()
        slot_values(a, rows, w, here, loss, where, edges, h)
        first = balance(h, alpha, slot_gram(sets, i), C, tol, max_pairs)
        apart[i] = C * first
        if first > tol:
            for s in range(n):
                change[s] = C * (alpha[s] - change[s])
            move_weights(a, rows, w, here, change, where, edges)


@kernel
def rebase(rows, goal, old_weight, sets, w, trial):
    """Carry the dual variables over to new targets and new C_i; writes the w they stand for.

    Mass on the old target moves to the new one.  Where C_i grew the other masses shrink by the same factor, which
    leaves their share of w as it was.
    """
    w.tokens[:] = 0.0
    w.trans[:] = 0.0
    for i in range(len(rows.offsets) - 1):
        a, b = rows.offsets[i], rows.offsets[i + 1]
        T, target, C = b - a, goal.target[a:b], goal.weight[i]
        keep = min(1.0, old_weight[i] / C) if C > 0 else 0.0
        old = labellings(sets, i, T, sets.used[i]).copy()
        old_mass = masses(sets, i, sets.used[i])[0] * keep
        sets.used[i] = 0
        append_slot(i, rows, goal, sets, target, 1.0, trial)
        for s in range(1, len(old)):
            if old_mass[s] > 0 and not equal(old[s], target):
                append_slot(i, rows, goal, sets, old[s], old_mass[s], trial)
        n = sets.used[i]
        alpha, _ = masses(sets, i, n)
        alpha[0] = max(0.0, 1.0 - np.sum(alpha[1:]))
        if n > 1:
            here = labellings(sets, i, T, n)
            change = C * alpha
            change[0] = -np.sum(change[1:])
            where, edges = disagreement(here)
            move_weights(a, rows, w, here, change, where, edges)
