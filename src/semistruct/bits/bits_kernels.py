"""The best labelling of a sequence when each rule has a price of its own at each place it speaks of.

A bit is 1 where a labelling obeys a rule.  Sequence i has the bits start[i]:start[i+1], in this order: one per token
and rule that speaks of it, one per step and rule that speaks of it, and one for all rules about blocks together (the
whole).  price[k] is what a labelling is worth more if bit k is 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.chain.kernels import copy, max_marginals, path_score, token_scores, viterbi
from semistruct.search.search_kernels import search_sequence

UNLIMITED = 2**31 - 1
FORBIDDEN = 1e5  # a value this far below the best one is that of a labelling that breaks a hard rule


class BitTables(NamedTuple):
    """Where the bits are.

    start (n+1,)      the bits of each sequence
    local             events of the rules about tokens and steps, as in `rules.tables`
    label, low, high  (B,) the blocks of `label` should be low to high in number
    events, targets, track, widths   the rules about blocks, for the search
    """

    start: np.ndarray
    local: NamedTuple
    label: np.ndarray
    low: np.ndarray
    high: np.ndarray
    events: NamedTuple
    targets: NamedTuple
    track: NamedTuple
    widths: np.ndarray


@njit(cache=True, nogil=True)
def whole_holds(bits, path):
    """No rule about blocks is broken."""
    for r in range(len(bits.label)):
        z, n = bits.label[r], 0
        for t in range(len(path)):
            n += path[t] == z and (t == 0 or path[t - 1] != z)
        if n < bits.low[r] or n > bits.high[r]:
            return False
    return True


@njit(cache=True, nogil=True)
def bits_of(bits, first, path, row):
    """Write the bits of a labelling; `first` is the number of its first token."""
    e, n = bits.local, 0
    for t in range(len(path)):
        for j in range(e.token_ptr[first + t], e.token_ptr[first + t + 1]):
            row[n] = 0.0 if e.test_mask[e.token_test[j], path[t]] else 1.0
            n += 1
    for t in range(1, len(path)):
        for j in range(e.step_ptr[first + t], e.step_ptr[first + t + 1]):
            row[n] = 0.0 if e.step_mask[e.step_test[j], path[t - 1], path[t]] else 1.0
            n += 1
    row[n] = 1.0 if whole_holds(bits, path) else 0.0


@njit(cache=True, nogil=True)
def add_prices(bits, first, price, step, kind, unary, tables):
    """Add the prices of tokens to unary, and write tables (T, Y, Y): the steps into each token with their prices."""
    e, n = bits.local, 0
    T, Y = unary.shape
    for t in range(T):
        for j in range(e.token_ptr[first + t], e.token_ptr[first + t + 1]):
            for y in range(Y):
                if not e.test_mask[e.token_test[j], y]:
                    unary[t, y] += price[n]
            n += 1
    for t in range(T):
        for y in range(Y):
            for z in range(Y):
                tables[t, y, z] = step[kind[t], y, z]
    for t in range(1, T):
        for j in range(e.step_ptr[first + t], e.step_ptr[first + t + 1]):
            for y in range(Y):
                for z in range(Y):
                    if not e.step_mask[e.step_test[j], y, z]:
                        tables[t, y, z] += price[n]
            n += 1


@njit(cache=True, nogil=True, inline="always")
def may_repeat(marginals, z, floor):
    """No bound says that labellings with two blocks of z are below floor: some t < s < r could be z, not z, z."""
    T, Y = marginals.shape
    phase = 0
    for t in range(T):
        if phase != 1:
            phase += marginals[t, z] >= floor
        else:
            for y in range(Y):
                if y != z and marginals[t, y] >= floor:
                    phase = 2
                    break
        if phase == 3:
            return True
    return False


@njit(cache=True, nogil=True, inline="always")
def may_lack(marginals, z, floor):
    """No bound says that labellings without z are below floor: every token could have another label."""
    T, Y = marginals.shape
    for t in range(T):
        other = -np.inf
        for y in range(Y):
            if y != z:
                other = max(other, marginals[t, y])
        if other < floor:
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def may_break(marginals, z, low, high, floor):
    """No bound says that labellings whose number of blocks of z is below low or above high are below floor."""
    if low > 1 or high < 1:
        return True
    return (low == 1 and may_lack(marginals, z, floor)) or (high < UNLIMITED and may_repeat(marginals, z, floor))


@njit(cache=True, nogil=True, inline="always")
def best_by_blocks(unary, tables, z, low, high, path):
    """The best labelling whose number of blocks of z is below low or above high; returns its value."""
    T, Y = unary.shape
    cap = low if high >= UNLIMITED else max(low, high + 1)  # counts from here on are all alike
    best, back = np.full((T, cap + 1, Y), -np.inf), np.zeros((T, cap + 1, Y), np.int64)
    for y in range(Y):
        best[0, min(1, cap) if y == z else 0, y] = unary[0, y]
    for t in range(1, T):
        for c in range(cap + 1):
            for y in range(Y):
                if best[t - 1, c, y] == -np.inf:
                    continue
                for x in range(Y):
                    d = min(c + 1, cap) if x == z and y != z else c
                    s = best[t - 1, c, y] + tables[t, y, x] + unary[t, x]
                    if s > best[t, d, x]:
                        best[t, d, x], back[t, d, x] = s, c * Y + y
    count, label, top = 0, 0, -np.inf
    for c in range(cap + 1):
        for y in range(Y):
            if (c < low or c > high) and best[T - 1, c, y] > top:
                count, label, top = c, y, best[T - 1, c, y]
    for t in range(T - 1, -1, -1):
        path[t] = label
        cell = back[t, count, label]
        count, label = cell // Y, cell % Y
    return top


@njit(cache=True, nogil=True, inline="always")
def best_broken(bits, unary, tables, kind, floor, path):
    """The best labelling that breaks a rule about blocks, if it is above floor; returns its value."""
    T, Y = unary.shape
    marginals, trial = np.empty((T, Y)), np.empty(T, np.int16)
    max_marginals(unary, tables, kind, marginals)
    for r in range(len(bits.label)):
        z, low, high = bits.label[r], bits.low[r], bits.high[r]
        if not may_break(marginals, z, low, high, floor):
            continue
        value = best_by_blocks(unary, tables, z, low, high, trial)
        if value > floor:
            floor = value
            copy(trial, path)
    return floor


@njit(cache=True, nogil=True)
def best_priced(bits, first, price, step, kind, unary, path):
    """The best labelling by  unary + steps + prices of its bits; returns its value.  Changes unary."""
    T, Y = unary.shape
    tables, best, places = np.empty((T, Y, Y)), np.empty((T, Y)), np.arange(T).astype(np.int16)
    add_prices(bits, first, price, step, kind, unary, tables)
    top, whole = viterbi(unary, tables, places, best, path), price[-1]
    holds = whole_holds(bits, path)
    if whole == 0 or holds == (whole > 0):
        return top + whole if holds else top
    if whole < 0:
        return best_broken(bits, unary, tables, places, top + whole, path)
    found, value = np.empty((1, T), np.int16), np.empty(1)
    search_sequence(
        unary, tables, places, first, bits.events, bits.targets, bits.track, bits.widths, top - whole, found, value
    )  # fmt: skip
    if value[0] + whole <= top or value[0] < top - FORBIDDEN:
        return top
    copy(found[0], path)
    return value[0] + whole


@njit(cache=True, nogil=True)
def best_priced_sequences(which, rows, tokens, step, bits, price, path, value):
    """`best_priced` for each sequence."""
    Y = tokens.shape[1]
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        unary, own = np.empty((b - a, Y)), price[bits.start[i] : bits.start[i + 1]]
        token_scores(rows.indptr, rows.indices, rows.values, tokens, a, unary)
        value[i] = best_priced(bits, a, own, step, rows.kind[a:b], unary, path[a:b])


@njit(cache=True, nogil=True)
def bits_of_sequences(which, offsets, bits, path, out):
    """`bits_of` for each sequence; out (number of all bits,)."""
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        bits_of(bits, a, path[a:b], out[bits.start[i] : bits.start[i + 1]])


@njit(cache=True, nogil=True)
def value_of_sequences(which, rows, tokens, step, bits, price, path, value):
    """What given labellings are worth by scores and prices."""
    Y = tokens.shape[1]
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        unary, own = np.empty((b - a, Y)), price[bits.start[i] : bits.start[i + 1]]
        row = np.empty(len(own))
        token_scores(rows.indptr, rows.indices, rows.values, tokens, a, unary)
        bits_of(bits, a, path[a:b], row)
        value[i] = path_score(unary, step, rows.kind[a:b], path[a:b])
        for k in range(len(own)):
            value[i] += own[k] * row[k]
