"""Span switching: whole spans change their label, boundaries shift, blocks swap; see `switch_kernels`."""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import path_score, token_scores
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ZERO
from semistruct.switching.switch_kernels import (
    accept,
    count_change,
    extend_alpha,
    fill_beta,
    is_better,
    penalties,
    score_window,
)

REACH = 8  # chunks a span may run over
MOST = 20  # moves per sequence and pass
SWAP = -1  # in the place of a label: the two blocks of the window swap theirs


@inlined
def best_through(alpha, beta, t):
    """The best of loss + score over all labellings."""
    top = -np.inf
    for z in range(alpha.shape[1]):
        s = alpha[t, z] + beta[t, z]
        top = s if s > top else top
    return top


class Current(NamedTuple):
    """A sequence with its labels y and the messages for them; new is equal to y but for the window being tried.

    first                 number of its first token; scale the weight of its slack
    rival (T,)            the labelling z of the slack
    along (Y, T + 1)      along[c, e] - along[c, s] = score of label c at s..e-1, with loss where the rival has it too
    before (T + 1,)       the same for the labels y
    cost_along, cost_before   the same for the costs of local rules
    odd_before, odd_after (T + 1,)   the costs of blocks of wrong lengths that a window from s on, or up to e, does not
                          touch: those that end before s - 1, and those that begin after e
    """

    first: int
    scale: float
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
    odd_before: np.ndarray
    odd_after: np.ndarray


@inlined
def current(objective, i, y):
    """Sequence i, with everything yet to be filled but its scores."""
    scorer = objective.scorer
    a, b, Y = scorer.offsets[i], scorer.offsets[i + 1], scorer.tokens.shape[1]
    T = b - a
    unary = np.empty((T, Y))
    token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
    return Current(
        a, objective.scale[i], unary, scorer.kind[a:b], y[a:b], np.empty(T, np.int16), np.empty((T, Y)),
        np.empty((T, Y)), np.empty(T, np.int16), np.empty((Y, T + 1)), np.empty(T + 1), np.empty((Y, T + 1)),
        np.empty(T + 1), np.empty(T + 1), np.empty(T + 1),
    )  # fmt: skip


@kernel
def refresh(seq, step, costs, loss):
    """Recompute what depends on the labels y of a sequence."""
    T, Y = seq.unary.shape
    extend_alpha(seq.unary, step, seq.kind, seq.y, loss, seq.alpha, ZERO, T)
    fill_beta(seq.unary, step, seq.kind, seq.y, loss, seq.beta)
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
        cost = costs.token[costs.token_class[seq.first + t], seq.y[t]]
        cost += costs.step[costs.step_class[seq.first + t], seq.y[t - 1] if t > 0 else Y, seq.y[t]]
        seq.cost_before[t + 1] = seq.cost_before[t] + cost
        enter = step[seq.kind[t], seq.y[t - 1], seq.y[t]] if t > 0 else 0.0
        gain = loss if seq.rival[t] == seq.y[t] else 0.0
        seq.before[t + 1] = seq.before[t] + enter + seq.unary[t, seq.y[t]] + gain
    for c in range(Y):
        seq.along[c, 0], seq.cost_along[c, 0] = 0.0, 0.0
        for t in range(T):
            cost = costs.token[costs.token_class[seq.first + t], c]
            cost += costs.step[costs.step_class[seq.first + t], c, c] if t > 0 else 0.0
            seq.cost_along[c, t + 1] = seq.cost_along[c, t] + cost
            stay = step[seq.kind[t], c, c] if t > 0 else 0.0
            gain = loss if seq.rival[t] == c else 0.0
            seq.along[c, t + 1] = seq.along[c, t] + stay + seq.unary[t, c] + gain


@kernel
def find_odd_blocks(seq, events, price):
    """Fill odd_before and odd_after."""
    T, Y = seq.unary.shape
    total, first = 0.0, 0
    seq.odd_before[0], seq.odd_after[T] = 0.0, 0.0
    for t in range(1, T + 1):
        seq.odd_before[t] = total
        if t == T or seq.y[t] != seq.y[first]:
            cell, length = Y + seq.y[first], t - first
            for j in range(events.ptr[cell], events.ptr[cell + 1]):
                entry = events.entry[j]
                if length < entry.least or length > entry.most:
                    total += price[entry.term]
            for s in range(first, t):
                seq.odd_after[s] = total
            first = t
    for t in range(T):
        seq.odd_after[t] = total - seq.odd_after[t]


@inlined
def least_value(seq, step, costs, head_start, s, e, c):
    """A lower bound, in constant time, on the objective after y[s:e] becomes c: present rival, local rules only.

    head_start  the score of the rival, and the loss if it had no label right
    """
    T, Y = seq.unary.shape
    y, kind = seq.y, seq.kind
    value = seq.before[T] - seq.before[e] + seq.before[s] + seq.along[c, e] - seq.along[c, s]
    cost = seq.cost_before[T] - seq.cost_before[e] + seq.cost_before[s] + seq.cost_along[c, e] - seq.cost_along[c, s]
    cost += costs.step[costs.step_class[seq.first + s], y[s - 1] if s > 0 else Y, c]
    if s > 0:
        value += step[kind[s], y[s - 1], c] - step[kind[s], c, c]
        cost -= costs.step[costs.step_class[seq.first + s], c, c]
    if e < T:
        value += step[kind[e], c, y[e]] - step[kind[e], y[e - 1], y[e]]
        into = costs.step_class[seq.first + e]
        cost += costs.step[into, c, y[e]] - costs.step[into, y[e - 1], y[e]]
    return seq.scale * max(0.0, head_start - value) + cost


