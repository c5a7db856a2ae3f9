"""By how much the best labelling under rules with a certain label beats the best one with another label there.

One of the two is the best of all labellings; the other one is searched for, with the label of that token fixed or
forbidden.  Such a search starts with the multipliers of the first one and with the best labelling met on the way that
will do, and often ends there, because a bound says that no other is better.
"""

import numpy as np

from semistruct.chain.kernels import copy
from semistruct.compiled import inlined, kernel
from semistruct.search.bound_kernels import a_little_below, every_label, free_best, look_ahead, sharpen
from semistruct.search.search_kernels import climb, local_scores, search_sequence


@inlined
def restrict(row, z, fixed):
    """Forbid label z in the scores of a token, or all others."""
    for y in range(len(row)):
        if (y != z) == fixed:
            row[y] = -np.inf


@inlined
def search_restricted(scores, track, widths, multiplier, known, path):
    """Write the best labelling if it is better than `known`, the value of one; returns the higher value."""
    if known == -np.inf:
        return search_sequence(scores, track, widths, known, path)[0]
    T, Y = scores.unary.shape
    bound = every_label(T, Y)
    copy(multiplier, bound.multiplier)
    value, ceiling = sharpen(scores, track, bound, a_little_below(known), known, np.inf, path)
    if value < a_little_below(ceiling):
        value, _ = climb(scores, track, widths, bound, known, value, ceiling, path)
    return value


@inlined
def margins_of(scores, track, widths, path, margin):
    """margin[t] = the best value with path[t] at t minus the best one with another label there."""
    T, Y = scores.unary.shape
    bound, best, trial = every_label(T, Y), np.empty(T, np.int16), np.empty(T, np.int16)
    value, ceiling = free_best(scores, track, bound, best)
    if value < a_little_below(ceiling):
        look_ahead(scores, bound)
        value, _ = climb(scores, track, widths, bound, -np.inf, value, ceiling, best)
    known, row = np.full(T, -np.inf), np.empty(Y)
    for t in range(T):
        fixed = best[t] != path[t]
        copy(scores.unary[t], row)
        restrict(scores.unary[t], path[t], fixed)
        found = search_restricted(scores, track, widths, bound.multiplier, known[t], trial)
        copy(row, scores.unary[t])
        if found > known[t]:
            for s in range(T):
                if (trial[s] == path[s]) == (best[s] != path[s]):
                    known[s] = max(known[s], found)
        margin[t] = found - value if fixed else value - found


@kernel
def margins_under(which, scoring, track, widths, path, margin):
    """For each token of each sequence, see `margins_of`: path and margin (n_tokens,)."""
    for i in which:
        a, b = scoring.scorer.offsets[i], scoring.scorer.offsets[i + 1]
        margins_of(local_scores(scoring, i), track, widths, path[a:b], margin[a:b])
