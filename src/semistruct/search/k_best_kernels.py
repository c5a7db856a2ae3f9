"""The k best labellings of one sequence under rules, by a beam search.

As in `search_kernels`, but prefixes that another one dominates stay, since the second best may come of them.  Prefixes
whose last label stays are extended first; if these fill the layer, others whose bound is below theirs have no place in
it.
"""

import numpy as np

from semistruct.chain.kernels import copy, equal
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ZERO
from semistruct.search.bound_kernels import a_little_below, every_label, free_best, look_ahead, max_of, sharpen
from semistruct.search.prefix_kernels import (
    PREFIX,
    Prefixes,
    advance,
    begin,
    best_prefix,
    extend,
    keep_best,
    settle,
    trace_back,
)
from semistruct.search.search_kernels import BUDGET, GROWTH, PRICE, local_scores


@kernel
def search_k(scores, bound, track, width, floor, paths, values):
    """Write the best labellings and their values, -inf where fewer were found; returns (exact or not, its cost)."""
    T = len(scores.unary)
    room = width * max_of(bound.many)
    old, trace = begin(bound, track, width), np.empty((T, 2, width), np.int32)
    new = Prefixes(np.empty(room, PREFIX), np.empty((room, track.size), np.int64))
    hits, spare, exact, alive = np.empty(track.hits, np.int64), np.empty(room), True, 1
    work = 0.0
    for t in range(T):
        n, many, cut = ZERO, 0, floor
        for j in range(2 * alive):
            p, stays = j % alive, j < alive
            if j == alive and n == width:
                least = np.inf
                for i in range(n):
                    least = min(least, new.state[i].score + new.state[i].rest)
                cut = max(floor, least)
            y, run = old.state[p].label, old.state[p].run
            work += bound.many[t]
            for i in range(bound.many[t]):
                z = bound.label[t, i]
                if (y == z) != stays:
                    continue
                s, r, due = extend((old.state[p], old.rows[p]), scores, bound, track, t, z)
                if not s + r - due >= floor or s == -np.inf:
                    continue
                if s + r - due < cut:
                    many += 1
                    continue
                work += PRICE
                for g in range(track.size):
                    new.rows[n, g] = old.rows[p, g]
                s -= advance(track, scores, t, y, run, z, new.rows[n], hits)
                if t == T - 1:
                    r = 0.0
                if s + r >= floor:
                    one = new.state[n]
                    one.score, one.rest, one.label, one.parent = s, r, z, p
                    one.run = min(run + 1, track.longest) if y == z else 1
                    many, n = many + 1, n + 1
        if many > width:
            exact = False
            n = keep_best(width, n, new, spare)
        alive = settle(t, n, new, old, bound.ahead, trace)
    for r in range(len(values)):
        best = best_prefix(old.state, alive)
        values[r] = -np.inf
        if best >= 0:
            values[r], old.state[best].score = old.state[best].score, -np.inf
            trace_back(trace, best, paths[r])
    return exact, work


@kernel
def merge_best(paths, values, found, value_of):
    """Put the labellings found among those known, the best first; wider searches may miss what narrower ones found."""
    n = len(values)
    for r in range(n):
        place, known = 0, value_of[r] == -np.inf
        for p in range(n):
            place += values[p] >= value_of[r]
            known = known or (a_little_below(values[p]) <= value_of[r] and equal(paths[p], found[r]))
        if known or place == n:
            continue
        for later in range(n - 1, place, -1):
            values[later] = values[later - 1]
            copy(paths[later - 1], paths[later])
        values[place] = value_of[r]
        copy(found[r], paths[place])


@inlined
def k_best_sequence(scores, track, widths, within, paths, values):
    """Write the best labellings and their values; returns upper bounds on the value of any, and of any other labelling.

    within  those whose value is further below the best may be left out
    """
    T, Y = scores.unary.shape
    bound, found, work = every_label(T, Y), np.empty((len(paths), T), np.int16), 0.0
    value_of, floor = np.empty(len(values)), -np.inf
    for r in range(len(values)):
        values[r] = -np.inf
    values[0], ceiling = free_best(scores, track, bound, paths[0])
    if ceiling == -np.inf:
        return ceiling, ceiling
    look_ahead(scores, bound)
    for width in widths:
        floor = max(floor, a_little_below(values[0] - within))
        exact, spent = search_k(scores, bound, track, width, floor, found, value_of)
        merge_best(paths, values, found, value_of)
        floor = max(floor, a_little_below(values[-1]))
        if exact:
            return values[0], max(values[-1], values[0] - within)
        work += spent
        if work + GROWTH * spent > BUDGET:
            break
        for r in range(len(values)):
            value_of[r] = -np.inf
        copy(paths[0], found[0])
        value_of[0], ceiling = sharpen(scores, track, bound, floor, values[0], ceiling, found[0])
        merge_best(paths, values, found, value_of)
    return ceiling, ceiling


@kernel
def k_best_sequences(which, scoring, track, widths, within, labels, values, ceiling, unseen):
    """The best labellings of each sequence: labels (k, n_tokens), values (n, k).

    ceiling, unseen (n,): upper bounds on the value of any labelling, and of any that is not among these
    """
    for i in which:
        a, b = scoring.scorer.offsets[i], scoring.scorer.offsets[i + 1]
        found = labels[:, a:b].copy()
        bounds = k_best_sequence(local_scores(scoring, i), track, widths, within, found, values[i])
        ceiling[i], unseen[i] = bounds
        for r in range(len(found)):
            copy(found[r], labels[r, a:b])
