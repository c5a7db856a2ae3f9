"""The loops of the sequential dual method; `sdm` explains what they compute, and calls them.

Working sets are those of `set_kernels`.  In the formulas below psi_s = f(x_i, y_i) - f(x_i, y_s), the value of slot s
is h_s = L_s - w.psi_s, and w = sum_i C_i sum_s alpha_s psi_s.
"""

import numpy as np

from semistruct.chain.kernels import equal, path_score, token_scores, viterbi
from semistruct.compiled import inlined, kernel
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
    """Where the labellings `here` (n, T) differ from the first one.

    where, edges  the positions where not all are equal, and the steps that touch them
    spans (n, 4)  the entries of `where` between which labelling s differs, spans[s, 0]:spans[s, 1], and of `edges`
    """
    n, T = here.shape
    where, edges = np.empty(T, np.int64), np.empty(T, np.int64)
    spans = np.zeros((n, 4), np.int64)
    p = e = 0
    before = False
    for t in range(T):
        differs = False
        for s in range(1, n):
            if here[s, t] != here[0, t]:
                differs = True
                if spans[s, 1] == 0:
                    spans[s, 0] = p
                    spans[s, 2] = e
                spans[s, 1] = p + 1
                spans[s, 3] = e + (2 if t > 0 else 1)
        if differs:
            where[p] = t
            p += 1
        if t > 0 and (differs or before):
            edges[e] = t
            e += 1
        before = differs
    for s in range(n):
        spans[s, 3] = min(spans[s, 3], e)
    return where[:p], edges[:e], spans


@kernel
def slot_values(a, rows, w, here, loss, where, edges, spans, h):
    """h[s]; only positions where the labellings differ are scored."""
    Y, target = w.tokens.shape[1], here[0]
    U, base = np.empty((len(where), Y)), np.empty(len(edges))
    for p in range(len(where)):
        token_scores(rows.indptr, rows.indices, rows.values, w.tokens, a + where[p], U[p : p + 1])
        right = U[p, target[where[p]]]
        for y in range(Y):
            U[p, y] -= right
    for e in range(len(edges)):
        t = edges[e]
        base[e] = w.step[rows.kind[a + t], target[t - 1], target[t]]
    for s in range(len(here)):
        path, v = here[s], loss[s]
        for p in range(spans[s, 0], spans[s, 1]):
            v += U[p, path[where[p]]]
        for e in range(spans[s, 2], spans[s, 3]):
            t = edges[e]
            v += w.step[rows.kind[a + t], path[t - 1], path[t]] - base[e]
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


@inlined
def add_step(w, k, y, z, amount):
    """Add to the weight of a step of kind k."""
    w.trans[0, y, z] += amount
    for m in range(w.trans.shape[0]):
        w.step[m, y, z] += amount
    if k > 0:
        w.trans[k, y, z] += amount
        w.step[k, y, z] += amount


@kernel
def move_tokens(a, rows, tokens, here, change, changed, where):
    """tokens += sum_s change[s] * the token part of psi_s, over the slots `changed`."""
    Y, stride = tokens.shape[1], 0 if len(rows.values) == 1 else 1
    moved, touched, seen = np.empty(Y), np.empty(Y, np.int64), np.full(Y, -1)
    for t in where:
        n, right, total = 0, here[0, t], 0.0
        for s in changed:
            y = here[s, t]
            if y != right:
                if seen[y] != t:
                    touched[n], seen[y], moved[y] = y, t, 0.0
                    n += 1
                moved[y] -= change[s]
                total += change[s]
        begin, end = rows.indptr[a + t], rows.indptr[a + t + 1]
        if n == 1:
            y = touched[0]
            for j in range(begin, end):
                f, v = rows.indices[j], rows.values[j * stride] * total
                tokens[f, right] += v
                tokens[f, y] -= v
        elif n > 1:
            touched[n], moved[right] = right, total
            for q in range(n + 1):
                y, m = touched[q], moved[touched[q]]
                for j in range(begin, end):
                    tokens[rows.indices[j], y] += rows.values[j * stride] * m


@kernel
def move_weights(a, rows, w, here, change, where, edges, spans):
    """w += sum_s change[s] * psi_s."""
    target, changed = here[0], np.flatnonzero(change)
    move_tokens(a, rows, w.tokens, here, change, changed, where)
    for s in changed:
        path = here[s]
        for e in range(spans[s, 2], spans[s, 3]):
            t = edges[e]
            if path[t] != target[t] or path[t - 1] != target[t - 1]:
                add_step(w, rows.kind[a + t], target[t - 1], target[t], change[s])
                add_step(w, rows.kind[a + t], path[t - 1], path[t], -change[s])


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
        where, edges, spans = disagreement(here)
        h, change = np.empty(n), alpha.copy()
        slot_values(a, rows, w, here, loss, where, edges, spans, h)
        first = balance(h, alpha, slot_gram(sets, i), C, tol, max_pairs)
        apart[i] = C * first
        if first > tol:
            for s in range(n):
                change[s] = C * (alpha[s] - change[s])
            move_weights(a, rows, w, here, change, where, edges, spans)


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
            where, edges, spans = disagreement(here)
            move_weights(a, rows, w, here, change, where, edges, spans)
