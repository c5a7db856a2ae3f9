"""Partial labellings of one sequence, and what rules that see more than two neighbouring labels make of them.

A state holds what the rules still need to know of a prefix: its last label, how long the last block is, the counts of
the tracked terms, and which labels have occurred.

    Y as a label   what comes before the first token
    row            counts of the tracked terms, then one mark per label in `order` rules
"""

from typing import NamedTuple

import numpy as np

from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ALONE, PER_TOKEN, TARGET, ZERO, Events, distance, happens, matters

RIVALS = 64  # prefixes with which a new one is compared: more would cost more than they strike


TERM = np.dtype([*TARGET.descr, ("cap", "i8"), ("more", "f8"), ("fewer", "f8")])
"""A term that is part of a state: its target, and

cap          counts above it are all alike
more, fewer  what a count that is one more, one less, can cost in the future (inf: any amount)
"""


LIMIT = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("least_price", "f8"), ("most_price", "f8")])
"""What rules say of the blocks of a label.

term                     the term that counts them, or -1
least, most              how many there may be
least_price, most_price  what every missing and every surplus block costs at least
"""


class Track(NamedTuple):
    """The terms that are part of a state, numbered g.

    events      in which only these terms are left
    terms (G,)  TERM records; limits (Y,) LIMIT records
    starts (G,)  the label whose blocks a term counts, if that is all it does: no more such blocks, no more costs; or -1
    size        of a row
    longest     block lengths above it are all alike
    hits        room for the terms that have an event at one token
    """

    events: Events
    terms: np.ndarray
    limits: np.ndarray
    starts: np.ndarray
    size: int
    longest: int
    hits: int


class Scores(NamedTuple):
    """Of one sequence: unary (T, Y), step (K, Y, Y), kind (T,) as in `chain.kernels`, less the costs of local rules.

    first  the number of its first token
    """

    unary: np.ndarray
    step: np.ndarray
    kind: np.ndarray
    first: int


class Bound(NamedTuple):
    """On the value of labellings, and the labels of those that are worth looking at.

    multiplier (Y,)          paid for every start of a block
    ahead (T, Y)             the best score of what follows a label, multipliers paid
    label (T, Y), many (T,)  the labels that token t can have: label[t, :many[t]]
    """

    multiplier: np.ndarray
    ahead: np.ndarray
    label: np.ndarray
    many: np.ndarray


PREFIX = np.dtype([("score", "f8"), ("rest", "f8"), ("run", "i8"), ("label", "i8"), ("parent", "i8")])
"""A labelling of the first tokens of a sequence.

score   of the prefix, its penalty subtracted
rest    what a rest can add at most
run     the length of the last block, label its label, parent the prefix without its last token
"""


class Prefixes(NamedTuple):
    """Several prefixes: PREFIX records, and what the module calls their rows."""

    state: np.ndarray
    rows: np.ndarray


@inlined
def excess_cost(target, count, n_tokens, above):
    """What a term costs for lying above its range, or below it."""
    value = count / n_tokens if target.per == PER_TOKEN else count * 1.0
    if value <= target.high if above else value >= target.low:
        return 0.0
    v = distance(target, value)
    return target.weight * (v * v if target.power == 2 else v)


@kernel
def advance(track, scores, t, y, run, z, row, hits):
    """Enter label z at t, after a block of `run` tokens of y, into the row of a prefix; returns what that costs."""
    terms, T, G, cost = track.terms, len(scores.unary), len(track.terms), 0.0
    for j in range(happens(track.events, scores.first + t, t == T - 1, y, run, z, row[G:], hits)):
        g = hits[j]
        before, count = row[g], row[g] + 1
        if waits(terms[g], row):  # what is above the range is paid for later, by the whole count
            whole = terms[g].bars < 0 and terms[g].group == ALONE and terms[g].high < np.inf
            row[g] = count if whole else min(count, terms[g].cap)
            continue
        row[g] = min(count, terms[g].cap)
        if terms[g].bars >= 0:  # and it has been barred
            row[g] = 0
        elif terms[g].weight == 0:
            cost += decide(terms, row, g, T) if before == 0 else 0.0
        elif terms[g].group == ALONE:
            cost += excess_cost(terms[g], count, T, True) - excess_cost(terms[g], before, T, True)
        elif before <= terms[g].high < count:  # one more term of its group is out of range
            cost += one_more(terms, row, g, G)
    if track.events.mark[z] >= 0:
        row[G + track.events.mark[z]] = 1
    if t == T - 1:
        cost += cost_at_end(terms, row, T)
    return cost


