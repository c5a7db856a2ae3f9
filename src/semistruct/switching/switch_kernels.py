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

from semistruct.chain.kernels import equal, path_score, token_scores
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ZERO, count_window, happens, penalty

LEAST = 1e-9  # relative improvement below which a switch is taken for rounding


class Objective(NamedTuple):
    """What is lowered: sequences and their scores, rules, and the weight of the slack.

    instance, corpus  the terms of either level; room for counting them
    block_price (K,)  what a block of a wrong length costs
    scale (n,), loss  see the module
    """

    scorer: NamedTuple
    costs: NamedTuple
    events: NamedTuple
    targets: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray
    block_price: np.ndarray
    scale: np.ndarray
    loss: float


class Ledger(NamedTuple):
    """What switching keeps up to date.

    counts (n, K) of every sequence, totals (K,) their sum; slack, instance (n,) penalty; corpus (1,) penalty
    """

    counts: np.ndarray
    totals: np.ndarray
    slack: np.ndarray
    instance: np.ndarray
    corpus: np.ndarray


@kernel
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


@kernel
def fill_beta(unary, step, kind, y, loss, beta):
    """Fill beta from the last position on."""
    T, Y = unary.shape
    for t in range(T - 1, -1, -1):
        for x in range(Y):
            top = 0.0
            if t < T - 1:
                top = -np.inf
                for z in range(Y):
                    s = step[kind[t + 1], x, z] + unary[t + 1, z] + (loss if z != y[t + 1] else 0.0) + beta[t + 1, z]
                    top = s if s > top else top
            beta[t, x] = top


@inlined
def score_window(unary, step, kind, y, s, e):
    """The part of the score that labels y[s:e] have a say in."""
    total = 0.0
    for t in range(s, min(e + 1, len(y))):
        if t < e:
            total += unary[t, y[t]]
        if t > 0:
            total += step[kind[t], y[t - 1], y[t]]
    return total


@inlined
def cost_window(costs, first, y, s, e):
    """The costs of local rules that labels y[s:e] have a say in."""
    total, Y = 0.0, costs.token.shape[1]
    for t in range(s, min(e + 1, len(y))):
        if t < e:
            total += costs.token[costs.token_class[first + t], y[t]]
        total += costs.step[costs.step_class[first + t], y[t - 1] if t > 0 else Y, y[t]]
    return total


@inlined
def penalties(objective, ledger, i, change, work):
    """(instance penalty of sequence i, corpus penalty) when the counts of the sequence change so."""
    offsets, counts = objective.scorer.offsets, ledger.counts
    for k in range(len(change)):
        work[k] = counts[i, k] + change[k]
    instance = penalty(objective.targets, objective.instance, work, float(offsets[i + 1] - offsets[i]), 1.0)
    corpus = 0.0
    if len(objective.corpus):
        for k in range(len(change)):
            work[k] = ledger.totals[k] + change[k]
        corpus = penalty(objective.targets, objective.corpus, work, float(offsets[-1]), float(len(offsets) - 1))
    return instance, corpus


@kernel
def count_change(events, first, y, new, s, e, change, work):
    """change = what the counts gain when y[s:e] becomes new[s:e]."""
    for k in range(len(change)):
        change[k] = 0.0
    Y, T = len(events.mark), len(y)
    if events.ptr[2 * Y] > events.ptr[Y]:  # lengths: of blocks that may reach far beyond the window
        count_window(events, first, y, s, e, -1.0, change, work)
        count_window(events, first, new, s, e, 1.0, change, work)
        return
    seen, seen_new, hits = work[:Y], work[Y : 2 * Y], work[2 * Y :]
    for m in range(Y):
        seen[m] = seen_new[m] = 0
    for t in range(s):
        if events.mark[y[t]] >= 0:
            seen[events.mark[y[t]]] = seen_new[events.mark[y[t]]] = 1
    for t in range(s, T):
        if t > e and equal(seen, seen_new):
            break
        last = t == T - 1
        for j in range(happens(events, first + t, last, y[t - 1] if t > 0 else Y, ZERO, y[t], seen, hits)):
            change[hits[j]] -= 1.0
        for j in range(happens(events, first + t, last, new[t - 1] if t > 0 else Y, ZERO, new[t], seen_new, hits)):
            change[hits[j]] += 1.0
        if events.mark[y[t]] >= 0:
            seen[events.mark[y[t]]] = 1
        if events.mark[new[t]] >= 0:
            seen_new[events.mark[new[t]]] = 1


