"""Crossed annealing: the pool is cut into parts, and each is labelled by a model that has not learned from it.

A model that labels what it has learned from confirms its own mistakes.  Here there are as many models as parts: each
learns from the labelled sequences and from all parts but one, which then weigh as much as the whole pool.  The model of
a stage is their mean.  J of the mean and of the labels is recorded as in `annealing`, but it may rise: labels are not
chosen to lower it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.fitting.annealing import Outcome, labelled_part
from semistruct.fitting.learners import MarginLearner
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.solvers.sdm import Problem
from semistruct.switching.matching import Matching

PARTS = 2
LEAST = 60  # sequences in the pool: fewer are worth more together
NO_PART = -1  # of partly labelled sequences, from which all models learn, and of those that weigh nothing


class Searcher(Protocol):
    """Finds labels under rules, and prices them; see `annealing.MatchByScore`."""

    def search(self, task: Task, chain: ChainWeights, scale: np.ndarray, which: np.ndarray) -> np.ndarray: ...

    def price(self, task: Task, chain: ChainWeights, scale: np.ndarray, labels: np.ndarray) -> Matching: ...


@dataclass(frozen=True)
class Crossed:
    """Matching and learning with a model for each part of the pool.

    part  (n_open,): the part of each open sequence
    """

    searcher: Searcher
    part: np.ndarray

    @classmethod
    def of(cls, task: Task, searcher: Searcher) -> Crossed:
        """With parts that are left to chance, but are always the same: a run that is resumed goes on with them."""
        part, counted = np.full(task.n_open, NO_PART), task.free[task.weight[task.n_fixed + task.free] > 0]
        part[np.random.default_rng(0).permutation(counted)] = np.arange(len(counted)) % PARTS
        return cls(searcher, part)

    @property
    def is_large(self) -> bool:
        """Whether there are enough sequences in the pool for several parts."""
        return int(np.sum(self.part != NO_PART)) >= LEAST

    def match(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        """Labels that need not lower J; those of partly labelled sequences are by the mean."""
        models = dict(enumerate(state.models))
        found = [
            self.searcher.search(task, models.get(k, state.chain), scale, np.flatnonzero(self.part == k))
            for k in np.unique(self.part).tolist()
        ]
        labels = np.max(found, axis=0)  # UNKNOWN is below every label
        return self.searcher.price(task, state.chain, scale, labels)

    def learn(self, task: Task, learner: MarginLearner, problem: Problem, state: State, most: float) -> Outcome:
        """All models, and their mean."""
        problems = [replace(problem, weight=self._weight_without(k, task, problem.weight)) for k in range(PARTS)]
        found, state.extra = learner.solve_each(problems, state.extra, state.chain)
        state.models = [one.chain for one in found]
        tokens, trans = zip(*((one.tokens, one.trans) for one in state.models), strict=True)
        state.chain = ChainWeights(np.mean(tokens, axis=0), np.mean(trans, axis=0))
        scale, labels = problem.weight[task.n_fixed :], problem.target[task.first_open :]
        priced = self.searcher.price(task, state.chain, scale, labels)
        fixed = labelled_part(task, state.chain, problem.weight, learner.n_jobs)
        return Outcome(fixed + priced.objective - priced.penalty, sum(one.gap for one in found) / PARTS)

    def _weight_without(self, k: int, task: Task, weight: np.ndarray) -> np.ndarray:
        """(n,): a part weighs nothing, and the others as much as all."""
        out, open_ = weight.copy(), weight[task.n_fixed :]
        pool, others = self.part != NO_PART, (self.part != NO_PART) & (self.part != k)
        out[task.n_fixed :] *= np.where(pool, others * open_[pool].sum() / open_[others].sum(), 1.0)
        return out
