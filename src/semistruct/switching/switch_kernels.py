"""Label switching: hill climbing on the labels of sequences, for fixed weights, to lower

    sum_i scale_i * slack_i(y_i) + penalty(y),    slack_i(y) = max_z [ loss * |z != y| + score(z) ] - score(y)

with the penalties of instance rules and, through running totals, of corpus rules.  loss = 0 leaves the shortfall of
the score instead of the slack, which is what decoding under corpus rules needs.

    unary, step, kind, y   of one sequence of T tokens and Y labels, as in `chain.kernels`
    alpha[t, z]            best of  loss + score  over labellings of 0..t that end in z
    beta[t, z]             ... over labellings of t+1.. given z at t
    costs                  of local rules by class of tokens and steps: a part of the penalty that is quickly had, and
                           a bound for moves that need not be looked at any further
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.chain.kernels import path_score, token_scores
from semistruct.rules.event_kernels import ZERO, count_window, penalty

LEAST = 1e-9  # relative improvement below which a switch is taken for rounding


class Ledger(NamedTuple):
    """What switching keeps up to date.

    counts (n, K) of every sequence, totals (K,) their sum; slack, instance (n,) penalty; corpus (1,) penalty
    """

    counts: np.ndarray
    totals: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray


class Price(NamedTuple):
    """What penalties depend on besides the counts: the terms of either level, and the size of the corpus."""

    instance: np.ndarray
    corpus: np.ndarray
    n_tokens: float
    n_sequences: float


@njit(cache=True, nogil=True)
def extend_alpha(unary, step, kind, y, loss, alpha, first, last):
    """Fill alpha[first:last] from alpha[first - 1]."""
    Y = unary.shape[1]
    for t in range(first, last):
        for z in range(Y):
            top = 0.0
            if t > 0:
                top = -np.inf
                for x in range(Y):
                    s = alpha[t - 1, x] + step[kind[t], x, z]
                    top = s if s > top else top
            alpha[t, z] = top + unary[t, z] + (loss if z != y[t] else 0.0)


@njit(cache=True, nogil=True)
def extend_beta(unary, step, kind, y, loss, beta, last, first):
    """Fill beta[first:last], backwards from beta[last]; last = T starts afresh."""
    T, Y = unary.shape
    for t in range(last - 1, first - 1, -1):
        for x in range(Y):
            top = 0.0
            if t < T - 1:
                top = -np.inf
                for z in range(Y):
                    s = step[kind[t + 1], x, z] + unary[t + 1, z] + (loss if z != y[t + 1] else 0.0) + beta[t + 1, z]
                    top = s if s > top else top
            beta[t, x] = top


@njit(cache=True, nogil=True, inline="always")
def best_through(alpha, beta, t):
    """The best of loss + score over all labellings."""
    top = -np.inf
    for z in range(alpha.shape[1]):
        s = alpha[t, z] + beta[t, z]
        top = s if s > top else top
    return top


@njit(cache=True, nogil=True, inline="always")
def score_window(unary, step, kind, y, s, e):
    """The part of the score that labels y[s:e] have a say in."""
    total = 0.0
    for t in range(s, min(e + 1, len(y))):
        if t < e:
            total += unary[t, y[t]]
        if t > 0:
            total += step[kind[t], y[t - 1], y[t]]
    return total


@njit(cache=True, nogil=True, inline="always")
def cost_window(costs, first, y, s, e):
    """The costs of local rules that labels y[s:e] have a say in."""
    total = 0.0
    for t in range(s, min(e + 1, len(y))):
        if t < e:
            total += costs.token[costs.token_class[first + t], y[t]]
        if t > 0:
            total += costs.step[costs.step_class[first + t], y[t - 1], y[t]]
    return total


@njit(cache=True, nogil=True, inline="always")
def priced(targets, price, row, change, totals, n_tokens, work):
    """(instance penalty of row + change, corpus penalty of totals + change)."""
    for k in range(len(row)):
        work[k] = row[k] + change[k]
    instance, corpus = penalty(targets, price.instance, work, n_tokens, 1.0), 0.0
    if len(price.corpus):
        for k in range(len(row)):
            work[k] = totals[k] + change[k]
        corpus = penalty(targets, price.corpus, work, price.n_tokens, price.n_sequences)
    return instance, corpus


@njit(cache=True, nogil=True, inline="always")
def count_change(events, first, y, new, s, e, change):
    """change = what the counts gain when y[s:e] becomes new[s:e]."""
    for k in range(len(change)):
        change[k] = 0.0
    count_window(events, first, y, s, e, -1.0, change)
    count_window(events, first, new, s, e, 1.0, change)


@njit(cache=True, nogil=True)
def book(ledger, i, change, slack, instance, corpus):
    """Enter an accepted switch."""
    for k in range(len(change)):
        ledger.counts[i, k] += change[k]
        ledger.totals[k] += change[k]
    ledger.slack[i], ledger.instance[i], ledger.corpus[0] = slack, instance, corpus


@njit(cache=True, nogil=True)
def is_better(new, old):
    return new < old - LEAST * (1.0 + abs(old))


@njit(cache=True, nogil=True)
def open_ledger(which, scorer, events, targets, price, loss, y, ledger):
    """Slack, counts and instance penalty of every sequence; totals and corpus penalty are the caller's."""
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary, alpha = np.empty((b - a, scorer.tokens.shape[1])), np.empty((b - a, scorer.tokens.shape[1]))
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        extend_alpha(unary, scorer.step, scorer.kind[a:b], y[a:b], loss, alpha, 0, b - a)
        top = -np.inf
        for z in range(alpha.shape[1]):
            top = max(top, alpha[b - a - 1, z])
        ledger.slack[i] = max(0.0, top - path_score(unary, scorer.step, scorer.kind[a:b], y[a:b]))
        for k in range(ledger.counts.shape[1]):
            ledger.counts[i, k] = 0.0
        count_window(events, a, y[a:b], ZERO, b - a, 1.0, ledger.counts[i])
        ledger.instance[i] = penalty(targets, price.instance, ledger.counts[i], float(b - a), 1.0)