@inlined
def slack_after(seq, step, loss, score, ceiling, s, e, work):
    """The exact slack after y[s:e] becomes new[s:e]: one forward pass over the window; work (T, Y).

    ceiling  the score of the best labelling, which is the rival of all if there is no loss
    """
    Y, top = seq.unary.shape[1], ceiling
    if loss != 0.0:
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


@kernel
def switch_spans(which, objective, known, cut, y, ledger, moves):
    """Span switching of each sequence until no move is better: relabel a span, shift a boundary, swap two blocks.

    cut    (n_tokens,) where a change of the label breaks no rule; spans run between such points and present changes
    moves  (n,) counts the accepted ones
    """
    costs, events, step, loss = objective.costs, objective.events, objective.scorer.step, objective.loss
    Y, K = objective.scorer.tokens.shape[1], len(ledger.totals)
    change, best_change, room, hits = np.empty(K), np.empty(K), np.empty(K), np.empty(objective.room, np.int64)
    for i in which:
        if not is_better(0.0, objective.scale[i] * ledger.slack[i] + ledger.instance[i] + ledger.corpus[0]):
            continue  # nothing is better than nothing
        seq = current(objective, i, y)
        T = len(seq.y)
        work, best_new = np.empty((T, Y)), np.empty(T, np.int16)
        for _ in range(MOST):
            best = seq.scale * ledger.slack[i] + ledger.instance[i] + ledger.corpus[0]
            if not is_better(0.0, best):
                break
            refresh(seq, step, costs, loss)
            find_odd_blocks(seq, events, objective.block_price)
            score = path_score(seq.unary, step, seq.kind, seq.y)
            head_start = loss * T + path_score(seq.unary, step, seq.kind, seq.rival)
            slack, instance, corpus, found_s, found_e = 0.0, 0.0, 0.0, ZERO, ZERO
            spans = candidate_spans(seq.y, cut[seq.first : seq.first + T], Y)
            for j in range(len(spans)):
                s, e, c = spans[j, 0], spans[j, 1], spans[j, 2]
                least = seq.odd_before[s] + seq.odd_after[e]
                if c != SWAP:
                    least += least_value(seq, step, costs, head_start, s, e, c)
                if not is_better(least, best) or not write_window(seq, s, e, c, known):
                    continue
                count_change(events, seq.first, seq.y, seq.new, s, e, change, hits)
                inst, corp = penalties(objective, ledger, i, change, room)
                if is_better(max(least, inst) + corp, best):
                    xi = slack_after(seq, step, loss, score, head_start, s, e, work)
                    value = seq.scale * xi + inst + corp
                    if is_better(value, best):
                        best, slack, instance, corpus, found_s, found_e = value, xi, inst, corp, s, e
                        for k in range(K):
                            best_change[k] = change[k]
                        for t in range(s, e):
                            best_new[t] = seq.new[t]
                for t in range(s, e):
                    seq.new[t] = seq.y[t]
            if found_e == 0:
                break
            for t in range(found_s, found_e):
                seq.y[t] = best_new[t]
            accept(ledger, i, best_change, slack, instance, corpus)
            moves[i] += 1


@inlined
def write_window(seq, s, e, c, known):
    """Write the labels of a move into new[s:e]; False if it changes nothing, or a known label."""
    same, before, after = True, seq.y[s], seq.y[e - 1]
    for t in range(s, e):
        z = c
        if c == SWAP:
            z = after if seq.y[t] == before else before
        seq.new[t] = z
        same = same and z == seq.y[t]
        if len(known) and known[seq.first + t] >= 0 and known[seq.first + t] != z:
            same = True
            break
    if same:
        for t in range(s, e):
            seq.new[t] = seq.y[t]
    return not same


@kernel
def candidate_spans(y, cut, Y):
    """(n, 3) moves (s, e, label): spans between points, shifted boundaries, swapped neighbours (SWAP)."""
    T = len(y)
    points, n = np.empty(T + 1, np.int64), 0
    bounds, m = np.empty(T + 1, np.int64), 0
    for t in range(T + 1):
        edge = t == 0 or t == T or y[t] != y[t - 1]
        if edge:
            bounds[m], m = t, m + 1
        if edge or cut[t]:
            points[n], n = t, n + 1
    out, size = np.empty((n * REACH * Y + 2 * T * 2 + m, 3), np.int64), 0
    for i in range(n):
        for j in range(i + 1, min(i + REACH, n - 1) + 1):
            for c in range(Y):
                out[size, 0], out[size, 1], out[size, 2], size = points[i], points[j], c, size + 1
    for i in range(1, m - 1):
        for t in range(bounds[i - 1] + 1, bounds[i]):
            out[size, 0], out[size, 1], out[size, 2], size = t, bounds[i], y[bounds[i]], size + 1
        for t in range(bounds[i] + 1, bounds[i + 1]):
            out[size, 0], out[size, 1], out[size, 2], size = bounds[i], t, y[bounds[i] - 1], size + 1
        out[size, 0], out[size, 1], out[size, 2], size = bounds[i - 1], bounds[i + 1], SWAP, size + 1
    return out[:size]
