"""The working sets of the sequential dual method: labellings of each example, their losses and inner products.

Every example i has a working set of labellings ("slots"), slot 0 being its target y_i, and psi_s = f(x_i, y_i) -
f(x_i, y_s).  Step features count once in table 0, and once more in the table of their kind if that is not 0.
"""

from typing import NamedTuple

import numpy as np

from semistruct.chain.kernels import copy, equal
from semistruct.compiled import kernel


class Sequences(NamedTuple):
    """The sequences, as in SequenceBatch, with the products of their tokens where these fit into memory.

    product[product_start[i] + t * T_i + s] = x_t . x_s for the tokens t, s of sequence i
    """

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    product_start: np.ndarray
    product: np.ndarray


class Goal(NamedTuple):
    """What is to be learned: target and cost (n_tokens,), weight C_i (n,); violators are found at margin * cost."""

    target: np.ndarray
    cost: np.ndarray
    weight: np.ndarray
    margin: float = 1.0


class Sets(NamedTuple):
    """The working sets, with room for room[i] slots of which used[i] are in use.

    alpha, loss  slot s of example i at slot_start[i] + s
    labels       its labelling at label_start[i] + s * T_i, T_i labels
    gram         psi_s . psi_r at gram_start[i] + s * room[i] + r
    """

    room: np.ndarray
    used: np.ndarray
    slot_start: np.ndarray
    label_start: np.ndarray
    gram_start: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    labels: np.ndarray
    gram: np.ndarray


class W(NamedTuple):
    """tokens (F, Y); trans (K, Y, Y); step (K, Y, Y), the effective tables trans[0] and trans[0] + trans[k]."""

    tokens: np.ndarray
    trans: np.ndarray
    step: np.ndarray


@kernel
def labellings(sets, i, T, n):
    """The first n labellings of example i, (n, T)."""
    a = sets.label_start[i]
    return sets.labels[a : a + n * T].reshape(n, T)


@kernel
def masses(sets, i, n):
    a = sets.slot_start[i]
    return sets.alpha[a : a + n], sets.loss[a : a + n]


@kernel
def slot_gram(sets, i):
    a, room = sets.gram_start[i], sets.room[i]
    return sets.gram[a : a + room * room].reshape(room, room)


@kernel
def dot(indices, values, a0, a1, b0, b1):
    """The dot product of two sparse rows with increasing indices."""
    stride = 0 if len(values) == 1 else 1
    total = 0.0
    while a0 < a1 and b0 < b1:
        if indices[a0] < indices[b0]:
            a0 += 1
        elif indices[a0] > indices[b0]:
            b0 += 1
        else:
            total += values[a0 * stride] * values[b0 * stride]
            a0 += 1
            b0 += 1
    return total


@kernel
def token_product(rows, t, s):
    """x_t . x_s for two tokens counted over all sequences."""
    p = rows.indptr
    return dot(rows.indices, rows.values, p[t], p[t + 1], p[s], p[s + 1])


@kernel
def token_products(which, rows):
    """Fill rows.product."""
    for i in which:
        a, T = rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]
        square = rows.product[rows.product_start[i] : rows.product_start[i] + T * T].reshape(T, T)
        for t in range(T):
            for s in range(t + 1):
                square[t, s] = square[s, t] = token_product(rows, a + t, a + s)


@kernel
def hamming(path, target, cost):
    """The loss of `path`: the cost of every token whose label is not the target's."""
    total = 0.0
    for t in range(len(path)):
        if path[t] != target[t]:
            total += cost[t]
    return total


@kernel
def add_steps(table, kind, target, path, amount):
    """table (K, Y, Y) += amount * the step part of psi for the labelling `path`."""
    for t in range(1, len(path)):
        if path[t] != target[t] or path[t - 1] != target[t - 1]:
            k = kind[t]
            table[0, target[t - 1], target[t]] += amount
            table[0, path[t - 1], path[t]] -= amount
            if k > 0:
                table[k, target[t - 1], target[t]] += amount
                table[k, path[t - 1], path[t]] -= amount


