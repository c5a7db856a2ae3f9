"""Learners: each finds the weights of a chain model from labels, some of which may be unknown.

A supervised method is just a learner; semi-supervised methods build on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any, ClassVar, Protocol

import numpy as np

from semistruct.base import threads
from semistruct.base.progress import Progress, Watch
from semistruct.core.batch import UNKNOWN, SequenceBatch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.learning import settings
from semistruct.learning.solvers import crf, sdm
from semistruct.learning.solvers.sdm import DualState, Problem, Solution


@dataclass(frozen=True)
class Learned:
    """The weights; `start` lets the same learner continue from there."""

    chain: ChainWeights
    start: Any
    history: list[Progress]
    stop: str


class Learner(Protocol):
    """Finds weights for n_labels labels; grid and default_C are for the search for C."""

    grid: ClassVar[tuple[float, ...]]
    default_C: ClassVar[float]

    @property
    def n_labels(self) -> int: ...

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Learn labels `known` (n_tokens,), some of which may be UNKNOWN; weight (n,) multiplies the losses.

        rough  only as exact as needed to compare parameters
        """
        ...


def learn_mixture(
    learner: Learner, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
) -> Learned:
    """Learn several labellings (K, n_tokens) of each sequence; share (n, K) says how much each of them counts.

    A learner that cannot do that gets copies of the sequences; as these disagree, they are learned roughly.
    """
    if (all_at_once := getattr(learner, "learn_mixture", None)) is not None:
        learned: Learned = all_at_once(batch, labellings, share, weight)
        return learned
    which, row = np.nonzero(share)
    tokens = batch.tokens_of(which)
    labels = labellings[np.repeat(row, batch.lengths[which]), tokens]
    return learner.learn(batch.take(which), labels, share[which, row] * weight[which], rough=True)


@dataclass(frozen=True)
class MarginLearner:
    """The structural SVM, by the sequential dual method."""

    grid: ClassVar[tuple[float, ...]] = settings.MARGIN_GRID
    default_C: ClassVar[float] = settings.MARGIN_C

    n_labels: int
    tol: float
    max_passes: int
    seed: int
    n_jobs: int | None = None
    watch: Watch | None = None
    min_passes: int = 0

    def solve(
        self,
        problem: Problem,
        *,
        tol: float | None = None,
        start: DualState | ChainWeights | None = None,
        bench: sdm.Bench | None = None,
    ) -> Solution:
        """Train on complete labels."""
        limits: dict[str, Any] = {"tol": tol or self.tol, "max_passes": self.max_passes, "min_passes": self.min_passes}
        how: dict[str, Any] = {"seed": self.seed, "n_jobs": self.n_jobs, "watch": self.watch}
        return sdm.solve(problem, **limits, **how, start=start, bench=bench)

    def solve_each(
        self, problems: Sequence[Problem], arrays: dict[str, np.ndarray], near: ChainWeights
    ) -> tuple[list[Solution], dict[str, np.ndarray]]:
        """Several problems with the same sequences, at the same time: (the solutions, the dual variables of all).

        arrays  those of the last time, from which to start; without any, the weights `near`
        """
        stop, cores = Event(), threads.cores(self.n_jobs)

        def watched(record: Progress) -> None:
            if stop.is_set():
                raise InterruptedError

        def solved(k: int) -> Solution:
            own = {name.removeprefix(f"{k}."): array for name, array in arrays.items() if name.startswith(f"{k}.")}
            return learner.solve(problems[k], start=DualState.from_arrays(own) or near)

        learner = replace(self, watch=watched, n_jobs=1 if cores < 2 * len(problems) else cores)
        calls = [partial(solved, k) for k in range(len(problems))]
        found = [call() for call in calls] if cores == 1 else threads.at_once(calls, stop)
        return found, {
            f"{k}.{name}": array for k, one in enumerate(found) for name, array in one.state.arrays().items()
        }

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """In turns, unknown labels are filled in to agree with the known ones, and the model learns from all."""
        cost, tol = (known != UNKNOWN).astype(np.int8), max(settings.ROUGH_GAP, self.tol) if rough else self.tol
        target, complete = filled(batch, known), bool(cost.all())
        learner = self if complete else replace(self, min_passes=0)  # each round starts from the one before
        for level in (tol,) if complete else (max(tol, settings.FILL_GAP), tol):
            for _ in range(settings.COMPLETIONS):
                solution = learner.solve(Problem(batch, self.n_labels, target, weight, cost), tol=level, start=start)
                start = solution.state
                better = target if complete else decode(batch, solution.chain, known=known, n_jobs=self.n_jobs)[0]
                if np.array_equal(better, target):
                    break
                target = better
        return Learned(solution.chain, solution.state, solution.history, solution.stop)


@dataclass(frozen=True)
class LikelihoodLearner:
    """Conditional random fields, by L-BFGS-B."""

    grid: ClassVar[tuple[float, ...]] = settings.LIKELIHOOD_GRID
    default_C: ClassVar[float] = settings.LIKELIHOOD_C

    n_labels: int
    tol: float
    max_iterations: int
    l1: float = 0.0
    n_jobs: int | None = None
    watch: Watch | None = None
    warn: bool = True

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Unknown labels are summed over."""
        return self._solve(batch, known, weight, max(self.tol, settings.ROUGH_FALL) if rough else self.tol, start)

    def learn_expected(
        self, batch: SequenceBatch, goal: crf.Expected, weight: np.ndarray, *, start: ChainWeights | None = None
    ) -> Learned:
        """Learn a distribution over labellings; the history begins with where it started."""
        return self._solve(batch, goal, weight, self.tol, start)

    def learn_mixture(
        self, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
    ) -> Learned:
        """Learn several labellings (k, n_tokens) of each sequence, with shares (n, k) that sum to 1."""
        tokens = np.zeros((batch.n_tokens, self.n_labels))
        steps = np.zeros((batch.n_kinds, self.n_labels, self.n_labels))
        for labels, part in zip(labellings, share.T, strict=True):
            one = crf.Expected.of_labels(batch, labels, self.n_labels, weight * part)
            tokens += np.repeat(part, batch.lengths)[:, None] * one.tokens
            steps += one.steps
        return self.learn_expected(batch, crf.Expected(tokens, steps), weight)

    def _solve(
        self,
        batch: SequenceBatch,
        goal: np.ndarray | crf.Expected,
        weight: np.ndarray,
        tol: float,
        start: ChainWeights | None,
    ) -> Learned:
        objective = crf.Objective(batch, self.n_labels, weight, goal, self.n_jobs, merge=not self.l1)
        limits: dict[str, Any] = {"l1": self.l1, "tol": tol, "max_iterations": self.max_iterations}
        found = crf.solve(objective, **limits, start=start, watch=self.watch, warn=self.warn)
        return Learned(found.chain, found.chain, found.history, found.stop)


def filled(batch: SequenceBatch, known: np.ndarray) -> np.ndarray:
    """Unknown labels replaced by the nearest known one of the sequence, the left one if two are equally near."""
    out = known.copy()
    for i in range(len(batch)):
        row = out[batch.offsets[i] : batch.offsets[i + 1]]
        places = np.flatnonzero(row != UNKNOWN)
        if len(places) < len(row):
            distance = np.abs(np.arange(len(row))[:, None] - places[None, :])
            row[:] = row[places[np.argmin(distance, axis=1)]]
    return out
