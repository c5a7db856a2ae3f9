"""What happens at a token, and what it costs: the one definition that counting, switching, search and bits read.

Events     what happens where (N tokens, Y labels); terms of rules are numbered k
targets    where the counts of the terms should lie: an array of TARGET records
first      number of the first token of a sequence among all tokens
y (T,)     labels of the sequence
row (K,)   one count per term
work       room for two rows of marks of all labels and for what `happens` writes: `RuleTables.room` numbers
"""

from typing import NamedTuple

import numpy as np

from semistruct.compiled import inlined, kernel

ITSELF, PER_TOKEN, PER_SEQUENCE = -1, -2, -3
"""What a count is divided by, unless that is the count of another term: nothing, tokens, sequences."""
NO_TERM = -1  # where a term could be named
ALONE = -1  # the group of a term that has a penalty of its own
NO_MARK = -1  # of a label whose occurrence no rule needs to remember
ZERO = np.int64(0)  # a bare 0 would be a type of its own to the compiler

TARGET = np.dtype(
    [
        ("low", "f8"), ("high", "f8"), ("unit", "f8"), ("weight", "f8"), ("power", "i8"), ("per", "i8"),
        ("group", "i8"), ("needs", "i8"), ("bars", "i8"),
    ]
)  # fmt: skip
"""A term should lie in [low, high]; outside it costs weight * (unit * distance)^power.

per    ITSELF, PER_TOKEN, PER_SEQUENCE, or the number of the term by whose count it is divided
group  terms of one group have one penalty, on the number of those that are out of range; or ALONE
needs  the number of a term whose count must not be 0 for this one to matter, or NO_TERM
bars   the number of one whose count must be 0, or NO_TERM
"""


ENTRY = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("mark", "i8")])
"""Term `term` has an event: where a block ends if it is shorter than least or longer than most, where one begins if the
mark was set before, and always at tokens and steps."""


class Events(NamedTuple):
    """What happens where: lists of entries in cells, those of cell c being entry[ptr[c]:ptr[c + 1]].

    z                               the cell of what happens where a block of label z begins
    Y + z                           ... where a block of label z ends
    cell_of_token + z               ... where the token has label z
    cell_of_steps + y * Y + z       ... where it has label z after label y at the token before; y = Y if it is the first
    token_class, step_class (N,)    of the tokens and of the steps into them; those of a class share their cells
    first_step                      the first cell of steps
    mark (Y,)                       the mark that a label sets by occurring, or NO_MARK
    """

    token_class: np.ndarray
    step_class: np.ndarray
    first_step: int
    ptr: np.ndarray
    entry: np.ndarray
    mark: np.ndarray


@inlined
def cell_of_token(events, token):
    """The first of the cells of a token."""
    return (2 + events.token_class[token]) * len(events.mark)


@inlined
def cell_of_steps(events, step_class):
    """The first of the cells of the steps of a class."""
    Y = len(events.mark)
    return events.first_step + step_class * (Y + 1) * Y


@inlined
def happens(events, token, last, y, run, z, seen, hits):
    """Write the terms that have an event where label z follows a block of `run` tokens of y; returns how many.

    y = Y at the first token; last: the sequence ends here; seen: the marks that earlier labels have set.
    """
    ptr, entry, Y, n = events.ptr, events.entry, len(events.mark), 0
    cell = cell_of_token(events, token) + z
    for j in range(ptr[cell], ptr[cell + 1]):
        hits[n], n = entry[j].term, n + 1
    cell = cell_of_steps(events, events.step_class[token]) + y * Y + z
    for j in range(ptr[cell], ptr[cell + 1]):
        hits[n], n = entry[j].term, n + 1
    if y != z:
        for j in range(ptr[z], ptr[z + 1]):
            if seen[entry[j].mark]:
                hits[n], n = entry[j].term, n + 1
    if ptr[2 * Y] > ptr[Y]:  # some rule is about lengths
        for end in range(2):  # of the block of y, and of that of z
            block, length = (y, run) if end == 0 else (z, run + 1 if y == z else 1)
            if last if end else y != z and y < Y:
                for j in range(ptr[Y + block], ptr[Y + block + 1]):
                    if length < entry[j].least or length > entry[j].most:
                        hits[n], n = entry[j].term, n + 1
    return n


@kernel
def count_window(events, first, y, s, e, sign, row, work):
    """Add sign times the events to row that labels y[s:e] have a part in, and perhaps others later on.

    What is taken out before these labels change, and put in again afterwards, leaves the counts of the new labels.
    """
    T, Y = len(y), len(events.mark)
    seen, hits = work[:Y], work[Y:]
    stop, run, ordered = min(e + 1, T), s, events.ptr[Y] > 0
    if events.ptr[2 * Y] > events.ptr[Y]:  # lengths: from the block before s to the end of that at e
        while run > 0 and y[run - 1] == y[s - 1]:
            run -= 1
        run = s - run
        while stop < T and y[stop] == y[stop - 1]:
            stop += 1
        stop = min(stop + 1, T)
    if ordered:  # any later block may be out of order
        stop = T
        for m in range(Y):
            seen[m] = 0
        for t in range(s):
            if events.mark[y[t]] >= 0:
                seen[events.mark[y[t]]] = 1
    for t in range(s, stop):
        z, before = np.int64(y[t]), np.int64(y[t - 1]) if t > 0 else Y
        for j in range(happens(events, first + t, t == T - 1, before, run, z, seen, hits)):
            row[hits[j]] += sign
        run = run + 1 if before == z else 1
        if ordered and events.mark[z] >= 0:
            seen[events.mark[z]] = 1


@kernel
def count_sequences(which, events, offsets, y, room, counts):
    """counts[i] = the row of sequence i."""
    work = np.empty(room, np.int64)
    for i in which:
        a, b = offsets[i], offsets[i + 1]
        for k in range(counts.shape[1]):
            counts[i, k] = 0.0
        count_window(events, a, y[a:b], ZERO, b - a, 1.0, counts[i], work)


@inlined
def distance(target, value):
    """How far a value lies outside the range of its term, in its unit."""
    if value < target.low:
        return (target.low - value) * target.unit
    if value > target.high:
        return (value - target.high) * target.unit
    return 0.0


@inlined
def matters(target, row):
    """The condition of a term holds."""
    return (target.needs < 0 or row[target.needs] > 0) and (target.bars < 0 or row[target.bars] == 0)


@kernel
def penalty(targets, which, row, n_tokens, n_sequences):
    """The penalty of the terms `which`: those of one sequence, or those of the corpus for the sum of all rows.

    The terms of a group follow each other.
    """
    total, out_of_range = 0.0, 0.0
    for j in range(len(which)):
        k = which[j]
        per, divisor = targets[k].per, 1.0
        if per == PER_TOKEN:
            divisor = n_tokens
        elif per == PER_SEQUENCE:
            divisor = n_sequences
        elif per >= 0:
            divisor = row[per]
        v = distance(targets[k], row[k] / divisor) if divisor > 0 and matters(targets[k], row) else 0.0
        if targets[k].group >= 0:
            out_of_range += v > 0
            if j + 1 < len(which) and targets[which[j + 1]].group == targets[k].group:
                continue
            v, out_of_range = out_of_range, 0.0
        total += targets[k].weight * (v * v if targets[k].power == 2 else v)
    return total


@kernel
def total_of(counts, totals):
    """totals = the sum of the rows, added in order so that it does not depend on threads."""
    for k in range(counts.shape[1]):
        totals[k] = 0.0
    for i in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            totals[k] += counts[i, k]
