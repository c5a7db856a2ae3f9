"""Sequential dual method (SDM) for the structural SVM on chains.

    minimise over w    P(w) = 1/2 ||w||^2 + sum_i C_i H_i(w),    H_i(w) = max_y L_i(y) + w.f(x_i, y) - w.f(x_i, y_i)

The dual has one distribution alpha_i over labellings per example, of which only a working set V_i is stored:

    w = sum_i C_i sum_y alpha_i(y) (f(x_i, y_i) - f(x_i, y)),    D = sum_i C_i sum_y alpha_i(y) L_i(y) - 1/2 ||w||^2

The method (Shevade, Balamurugan et al., 2011), with h_i(y) = L_i(y) + w.f(x_i, y) - w.f(x_i, y_i):

    1  alpha_i(y_i) = 1 and V_i = {y_i} for every example, hence w = 0
    2  until the gap P - D = sum_i C_i (H_i - sum_y alpha_i(y) h_i(y)) is at most tol * P, in passes:
    3      for every example i in random order:
    4          add the most violated labelling, argmax_y h_i(y), to V_i (loss-augmented Viterbi)
    5          move mass from the labelling with the smallest h_i in V_i to that with the largest, by exact line search
    6      sweeps of step 5 alone, without inference, over the working sets that are out of balance

Beyond the paper: step 4 is done for small blocks of examples in parallel, with the same w (`Workbench.visit`);
examples whose part of the gap is small are left out of all but every FULL_EVERY passes; and where almost all margins
can be had, P falls a lot if w is made a little longer: the gap of step 2 is P(s w) - D for the best scale s, and s w is
the solution (`best_scale`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from semistruct.base.progress import Progress, Watch
from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch, ranges
from semistruct.core.chain.inference import ChainWeights
from semistruct.core.kernels import kernels
from semistruct.learning.solvers import sdm_arrays, warn_unconverged
from semistruct.learning.solvers.sdm_arrays import Goal, Sequences, Sets, W

BLOCKS, LEAST = 128, 32  # a pass looks at this many blocks of examples with the same w, of no less than LEAST each
SWEEPS = 6  # sweeps over the working sets after each pass
APPROACH = 3  # sweeps over the first labellings, if these are taken from weights that are near
MAX_PAIRS = 10  # pairs of labellings moved per example and visit
FULL_EVERY = 5  # one in this many passes visits all examples
SMALL_GAP = 0.1  # an example below this share of the mean gap is left out of the passes between
INNER_TOL = 0.1  # pairs are left alone when they could add less than this share of the tolerance
LOOKS = 5  # at most, for the best scale of w
SCALES, SCALE_STEP = (0.5, 2.0), 1e-4  # it is looked for between these, to within this
FIRST_ROOM, LEAN_ROOM = 8, 4  # slots per working set to begin with; doubled for the examples that need it
MANY = 20_000  # examples that begin with LEAN_ROOM, and into whose working sets mistakes do not go alone
MANY_TOKENS = 1_000_000  # likewise: sets with single mistakes are several times as large


@dataclass(frozen=True)
class Problem:
    """What to learn from.

    target (n_tokens,)  the labelling that is to win
    weight (n,)         C_i
    cost   (n_tokens,)  the loss of a wrong label at each token, a small whole number
    """

    batch: SequenceBatch
    n_labels: int
    target: np.ndarray
    weight: np.ndarray
    cost: np.ndarray

    @property
    def goal(self) -> Goal:
        target, cost = self.target.astype(np.int16, copy=False), self.cost.astype(float, copy=False)
        return Goal(target, cost, self.weight.astype(float, copy=False))


@dataclass
class DualState:
    """Dual variables (the working sets), the w they stand for, and the C_i they belong to."""

    sets: Sets
    chain: ChainWeights
    weight: np.ndarray

    @classmethod
    def zero(cls, problem: Problem) -> DualState:
        """All mass on the targets: w = 0."""
        batch, n, Y = problem.batch, len(problem.batch), problem.n_labels
        room = np.full(n, LEAN_ROOM if n >= MANY else FIRST_ROOM)
        sets = sdm_arrays.empty_sets(room, batch.lengths, sdm_arrays.type_of_gram(batch))
        sets.used[:] = 1
        sets.alpha[sets.slot_start[:-1]] = 1.0
        sets.labels[ranges(sets.label_start[:-1], batch.lengths)] = problem.target
        chain = ChainWeights(np.zeros((batch.n_features, Y)), np.zeros((batch.n_kinds, Y, Y)))
        return cls(sets, chain, problem.weight.copy())

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it as plain arrays, for `from_arrays`."""
        own = {"tokens": self.chain.tokens, "trans": self.chain.trans, "weight": self.weight}
        return {**self.sets._asdict(), **own}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> DualState | None:
        """What `arrays` were made from; None if there are none."""
        if not arrays:
            return None
        sets = Sets(*(arrays[name] for name in Sets._fields))
        return cls(sets, ChainWeights(arrays["tokens"], arrays["trans"]), arrays["weight"])

    def grow(self, full: np.ndarray) -> None:
        """Double the room of the marked examples."""
        old, room = self.sets, np.where(full, 2 * self.sets.room, self.sets.room)
        new = sdm_arrays.empty_sets(room, np.diff(old.label_start) // old.room, old.gram.dtype)
        kernels.copy_sets(np.arange(len(full)), old, new)
        self.sets = new

    def differs(self, problem: Problem) -> bool:
        """Whether the problem has other targets or other C_i."""
        target = self.sets.labels[ranges(self.sets.label_start[:-1], problem.batch.lengths)]
        return not (np.array_equal(self.weight, problem.weight) and np.array_equal(target, problem.target))

    def rebased(self, problem: Problem, rows: Sequences) -> DualState:
        """A feasible start for the same examples with other targets or other C_i."""
        sets = Sets(*(array.copy() for array in self.sets))
        chain = ChainWeights(np.empty_like(self.chain.tokens), np.empty_like(self.chain.trans))
        w = W(chain.tokens, chain.trans, np.zeros_like(chain.trans))
        kernels.rebase(np.arange(len(self.weight)), rows, problem.goal, self.weight, sets, w)
        return DualState(sets, chain, problem.weight.copy())


@dataclass(frozen=True)
class Solution:
    """history has a record per look at all examples: the objective of scale * w and the dual of w, both exact."""

    state: DualState
    history: list[Progress] = field(repr=False)
    stop: str  # "converged" or "max_passes"

    @property
    def chain(self) -> ChainWeights:
        """The weights that the last record is about: those of the state, scaled."""
        scale = self.history[-1].details["scale"]
        if scale == 1:
            return self.state.chain
        return ChainWeights(scale * self.state.chain.tokens, scale * self.state.chain.trans)

    @property
    def objective(self) -> float:
        return float(self.history[-1].objective or 0.0)

    @property
    def gap(self) -> float:
        return float(self.history[-1].gap or 0.0)

    @property
    def relative_gap(self) -> float:
        return self.gap / self.objective if self.objective > 0 else 0.0


def solve(
    problem: Problem,
    *,
    tol: float = 0.01,
    max_passes: int = 1000,
    min_passes: int = 0,
    start: DualState | ChainWeights | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    watch: Watch | None = None,
    bench: Bench | None = None,
) -> Solution:
    """Minimise P until the duality gap is at most tol * P; warns when max_passes come first.

    min_passes  at least so many, from however good a start
    start  dual variables of an earlier solution for the same examples; targets and C_i may have changed.  Or weights
           that are near to the solution, from which the first labellings are taken
    watch  called with every record of the history
    bench  makes the Workbench, for examples with another kind of loss
    """
    work = (bench or Workbench)(problem, start if isinstance(start, DualState) else None, n_jobs)  # step 1
    if bench is None and isinstance(start, ChainWeights):
        work.approach(start)
    elif bench is None and isinstance(start, DualState) and start.differs(problem):
        for _ in range(SWEEPS):
            work.sweep(work.everyone)
    rng, min_passes = np.random.default_rng(seed), min(min_passes, max_passes)
    began, history = time.perf_counter(), list[Progress]()
    everyone, gap = work.everyone, np.where(problem.weight > 0, np.inf, 0.0)
    for passes in range(max_passes + 1):  # step 2
        # gaps met along a pass are out of date, but tell when it is time to measure
        ready = passes >= min_passes and (passes == min_passes > 0 or gap.sum() <= 1.5 * tol * work.primal())
        if passes % FULL_EVERY == 0 or passes == max_passes or ready:
            work.refresh()
            gap[everyone] = work.look(everyone)
            dual = work.primal() - float(gap.sum())
            scale, primal = best_scale(work, dual, tol)
            total = primal - dual
            details = {"dual": dual, "scale": scale, "viterbi": work.viterbi}
            history.append(Progress("pass", passes, primal, time.perf_counter() - began, total, details=details))
            if watch:
                watch(history[-1])
            if total <= tol * primal and passes >= min_passes:
                return Solution(work.state, history, "converged")
            if passes == max_passes:
                break
            work.inner_tol = INNER_TOL * tol * primal / problem.weight.sum()
        visited = np.flatnonzero(gap > SMALL_GAP * gap[everyone].mean()) if passes % FULL_EVERY else everyone
        work.visit(rng.permutation(visited), gap)  # steps 3 to 5
        for _ in range(SWEEPS):  # step 6
            work.sweep(rng.permutation(work.unsettled()))
    solution = Solution(work.state, history, "max_passes")
    warn_unconverged(
        f"stopped after {max_passes} passes at a relative duality gap of {solution.relative_gap:.2%}, "
        f"above tol ({tol:.2%}); raise max_passes or tol"
    )
    return solution


def best_scale(work: Workbench, dual: float, tol: float) -> tuple[float, float]:
    """(s, P(s w)) for a scale s near the best one, right after a look at all examples.

    Weights that are slightly too short lose a little with many examples; longer ones cost little.  As a function of s a
    hinge loss is the largest of lines, L(y) - s w.psi(y), of which each look at some s tells one per example.  The next
    look is where they would have P smallest, until that is known, or too large for any s to close the gap.
    """
    norm2, weight = work.state.chain.norm2, work.problem.weight
    best, primal = 1.0, work.primal()
    if not work.scalable:
        return best, primal
    loss = np.vstack([np.zeros_like(weight), work.losses()])  # the targets, and what the look has found
    slope = np.vstack([np.zeros_like(weight), work.hinge - loss[1]])

    def steepness(s: float) -> float:
        line = np.argmax(loss + s * slope, axis=0)
        return s * norm2 + float(weight @ slope[line, np.arange(len(weight))])

    for _ in range(LOOKS):
        low, high = SCALES
        while high - low > SCALE_STEP:
            s = (low + high) / 2
            low, high = (low, s) if steepness(s) > 0 else (s, high)
        bound = 0.5 * s**2 * norm2 + float(weight @ np.max(loss + s * slope, axis=0))
        if primal - dual <= tol * primal or bound - dual > tol * bound or primal - bound <= INNER_TOL * tol * primal:
            break
        hinge, lost = work.hinges(s)
        value = 0.5 * s**2 * norm2 + float(weight @ hinge)
        if value < primal:
            best, primal = s, value
        loss, slope = np.vstack([loss, lost]), np.vstack([slope, (hinge - lost) / s])
    return best, primal


class Workbench:
    """The arrays of one call of `solve`, and the things done with them."""

    scalable = True  # the objective can be had at scale * w
    enough = 0.5  # the mass of a target from which on single mistakes are enough, as their losses add up

    def __init__(self, problem: Problem, start: DualState | None, n_jobs: int | None) -> None:
        self.problem, self.goal, self.n_jobs = problem, problem.goal, n_jobs
        n, self.everyone = len(problem.batch), np.flatnonzero(problem.weight > 0)  # who counts
        self.rows = sdm_arrays.sequences_of(problem.batch, n_jobs)
        self.state = DualState.zero(problem) if start is None else start.rebased(problem, self.rows)
        chain = self.state.chain
        self.w = W(chain.tokens, chain.trans, chain.step)
        self.found = problem.target.astype(np.int16)
        self.hinge, self.mean, self.apart = np.zeros(n), np.zeros(n), np.zeros(n)
        self.singly = n < MANY and problem.batch.n_tokens < MANY_TOKENS
        self.inner_tol = 0.0
        self.viterbi = 0

    def approach(self, near: ChainWeights) -> None:
        """Fill the working sets with the worst labellings for these weights, and balance them."""
        everyone, w = self.everyone, self.w
        tokens, trans = (np.require(array, requirements="W") for array in (near.tokens, near.trans))
        self.w = W(tokens, trans, near.step)
        self.look(everyone)
        self.w = w
        self._insert(everyone, np.zeros(len(self.hinge), np.bool_))
        for _ in range(APPROACH):
            self.sweep(everyone)

    def visit(self, which: np.ndarray, gap: np.ndarray) -> None:
        """Find the worst labelling of each example, add it to its working set and balance that."""
        full = np.zeros(len(gap), np.bool_)
        for block in np.array_split(which, np.clip(len(which) // LEAST, 1, BLOCKS)):
            gap[block] = self.look(block)  # step 4: the most violated labelling
            self._insert(block, full)
            self.sweep(block)  # step 5
        if full.any():  # their new labelling had no room and is found again in the next pass
            self.state.grow(full)

    def _insert(self, which: np.ndarray, full: np.ndarray) -> None:
        """Add the labellings found to the working sets; marks those that are full."""
        sets = self.state.sets
        spread(
            kernels.insert, which, self.rows, self.goal, sets, self.found, self.w.trans,
            self.singly, self.enough, full, n_jobs=self.n_jobs,
        )  # fmt: skip

    def sweep(self, which: np.ndarray) -> None:
        """Balance the working sets as they are."""
        kernels.improve(which, self.rows, self.goal, self.state.sets, self.w, self.inner_tol, MAX_PAIRS, self.apart)

    def unsettled(self) -> np.ndarray:
        """The examples whose working set was seen to be out of balance by more than the average."""
        return np.flatnonzero(self.apart > self.apart.mean())

    def look(self, which: np.ndarray) -> np.ndarray:
        """Find the worst labelling of each example for the present w; returns their parts of the duality gap."""
        results = self.hinge, self.mean, self.found
        spread(
            kernels.find_violators, which, self.rows, self.goal, self.state.sets, self.w, *results, n_jobs=self.n_jobs
        )
        self.viterbi += len(which)
        return self.problem.weight[which] * (self.hinge[which] - self.mean[which])

    def hinges(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """The hinge losses at scale * w, and the losses of the labellings that attain them."""
        everyone, goal = self.everyone, self.goal._replace(margin=1 / scale)
        hinge, mean = np.zeros_like(self.hinge), np.zeros_like(self.hinge)
        results = hinge, mean, self.found
        spread(kernels.find_violators, everyone, self.rows, goal, self.state.sets, self.w, *results, n_jobs=self.n_jobs)
        self.viterbi += len(everyone)
        return scale * hinge, self.losses()

    def losses(self) -> np.ndarray:
        """The losses of the labellings last found, after a look at all examples."""
        wrong = self.problem.cost * (self.found != self.problem.target)
        return np.add.reduceat(wrong, self.problem.batch.offsets[:-1], dtype=float)

    def refresh(self) -> None:
        """Wipe out the rounding of many small updates to the step tables."""
        self.w.step[:] = self.state.chain.step

    def primal(self) -> float:
        """P with the hinge losses last seen; exact right after a look at all examples."""
        return 0.5 * self.state.chain.norm2 + float(self.problem.weight @ self.hinge)


Bench = Callable[[Problem, DualState | None, int | None], Workbench]
