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
from semistruct.rules.event_kernels import ALONE, PER_TOKEN, ZERO, Events, distance, happens

ROUNDS = 12  # of improving the multipliers


class Track(NamedTuple):
    """The terms that are part of a state, numbered g.

    events        in which only these terms are left
    targets (G,)  of these terms
    cap (G,)      counts above it are all alike
    more, fewer (size,)  what a count that is one more, one less, can cost in the future (inf: any amount)
    blocks (Y,)   the term that counts the blocks of a label, or -1
    least, most (Y,)     how many blocks of a label there may be
    least_price, most_price (Y,)  what every missing and every surplus block costs at least
    longest       block lengths above it are all alike
    hits          room for the terms that have an event at one token
    """

    events: Events
    targets: np.ndarray
    cap: np.ndarray
    more: np.ndarray
    fewer: np.ndarray
    blocks: np.ndarray
    least: np.ndarray
    most: np.ndarray
    least_price: np.ndarray
    most_price: np.ndarray
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


class Prefixes(NamedTuple):
    """Labellings of the first tokens of a sequence.

    score   of the prefix, its penalty subtracted
    rest    what a rest can add at most
    run     the length of the last block, label its label, parent the prefix without its last token
    rows    see the module
    """

    score: np.ndarray
    rest: np.ndarray
    run: np.ndarray
    label: np.ndarray
    parent: np.ndarray
    rows: np.ndarray


@inlined
def a_little_below(value):
    """By more than rounding may have done to it."""
    return value - 1e-9 * abs(value) - 1e-7 if value > -np.inf else value


@inlined
def room_for(n, size):
    whole = np.empty((3, n), np.int64)
    return Prefixes(np.empty(n), np.empty(n), whole[0], whole[1], whole[2], np.zeros((n, size), np.int64))


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
    cost, T, G, targets = 0.0, len(scores.unary), len(track.targets), track.targets
    for j in range(happens(track.events, scores.first + t, t == T - 1, y, run, z, row[G:], hits)):
        g = hits[j]
        before, count = row[g], row[g] + 1
        row[g] = min(count, track.cap[g])
        if targets[g].group == ALONE:
            cost += excess_cost(targets[g], count, T, True) - excess_cost(targets[g], before, T, True)
        elif before <= targets[g].high < count:  # one more term of its group is out of range
            others = 0
            for h in range(G):
                others += h != g and targets[h].group == targets[g].group and row[h] > targets[h].high
            cost += targets[g].weight * (2.0 * others + 1.0 if targets[g].power == 2 else 1.0)
    if track.events.mark[z] >= 0:
        row[G + track.events.mark[z]] = 1
    if t == T - 1:
        for g in range(G):
            cost += excess_cost(targets[g], row[g], T, False)
    return cost


@inlined
def dominates(track, new, m, n):
    """No rest of the sequence can make prefix n better than m: m is ahead by more than its counts can cost it."""
    if new.run[m] != new.run[n]:
        return False
    lead = new.score[m] - new.score[n]
    for g in range(new.rows.shape[1]):
        more = new.rows[m, g] - new.rows[n, g]
        if more > 0:
            lead -= more * track.more[g]
        elif more < 0:
            lead += more * track.fewer[g]
    return lead >= 0


@inlined
def enter(track, new, head, following, n):
    """Put prefix n on the list of its label unless one there dominates it; strike those it dominates.

    Returns how many prefixes there are more now; the struck ones get the score -inf.
    """
    z, change, before = new.label[n], 1, -1
    m = head[z]
    while m >= 0:
        if dominates(track, new, m, n):
            return 0
        m = following[m]
    m = head[z]
    while m >= 0:
        if dominates(track, new, n, m):
            new.score[m] = -np.inf
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
    """Of n >= width prefixes keep those with the highest bounds, the first of equal ones; returns width."""
    for i in range(n):
        bound[i] = new.score[i] + new.rest[i]
    threshold, kept, ties = nth_largest(bound, n, width - 1), 0, width
    for i in range(n):
        ties -= new.score[i] + new.rest[i] > threshold
    for i in range(n):
        f = new.score[i] + new.rest[i]
        if f < threshold or (f == threshold and ties == 0):
            continue
        ties -= f == threshold
        move(new, i, new, kept)
        kept += 1
    return kept


@inlined
def move(old, i, new, j):
    """Write prefix i of one layer over j of another."""
    new.score[j], new.rest[j], new.run[j] = old.score[i], old.rest[i], old.run[i]
    new.label[j], new.parent[j] = old.label[i], old.parent[i]
    for g in range(old.rows.shape[1]):
        new.rows[j, g] = old.rows[i, g]


@inlined
def credit(multiplier, track):
    """What is credited at the start: the multipliers of the blocks that may be, and of those that must be."""
    total = 0.0
    for z in range(len(multiplier)):
        if multiplier[z] != 0:
            total += multiplier[z] * (track.most[z] if multiplier[z] > 0 else track.least[z])
    return total


@inlined
def used_credit(bound, track, z, row):
    """What one more block of z takes away from the credit."""
    multiplier, g = bound.multiplier[z], track.blocks[z]
    n = row[g] if g >= 0 else 0
    return multiplier if n < (track.most[z] if multiplier > 0 else track.least[z]) else 0.0


