"""The loops of `rule_hinge`, which says what they compute; those of `sdm_kernels` with the bits of rules as losses."""

from typing import NamedTuple

import numpy as np

from semistruct.bits.bits_kernels import best_priced, bits_of
from semistruct.chain.kernels import path_score, token_scores
from semistruct.compiled import kernel
from semistruct.solvers import sdm_kernels as kernels
from semistruct.solvers import set_kernels


class Auxiliary(NamedTuple):
    """mu, v, one per bit, and what it adds to R_j, one per sequence."""

    mu: float
    v: np.ndarray
    fixed: np.ndarray


@kernel
def slot_bits(i, first, T, bits, sets):
    """(n, bits of sequence i): the bits of the labellings in its working set."""
    n = sets.used[i]
    here, out = set_kernels.labellings(sets, i, T, n), np.empty((n, bits.start[i + 1] - bits.start[i]))
    for s in range(n):
        bits_of(bits, first, here[s], out[s])
    return out


@kernel
def settle(alpha, phi, mu, v):
    """Write the best v; phi[0] are the bits of the target."""
    for k in range(phi.shape[1]):
        a = 0.0
        for s in range(len(alpha)):
            a += alpha[s] * phi[s, k]
        v[k] = min(1.0, 0.5 * (a + phi[0, k]) + 1.0 / mu)


@kernel
def losses(phi, v, mu, loss):
    """Write the loss of each slot."""
    for s in range(len(phi)):
        loss[s] = 0.0
        for k in range(len(v)):
            loss[s] += (mu / 4 - mu / 2 * v[k]) * phi[s, k]


@kernel
def find_bit_violators(which, rows, goal, sets, w, bits, seen, aux):
    """Like `sdm_kernels.find_violators`; writes v and its part of R_j, too."""
    Y, mu = w.tokens.shape[1], aux.mu
    hinge, mean, found = seen
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        unary, kind = np.empty((b - a, Y)), rows.kind[a:b]
        v = aux.v[bits.start[i] : bits.start[i + 1]]
        alpha, loss = set_kernels.masses(sets, i, sets.used[i])
        phi, here = slot_bits(i, a, b - a, bits, sets), set_kernels.labellings(sets, i, b - a, sets.used[i])
        settle(alpha, phi, mu, v)
        losses(phi, v, mu, loss)
        token_scores(rows.indptr, rows.indices, rows.values, w.tokens, a, unary)
        at_target = path_score(unary, w.step, kind, goal.target[a:b])
        mean[i], aux.fixed[i] = 0.0, 0.0
        for s in range(len(alpha)):
            if alpha[s] > 0:
                mean[i] += alpha[s] * (loss[s] + path_score(unary, w.step, kind, here[s]) - at_target)
        for k in range(len(v)):
            p = phi[0, k]
            aux.fixed[i] += 1.0 - v[k] + mu / 2 * v[k] * (v[k] - p) + mu / 4 * p
        hinge[i] = best_priced(bits, a, mu / 4 - mu / 2 * v, w.step, kind, unary, found[a:b]) - at_target


@kernel
def improve_bits(which, rows, goal, sets, w, bits, aux, balancing):
    """Like `sdm_kernels.improve`."""
    mu, (tol, max_pairs, apart) = aux.mu, balancing
    for i in which:
        n, C, a, b = sets.used[i], goal.weight[i], rows.offsets[i], rows.offsets[i + 1]
        if n < 2 or C <= 0:
            apart[i] = 0.0
            continue
        here, phi = set_kernels.labellings(sets, i, b - a, n), slot_bits(i, a, b - a, bits, sets)
        alpha, loss = set_kernels.masses(sets, i, n)
        v, gram, products = np.empty(phi.shape[1]), np.empty((n, n)), set_kernels.slot_gram(sets, i)
        settle(alpha, phi, mu, v)
        losses(phi, v, mu, loss)
        for s in range(n):
            for r in range(n):
                gram[s, r] = products[s, r]
                for k in range(len(v)):
                    gram[s, r] += mu / (4 * C) * phi[s, k] * phi[r, k]
        where, edges, spans = kernels.disagreement(here)
        h, change = np.empty(n), alpha.copy()
        kernels.slot_values(a, rows, w, here, loss, where, edges, spans, h)
        first = kernels.balance(h, alpha, gram, C, tol, max_pairs)
        apart[i] = C * first
        if first > tol:
            for s in range(n):
                change[s] = C * (alpha[s] - change[s])
            kernels.move_weights(a, rows, w, here, change, where, edges, spans)