@kernel
def gram_row(i, rows, target, here, last, row, trial):
    """row[s] = psi_last . psi_s for s <= last; `trial` (K, Y, Y) is all zero before and after.

    psi_last is laid out as scores, U for the tokens and `trial` for the steps, and each psi_s is scored with it; only
    tokens where some labelling differs from the target are asked for.
    """
    a, T, Y = rows.offsets[i], len(target), trial.shape[1]
    new, kind, p = here[last], rows.kind[rows.offsets[i] : rows.offsets[i + 1]], rows.product_start[i]
    U, asked = np.zeros((T, Y)), np.empty(T, np.int64)
    n = 0
    for t in range(T):
        for s in range(1, last + 1):
            if here[s, t] != target[t]:
                asked[n] = t
                n += 1
                break
    for s in range(T):
        if new[s] != target[s]:
            for t in asked[:n]:
                v = rows.product[p + s * T + t] if len(rows.product) else token_product(rows, a + s, a + t)
                U[t, target[s]] += v
                U[t, new[s]] -= v
    add_steps(trial, kind, target, new, 1.0)
    for s in range(last + 1):
        path, total = here[s], 0.0
        for t in range(T):
            if path[t] != target[t]:
                total += U[t, target[t]] - U[t, path[t]]
            if t > 0 and (path[t] != target[t] or path[t - 1] != target[t - 1]):
                k = kind[t]
                total += trial[0, target[t - 1], target[t]] - trial[0, path[t - 1], path[t]]
                if k > 0:
                    total += trial[k, target[t - 1], target[t]] - trial[k, path[t - 1], path[t]]
        row[s] = total
    add_steps(trial, kind, target, new, -1.0)


@kernel
def append_slot(i, rows, goal, sets, path, mass, trial):
    """Add a labelling that is not in the working set yet."""
    a, b, n = rows.offsets[i], rows.offsets[i + 1], sets.used[i]
    sets.used[i] = n + 1
    here, target = labellings(sets, i, b - a, n + 1), goal.target[a:b]
    alpha, loss = masses(sets, i, n + 1)
    copy(path, here[n])
    alpha[n], loss[n] = mass, hamming(path, target, goal.cost[a:b])
    gram = slot_gram(sets, i)
    gram_row(i, rows, target, here, n, gram[n], trial)
    for s in range(n):
        gram[s, n] = gram[n, s]


@kernel
def drop_empty(i, T, sets):
    """Forget the labellings of example i that have no mass, except the target."""
    old = sets.used[i]
    here, gram = labellings(sets, i, T, old), slot_gram(sets, i)
    alpha, loss = masses(sets, i, old)
    kept = np.empty(old, np.int64)
    n = 0
    for s in range(old):
        if s == 0 or alpha[s] > 0:
            kept[n] = s
            if s != n:
                copy(here[s], here[n])
                alpha[n], loss[n] = alpha[s], loss[s]
            n += 1
    if n < old:
        for s in range(n):
            for r in range(n):
                gram[s, r] = gram[kept[s], kept[r]]
    sets.used[i] = n


@kernel
def copy_sets(old, new):
    """Copy working sets into empty ones with at least as much room."""
    for i in range(len(old.room)):
        n, a, b = old.used[i], old.slot_start[i], new.slot_start[i]
        new.used[i] = n
        for s in range(n):
            new.alpha[b + s], new.loss[b + s] = old.alpha[a + s], old.loss[a + s]
        a, b = old.label_start[i], new.label_start[i]
        for t in range(n * ((old.label_start[i + 1] - a) // old.room[i])):
            new.labels[b + t] = old.labels[a + t]
        before, after = slot_gram(old, i), slot_gram(new, i)
        for s in range(n):
            for r in range(n):
                after[s, r] = before[s, r]


@kernel
def offer(i, rows, goal, sets, path, trial, full):
    """Add a labelling to the working set of example i unless it is there; marks full[i] if there is no room."""
    a, b, n = rows.offsets[i], rows.offsets[i + 1], sets.used[i]
    here = labellings(sets, i, b - a, n)
    for s in range(n):
        if equal(here[s], path):
            return
    if n == sets.room[i]:
        full[i] = True
    else:
        append_slot(i, rows, goal, sets, path, 0.0, trial)


@kernel
def insert(which, rows, goal, sets, found, trans, singly, enough, full):
    """Put the labellings `found` into the working sets, and, if `singly`, each of their stretches of wrong labels.

    Losses and psi of the stretches add up to those of the whole, so that with them a working set can weigh each mistake
    by itself.  Where the target has more mass than `enough` to give to all of them, they do without the whole.  Marks
    in full (n,) the examples that have no room.

    trans  tables of steps, for their shape
    """
    trial = np.zeros_like(trans)
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        path, target, T = found[a:b], goal.target[a:b], b - a
        drop_empty(i, T, sets)
        full[i] = False
        if not singly or sets.alpha[sets.slot_start[i]] <= enough:
            offer(i, rows, goal, sets, path, trial, full)
        if not singly:
            continue
        alone, begin = path.copy(), 0
        copy(target, alone)
        for t in range(T):
            alone[t] = path[t]
            if path[t] != target[t] and (t + 1 == T or path[t + 1] == target[t + 1]):
                offer(i, rows, goal, sets, alone, trial, full)
                copy(target[begin : t + 1], alone[begin : t + 1])
                begin = t + 1
