"""The best labelling of one sequence under rules that see more than two neighbouring labels.

Partial labellings (`prefix_kernels`) grow from left to right, one layer of them per position.  A prefix that another
one dominates is struck, and so is one whose bound

    score of the prefix - its penalty + the best score of any rest    (`ahead`, see `bound_kernels`)

is below `floor`, the value of a labelling already known.  If no layer outgrows its width the result is exact; else it
is that of a beam search.  Narrow searches come first: what they find is a floor by which bounds are sharpened and
labels are struck before the next, wider one.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, token_scores
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ZERO
from semistruct.search.bound_kernels import a_little_below, every_label, free_best, look_ahead, max_of, sharpen
from semistruct.search.prefix_kernels import (
    MATTER,
    PREFIX,
    Prefixes,
    Scores,
    advance,
    begin,
    best_prefix,
    enter,
    extend,
    keep_best,
    last_starts,
    lowest_kept,
    settle,
    trace_back,
    what_matters,
)

GROWTH = 4  # of the widths of searches that follow each other
BUDGET = 2e6  # prefixes that the searches for one sequence may look at: about a tenth of a second
PRICE = 10  # of a prefix that is kept, in prefixes looked at


@inlined
def search(scores, bound, track, width, floor, path):
    """Write the best labelling with a value of at least floor; returns (its value or -inf, exact or not, its cost)."""
    T, Y = scores.unary.shape
    room = width * max_of(bound.many)
    old, trace = begin(bound, track, width), np.empty((T, 2, width), np.int32)
    new = Prefixes(np.empty(room, PREFIX), np.empty((room, track.size), np.int64))
    head, following, spare = np.empty(Y, np.int64), np.empty(room, np.int64), np.empty(room)
    hits, exact, alive, work = np.empty(track.hits, np.int64), True, 1, 0.0
    last, matter = np.empty(Y, np.int64), np.empty(track.size, MATTER)
    last_starts(bound, last)
    for t in range(T):
        n, many, cut, check = ZERO, 0, floor, 2 * width
        matters = matter[: what_matters(track, last, t, matter)]
        for z in range(Y):
            head[z] = -1
        for p in range(alive):
            y, run = old.state[p].label, old.state[p].run
            work += bound.many[t]
            for j in range(bound.many[t]):
                z = bound.label[t, j]
                s, r, due = extend((old.state[p], old.rows[p]), scores, bound, track, t, z)
                if not s + r - due >= cut or s == -np.inf:
                    exact = exact and not s + r - due >= floor
                    continue
                work += PRICE
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
                many += enter(matters, new, head, following, n)
                n += head[z] == n
                if many >= check:  # too many: those below the best of them will not be kept
                    cut, check = lowest_kept(width, n, new, spare), many + width
        if many > width:
            exact = False
            n = keep_best(width, n, new, spare)
        alive = settle(t, n, new, old, bound.ahead, trace)
    best = best_prefix(old.state, alive)
    if best < 0:
        return -np.inf, exact, work
    trace_back(trace, best, path)
    return old.state[best].score, exact, work


@kernel
def climb(scores, track, widths, bound, least, value, ceiling, path):
    """From a labelling and its value to the best one, by searches that get wider until one is exact.

    least  labellings with a lower value are of no interest
    Returns as `search_sequence` does.
    """
    trial, work = np.empty(len(path), np.int16), 0.0
    for width in widths:
        floor = max(a_little_below(value), least)
        found, exact, spent = search(scores, bound, track, width, floor, trial)
        if found > value:
            value = found
            copy(trial, path)
        if not exact and value < a_little_below(ceiling):
            floor = max(a_little_below(value), least)
            value, ceiling = sharpen(scores, track, bound, floor, value, ceiling, path)
        if exact or value >= a_little_below(ceiling) or ceiling < least:
            return value, max(value, min(ceiling, least))
        work += spent
        if work + GROWTH * spent > BUDGET:
            break
    return value, ceiling


@inlined
def search_sequence(scores, track, widths, least, path):
    """Write the best labelling of one sequence: Viterbi if that obeys, else a search.

    widths  of the searches, growing
    least   labellings with a lower value are of no interest
    Returns (its value, an upper bound on the value of any labelling: the value itself if that is certain).
    """
    bound = every_label(scores.unary.shape[0], scores.unary.shape[1])
    value, ceiling = free_best(scores, track, bound, path)
    if value >= a_little_below(ceiling):
        return value, value
    if ceiling < least:
        return value, ceiling
    look_ahead(scores, bound)
    return climb(scores, track, widths, bound, least, value, ceiling, path)


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