@njit(cache=True, nogil=True)
def switch_tokens(
    which, order, scorer, costs, events, targets, price, scale, loss, known, naive, limit, visits, y, ledger
):
    """One pass of single-label switching: at every position the best label, if it is better than the present one.

    order   (n_tokens,) the positions of each sequence in the order of their visits
    naive   for every switch a Viterbi pass and a recount, as the algorithm is printed; else the same from messages
    limit   stop after more than so many visits (visits=True, the printed counter) or after so many switches
    Returns the number of accepted switches.
    """
    Y, K = scorer.tokens.shape[1], len(ledger.totals)
    change, work, best_change = np.empty(K), np.empty(K), np.empty(K)
    step, switches, visited = scorer.step, 0, 0
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        T, kind, labels = b - a, scorer.kind[a:b], y[a:b]
        unary, alpha, beta = np.empty((T, Y)), np.empty((T, Y)), np.empty((T, Y))
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        new, score = labels.copy(), path_score(unary, step, kind, labels)
        plain = cost_window(costs, a, labels, 0, T)
        front, rear = 0, T  # alpha[:front] and beta[rear:] are up to date
        for m in order[a:b]:
            if visited > limit if visits else switches >= limit:
                return switches
            visited += 1
            if len(known) and known[a + m] >= 0:
                continue
            if not naive:
                extend_alpha(unary, step, kind, labels, loss, alpha, front, m + 1)
                extend_beta(unary, step, kind, labels, loss, beta, rear, m)
                front, rear = max(front, m + 1), min(rear, m)
            present, arg = labels[m], labels[m]
            best = scale[i] * ledger.slack[i] + ledger.instance[i] + ledger.corpus[0]
            slack, instance, corpus = ledger.slack[i], ledger.instance[i], ledger.corpus[0]
            here = score_window(unary, step, kind, labels, m, m + 1)
            cost_here = cost_window(costs, a, labels, m, m + 1)
            for r in range(Y):
                if r == present:
                    continue
                new[m] = r
                top = -np.inf
                if naive:
                    extend_alpha(unary, step, kind, new, loss, alpha, 0, T)
                    for z in range(Y):
                        top = max(top, alpha[T - 1, z])
                    xi = max(0.0, top - path_score(unary, step, kind, new))
                    count_change(events, a, labels, new, 0, T, change)
                else:
                    for z in range(Y):
                        now = alpha[m, z] + beta[m, z]
                        now += (loss if z == present else 0.0) - (loss if z == r else 0.0)
                        top = now if now > top else top
                    xi = max(0.0, top - score - score_window(unary, step, kind, new, m, m + 1) + here)
                    least = scale[i] * xi + plain + cost_window(costs, a, new, m, m + 1) - cost_here
                    if not is_better(least, best):
                        continue
                    count_change(events, a, labels, new, m, m + 1, change)
                inst, corp = priced(targets, price, ledger.counts[i], change, ledger.totals, float(T), work)
                value = scale[i] * xi + inst + corp
                if is_better(value, best):
                    best, arg, slack, instance, corpus = value, r, xi, inst, corp
                    for k in range(K):
                        best_change[k] = change[k]
            new[m] = arg
            if arg != present:
                labels[m] = arg
                book(ledger, i, best_change, slack, instance, corpus)
                score, plain = path_score(unary, step, kind, labels), cost_window(costs, a, labels, 0, T)
                front, rear = min(front, m), max(rear, m)
                switches += 1
    return switches


