"""Bounds on what labellings of one sequence are worth under rules, and the labels that these bounds leave.

What makes a bound sharp are Lagrange multipliers on the numbers of blocks: every start of a block of label z pays
multiplier[z], and what the rules allow it to use of that is credited.  The best labelling that pays, without the
tracked terms, is then worth at least as much as the best one under the rules.  A label whose best labelling is worth
less than `floor` is struck; it often leaves one to three labels per token.
"""

import numpy as np

from semistruct.chain.kernels import copy, max_backward, path_score, viterbi
from semistruct.compiled import inlined, kernel
from semistruct.search.prefix_kernels import Bound, credit, nth_largest, tracked_cost

ROUNDS = 40  # of improving the multipliers, at most
PATIENCE = 3  # rounds without a better bound until the steps get smaller
FAILS = 4  # times that the steps may get smaller
LEAST_LEAD = 1e-3  # where there are ties


@inlined
def a_little_below(value):
    """By more than rounding may have done to it."""
    return value - 1e-9 * abs(value) - 1e-7 if value > -np.inf else value


@inlined
def max_of(counts):
    most = counts[0]
    for n in counts:
        most = max(most, n)
    return most


@kernel
def every_label(T, Y):
    """A bound without multipliers, to which all labels are left."""
    bound = Bound(np.zeros(Y), np.empty((T, Y)), np.empty((T, Y), np.int64), np.full(T, Y))
    for t in range(T):
        for z in range(Y):
            bound.label[t, z] = z
    return bound


@kernel
def free_best(scores, track, bound, path):
    """Write the best labelling without the tracked terms; returns (its true value, an upper bound on any value)."""
    ceiling = viterbi(scores.unary, scores.step, scores.kind, bound.ahead, path)
    return ceiling - tracked_cost(track, scores, path) if ceiling > -np.inf else ceiling, ceiling


@inlined
def look_ahead(scores, bound):
    """Fill bound.ahead, all labels being left and no multipliers paid."""
    max_backward(scores.unary, scores.step, scores.kind, bound.ahead)


@inlined
def strike(best, bound, floor):
    """Strike the labels that no labelling of at least `floor` has; best is what `forward` makes, credit included."""
    for t in range(len(bound.many)):
        n = 0
        for j in range(bound.many[t]):
            z = bound.label[t, j]
            most = best[t, z] + bound.ahead[t, z]
            if most >= floor and most > -np.inf:
                bound.label[t, n], n = z, n + 1
        bound.many[t] = n


@inlined
def forward(scores, bound, multiplier, start, best):
    """best[t, z] = start + the score of the best labels up to t that end in z, multipliers paid."""
    label, many = bound.label, bound.many
    for t in range(len(many)):
        for j in range(many[t]):
            best[t, label[t, j]] = start if t == 0 else -np.inf
        for i in range(many[t - 1] if t > 0 else 0):
            y = label[t - 1, i]
            b = best[t - 1, y]
            for j in range(many[t]):
                z = label[t, j]
                s = b + scores.step[scores.kind[t], y, z] + (multiplier[z] if y == z else 0.0)
                best[t, z] = s if s > best[t, z] else best[t, z]
        for j in range(many[t]):
            z = label[t, j]
            best[t, z] += scores.unary[t, z] - multiplier[z]


@kernel
def backward(scores, bound, multiplier):
    """Fill bound.ahead."""
    label, many, ahead = bound.label, bound.many, bound.ahead
    T = len(many)
    for j in range(many[T - 1]):
        ahead[T - 1, label[T - 1, j]] = 0.0
    for t in range(T - 2, -1, -1):
        for i in range(many[t]):
            y, top = label[t, i], -np.inf
            for j in range(many[t + 1]):
                z = label[t + 1, j]
                s = scores.step[scores.kind[t + 1], y, z] + scores.unary[t + 1, z] + ahead[t + 1, z]
                s -= 0.0 if y == z else multiplier[z]
                top = s if s > top else top
            ahead[t, y] = top


@inlined
def read_path(scores, bound, multiplier, best, path):
    """Write the best labelling and return its value; -inf if there is none."""
    label, many = bound.label, bound.many
    for t in range(len(many) - 1, -1, -1):
        top, arg = -np.inf, -1
        for i in range(many[t]):
            y = label[t, i]
            s = best[t, y]
            if t < len(many) - 1:
                z = path[t + 1]
                s += scores.step[scores.kind[t + 1], y, z] + (multiplier[z] if y == z else 0.0)
            if s > top:
                top, arg = s, y
        if arg < 0:
            return -np.inf
        path[t] = arg
        if t == len(many) - 1:
            value = top
    return value


@inlined
def improve(multiplier, limits, path, gap, stride):
    """A subgradient step towards multipliers under which the best labelling has an allowed number of blocks.

    gap     by how much the value of `path`, multipliers paid, should go down (Polyak)
    stride  by how much a multiplier may change for each block too many or too few
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
            new = multiplier[z] + min(gap / size, stride) * over[z]
            new = min(max(new, -limits[z].least_price), limits[z].most_price)
            if (multiplier[z] > 0 and new < 0) or (multiplier[z] < 0 and new > 0):
                new = 0.0
            moved = moved or new != multiplier[z]
            multiplier[z] = new
    return moved


@inlined
def usual_lead(best, bound):
    """By how much the best label of a token beats the next one: the median, which hard rules do not change much."""
    leads, n = np.empty(len(bound.many)), 0
    for t in range(len(bound.many)):
        top = second = -np.inf
        for j in range(bound.many[t]):
            z = bound.label[t, j]
            value = best[t, z] + bound.ahead[t, z]
            top, second = max(top, value), max(second, min(top, value))
        if second > -np.inf:
            leads[n], n = top - second, n + 1
    return max(nth_largest(leads, n, n // 2), LEAST_LEAD) if n > 0 else 1.0


@kernel
def sharpen(scores, track, bound, floor, value, ceiling, path):
    """Improve the multipliers, and strike labels that no labelling of at least `floor` has.

    value    of the labelling `path`, which is written over where a better one is met
    Returns (its value, an upper bound on the value of any labelling of at least floor).
    """
    T, Y = scores.unary.shape
    multiplier, best, trial = bound.multiplier.copy(), np.empty((T, Y)), np.empty(T, np.int16)
    stride, idle, fails = -1.0, 0, 0
    for _ in range(ROUNDS):
        forward(scores, bound, multiplier, credit(multiplier, track.limits), best)
        top = read_path(scores, bound, multiplier, best, trial)
        if top == -np.inf:
            return value, max(value, floor)
        true = path_score(scores.unary, scores.step, scores.kind, trial) - tracked_cost(track, scores, trial)
        if true > value:
            value = true
            copy(trial, path)
        idle += 1
        if top < ceiling or stride < 0:
            idle, stride = (0, 1.5 * stride) if top < a_little_below(ceiling) else (idle, stride)
            ceiling = min(top, ceiling)
            copy(multiplier, bound.multiplier)
            backward(scores, bound, multiplier)
            stride = stride if stride > 0 else usual_lead(best, bound)
            strike(best, bound, floor)
        if value >= a_little_below(ceiling) or ceiling < floor:
            break
        if idle >= PATIENCE:
            stride, idle, fails = min(stride, (ceiling - value) / 2) / 2, 0, fails + 1
            copy(bound.multiplier, multiplier)
        if fails == FAILS or not improve(multiplier, track.limits, trial, top - value, stride):
            break
    backward(scores, bound, bound.multiplier)
    return value, ceiling
