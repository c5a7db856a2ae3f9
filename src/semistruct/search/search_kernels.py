"""The best labelling of one sequence under rules that see more than two neighbouring labels.

Partial labellings grow from left to right, one layer of them per position.  A state holds what the rules still need
to know of a prefix: its last label, how long the last block is, the counts of the tracked terms, and which labels
have occurred.  A prefix that another one dominates is struck, and so is one whose bound

    score of the prefix - its penalty + the best score of any rest    (`ahead`, a max-backward pass)

is below `floor`, the value of a labelling already known.  If no layer outgrows its width the result is exact; else it
is that of a beam search.  What makes the bound sharp are Lagrange multipliers on the numbers of blocks: every start of
a block of label z pays multiplier[z], and what the rules allow it to use of that is credited.

    Y as a label   what comes before the first token
    row            counts of the tracked terms, then one mark per label in `order` rules
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, max_backward, path_score, token_scores, viterbi
from semistruct.compiled import inlined, kernel
from semistruct.rules.event_kernels import ALONE, PER_TOKEN, TARGET, ZERO, Events, distance, happens

ROUNDS = 12  # of improving the multipliers
RIVALS = 64  # prefixes with which a new one is compared: more would cost more than they strike
BUDGET = 2e8  # numbers that the states of one search may hold: some tenths of a second


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
    size        of a row
    longest     block lengths above it are all alike
    hits        room for the terms that have an event at one token
    """

    events: Events
    terms: np.ndarray
    limits: np.ndarray
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
    """On the value of any rest: multiplier (Y,), and ahead (T, Y), the best score of what follows, multipliers paid."""

    multiplier: np.ndarray
    ahead: np.ndarray


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
def a_little_below(value):
    """By more than rounding may have done to it."""
    return value - 1e-9 * abs(value) - 1e-7 if value > -np.inf else value


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
        row[g] = min(count, terms[g].cap)
        if terms[g].group == ALONE:
            cost += excess_cost(terms[g], count, T, True) - excess_cost(terms[g], before, T, True)
        elif before <= terms[g].high < count:  # one more term of its group is out of range
            others = 0
            for h in range(G):
                others += h != g and terms[h].group == terms[g].group and row[h] > terms[h].high
            cost += terms[g].weight * (2.0 * others + 1.0 if terms[g].power == 2 else 1.0)
    if track.events.mark[z] >= 0:
        row[G + track.events.mark[z]] = 1
    if t == T - 1:
        for g in range(G):
            cost += excess_cost(terms[g], row[g], T, False)
    return cost


@inlined
def dominates(terms, new, m, n):
    """No rest of the sequence can make prefix n better than m: m is ahead by more than its counts can cost it."""
    if new.state[m].run != new.state[n].run:
        return False
    lead = new.state[m].score - new.state[n].score
    for g in range(new.rows.shape[1]):
        more = new.rows[m, g] - new.rows[n, g]
        if g >= len(terms):  # a mark may cost any amount, a missing one costs nothing
            lead = -np.inf if more > 0 else lead
        elif more > 0:
            lead -= more * terms[g].more
        elif more < 0:
            lead += more * terms[g].fewer
    return lead >= 0


@inlined
def enter(terms, new, head, following, n):
    """Put prefix n on the list of its label unless one there dominates it; strike those it dominates.

    Returns how many prefixes there are more now; the struck ones get the score -inf.
    """
    z, change, before, left = new.state[n].label, 1, -1, RIVALS
    m = head[z]
    while m >= 0 and left > 0:
        if dominates(terms, new, m, n):
            return 0
        m, left = following[m], left - 1
    m, left = head[z], RIVALS
    while m >= 0 and left > 0:
        left -= 1
        if dominates(terms, new, n, m):
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


@inlined
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


@inlined
def keep_best(width, n, new, bound):
    """Of n >= width prefixes keep those with the highest bounds, the first of equal ones; returns how many."""
    state = new.state
    for i in range(n):
        bound[i] = state[i].score + state[i].rest
    threshold, kept, ties = nth_largest(bound, n, width - 1), 0, width
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
    """(score, bound on the rest) of prefix p with label z at t, before the tracked terms are paid for."""
    state, y = p[0], p[0].label
    s, r = state.score + scores.unary[t, z], state.rest + bound.ahead[t, z]
    if t > 0:
        s += scores.step[scores.kind[t], y, z]
    if y != z:
        r -= used_credit(bound.multiplier[z], track.limits[z], p[1])
    return s, r


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
def best_prefix(state, n):
    """The number of the best of n whole labellings, or -1."""
    best = -1
    for i in range(n):
        if state[i].score > -np.inf and (best < 0 or state[i].score > state[best].score):
            best = i
    return best


@inlined
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