class Current(NamedTuple):
    """A sequence with its labels y and the messages for them; new is equal to y but for the window being tried.

    rival (T,)            the labelling z of the slack
    along (Y, T + 1)      along[c, e] - along[c, s] = score of label c at s..e-1, with loss where the rival has it too
    before (T + 1,)       the same for the labels y
    cost_along, cost_before   the same for the costs of local rules
    """

    unary: np.ndarray
    kind: np.ndarray
    y: np.ndarray
    new: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    rival: np.ndarray
    along: np.ndarray
    before: np.ndarray
    cost_along: np.ndarray
    cost_before: np.ndarray


@njit(cache=True, nogil=True)
def refresh(seq, step, costs, first, loss):
    """Recompute what depends on the labels y of a sequence."""
    T, Y = seq.unary.shape
    extend_alpha(seq.unary, step, seq.kind, seq.y, loss, seq.alpha, 0, T)
    extend_beta(seq.unary, step, seq.kind, seq.y, loss, seq.beta, T, 0)
    last = 0
    for z in range(Y):
        if seq.alpha[T - 1, z] > seq.alpha[T - 1, last]:
            last = z
    seq.rival[T - 1] = last
    for t in range(T - 1, 0, -1):
        arg, high = 0, -np.inf
        for x in range(Y):
            s = seq.alpha[t - 1, x] + step[seq.kind[t], x, seq.rival[t]]
            if s > high:
                arg, high = x, s
        seq.rival[t - 1] = arg
    seq.before[0], seq.cost_before[0] = 0.0, 0.0
    for t in range(T):
        seq.new[t] = seq.y[t]
        cost = costs.token[costs.token_class[first + t], seq.y[t]]
        if t > 0:
            cost += costs.step[costs.step_class[first + t], seq.y[t - 1], seq.y[t]]
        seq.cost_before[t + 1] = seq.cost_before[t] + cost
        enter = step[seq.kind[t], seq.y[t - 1], seq.y[t]] if t > 0 else 0.0
        gain = loss if seq.rival[t] == seq.y[t] else 0.0
        seq.before[t + 1] = seq.before[t] + enter + seq.unary[t, seq.y[t]] + gain
    for c in range(Y):
        seq.along[c, 0], seq.cost_along[c, 0] = 0.0, 0.0
        for t in range(T):
            seq.cost_along[c, t + 1] = seq.cost_along[c, t] + costs.token[costs.token_class[first + t], c]
            stay = step[seq.kind[t], c, c] if t > 0 else 0.0
            gain = loss if seq.rival[t] == c else 0.0
            seq.along[c, t + 1] = seq.along[c, t] + stay + seq.unary[t, c] + gain


