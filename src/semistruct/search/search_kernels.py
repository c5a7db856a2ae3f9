"""The best labelling of one sequence under rules that see more than two neighbouring labels.

Partial labellings grow from left to right, one layer of them per position.  A state holds what the rules still need
to know of a prefix: its last label, how long the last block is, and the counts of the tracked terms.  A prefix
that another one dominates is struck, and so is one whose bound

    score of the prefix - its penalty + the best score of any rest    (`ahead`, a max-backward pass)

is below `floor`, the value of a labelling already known.  If no layer outgrows its width the result is exact; else it
is that of a beam search.  What makes the bound sharp are multipliers (`toll`): every start of a block of label z pays
toll[z], and is given back what the rules allow it to use of that (Lagrangian relaxation of the numbers of blocks).

    unary (T, Y), step (K, Y, Y), kind (T,)   as in `chain.kernels`, local rules already subtracted
    row                                       counts of the tracked terms, then one mark per label in `order` rules
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.chain.kernels import copy, equal, max_backward, path_score, token_scores, viterbi
from semistruct.rules.event_kernels import distance

ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)  # a bare 0 would be a type of its own to the compiler
ROUNDS = 12  # of improving the tolls


class Track(NamedTuple):
    """The terms that are part of a state.

    term (G,)    their numbers; slot (K,) the place of a term in the row, or -1
    cap (G,)     counts above it are all alike
    more_price, fewer_price  what a count that is one more, one less, can cost in the future (inf: any amount)
    seen (Y,)    the place of the mark "this label has occurred", or -1
    blocks (Y,)  the place of a term that counts the blocks of a label, or -1
    least, most (Y,)         how many blocks of a label there may be
    least_price, most_price  what every missing and every surplus block costs at least
    longest      block lengths above it are all alike
    size         of a row
    """

    term: np.ndarray
    slot: np.ndarray
    cap: np.ndarray
    more_price: np.ndarray
    fewer_price: np.ndarray
    seen: np.ndarray
    blocks: np.ndarray
    least: np.ndarray
    most: np.ndarray
    least_price: np.ndarray
    most_price: np.ndarray
    longest: int
    size: int


@njit(cache=True, nogil=True)
def a_little_below(value):
    """By more than rounding may have done to it."""
    return value - 1e-9 * abs(value) - 1e-7 if value > -np.inf else value


@njit(cache=True, nogil=True)
def excess_cost(targets, k, count, n_tokens, sign):
    """What term k costs for lying above (sign > 0) or below (sign < 0) its range."""
    value = count / n_tokens if targets.per[k] == -2 else count
    if (value - targets.high[k] if sign > 0 else targets.low[k] - value) <= 0:
        return 0.0
    v = distance(targets, k, value)
    return targets.weight[k] * (v * v if targets.power[k] == 2 else v)


@njit(cache=True, nogil=True, inline="always")
def bump(targets, track, k, n_tokens, row):
    """One more event of term k: its count in the row grows; returns what that costs."""
    g = track.slot[k]
    if g < 0:
        return 0.0
    before, count = row[g], row[g] + 1
    row[g] = min(count, track.cap[g])
    if targets.group[k] < 0:
        return excess_cost(targets, k, count, n_tokens, 1) - excess_cost(targets, k, before, n_tokens, 1)
    if count <= targets.high[k] or before > targets.high[k]:
        return 0.0
    others = 0
    for h in range(len(track.term)):
        j = track.term[h]
        others += h != g and targets.group[j] == targets.group[k] and row[h] > targets.high[j]
    return targets.weight[k] * (2.0 * others + 1.0 if targets.power[k] == 2 else 1.0)


@njit(cache=True, nogil=True, inline="always")
def hits_at(events, track, token, y, run, z, last, row, hits):
    """Write the tracked terms that have an event where label z follows a block of `run` tokens of y.

    y < 0 at the first token; last: the sequence ends here.  Returns how many they are.
    """
    n = 0
    for end in range(2):  # of the block of y, and of that of z
        block, length, ends = (y, run, 0 <= y != z) if end == 0 else (z, run + 1 if y == z else 1, last)
        for q in range(len(events.length_term) if ends else 0):
            if events.length_mask[q, block] and (length < events.least[q] or length > events.most[q]):
                hits[n], n = events.length_term[q], n + 1
    if y != z:
        for j in range(events.start_ptr[z], events.start_ptr[z + 1]):
            hits[n], n = events.start_term[j], n + 1
        for q in range(len(events.order_term)):
            if events.order_first[q] == z and row[track.seen[events.order_then[q]]]:
                hits[n], n = events.order_term[q], n + 1
        for j in range(events.step_ptr[token], events.step_ptr[token + 1] if y >= 0 else 0):
            q = events.step_test[j]
            if track.slot[events.step_term[q]] >= 0 and events.step_mask[q, y, z]:
                hits[n], n = events.step_term[q], n + 1
    for j in range(events.token_ptr[token], events.token_ptr[token + 1]):
        q = events.token_test[j]
        if track.slot[events.test_term[q]] >= 0 and events.test_mask[q, z]:
            hits[n], n = events.test_term[q], n + 1
    for j in range(events.label_ptr[z], events.label_ptr[z + 1]):
        hits[n], n = events.label_term[j], n + 1
    return n


@njit(cache=True, nogil=True)
def most_hits(events):
    """How many terms can have an event at one token."""
    tests = len(events.test_term) + len(events.step_term) + len(events.start_term) + len(events.label_term)
    return tests + 2 * len(events.length_term) + len(events.order_term)


@njit(cache=True, nogil=True, inline="always")
def advance(events, targets, track, token, y, run, z, last, n_tokens, row, hits):
    """Enter label z into the row of a prefix; returns what that costs."""
    cost = 0.0
    for j in range(hits_at(events, track, token, y, run, z, last, row, hits)):
        cost += bump(targets, track, hits[j], n_tokens, row)
    if track.seen[z] >= 0:
        row[track.seen[z]] = 1
    return cost + (what_is_missing(targets, track, n_tokens, row) if last else 0.0)


@njit(cache=True, nogil=True)
def what_is_missing(targets, track, n_tokens, row):
    """What tracked terms cost at the end for being below their range."""
    cost = 0.0
    for k in track.term:
        cost += excess_cost(targets, k, row[track.slot[k]], n_tokens, -1)
    return cost


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def keep_best(width, n, score, rest, run, tag, parent, rows, bound):
    """Of n >= width candidates keep those with the highest bounds, the first of equal ones; returns width."""
    for i in range(n):
        bound[i] = score[i] + rest[i]
    threshold, kept, ties = nth_largest(bound, n, width - 1), 0, width
    for i in range(n):
        ties -= score[i] + rest[i] > threshold
    for i in range(n):
        f = score[i] + rest[i]
        if f < threshold or (f == threshold and ties == 0):
            continue
        ties -= f == threshold
        score[kept], rest[kept], run[kept], tag[kept], parent[kept] = score[i], rest[i], run[i], tag[i], parent[i]
        for g in range(rows.shape[1]):
            rows[kept, g] = rows[i, g]
        kept += 1
    return kept


@njit(cache=True, nogil=True, inline="always")
def dominates(track, score, run, rows, m, n):
    """No rest of the sequence can make candidate n better than m: m is ahead by more than its counts can cost it."""
    if run[m] != run[n]:
        return False
    lead = score[m] - score[n]
    for g in range(rows.shape[1]):
        more = rows[m, g] - rows[n, g]
        if more > 0:
            lead -= more * track.more_price[g]
        elif more < 0:
            lead += more * track.fewer_price[g]
    return lead >= 0


@njit(cache=True, nogil=True, inline="always")
def enter(track, score, run, rows, head, following, n):
    """Put candidate n on the list of its label unless one there dominates it; strike those it dominates.

    Returns how many candidates there are more now; the struck ones get the score -inf.
    """
    change, before, m = 1, -1, head
    while m >= 0:
        if dominates(track, score, run, rows, m, n):
            return 0, head
        m = following[m]
    m = head
    while m >= 0:
        if dominates(track, score, run, rows, n, m):
            score[m] = -np.inf
            change -= 1
            if before < 0:
                head = following[m]
            else:
                following[before] = following[m]
        else:
            before = m
        m = following[m]
    following[n] = head
    return change, n


@njit(cache=True, nogil=True, inline="always")
def refund(toll, least, most, z, n):
    """What the (n+1)st block of z takes away from the tolls that are given back."""
    if toll[z] > 0:
        return toll[z] if n < most[z] else 0.0
    return toll[z] if n < least[z] else 0.0


@njit(cache=True, nogil=True)
def allowance(toll, track):
    """The tolls that are given back at the start: of the blocks that may be, and those that must be."""
    total = 0.0
    for z in range(len(toll)):
        if toll[z] != 0:
            total += toll[z] * (track.most[z] if toll[z] > 0 else track.least[z])
    return total


@njit(cache=True, nogil=True)
def search(unary, step, kind, ahead, toll, events, targets, track, first, width, floor, paths, values):
    """Write the len(paths) best labellings and their values (-1 and -inf where fewer were found); True if exact.

    ahead  (T, Y) best score of the rest, tolls paid
    If only the best is wanted, prefixes that another one dominates are struck.  If more are wanted, prefixes whose last
    label stays come first; if these fill the layer, others whose bound is below theirs have no place in it (`cut`).
    """
    T, Y = unary.shape
    G, room, blocks, least, most = track.size, width * Y, track.blocks, track.least, track.most
    label, back = np.empty((T, width), np.int16), np.empty((T, width), np.int32)
    score, run, rows = np.empty(room), np.empty(room, np.int64), np.empty((room, G), np.int64)
    rest, tag, parent = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    old_score, old_spare, old_run = np.empty(width), np.empty(width), np.empty(width, np.int64)
    old_rows = np.zeros((width, G), np.int64)
    head, following, bound = np.empty(Y, np.int64), np.empty(room, np.int64), np.empty(room)
    hits, exact, alive = np.empty(most_hits(events), np.int64), True, 1
    old_score[0], old_spare[0], old_run[0] = 0.0, allowance(toll, track), 0
    for t in range(T):
        n, many, cut = ZERO, 0, floor
        for z in range(Y):
            head[z] = -1
        for j in range(2 * alive if len(values) > 1 else alive):
            p, stays = j % alive, j < alive
            if j == alive and n == width:
                cut = max(floor, np.min(score[:n] + rest[:n]))
            y = MINUS_ONE if t == 0 else np.int64(label[t - 1, p])
            for z in range(Y):
                if len(values) > 1 and (y == z) != stays:
                    continue
                s, r = old_score[p] + unary[t, z], old_spare[p] + ahead[t, z]
                if t > 0:
                    s += step[kind[t], y, z]
                if y != z:
                    r -= refund(toll, least, most, z, old_rows[p, blocks[z]] if blocks[z] >= 0 else 0)
                if s + r < floor or s == -np.inf:
                    continue
                if s + r < cut:
                    many += 1
                    continue
                for g in range(G):
                    rows[n, g] = old_rows[p, g]
                length = min(old_run[p] + 1, track.longest) if y == z else 1
                last = t == T - 1
                s -= advance(events, targets, track, first + t, y, old_run[p], z, last, T, rows[n], hits)
                if last:
                    r = 0.0
                if s + r < floor:
                    continue
                score[n], rest[n], run[n], tag[n], parent[n] = s, r, length, z, p
                if len(values) > 1 or t == T - 1:
                    many, n = many + 1, n + 1
                    continue
                change, head[z] = enter(track, score, run, rows, head[z], following, n)
                many += change
                n += head[z] == n
        if many > width:
            exact = False
            n = keep_best(width, n, score, rest, run, tag, parent, rows, bound)
        alive = 0
        for i in range(n):
            if score[i] + rest[i] == -np.inf:
                continue
            label[t, alive], back[t, alive] = tag[i], parent[i]
            old_score[alive], old_spare[alive], old_run[alive] = score[i], rest[i] - ahead[t, tag[i]], run[i]
            for g in range(G):
                old_rows[alive, g] = rows[i, g]
            alive += 1
    for r in range(len(values)):
        best = -1
        for i in range(alive):
            if old_score[i] > -np.inf and (best < 0 or old_score[i] > old_score[best]):
                best = i
        values[r] = -np.inf
        if best < 0:
            paths[r, :] = -1
            continue
        values[r], old_score[best] = old_score[best], -np.inf
        place = best
        for t in range(T - 1, -1, -1):
            paths[r, t] = label[t, place]
            place = back[t, place]
    return exact


@njit(cache=True, nogil=True)
def tracked_cost(events, targets, track, first, y, row, hits):
    """What the tracked terms cost for a whole labelling."""
    T = len(y)
    for g in range(len(row)):
        row[g] = 0
    cost, run, before = 0.0, ZERO, MINUS_ONE
    for t in range(T):
        z = np.int64(y[t])
        cost += advance(events, targets, track, first + t, before, run, z, t == T - 1, T, row, hits)
        run = run + ONE if z == before else ONE
        before = z
    return cost


class Scorer(NamedTuple):
    """Sequences and the weights that score their labels, as in SequenceBatch and ChainWeights."""

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    tokens: np.ndarray
    step: np.ndarray


@njit(cache=True, nogil=True)
def local_scores(scorer, costs, i, scale, bonus, known):
    """(unary, kind) of sequence i: scale * model scores + bonus - the costs of local rules.

    bonus  (n_tokens, Y), or empty; known  (n_tokens,) labels, or empty: other labels than a known one are forbidden
    """
    a, b = scorer.offsets[i], scorer.offsets[i + 1]
    Y, S = scorer.tokens.shape[1], len(costs.step)
    unary, kind = np.empty((b - a, Y)), np.empty(b - a, np.int16)
    token_scores(scorer.indptr, scorer.indices, scorer.values, scorer.tokens, a, unary)
    for t in range(b - a):
        kind[t] = scorer.kind[a + t] * S + costs.step_class[a + t]
        c = costs.token_class[a + t]
        for y in range(Y):
            unary[t, y] = scale * unary[t, y] - costs.token[c, y]
            if t == 0:
                unary[t, y] -= costs.first[y]
            if len(bonus):
                unary[t, y] += bonus[a + t, y]
            if len(known) and known[a + t] >= 0 and known[a + t] != y:
                unary[t, y] = -np.inf
    return unary, kind


@njit(cache=True, nogil=True)
def with_tolls(unary, step, toll, tolled_unary, tolled_step):
    """Scores in which every start of a block of z costs toll[z]: all labels pay, those that stay are given it back."""
    T, Y = unary.shape
    for t in range(T):
        for y in range(Y):
            tolled_unary[t, y] = unary[t, y] - toll[y]
    for k in range(len(step)):
        for y in range(Y):
            tolled_step[k, y, y] = step[k, y, y] + toll[y]


@njit(cache=True, nogil=True)
def improve_tolls(toll, track, path, gap):
    """Polyak's subgradient step towards tolls under which the best labelling has an allowed number of blocks.

    gap  by how much the value of `path`, tolls paid, exceeds that of the best labelling known
    """
    over = np.zeros(len(toll))
    for t in range(len(path)):
        over[path[t]] += t == 0 or path[t] != path[t - 1]
    size = 0.0
    for z in range(len(toll)):
        if toll[z] > 0 or over[z] > track.most[z]:
            over[z] -= track.most[z]
        elif toll[z] < 0 or over[z] < track.least[z]:
            over[z] -= track.least[z]
        else:
            over[z] = 0.0
        size += over[z] * over[z]
    moved = False
    for z in range(len(toll)):
        if over[z] != 0:
            new = min(max(toll[z] + gap / size * over[z], -track.least_price[z]), track.most_price[z])
            if (toll[z] > 0 and new < 0) or (toll[z] < 0 and new > 0):
                new = 0.0
            moved = moved or new != toll[z]
            toll[z] = new
    return moved


@njit(cache=True, nogil=True)
def merge_best(paths, values, found, value_of):
    """Put the labellings found among those known, the best first; wider searches may miss what narrower ones found."""
    n = len(values)
    for r in range(n):
        place, known = 0, value_of[r] == -np.inf
        for p in range(n):
            place += values[p] >= value_of[r]
            known = known or (a_little_below(values[p]) <= value_of[r] and equal(paths[p], found[r]))
        if known or place == n:
            continue
        for later in range(n - 1, place, -1):
            values[later] = values[later - 1]
            copy(paths[later - 1], paths[later])
        values[place] = value_of[r]
        copy(found[r], paths[place])


@njit(cache=True, nogil=True)
def search_sequence(unary, step, kind, first, events, targets, track, widths, least, paths, values):
    """Write the len(paths) best labellings of one sequence and their values: Viterbi if that obeys, else a search.

    widths  of the searches, growing; each finds a better floor for the next, until one is exact
    least   labellings with a lower value are of no interest
    Returns an upper bound on the value of any labelling, the best value itself if that is certain.
    """
    T, Y = unary.shape
    values[:] = -np.inf
    toll, best_toll, tolled_step = np.zeros(Y), np.zeros(Y), step.copy()
    row, hits = np.empty(track.size, np.int64), np.empty(most_hits(events), np.int64)
    tolled, best, path = np.empty((T, Y)), np.empty((T, Y)), np.empty(T, np.int16)
    ceiling, exact = np.inf, False
    for _ in range(ROUNDS):
        with_tolls(unary, step, toll, tolled, tolled_step)
        top = viterbi(tolled, tolled_step, kind, best, path) + allowance(toll, track)
        if top < ceiling:
            ceiling = top
            for z in range(Y):
                best_toll[z] = toll[z]
        if top == -np.inf:
            break
        value = path_score(unary, step, kind, path) - tracked_cost(events, targets, track, first, path, row, hits)
        if value > values[0]:
            values[0] = value
            copy(path, paths[0])
        exact = values[0] >= a_little_below(ceiling)
        if ceiling < least:
            return ceiling
        if exact or not improve_tolls(toll, track, path, top - values[0]):
            break
    if ceiling == -np.inf or (exact and len(paths) == 1):
        return values[0]
    floor = max(a_little_below(values[0]), least) if len(paths) == 1 else least
    with_tolls(unary, step, best_toll, tolled, tolled_step)
    max_backward(tolled, tolled_step, kind, best)
    found, value_of = np.empty((len(paths), T), np.int16), np.empty(len(paths))
    for width in widths:
        exact = search(unary, step, kind, best, best_toll, events, targets, track, first, width, floor, found, value_of)
        merge_best(paths, values, found, value_of)
        floor = max(floor, a_little_below(values[-1]))
        if exact or (len(paths) == 1 and values[0] >= a_little_below(ceiling)):
            return max(values[0], min(ceiling, least))
    return ceiling


@njit(cache=True, nogil=True)
def search_sequences(
    which, scorer, step, costs, scale, bonus, known, events, targets, track, widths, paths, values, ceiling
):
    """The best labellings of each sequence under its rules.

    step    (kinds of steps * classes of steps, Y, Y), with the costs of local rules
    ceiling (n,) receives an upper bound on the value of any labelling
    """
    for i in which:
        a, b = scorer.offsets[i], scorer.offsets[i + 1]
        unary, kind = local_scores(scorer, costs, i, scale, bonus, known)
        found = paths[:, a:b].copy()
        ceiling[i] = search_sequence(unary, step, kind, a, events, targets, track, widths, -np.inf, found, values[i])
        paths[:, a:b] = found
