"""The loops of the sequential dual method; `sdm` explains what they compute, and calls them.

Working sets are those of `set_kernels`.  In the formulas below psi_s = f(x_i, y_i) - f(x_i, y_s), the value of slot s
is h_s = L_s - w.psi_s, and w = sum_i C_i sum_s alpha_s psi_s.
"""

import numpy as np

from semistruct.chain.kernels import equal, path_score, token_scores, viterbi
from semistruct.compiled import kernel
from semistruct.solvers.set_kernels import append_slot, labellings, masses, slot_gram


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
                    unary[t, y] += goal.margin * goal.cost[a + t]
        hinge[i] = viterbi(unary, w.step, kind, all_best[: b - a], found[a:b]) - at_target


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