@njit(cache=True, nogil=True, inline="always")
def least_value(seq, step, costs, first, scale, loss, rival_score, s, e, c):
    """A lower bound, in constant time, on the objective after y[s:e] becomes c: present rival, local rules only."""
    T, y, kind = len(seq.y), seq.y, seq.kind
    value = seq.before[T] - seq.before[e] + seq.before[s] + seq.along[c, e] - seq.along[c, s]
    cost = seq.cost_before[T] - seq.cost_before[e] + seq.cost_before[s] + seq.cost_along[c, e] - seq.cost_along[c, s]
    if s > 0:
        value += step[kind[s], y[s - 1], c] - step[kind[s], c, c]
        cost += costs.step[costs.step_class[first + s], y[s - 1], c]
    if e < T:
        value += step[kind[e], c, y[e]] - step[kind[e], y[e - 1], y[e]]
        into = costs.step[costs.step_class[first + e]]
        cost += into[c, y[e]] - into[y[e - 1], y[e]]
    return scale * max(0.0, loss * T + rival_score - value) + cost


@njit(cache=True, nogil=True, inline="always")
def slack_after(seq, step, loss, score, s, e, work):
    """The exact slack after y[s:e] becomes new[s:e]: one forward pass over the window; work (T, Y)."""
    Y = seq.unary.shape[1]
    for t in range(s, e):
        for z in range(Y):
            top = 0.0
            if t > 0:
                top = -np.inf
                for x in range(Y):
                    v = (work[t - 1, x] if t > s else seq.alpha[t - 1, x]) + step[seq.kind[t], x, z]
                    top = v if v > top else top
            work[t, z] = top + seq.unary[t, z] + (loss if z != seq.new[t] else 0.0)
    top = best_through(work, seq.beta, e - 1)
    gained = score_window(seq.unary, step, seq.kind, seq.new, s, e)
    gained -= score_window(seq.unary, step, seq.kind, seq.y, s, e)
    return max(0.0, top - score - gained)