@inlined
def one_more(terms, row, g, end):
    """What it costs that one more term of a group, g, is out of range besides those before `end`."""
    others = 0
    for h in range(end):
        others += h != g and terms[h].group == terms[g].group and row[h] > terms[h].high
    return terms[g].weight * (2.0 * others + 1.0 if terms[g].power == 2 else 1.0)


@inlined
def waits(term, row):
    """Whether a term matters is not known yet: what it needs has not happened, or what bars it may still happen."""
    return (term.bars >= 0 and row[term.bars] == 0) or (term.bars < 0 and term.needs >= 0 and row[term.needs] == 0)


@kernel
def decide(terms, row, condition, n_tokens):
    """What it costs that `condition` happens for the first time: terms that needed it matter, those it bars do not."""
    cost = 0.0
    for g in range(len(terms)):
        if terms[g].bars == condition:
            row[g] = 0
        elif terms[g].needs == condition and terms[g].bars < 0:
            if terms[g].group == ALONE:
                cost += excess_cost(terms[g], row[g], n_tokens, True)
            elif row[g] > terms[g].high:
                cost += one_more(terms, row, g, g)
            row[g] = min(row[g], terms[g].cap)
    return cost


@kernel
def cost_at_end(terms, row, n_tokens):
    """What is paid when all counts are known: for those below their range, and for terms that could be barred."""
    cost = 0.0
    for g in range(len(terms)):
        if not matters(terms[g], row):
            continue
        cost += excess_cost(terms[g], row[g], n_tokens, False)
        if terms[g].bars >= 0:
            if terms[g].group == ALONE:
                cost += excess_cost(terms[g], row[g], n_tokens, True)
            elif row[g] > terms[g].high:
                cost += one_more(terms, row, g, g)
    return cost


MATTER = np.dtype([("place", "i8"), ("more", "f8"), ("fewer", "f8")])
"""A place in the rows at which prefixes differ in what is to come: what one more there, one less, can cost."""


@kernel
def last_starts(bound, last):
    """last[z] = the last token at which a block of z can begin, -1 if there is none."""
    for z in range(len(last)):
        last[z] = -1
    for t in range(len(bound.many)):
        others = 2 if t == 0 else bound.many[t - 1]
        for j in range(bound.many[t]):
            z = bound.label[t, j]
            if others > 1 or bound.label[t - 1, 0] != z:
                last[z] = t


@kernel
def what_matters(track, last, t, matter):
    """Write the MATTER records of prefixes that end at t; returns how many."""
    n, G = 0, len(track.terms)
    for g in range(track.size):
        more, fewer = np.inf, 0.0  # a mark may cost any amount, a missing one costs nothing
        if g < G:
            z = track.starts[g]
            more = 0.0 if z >= 0 and last[z] <= t else track.terms[g].more
            fewer = track.terms[g].fewer
        if more > 0 or fewer > 0:
            matter[n].place, matter[n].more, matter[n].fewer = g, more, fewer
            n += 1
    return n


@inlined
def dominates(matter, new, m, n):
    """No rest of the sequence can make prefix n better than m: m is ahead by more than its counts can cost it."""
    lead = new.state[m].score - new.state[n].score
    if not lead >= 0 or new.state[m].run != new.state[n].run:
        return False
    for j in range(len(matter)):
        g = matter[j].place
        more = new.rows[m, g] - new.rows[n, g]
        if more > 0:
            lead -= more * matter[j].more if matter[j].more > 0 else 0.0
        elif more < 0:
            lead += more * matter[j].fewer if matter[j].fewer > 0 else 0.0
        if lead < 0:
            return False
    return True


@inlined
def enter(matter, new, head, following, n):
    """Put prefix n on the list of its label unless one there dominates it; strike those it dominates.

    Returns how many prefixes there are more now; the struck ones get the score -inf.
    """
    z, change, before, left = new.state[n].label, 1, -1, RIVALS
    m = head[z]
    while m >= 0 and left > 0:
        if dominates(matter, new, m, n):
            return 0
        m, left = following[m], left - 1
    m, left = head[z], RIVALS
    while m >= 0 and left > 0:
        left -= 1
        if dominates(matter, new, n, m):
            new.state[m].score = -np.inf
            change -= 1
            if before < 0:
                head[z] = following[m]
            else:
                following[before] = following[m]
        else:
            before = m
        m = following[m]
    following[n], head[z] = head[z], n
    return change