@kernel
def accept(ledger, i, change, slack, instance, corpus):
    """Enter an accepted switch."""
    for k in range(len(change)):
        ledger.counts[i, k] += change[k]
        ledger.totals[k] += change[k]
    ledger.slack[i], ledger.instance[i], ledger.corpus[0] = slack, instance, corpus


@kernel
def is_better(new, old):
    return new < old - LEAST * (1.0 + abs(old))


@kernel
def open_ledger(which, objective, y, ledger):
    """Slack, counts and instance penalty of every sequence; totals and corpus penalty are the caller's."""
    scorer, work = objective.scorer, np.empty(objective.room, np.int64)
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary, alpha = np.empty((b - a, scorer.tokens.shape[1])), np.empty((b - a, scorer.tokens.shape[1]))
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        extend_alpha(unary, scorer.step, scorer.kind[a:b], y[a:b], objective.loss, alpha, ZERO, b - a)
        top = -np.inf
        for z in range(alpha.shape[1]):
            top = max(top, alpha[b - a - 1, z])
        ledger.slack[i] = max(0.0, top - path_score(unary, scorer.step, scorer.kind[a:b], y[a:b]))
        for k in range(ledger.counts.shape[1]):
            ledger.counts[i, k] = 0.0
        count_window(objective.events, a, y[a:b], ZERO, b - a, 1.0, ledger.counts[i], work)
        ledger.instance[i] = penalty(objective.targets, objective.instance, ledger.counts[i], float(b - a), 1.0)


@kernel
def switch_tokens(which, objective, known, limit, y, ledger):
    """One pass of single-label switching: at every position the best label, if it is better than the present one.

    limit   stop after more than so many positions
    Returns the number of accepted switches.
    """
    scorer, costs, events, loss = objective.scorer, objective.costs, objective.events, objective.loss
    Y, K, step = scorer.tokens.shape[1], len(ledger.totals), scorer.step
    change, room, best_change = np.empty(K), np.empty(K), np.empty(K)
    work, switches, visited = np.empty(objective.room, np.int64), 0, 0
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        T, kind, labels, scale = b - a, scorer.kind[a:b], y[a:b], objective.scale[i]
        unary, alpha, beta = np.empty((T, Y)), np.empty((T, Y)), np.empty((T, Y))
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        new, score = labels.copy(), path_score(unary, step, kind, labels)
        local = cost_window(costs, a, labels, ZERO, T)
        fill_beta(unary, step, kind, labels, loss, beta)
        for m in range(T):
            if visited > limit:
                return switches
            visited += 1
            extend_alpha(unary, step, kind, labels, loss, alpha, m, m + 1)
            if len(known) and known[a + m] >= 0:
                continue
            present, arg = labels[m], labels[m]
            best = scale * ledger.slack[i] + ledger.instance[i] + ledger.corpus[0]
            slack, instance, corpus = ledger.slack[i], ledger.instance[i], ledger.corpus[0]
            here = score_window(unary, step, kind, labels, m, m + 1)
            cost_here = cost_window(costs, a, labels, m, m + 1)
            for r in range(Y):
                if r == present:
                    continue
                new[m] = r
                top = -np.inf
                for z in range(Y):
                    now = alpha[m, z] + beta[m, z]
                    now += (loss if z == present else 0.0) - (loss if z == r else 0.0)
                    top = now if now > top else top
                xi = max(0.0, top - score - score_window(unary, step, kind, new, m, m + 1) + here)
                least = scale * xi + local + cost_window(costs, a, new, m, m + 1) - cost_here
                if not is_better(least, best):
                    continue
                count_change(events, a, labels, new, m, m + 1, change, work)
                inst, corp = penalties(objective, ledger, i, change, room)
                value = scale * xi + inst + corp
                if is_better(value, best):
                    best, arg, slack, instance, corpus = value, r, xi, inst, corp
                    for k in range(K):
                        best_change[k] = change[k]
            new[m] = arg
            if arg != present:
                labels[m] = arg
                accept(ledger, i, best_change, slack, instance, corpus)
                score, local = path_score(unary, step, kind, labels), cost_window(costs, a, labels, ZERO, T)
                extend_alpha(unary, step, kind, labels, loss, alpha, m, m + 1)
                switches += 1
    return switches