@inlined
def begin(layer, bound, track):
    """The empty prefix."""
    layer.score[0], layer.rest[0] = 0.0, credit(bound.multiplier, track)
    layer.run[0], layer.label[0] = 0, len(bound.multiplier)
    for g in range(layer.rows.shape[1]):
        layer.rows[0, g] = 0


@inlined
def settle(t, n, new, old, bound, trace):
    """Make the n new prefixes, but for those that were struck, the old ones; returns how many they are.

    trace (T, 2, width) receives their labels and parents; `rest` is what is left of the credit.
    """
    alive = 0
    for i in range(n):
        if new.score[i] + new.rest[i] > -np.inf:
            move(new, i, old, alive)
            old.rest[alive] -= bound.ahead[t, new.label[i]]
            trace[t, 0, alive], trace[t, 1, alive] = new.label[i], new.parent[i]
            alive += 1
    return alive


@inlined
def trace_back(trace, place, path):
    """Write the labelling whose last prefix is at `place`."""
    for t in range(len(path) - 1, -1, -1):
        path[t] = trace[t, 0, place]
        place = trace[t, 1, place]


@kernel
def search(scores, bound, track, width, floor, path):
    """Write the best labelling with a value of at least floor; returns (its value or -inf, exact or not)."""
    T, Y = scores.unary.shape
    size, room = len(track.more), width * Y
    old, new, trace = room_for(width, size), room_for(room, size), np.empty((T, 2, width), np.int32)
    head, following = np.empty(Y, np.int64), np.empty(room, np.int64)
    hits, spare, exact, alive = np.empty(track.hits, np.int64), np.empty(room), True, 1
    begin(old, bound, track)
    for t in range(T):
        n, many = 0, 0
        for z in range(Y):
            head[z] = -1
        for p in range(alive):
            y = old.label[p]
            for z in range(Y):
                s, r = old.score[p] + scores.unary[t, z], old.rest[p] + bound.ahead[t, z]
                if t > 0:
                    s += scores.step[scores.kind[t], y, z]
                if y != z:
                    r -= used_credit(bound, track, z, old.rows[p])
                if not s + r >= floor or s == -np.inf:
                    continue
                for g in range(size):
                    new.rows[n, g] = old.rows[p, g]
                s -= advance(track, scores, t, y, old.run[p], z, new.rows[n], hits)
                if t == T - 1:
                    r = 0.0
                if not s + r >= floor:
                    continue
                new.score[n], new.rest[n], new.label[n], new.parent[n] = s, r, z, p
                new.run[n] = min(old.run[p] + 1, track.longest) if y == z else 1
                if t == T - 1:
                    many, n = many + 1, n + 1
                    continue
                many += enter(track, new, head, following, n)
                n += head[z] == n
        if many > width:
            exact = False
            n = keep_best(width, n, new, spare)
        alive = settle(t, n, new, old, bound, trace)
    best = -1
    for i in range(alive):
        if old.score[i] > -np.inf and (best < 0 or old.score[i] > old.score[best]):
            best = i
    if best < 0:
        return -np.inf, exact
    trace_back(trace, best, path)
    return old.score[best], exact


@inlined
def tracked_cost(track, scores, path):
    """What the tracked terms cost for a whole labelling."""
    row, hits = np.zeros(len(track.more), np.int64), np.empty(track.hits, np.int64)
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
def improve(multiplier, track, path, gap):
    """Polyak's subgradient step towards multipliers under which the best labelling has an allowed number of blocks.

    gap  by how much the value of `path`, multipliers paid, exceeds that of the best labelling known
    Returns whether any multiplier has changed.
    """
    over = np.zeros(len(multiplier))
    for t in range(len(path)):
        over[path[t]] += t == 0 or path[t] != path[t - 1]
    size = 0.0
    for z in range(len(multiplier)):
        if multiplier[z] > 0 or over[z] > track.most[z]:
            over[z] -= track.most[z]
        elif multiplier[z] < 0 or over[z] < track.least[z]:
            over[z] -= track.least[z]
        else:
            over[z] = 0.0
        size += over[z] * over[z]
    moved = False
    for z in range(len(multiplier)):
        if over[z] != 0:
            new = min(max(multiplier[z] + gap / size * over[z], -track.least_price[z]), track.most_price[z])
            if (multiplier[z] > 0 and new < 0) or (multiplier[z] < 0 and new > 0):
                new = 0.0
            moved = moved or new != multiplier[z]
            multiplier[z] = new
    return moved


@inlined
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
        top = viterbi(unary, step, scores.kind, bound.ahead, trial) + credit(multiplier, track)
        if top < ceiling:
            ceiling = top
            copy(multiplier, bound.multiplier)
        if top == -np.inf:
            return top, top
        true = path_score(scores.unary, scores.step, scores.kind, trial) - tracked_cost(track, scores, trial)
        if true > value:
            value = true
            copy(trial, path)
        if value >= a_little_below(ceiling) or ceiling < least or not improve(multiplier, track, trial, top - value):
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


@inlined
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