@kernel
def nth_largest(work, n, rank):
    """The value with `rank` larger ones among work[:n] (Hoare's selection, which reorders them)."""
    low, high = 0, n - 1
    while low < high:
        pivot, i, j = work[(low + high) // 2], low, high
        while i <= j:
            while work[i] > pivot:
                i += 1
            while work[j] < pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return work[rank]


@kernel
def lowest_kept(width, n, new, spare):
    """The lowest bound of the `width` best of n prefixes."""
    for i in range(n):
        spare[i] = new.state[i].score + new.state[i].rest
    return nth_largest(spare, n, width - 1)


@inlined
def keep_best(width, n, new, spare):
    """Of n >= width prefixes keep those with the highest bounds, the first of equal ones; returns how many."""
    state, threshold, kept, ties = new.state, lowest_kept(width, n, new, spare), 0, width
    for i in range(n):
        ties -= state[i].score + state[i].rest > threshold
    for i in range(n):
        f = state[i].score + state[i].rest
        if kept < width and (f > threshold or (f == threshold and ties > 0)):  # false for a value that is no number
            ties -= f == threshold
            move(new, i, new, kept)
            kept += 1
    return kept


@inlined
def move(old, i, new, j):
    """Write prefix i of one layer over j of another."""
    new.state[j] = old.state[i]
    for g in range(old.rows.shape[1]):
        new.rows[j, g] = old.rows[i, g]


@inlined
def credit(multiplier, limits):
    """What is credited at the start: the multipliers of the blocks that may be, and of those that must be."""
    total = 0.0
    for z in range(len(multiplier)):
        if multiplier[z] != 0:
            total += multiplier[z] * (limits[z].most if multiplier[z] > 0 else limits[z].least)
    return total


@inlined
def used_credit(multiplier, limit, row):
    """What one more block of a label takes away from the credit."""
    n = row[limit.term] if limit.term >= 0 else 0
    return multiplier if n < (limit.most if multiplier > 0 else limit.least) else 0.0


@inlined
def begin(bound, track, width):
    """A layer with the empty prefix, and room for others."""
    layer = Prefixes(np.empty(width, PREFIX), np.zeros((width, track.size), np.int64))
    first = layer.state[0]
    first.score, first.rest, first.run, first.label = 0.0, credit(bound.multiplier, track.limits), 0, len(track.limits)
    return layer


@inlined
def settle(t, n, new, old, ahead, trace):
    """Make the n new prefixes, but for those that were struck, the old ones; returns how many they are.

    trace (T, 2, width) receives their labels and parents; `rest` is what is left of the credit.
    """
    alive = 0
    for i in range(n):
        one = new.state[i]
        if one.score + one.rest > -np.inf:
            move(new, i, old, alive)
            old.state[alive].rest -= ahead[t, one.label]
            trace[t, 0, alive], trace[t, 1, alive] = one.label, one.parent
            alive += 1
    return alive


@inlined
def trace_back(trace, place, path):
    """Write the labelling whose last prefix is at `place`."""
    for t in range(len(path) - 1, -1, -1):
        path[t] = trace[t, 0, place]
        place = trace[t, 1, place]


@inlined
def extend(p, scores, bound, track, t, z):
    """(score, bound on the rest, part of the costs) of prefix p with label z at t; the score is before all costs."""
    state, y, limit = p[0], p[0].label, track.limits[z]
    s, r, due = state.score + scores.unary[t, z], state.rest + bound.ahead[t, z], 0.0
    if t > 0:
        s += scores.step[scores.kind[t], y, z]
    if y != z:
        r -= used_credit(bound.multiplier[z], limit, p[1])
        if limit.term >= 0 and p[1][limit.term] >= limit.most:
            due = limit.most_price
    return s, r, due


@inlined
def best_prefix(state, n):
    """The number of the best of n whole labellings, or -1."""
    best = -1
    for i in range(n):
        if state[i].score > -np.inf and (best < 0 or state[i].score > state[best].score):
            best = i
    return best


@kernel
def tracked_cost(track, scores, path):
    """What the tracked terms cost for a whole labelling."""
    row, hits = np.zeros(track.size, np.int64), np.empty(track.hits, np.int64)
    cost, run, before = 0.0, ZERO, scores.unary.shape[1]
    for t in range(len(path)):
        z = np.int64(path[t])
        cost += advance(track, scores, t, before, run, z, row, hits)
        run = run + 1 if z == before else ZERO + 1
        before = z
    return cost