@njit(cache=True, nogil=True)
def switch_spans(
    which, scorer, costs, events, targets, price, scale, loss, known, cut, reach, greedy, most, jump, y, ledger, moves
):
    """Span switching of each sequence until no move is better: relabel a span, shift a boundary, swap two blocks.

    cut    (n_tokens,) where a change of the label breaks no rule; spans run between such points and present changes
    reach  over how many of these a span may run
    greedy  take the first better move instead of the best
    most   moves per sequence
    jump   (n_tokens,) a labelling to move to at once if that is better, or empty
    moves  (n,) counts the accepted ones
    """
    Y, K = scorer.tokens.shape[1], len(ledger.totals)
    change, best_change, room, step = np.empty(K), np.empty(K), np.empty(K), scorer.step
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        T = b - a
        unary, work, best_new = np.empty((T, Y)), np.empty((T, Y)), np.empty(T, np.int16)
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        seq = Current(
            unary, scorer.kind[a:b], y[a:b], np.empty(T, np.int16), np.empty((T, Y)), np.empty((T, Y)),
            np.empty(T, np.int16), np.empty((Y, T + 1)), np.empty(T + 1), np.empty((Y, T + 1)), np.empty(T + 1),
        )  # fmt: skip
        spans = np.empty((0, 3), np.int64)
        for move in range(most):
            refresh(seq, step, costs, a, loss)
            score = path_score(unary, step, seq.kind, seq.y)
            rival = path_score(unary, step, seq.kind, seq.rival)
            best = scale[i] * ledger.slack[i] + ledger.instance[i] + ledger.corpus[0]
            slack, instance, corpus, found_s, found_e = 0.0, 0.0, 0.0, 0, 0
            jumping = move == 0 and len(jump) > 0
            spans = np.array([[0, T, -2]]) if jumping else candidate_spans(seq.y, cut[a:b], Y, reach)
            for j in range(len(spans)):
                s, e, c = spans[j, 0], spans[j, 1], spans[j, 2]
                least = least_value(seq, step, costs, a, scale[i], loss, rival, s, e, c) if c >= 0 else 0.0
                if not is_better(least, best):
                    continue
                if not write_window(seq, s, e, c, known, a, jump):
                    continue
                count_change(events, a, seq.y, seq.new, s, e, change)
                inst, corp = priced(targets, price, ledger.counts[i], change, ledger.totals, float(T), room)
                if is_better(max(least, inst) + corp, best):
                    xi = slack_after(seq, step, loss, score, s, e, work)
                    value = scale[i] * xi + inst + corp
                    if is_better(value, best):
                        best, slack, instance, corpus, found_s, found_e = value, xi, inst, corp, s, e
                        for k in range(K):
                            best_change[k] = change[k]
                        for t in range(s, e):
                            best_new[t] = seq.new[t]
                for t in range(s, e):
                    seq.new[t] = seq.y[t]
                if greedy and found_e > 0:
                    break
            if found_e > 0:
                for t in range(found_s, found_e):
                    seq.y[t] = best_new[t]
                book(ledger, i, best_change, slack, instance, corpus)
                moves[i] += 1
            elif not jumping:
                break


@njit(cache=True, nogil=True, inline="always")
def write_window(seq, s, e, c, known, first, jump):
    """Write the labels of a move into new[s:e]; False if it changes nothing, or a known label.

    c >= 0: this label everywhere; -1: the two blocks of the window swap their labels; -2: the labels of `jump`
    """
    same, before, after = True, seq.y[s], seq.y[e - 1]
    for t in range(s, e):
        z = c
        if c == -1:
            z = after if seq.y[t] == before else before
        elif c == -2:
            z = jump[first + t]
        seq.new[t] = z
        same = same and z == seq.y[t]
        if len(known) and known[first + t] >= 0 and known[first + t] != z:
            same = True
            break
    if same:
        for t in range(s, e):
            seq.new[t] = seq.y[t]
    return not same


@njit(cache=True, nogil=True)
def candidate_spans(y, cut, Y, reach):
    """(n, 3) moves (s, e, label): spans between points, shifted boundaries, swapped neighbours (label -1)."""
    T = len(y)
    points, n = np.empty(T + 1, np.int64), 0
    bounds, m = np.empty(T + 1, np.int64), 0
    for t in range(T + 1):
        edge = t == 0 or t == T or y[t] != y[t - 1]
        if edge:
            bounds[m], m = t, m + 1
        if edge or cut[t]:
            points[n], n = t, n + 1
    out, size = np.empty((n * reach * Y + 2 * T * 2 + m, 3), np.int64), 0
    for i in range(n):
        for j in range(i + 1, min(i + reach, n - 1) + 1):
            for c in range(Y):
                out[size, 0], out[size, 1], out[size, 2], size = points[i], points[j], c, size + 1
    for i in range(1, m - 1):
        for t in range(bounds[i - 1] + 1, bounds[i]):
            out[size, 0], out[size, 1], out[size, 2], size = t, bounds[i], y[bounds[i]], size + 1
        for t in range(bounds[i] + 1, bounds[i + 1]):
            out[size, 0], out[size, 1], out[size, 2], size = bounds[i], t, y[bounds[i] - 1], size + 1
        out[size, 0], out[size, 1], out[size, 2], size = bounds[i - 1], bounds[i + 1], -1, size + 1
    return out[:size]
