"""The best labelling of a sequence when each rule has a price of its own at each place where it applies.

A bit is 1 where a labelling obeys a rule.  Sequence i has the bits start[i]:start[i+1], in this order: for every token
those of the rules that apply to it and those of the rules that apply to the step into it, and last one for all rules
about blocks together (the whole).  price[k] is what a labelling is worth more if bit k is 1.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, max_marginals, path_score, token_scores, viterbi
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import cell_of_steps, cell_of_token
from semistruct.search.prefix_kernels import Scores
from semistruct.search.search_kernels import search_sequence

UNLIMITED = 2**31 - 1
FORBIDDEN = 1e5  # a value this far below the best one is that of a labelling that breaks a hard rule


class BitTables(NamedTuple):
    """Where the bits are.

    start (n+1,)      the bits of each sequence
    events            of the rules about tokens and steps, as in `rules.tables`
    token_bits, step_bits (n_tokens,)   how many bits a token, and the step into it, have
    bit                                 for every entry of events, which of these bits it makes 0
    label, low, high  (B,) the blocks of `label` should be low to high in number
    track, widths     the rules about blocks, for the search
    """

    start: np.ndarray
    events: NamedTuple
    token_bits: np.ndarray
    step_bits: np.ndarray
    bit: np.ndarray
    label: np.ndarray
    low: np.ndarray
    high: np.ndarray
    track: NamedTuple
    widths: np.ndarray


@kernel
def whole_holds(bits, path):
    """No rule about blocks is broken."""
    for r in range(len(bits.label)):
        z, n = bits.label[r], 0
        for t in range(len(path)):
            n += path[t] == z and (t == 0 or path[t - 1] != z)
        if n < bits.low[r] or n > bits.high[r]:
            return False
    return True


@kernel
def bits_of(bits, first, path, row):
    """Write the bits of a labelling; `first` is the number of its first token."""
    e, n, Y = bits.events, 0, len(bits.events.mark)
    for k in range(len(row)):
        row[k] = 1.0
    for t in range(len(path)):
        cell = cell_of_token(e, first + t) + path[t]
        for j in range(e.ptr[cell], e.ptr[cell + 1]):
            row[n + bits.bit[j]] = 0.0
        n += bits.token_bits[first + t]
        if t > 0:
            cell = cell_of_steps(e, e.step_class[first + t]) + path[t - 1] * Y + path[t]
            for j in range(e.ptr[cell], e.ptr[cell + 1]):
                row[n + bits.bit[j]] = 0.0
            n += bits.step_bits[first + t]
    if not whole_holds(bits, path):
        row[n] = 0.0


@kernel
def add_prices(bits, first, price, step, kind, unary, tables):
    """Add the prices of tokens to unary, and write tables (T, Y, Y): the steps into each token with their prices."""
    e, n = bits.events, 0
    T, Y = unary.shape
    for t in range(T):
        total = 0.0
        for k in range(bits.token_bits[first + t]):
            total += price[n + k]
        for y in range(Y):
            unary[t, y] += total
            cell = cell_of_token(e, first + t) + y
            for j in range(e.ptr[cell], e.ptr[cell + 1]):
                unary[t, y] -= price[n + bits.bit[j]]
        n += bits.token_bits[first + t]
        if t == 0:
            continue
        total = 0.0
        for k in range(bits.step_bits[first + t]):
            total += price[n + k]
        for y in range(Y):
            for z in range(Y):
                tables[t, y, z] = step[kind[t], y, z] + total
                cell = cell_of_steps(e, e.step_class[first + t]) + y * Y + z
                for j in range(e.ptr[cell], e.ptr[cell + 1]):
                    tables[t, y, z] -= price[n + bits.bit[j]]
        n += bits.step_bits[first + t]


@inlined
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


@inlined
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


@inlined
def may_break(marginals, z, low, high, floor):
    """No bound says that labellings whose number of blocks of z is below low or above high are below floor."""
    if low > 1 or high < 1:
        return True
    return (low == 1 and may_lack(marginals, z, floor)) or (high < UNLIMITED and may_repeat(marginals, z, floor))


@inlined
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


@inlined
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


@kernel
def best_priced(bits, first, price, step, kind, unary, path):
    """The best labelling by  unary + steps + prices of its bits; returns its value.  Changes unary."""
    T, Y = unary.shape
    tables, best, places = np.zeros((T, Y, Y)), np.empty((T, Y)), np.arange(T).astype(np.int16)
    add_prices(bits, first, price, step, kind, unary, tables)
    top, whole = viterbi(unary, tables, places, best, path), price[-1]
    holds = whole_holds(bits, path)
    if whole == 0 or holds == (whole > 0):
        return top + whole if holds else top
    if whole < 0:
        return best_broken(bits, unary, tables, places, top + whole, path)
    found, scores = np.empty(T, np.int16), Scores(unary, tables, places, first)
    value, _ = search_sequence(scores, bits.track, bits.widths, top - whole, found)
    if value + whole <= top or value < top - FORBIDDEN:
        return top
    copy(found, path)
    return value + whole


@kernel
def best_priced_sequences(which, scorer, bits, price, path, value):
    """`best_priced` for each sequence."""
    Y = scorer.tokens.shape[1]
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary, own = np.empty((b - a, Y)), price[bits.start[i] : bits.start[i + 1]]
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        value[i] = best_priced(bits, a, own, scorer.step, scorer.kind[a:b], unary, path[a:b])


@kernel
def bits_of_sequences(which, offsets, bits, path, out):
    """`bits_of` for each sequence; out (number of all bits,)."""
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        bits_of(bits, a, path[a:b], out[bits.start[i] : bits.start[i + 1]])


@kernel
def value_of_sequences(which, scorer, bits, price, path, value):
    """What given labellings are worth by scores and prices."""
    Y = scorer.tokens.shape[1]
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary, own = np.empty((b - a, Y)), price[bits.start[i] : bits.start[i + 1]]
        row = np.empty(len(own))
        token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
        bits_of(bits, a, path[a:b], row)
        value[i] = path_score(unary, scorer.step, scorer.kind[a:b], path[a:b])
        for k in range(len(own)):
            value[i] += own[k] * row[k]
