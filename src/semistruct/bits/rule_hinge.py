"""The sequential dual method for losses that rules make, with an auxiliary value v_k for every bit k of the rules.

    minimise over w and v    1/2 ||w||^2 + sum_i C_i H_i(w) + sum_j C_j R_j(w, v_j)

    R_j = sum_k |v_k - 1| + mu/2 v_k^2 - mu/2 v_k p_k + mu/4 p_k
          + max_y [ w.f(x_j, y) + sum_k (mu/4 - mu/2 v_k) phi_k(y) ] - w.f(x_j, ybar_j)

H_i is the structured hinge loss of `sdm`, phi_k(y) the bits of a labelling (`bits.places`), and p = phi(ybar_j) those
of the target.  For dual variables alpha_j (a distribution over labellings), whose bits are a = sum_y alpha_j(y) phi(y)
on average, the best v has a closed form:

    v_k = min(1, (a_k + p_k) / 2 + 1 / mu)

So there is no need for variables v, nor for cutting planes of |v - 1|: what is left is the dual of `sdm`, in which a
labelling has the loss  sum_k (mu/4 - mu/2 v_k) phi_k(y)  that changes with a.  It is concave in a with a curvature of
at most mu/4, hence the exact line search of `sdm` with mu / (4 C_j) phi(y).phi(y') added to f(x, y).f(x, y') never
lowers the dual, and is exact where v_k < 1.  The duality gap is  sum_i C_i (max_y h - sum_y alpha(y) h)  as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from semistruct.bits.bits_kernels import best_priced, bits_of
from semistruct.bits.places import Bits
from semistruct.chain.kernels import path_score, token_scores
from semistruct.solvers import sdm_kernels as kernels
from semistruct.solvers.sdm import MAX_PAIRS, DualState, Problem, Workbench
from semistruct.threads import spread


class Auxiliary(NamedTuple):
    """v, one per bit, and what it adds to R_j, one per sequence."""

    v: np.ndarray
    fixed: np.ndarray


@njit(cache=True, nogil=True)
def slot_bits(i, first, T, bits, sets):
    """(n, bits of sequence i): the bits of the labellings in its working set."""
    n = sets.used[i]
    here, out = kernels.labellings(sets, i, T, n), np.empty((n, bits.start[i + 1] - bits.start[i]))
    for s in range(n):
        bits_of(bits, first, here[s], out[s])
    return out


@njit(cache=True, nogil=True)
def settle(alpha, phi, mu, v):
    """Write the best v; phi[0] are the bits of the target."""
    for k in range(phi.shape[1]):
        a = 0.0
        for s in range(len(alpha)):
            a += alpha[s] * phi[s, k]
        v[k] = min(1.0, 0.5 * (a + phi[0, k]) + 1.0 / mu)


@njit(cache=True, nogil=True)
def priced(phi, v, mu, loss):
    """Write the loss of each slot."""
    for s in range(len(phi)):
        loss[s] = 0.0
        for k in range(len(v)):
            loss[s] += (mu / 4 - mu / 2 * v[k]) * phi[s, k]


@njit(cache=True, nogil=True)
def find_bit_violators(which, rows, goal, sets, w, bits, mu, hinge, mean, found, aux):
    """Like `sdm_kernels.find_violators`; writes v and its part of R_j, too."""
    Y = w.tokens.shape[1]
    for i in which:
        a, b = rows.offsets[i], rows.offsets[i + 1]
        unary, kind = np.empty((b - a, Y)), rows.kind[a:b]
        v = aux.v[bits.start[i] : bits.start[i + 1]]
        alpha, loss = kernels.masses(sets, i, sets.used[i])
        phi, here = slot_bits(i, a, b - a, bits, sets), kernels.labellings(sets, i, b - a, sets.used[i])
        settle(alpha, phi, mu, v)
        priced(phi, v, mu, loss)
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


@njit(cache=True, nogil=True)
def improve_bits(which, rows, goal, sets, w, bits, mu, tol, max_pairs, apart):
    """Like `sdm_kernels.improve`."""
    for i in which:
        n, C, a, b = sets.used[i], goal.weight[i], rows.offsets[i], rows.offsets[i + 1]
        if n < 2 or C <= 0:
            apart[i] = 0.0
            continue
        here, phi = kernels.labellings(sets, i, b - a, n), slot_bits(i, a, b - a, bits, sets)
        alpha, loss = kernels.masses(sets, i, n)
        v, gram = np.empty(phi.shape[1]), kernels.slot_gram(sets, i)[:n, :n].copy()
        settle(alpha, phi, mu, v)
        priced(phi, v, mu, loss)
        for s in range(n):
            for r in range(n):
                for k in range(len(v)):
                    gram[s, r] += mu / (4 * C) * phi[s, k] * phi[r, k]
        where, edges = kernels.disagreement(here)
        h, change = np.empty(n), alpha.copy()
        kernels.slot_values(a, rows, w, here, loss, where, edges, h)
        first = kernels.balance(h, alpha, gram, C, tol, max_pairs)
        apart[i] = C * first
        if first > tol:
            for s in range(n):
                change[s] = C * (alpha[s] - change[s])
            kernels.move_weights(a, rows, w, here, change, where, edges)


class RuleWorkbench(Workbench):
    """The workbench of `sdm` for sequences of which some have the loss R_j, those that have bits; v receives theirs."""

    def __init__(
        self, problem: Problem, start: DualState | None, n_jobs: int | None, *, bits: Bits, mu: float, v: np.ndarray
    ) -> None:
        super().__init__(problem, start, n_jobs)
        self.bits, self.mu = bits, mu
        self.ruled = np.zeros(len(problem.batch), bool)
        self.ruled[bits.which] = True
        self.aux = Auxiliary(v, np.zeros(len(problem.batch)))

    def sweep(self, which: np.ndarray) -> None:
        super().sweep(which[~self.ruled[which]])
        improve_bits(
            which[self.ruled[which]], self.rows, self.goal, self.state.sets, self.w, self.bits.tables, self.mu,
            self.inner_tol, MAX_PAIRS, self.apart,
        )  # fmt: skip

    def look(self, which: np.ndarray) -> np.ndarray:
        super().look(which[~self.ruled[which]])
        spread(
            find_bit_violators, which[self.ruled[which]], self.rows, self.goal, self.state.sets, self.w,
            self.bits.tables, self.mu, self.hinge, self.mean, self.found, self.aux, n_jobs=self.n_jobs,
        )  # fmt: skip
        return self.problem.weight[which] * (self.hinge[which] - self.mean[which])

    def primal(self) -> float:
        return super().primal() + float(self.problem.weight @ self.aux.fixed)
