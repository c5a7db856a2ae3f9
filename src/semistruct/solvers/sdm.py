"""Sequential dual method for the structural SVM on chains.

    minimise over w    P(w) = 1/2 ||w||^2 + sum_i C_i H_i(w),    H_i(w) = max_y L_i(y) + w.f(x_i, y) - w.f(x_i, y_i)

The dual has one distribution alpha_i over labellings per example, of which only a working set is stored:

    w = sum_i C_i sum_y alpha_i(y) (f(x_i, y_i) - f(x_i, y)),    D = sum_i C_i sum_y alpha_i(y) L_i(y) - 1/2 ||w||^2

A pass looks for the most violated labelling of the examples (loss-augmented Viterbi, in parallel, on small blocks
so that w is fresh), adds it to their working sets and moves mass between pairs of labellings by exact line search.
Sweeps without inference follow, over the working sets only.  Examples whose part of the gap is small are left out
of all but every few passes.  The duality gap P - D = sum_i C_i (H_i - sum_y alpha_i(y) h_i(y)), computed for one and
the same w, is the certificate at which the solver stops.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semistruct.batch import SequenceBatch, starts
from semistruct.chain.inference import ChainWeights, effective_steps
from semistruct.solvers import sdm_kernels as kernels
from semistruct.threads import spread

BLOCK = 64  # examples looked at with the same w; a fixed number, so that threads do not change the result
SWEEPS = 6  # sweeps over the working sets after each pass
PAIR_STEPS = 3  # pairs of labellings moved per example and visit
FULL_EVERY = 5  # every so many passes visit all examples
SMALL_GAP = 0.1  # an example below this share of the mean gap is left out of the passes between
INNER_TOL = 0.1  # pairs are left alone when they could add less than this share of the tolerance
FIRST_SLOTS = 8  # room per working set to begin with; doubled when it gets tight
GRAM_LIMIT = 1 << 28  # entries of token products held in memory


@dataclass(frozen=True)
class Problem:
    """What to learn from.

    target (n_tokens,)  the labelling that is to win
    weight (n,)         C_i
    cost   (n_tokens,)  the loss of a wrong label at each token
    """

    batch: SequenceBatch
    n_labels: int
    target: np.ndarray
    weight: np.ndarray
    cost: np.ndarray


@dataclass
class DualState:
    """Dual variables and the w they stand for; see `sdm_kernels` for the shapes."""

    weights: np.ndarray
    trans: np.ndarray
    slots: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    count: np.ndarray
    weight: np.ndarray

    @classmethod
    def zero(cls, problem: Problem) -> DualState:
        """All mass on the targets: w = 0."""
        batch, n, Y = problem.batch, len(problem.batch), problem.n_labels
        alpha = np.zeros((n, FIRST_SLOTS))
        alpha[:, 0] = 1.0
        slots = np.zeros((FIRST_SLOTS, batch.n_tokens), np.int16)
        slots[0] = problem.target
        return cls(
            weights=np.zeros((batch.n_features, Y)),
            trans=np.zeros((batch.n_kinds, Y, Y)),
            slots=slots,
            alpha=alpha,
            loss=np.zeros((n, FIRST_SLOTS)),
            count=np.ones(n, np.int64),
            weight=problem.weight.copy(),
        )

    def rebased(self, problem: Problem) -> DualState:
        """A feasible start for the same examples with other targets or other C_i."""
        state = DualState(**{name: getattr(self, name).copy() for name in self.__dataclass_fields__})
        b = problem.batch
        kernels.rebase(
            b.offsets, b.indptr, b.indices, b.values, b.kind, self.weight, problem.target, problem.weight,
            problem.cost, state.slots, state.alpha, state.loss, state.count, state.weights, state.trans,
        )  # fmt: skip
        state.weight = problem.weight.copy()
        return state

    @property
    def chain(self) -> ChainWeights:
        return ChainWeights(self.weights, self.trans)

    def grow(self) -> None:
        """Double the room of the working sets."""
        self.slots = np.concatenate([self.slots, np.zeros_like(self.slots)])
        self.alpha = np.hstack([self.alpha, np.zeros_like(self.alpha)])
        self.loss = np.hstack([self.loss, np.zeros_like(self.loss)])


@dataclass(frozen=True)
class Record:
    """One line of the history; primal, dual and gap belong to the same w and are exact."""

    passes: int
    primal: float
    dual: float
    gap: float
    viterbi: int
    seconds: float


@dataclass(frozen=True)
class Solution:
    state: DualState
    history: list[Record] = field(repr=False)
    stop: str  # "converged" or "max_passes"

    @property
    def relative_gap(self) -> float:
        last = self.history[-1]
        return last.gap / last.primal if last.primal > 0 else 0.0


def solve(
    problem: Problem,
    *,
    tol: float = 0.01,
    max_passes: int = 1000,
    start: DualState | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    watch: Callable[[Record], None] | None = None,
) -> Solution:
    """Minimise P until the duality gap is at most tol * P; warns when max_passes come first.

    start  dual variables of an earlier solution for the same examples; targets and C_i may have changed
    watch  called with every Record
    """
    work = _Workbench(problem, DualState.zero(problem) if start is None else start.rebased(problem), n_jobs)
    rng = np.random.default_rng(seed)
    began, history = time.perf_counter(), []
    everyone = np.arange(len(problem.batch))
    gap = np.full(len(everyone), np.inf)
    for passes in range(max_passes + 1):
        # gaps met along a pass are out of date, but tell when it is time to measure
        if passes % FULL_EVERY == 0 or passes == max_passes or gap.sum() <= 1.5 * tol * work.primal():
            gap = work.look(everyone)
            primal, total = work.primal(), float(gap.sum())
            seconds = time.perf_counter() - began
            history.append(Record(passes, primal, primal - total, total, work.viterbi, seconds))
            if watch:
                watch(history[-1])
            if total <= tol * primal:
                return Solution(work.state, history, "converged")
            work.inner_tol = INNER_TOL * tol * primal / problem.weight.sum()
        visited = np.flatnonzero(gap > SMALL_GAP * gap.mean()) if passes % FULL_EVERY else everyone
        work.visit(rng.permutation(visited), gap)
        for _ in range(SWEEPS):
            work.sweep(rng.permutation(work.unsettled()))
    solution = Solution(work.state, history, "max_passes")
    warnings.warn(
        f"stopped after {max_passes} passes at a relative duality gap of {solution.relative_gap:.2%}, "
        f"{tol:.2%} was asked for; raise max_passes or tol",
        ConvergenceWarning,
        stacklevel=2,
    )
    return solution


class _Workbench:
    """The arrays of one call of `solve`, and the three things done with them."""

    def __init__(self, problem: Problem, state: DualState, n_jobs: int | None) -> None:
        self.problem, self.state, self.n_jobs = problem, state, n_jobs
        b, n = problem.batch, len(problem.batch)
        self.rows = (b.offsets, b.indptr, b.indices, b.values)
        self.found = np.empty(b.n_tokens, np.int16)
        self.hinge, self.mean = np.zeros(n), np.zeros(n)
        self.trial = np.zeros(state.trans.size)
        self.viterbi = 0
        self.seen = np.zeros(n)
        self.inner_tol = 0.0
        size = b.lengths**2
        self.start = starts(size if size.sum() <= GRAM_LIMIT else np.zeros(n, np.int64))
        self.gram = np.empty(self.start[-1], np.float32)
        if len(self.gram):
            spread(kernels.token_gram, np.arange(n), *self.rows, self.start, self.gram, n_jobs=n_jobs)
        self.step = effective_steps(state.trans)

    def visit(self, which: np.ndarray, gap: np.ndarray) -> None:
        """Find the worst labelling of each example, add it to its working set and improve on that."""
        for block in np.array_split(which, max(1, len(which) // BLOCK)):
            gap[block] = self.look(block)
            while self._improve(block, insert=True):
                self.state.grow()

    def unsettled(self) -> np.ndarray:
        """The examples whose working set was seen to be out of balance by more than the average."""
        return np.flatnonzero((self.state.count > 1) & (self.seen > self.seen.mean()))

    def sweep(self, which: np.ndarray) -> None:
        """Improve on the working sets as they are."""
        self._improve(which, insert=False)

    def primal(self) -> float:
        """P with the hinge losses last seen; exact right after a look at all examples."""
        w, t = self.state.weights.ravel(), self.state.trans.ravel()
        return float(0.5 * (w @ w + t @ t) + self.problem.weight @ self.hinge)

    def look(self, which: np.ndarray) -> np.ndarray:
        """Find the worst labelling of each example for the present w; returns their parts of the duality gap."""
        p, s = self.problem, self.state
        spread(
            kernels.find_violators, which, *self.rows, p.batch.kind, s.weights, self.step, p.target, p.cost,
            s.slots, s.alpha, s.loss, s.count, self.hinge, self.mean, self.found, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.viterbi += len(which)
        return p.weight[which] * (self.hinge[which] - self.mean[which])

    def _improve(self, which: np.ndarray, insert: bool) -> int:
        """Returns how many examples found no room for their new labelling."""
        p, s = self.problem, self.state
        return kernels.improve(
            which, *self.rows, p.batch.kind, self.start, self.gram, s.weights, s.trans, self.step, p.target, p.cost,
            s.slots, s.alpha, s.loss, s.count, p.weight, self.found, insert, PAIR_STEPS, self.inner_tol, self.trial,
            self.seen,
        )  # fmt: skip
