"""The best labelling of one sequence under rules that see more than two neighbouring labels.

Partial labellings (`prefix_kernels`) grow from left to right, one layer of them per position.  A prefix that another
one dominates is struck, and so is one whose bound

    score of the prefix - its penalty + the best score of any rest    (`ahead`, a max-backward pass)

is below `floor`, the value of a labelling already known.  If no layer outgrows its width the result is exact; else it
is that of a beam search.  What makes the bound sharp are Lagrange multipliers on the numbers of blocks: every start of
a block of label z pays multiplier[z], and what the rules allow it to use of that is credited.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, max_backward, path_score, token_scores, viterbi
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ZERO
from semistruct.search.prefix_kernels import (
    PREFIX,
    Bound,
    Prefixes,
    Scores,
    advance,
    begin,
    best_prefix,
    credit,
    enter,
    extend,
    keep_best,
    settle,
    trace_back,
    tracked_cost,
)

ROUNDS = 12  # of improving the multipliers
BUDGET = 2e8  # numbers that the states of one search may hold: some tenths of a second


@inlined
def a_little_below(value):
    """By more than rounding may have done to it."""
    return value - 1e-9 * abs(value) - 1e-7 if value > -np.inf else value


@kernel
def search(scores, bound, track, width, floor, path):
    """Write the best labelling with a value of at least floor; returns (its value or -inf, exact or not)."""
    T, Y = scores.unary.shape
    room = width * Y
    old, trace = begin(bound, track, width), np.empty((T, 2, width), np.int32)
    new = Prefixes(np.empty(room, PREFIX), np.empty((room, track.size), np.int64))
    head, following, spare = np.empty(Y, np.int64), np.empty(room, np.int64), np.empty(room)
    hits, exact, alive = np.empty(track.hits, np.int64), True, 1
    for t in range(T):
        n, many = ZERO, 0
        for z in range(Y):
            head[z] = -1
        for p in range(alive):
            y, run = old.state[p].label, old.state[p].run
            for z in range(Y):
                s, r = extend((old.state[p], old.rows[p]), scores, bound, track, t, z)
                if not s + r >= floor or s == -np.inf:
                    continue
                for g in range(track.size):
                    new.rows[n, g] = old.rows[p, g]
                s -= advance(track, scores, t, y, run, z, new.rows[n], hits)
                if t == T - 1:
                    r = 0.0
                if not s + r >= floor:
                    continue
                one = new.state[n]
                one.score, one.rest, one.label, one.parent = s, r, z, p
                one.run = min(run + 1, track.longest) if y == z else 1
                if t == T - 1:
                    many, n = many + 1, n + 1
                    continue
                many += enter(track.terms, new, head, following, n)
                n += head[z] == n
        if many > width:
            exact = False
            n = keep_best(width, n, new, spare)
        alive = settle(t, n, new, old, bound.ahead, trace)
    best = best_prefix(old.state, alive)
    if best < 0:
        return -np.inf, exact
    trace_back(trace, best, path)
    return old.state[best].score, exact


@inlined
def too_much(scores, track, width):
    """A search of this width may hold more than the budget."""
    T, Y = scores.unary.shape
    return float(T) * width * Y * (track.size + 8) > BUDGET


@inlined
def pay(scores, multiplier, unary, step):
    """Scores in which every start of a block of z costs multiplier[z]: all labels pay, those that stay get it back."""
    T, Y = unary.shape
    for t in range(T):
        for y in range(Y):
            unary[t, y] = scores.unary[t, y] - multiplier[y]
    for k in range(len(step)):
        for y in range(Y):
            step[k, y, y] = scores.step[k, y, y] + multiplier[y]


@inlined
def improve(multiplier, limits, path, gap):
    """Polyak's subgradient step towards multipliers under which the best labelling has an allowed number of blocks.

    gap  by how much the value of `path`, multipliers paid, exceeds that of the best labelling known
    Returns whether any multiplier has changed.
    """
    if not gap < np.inf:
        return False
    over = np.zeros(len(multiplier))
    for t in range(len(path)):
        over[path[t]] += t == 0 or path[t] != path[t - 1]
    size = 0.0
    for z in range(len(multiplier)):
        if multiplier[z] > 0 or over[z] > limits[z].most:
            over[z] -= limits[z].most
        elif multiplier[z] < 0 or over[z] < limits[z].least:
            over[z] -= limits[z].least
        else:
            over[z] = 0.0
        size += over[z] * over[z]
    moved = False
    for z in range(len(multiplier)):
        if over[z] != 0:
            new = min(max(multiplier[z] + gap / size * over[z], -limits[z].least_price), limits[z].most_price)
            if (multiplier[z] > 0 and new < 0) or (multiplier[z] < 0 and new > 0):
                new = 0.0
            moved = moved or new != multiplier[z]
            multiplier[z] = new
    return moved


@kernel
def relax(scores, track, least, bound, path):
    """Labellings without the tracked terms, multipliers paid: the best one met by its true value is written.

    Returns (its value, an upper bound on the value of any labelling), which may be below `least`.  The multipliers that
    belong to it are left in `bound`.
    """
    T, Y = scores.unary.shape
    multiplier, step, unary = np.zeros(Y), scores.step.copy(), np.empty((T, Y))
    value, ceiling, trial = -np.inf, np.inf, np.empty(T, np.int16)
    for _ in range(ROUNDS):
        pay(scores, multiplier, unary, step)
        top = viterbi(unary, step, scores.kind, bound.ahead, trial) + credit(multiplier, track.limits)
        if top < ceiling:
            ceiling = top
            copy(multiplier, bound.multiplier)
        if top == -np.inf:
            return top, top
        true = path_score(scores.unary, scores.step, scores.kind, trial) - tracked_cost(track, scores, trial)
        if true > value:
            value = true
            copy(trial, path)
        if (
            value >= a_little_below(ceiling)
            or ceiling < least
            or not improve(multiplier, track.limits, trial, top - value)
        ):
            break
    return value, ceiling


@inlined
def look_ahead(scores, bound):
    """Fill bound.ahead."""
    step, unary = scores.step.copy(), np.empty(scores.unary.shape)
    pay(scores, bound.multiplier, unary, step)
    max_backward(unary, step, scores.kind, bound.ahead)


@inlined
def search_sequence(scores, track, widths, least, path):
    """Write the best labelling of one sequence: Viterbi if that obeys, else a search.

    widths  of the searches, growing; each finds a better floor for the next, until one is exact
    least   labellings with a lower value are of no interest
    Returns (its value, an upper bound on the value of any labelling: the value itself if that is certain).
    """
    T, Y = scores.unary.shape
    bound, trial = Bound(np.zeros(Y), np.empty((T, Y))), np.empty(T, np.int16)
    value, ceiling = relax(scores, track, least, bound, path)
    if value >= a_little_below(ceiling):
        return value, value
    if ceiling < least:
        return value, ceiling
    look_ahead(scores, bound)
    floor = max(a_little_below(value), least)
    for width in widths:
        if width > widths[0] and too_much(scores, track, width):
            break
        found, exact = search(scores, bound, track, width, floor, trial)
        if found > value:
            value = found
            copy(trial, path)
        floor = max(floor, a_little_below(value))
        if exact or value >= a_little_below(ceiling):
            return value, max(value, min(ceiling, least))
    return value, ceiling


class Scoring(NamedTuple):
    """How sequences are scored for a search:  scale * score of the model + bonus - costs of local rules.

    costs   of the rules, by class
    step    (kinds of steps * classes of steps, Y, Y) scaled, with the costs of local rules
    bonus   (n_tokens, Y), or empty
    known   (n_tokens,) labels, or empty: other labels than a known one are forbidden
    """

    scorer: NamedTuple
    costs: NamedTuple
    step: np.ndarray
    scale: float
    bonus: np.ndarray
    known: np.ndarray


@kernel
def local_scores(scoring, i):
    """The Scores of sequence i."""
    scorer, costs, bonus, known = scoring.scorer, scoring.costs, scoring.bonus, scoring.known
    a, b = scorer.offsets[i], scorer.offsets[i + 1]
    Y, S = scorer.tokens.shape[1], len(costs.step)
    unary, kind = np.empty((b - a, Y)), np.empty(b - a, np.int16)
    token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
    for t in range(b - a):
        kind[t] = scorer.kind[a + t] * S + costs.step_class[a + t]
        c = costs.token_class[a + t]
        for y in range(Y):
            unary[t, y] = scoring.scale * unary[t, y] - costs.token[c, y]
            if t == 0:
                unary[t, y] -= costs.step[costs.step_class[a], Y, y]
            if len(bonus):
                unary[t, y] += bonus[a + t, y]
            if len(known) and known[a + t] >= 0 and known[a + t] != y:
                unary[t, y] = -np.inf
    return Scores(unary, scoring.step, kind, a)


@kernel
def search_sequences(which, scoring, track, widths, labels, values, ceiling):
    """The best labelling of each sequence: labels (n_tokens,), values (n,), and upper bounds on any value (n,)."""
    for i in which:
        a, b = scoring.scorer.offsets[i], scoring.scorer.offsets[i + 1]
        scores = local_scores(scoring, i)
        values[i], ceiling[i] = search_sequence(scores, track, widths, -np.inf, labels[a:b])
