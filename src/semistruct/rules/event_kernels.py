"""Counting what rules count, on arrays; see `tables` for the arrays.

first      number of the first token of the sequence among all tokens
y (T,)     labels of the sequence
row        one count per term
"""

import numpy as np
from numba import njit

ZERO = np.int64(0)  # a bare 0 would be a type of its own to the compiler


@njit(cache=True, nogil=True)
def count_window(events, first, y, s, e, sign, row):
    """Add sign times the events to row that labels y[s:e] have a part in: at the tokens and at the steps into s..e."""
    T = len(y)
    for t in range(s, e):
        z = y[t]
        for j in range(events.token_ptr[first + t], events.token_ptr[first + t + 1]):
            q = events.token_test[j]
            if events.test_mask[q, z]:
                row[events.test_term[q]] += sign
        for j in range(events.label_ptr[z], events.label_ptr[z + 1]):
            row[events.label_term[j]] += sign
    for t in range(s, min(e + 1, T)):
        if t == 0 or y[t] != y[t - 1]:
            for j in range(events.start_ptr[y[t]], events.start_ptr[y[t] + 1]):
                row[events.start_term[j]] += sign
            if t > 0:
                for j in range(events.step_ptr[first + t], events.step_ptr[first + t + 1]):
                    q = events.step_test[j]
                    if events.step_mask[q, y[t - 1], y[t]]:
                        row[events.step_term[q]] += sign
    if len(events.length_term):
        _count_lengths(events, y, s, e, sign, row)
    if len(events.order_term):
        _count_disorder(events, y, sign, row)


@njit(cache=True, nogil=True)
def _count_lengths(events, y, s, e, sign, row):
    """The blocks that touch s-1..e."""
    T = len(y)
    a = max(s - 1, 0)
    while a > 0 and y[a - 1] == y[a]:
        a -= 1
    while a <= e and a < T:
        b = a + 1
        while b < T and y[b] == y[a]:
            b += 1
        for q in range(len(events.length_term)):
            if events.length_mask[q, y[a]] and (b - a < events.least[q] or b - a > events.most[q]):
                row[events.length_term[q]] += sign
        a = b


@njit(cache=True, nogil=True)
def _count_disorder(events, y, sign, row):
    """Of the whole sequence: one label can be out of order with any other."""
    for q in range(len(events.order_term)):
        seen = False
        for t in range(len(y)):
            if y[t] == events.order_then[q]:
                seen = True
            elif seen and y[t] == events.order_first[q] and y[t - 1] != y[t]:
                row[events.order_term[q]] += sign


@njit(cache=True, nogil=True)
def count_sequences(which, events, offsets, y, counts):
    """counts[i] = the row of sequence i."""
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        for k in range(counts.shape[1]):
            counts[i, k] = 0.0
        count_window(events, a, y[a:b], ZERO, b - a, 1.0, counts[i])


@njit(cache=True, nogil=True)
def distance(targets, k, value):
    """How far a value of term k lies outside its range, in its unit."""
    if value < targets.low[k]:
        return (targets.low[k] - value) * targets.unit[k]
    if value > targets.high[k]:
        return (value - targets.high[k]) * targets.unit[k]
    return 0.0


@njit(cache=True, nogil=True)
def penalty(targets, which, row, n_tokens, n_sequences):
    """The penalty of the terms `which`: those of one sequence, or those of the corpus for the sum of all rows.

    Joint terms of a rule follow each other.
    """
    total, joint = 0.0, 0.0
    for j in range(len(which)):
        k = which[j]
        per = targets.per[k]
        divisor = 1.0 if per == -1 else n_tokens if per == -2 else n_sequences if per == -3 else row[per]
        v = distance(targets, k, row[k] / divisor) if divisor > 0 else 0.0
        if targets.group[k] >= 0:
            joint += v > 0
            if j + 1 < len(which) and targets.group[which[j + 1]] == targets.group[k]:
                continue
            v, joint = joint, 0.0
        total += targets.weight[k] * (v * v if targets.power[k] == 2 else v)
    return total


@njit(cache=True, nogil=True)
def total_of(counts, totals):
    """totals = the sum of the rows, added in order so that it does not depend on threads."""
    for k in range(counts.shape[1]):
        totals[k] = 0.0
    for i in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            totals[k] += counts[i, k]
