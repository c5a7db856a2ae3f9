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

from semistruct.base.threads import spread
from semistruct.core.kernels import kernels
from semistruct.learning.solvers.sdm import MAX_PAIRS, DualState, Problem, Workbench
from semistruct.rules.indicators import Bits
from semistruct.rules.search import PIECE


class Auxiliary(NamedTuple):
    """mu, v, one per bit, and what it adds to R_j, one per sequence."""

    mu: float
    v: np.ndarray
    fixed: np.ndarray


class RuleWorkbench(Workbench):
    """The workbench of `sdm` for sequences of which some have the loss R_j, those that have bits; v receives theirs."""

    scalable = False
    enough = np.inf  # losses of mistakes do not add up where rules are broken by several

    def __init__(
        self, problem: Problem, start: DualState | None, n_jobs: int | None, *, bits: Bits, mu: float, v: np.ndarray
    ) -> None:
        super().__init__(problem, start, n_jobs)
        self.bits = bits
        self.ruled = np.zeros(len(problem.batch), bool)
        self.ruled[bits.which] = True
        self.aux = Auxiliary(mu, v, np.zeros(len(problem.batch)))

    def sweep(self, which: np.ndarray) -> None:
        super().sweep(which[~self.ruled[which]])
        kernels.improve_bits(
            which[self.ruled[which]], self.rows, self.goal, self.state.sets, self.w, self.bits.tables, self.aux,
            self.inner_tol, MAX_PAIRS, self.apart,
        )  # fmt: skip

    def look(self, which: np.ndarray) -> np.ndarray:
        super().look(which[~self.ruled[which]])
        spread(
            kernels.find_bit_violators, which[self.ruled[which]], self.rows, self.goal, self.state.sets, self.w,
            self.bits.tables, self.hinge, self.mean, self.found, self.aux, n_jobs=self.n_jobs, piece=PIECE,
        )  # fmt: skip
        return self.problem.weight[which] * (self.hinge[which] - self.mean[which])

    def primal(self) -> float:
        return super().primal() + float(self.problem.weight @ self.aux.fixed)
