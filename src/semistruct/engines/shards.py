"""A part of the sequences, and all that is done with it in one place: matching, and its part of learning.

Learning is a distributed dual method (CoCoA+: Ma, Smith, Jaggi, Jordan, Richtarik, Takac 2015).  Every shard has the
dual variables of its own sequences.  In a round each improves them against the same w, as if it stood for all K shards:

    max over its own alpha    sum_i C_i alpha_i.L_i - w.dw - K/2 ||dw||^2,    dw = its change of w

and w moves by the sum of all dw.  This is safe: the factor K makes up for what the others do at the same time.  With
C' = K C and dw' = K dw the problem is K times an ordinary one, so that the kernels of `solvers.sdm` solve it as it is.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.fitting.annealing import MatchByScore, MatchBySlack
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.progress import Progress
from semistruct.rules import Rules
from semistruct.solvers.sdm import SWEEPS, DualState, Problem, Workbench, solve
from semistruct.switching.matching import Matching

AnyMatcher = MatchByScore | MatchBySlack


class Weights(NamedTuple):
    """The weights of a chain as arrays, as they travel."""

    tokens: np.ndarray
    trans: np.ndarray

    @classmethod
    def of(cls, chain: ChainWeights) -> Weights:
        return cls(chain.tokens, chain.trans)

    def chain(self) -> ChainWeights:
        return ChainWeights(self.tokens, self.trans)

    @property
    def nbytes(self) -> int:
        return self.tokens.nbytes + self.trans.nbytes


class Shard:
    """Some of the sequences of a task.

    task   those sequences, without rules
    rules  the rules of the open ones
    match  how labels are matched
    """

    def __init__(self, task: Task, rules: Rules, match: AnyMatcher, n_jobs: int = 1) -> None:
        self.task, self.match_by, self.n_jobs = task.under(rules), match, n_jobs
        self.states: dict[str, DualState] = {}  # for each of several problems with these sequences
        self.work: Workbench | None = None

    def match(self, weights: Weights, labels: np.ndarray | None, scale: np.ndarray) -> Matching:
        """Labels for the open sequences."""
        return self.match_by(self.task, State(weights.chain(), labels=labels), scale)

    def search(self, weights: Weights, scale: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Labels for some of the open sequences, by the score."""
        assert isinstance(self.match_by, MatchByScore)
        return self.match_by.search(self.task, weights.chain(), scale, which)

    def price(self, weights: Weights, scale: np.ndarray, labels: np.ndarray) -> Matching:
        """What labels of the open sequences cost."""
        assert isinstance(self.match_by, MatchByScore)
        return self.match_by.price(self.task, weights.chain(), scale, labels)

    def begin(self, slot: str, target: np.ndarray, weight: np.ndarray, cost: np.ndarray, n_labels: int) -> Weights:
        """Start to learn these labels from where learning ended; returns its part of w."""
        problem = Problem(self.task.batch, n_labels, target, weight, cost)
        self.work = Workbench(problem, self.states.get(slot), self.n_jobs)
        self.states[slot] = self.work.state
        return Weights.of(self.work.state.chain)

    def solve(
        self,
        slot: str,
        target: np.ndarray,
        weight: np.ndarray,
        cost: np.ndarray,
        n_labels: int,
        near: Weights | None,
        limits: dict[str, Any],
    ) -> tuple[Weights, list[Progress], str]:
        """Learn these labels alone, at first from weights that are near: (w, the history, why it stopped)."""
        problem = Problem(self.task.batch, n_labels, target, weight, cost)
        start = self.states.get(slot) or (near and near.chain())
        found = solve(problem, **limits, start=start, n_jobs=self.n_jobs)
        self.states[slot] = found.state
        return Weights.of(found.state.chain), found.history, found.stop

    def look(self, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each sequence its hinge loss at w, its part of the duality gap, and the loss of the labelling found."""
        work, gap = self._at(weights), np.zeros(len(self.task.batch))
        gap[work.everyone] = work.look(work.everyone)
        return work.hinge.copy(), gap, work.losses()

    def hinges(self, weights: Weights, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """For each sequence its hinge loss at scale * w, and the loss of the labelling that attains it."""
        return self._at(weights).hinges(scale)

    def improve(
        self, weights: Weights, which: np.ndarray, inner_tol: float, shards: int, seed: int
    ) -> tuple[Weights, np.ndarray]:
        """One round for the sequences `which`, as one of so many shards: (its change of w, their parts of the gap)."""
        work, rng, gap = self._at(weights), np.random.default_rng(seed), np.zeros(len(self.task.batch))
        work.inner_tol, work.goal = inner_tol, work.goal._replace(weight=shards * work.problem.weight)
        work.visit(which, gap)
        for _ in range(SWEEPS):
            work.sweep(rng.permutation(work.unsettled()))
        work.goal = work.problem.goal
        tokens, trans = ((new - old) / shards for new, old in zip(work.w[:2], weights, strict=True))
        return Weights(tokens, trans), gap[which]

    def _at(self, weights: Weights) -> Workbench:
        """The workbench with these weights."""
        assert self.work is not None
        self.work.w.tokens[:], self.work.w.trans[:] = weights
        self.work.w.step[:] = weights.chain().step
        return self.work

    def duals(self) -> dict[str, np.ndarray]:
        """The dual variables as arrays; nothing before learning has begun."""
        return {f"{slot}.{name}": a for slot, state in self.states.items() for name, a in state.arrays().items()}

    def process_id(self) -> int:
        return os.getpid()

    def has_duals(self) -> bool:
        """Whether learning has begun."""
        return bool(self.states)

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from these dual variables."""
        for slot in {name.split(".")[0] for name in arrays}:
            own = {name.split(".")[1]: array.copy() for name, array in arrays.items() if name.startswith(f"{slot}.")}
            found = DualState.from_arrays(own)
            assert found is not None
            self.states[slot] = found


def shard_of(task: Task, own: np.ndarray) -> Task:
    """The sequences `own` of a task, in this order, the fully labelled ones first."""
    n_fixed = int(np.sum(own < task.n_fixed))
    open_ = own[n_fixed:] - task.n_fixed
    return replace(
        task.part(open_),
        encoder=None,  # type: ignore[arg-type]  # not needed, and large
        batch=task.batch.take(own),
        n_fixed=n_fixed,
        known=task.known[task.batch.tokens_of(own)],
        weight=task.weight[own],
        has_labels=task.has_labels[own],
    )
