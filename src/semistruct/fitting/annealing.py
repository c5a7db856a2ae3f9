"""Deterministic annealing: matching labels and learning in turns, while the weight of the pool grows.

    J(w, y) = 1/2 ||w||^2 + sum_i C_i H_i(w) + C_u sum_j slack_j(w, y_j) + penalty(y)

For each C_u of a growing list, repeat: lower J over the labels y of the pool (`matching`), then over w
(`solvers.sdm`, warm).  With one model no half-step raises J, and this is recorded; only the moves that the paper prints
may raise it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from semistruct.batch import UNKNOWN
from semistruct.chain.inference import ChainWeights, decode
from semistruct.fitting.learners import MarginLearner
from semistruct.fitting.runs import Run
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.search.best import Aim, find_best
from semistruct.solvers.sdm import Problem
from semistruct.switching.matching import Matcher, Matching, Moves, better_of

MATCH_WIDTH = 16  # of the search for labels; a wider one does not end up nearer to the truth

Rematch = Callable[[Task, State, np.ndarray], Matching]


class Outcome(NamedTuple):
    """1/2 ||w||^2 and the losses, and the duality gap that is left in learning (of several models: its mean)."""

    objective: float
    gap: float


class Way(Protocol):
    """How models label the pool and learn from it: `Alone`, or `crossing.Crossed`."""

    def match(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        """Labels for the open sequences, and what they cost with the weights of the state; scale: their C_u."""
        ...

    def learn(self, task: Task, learner: MarginLearner, problem: Problem, state: State, most: float) -> Outcome:
        """New weights for the state; `most` is the objective with the old ones."""
        ...


@dataclass(frozen=True)
class Alone:
    """One model labels the pool and learns from all of it; learning never raises J.

    matched  finds labels for the open sequences
    """

    matched: Rematch

    def match(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        return self.matched(task, state, scale)

    def learn(self, task: Task, learner: MarginLearner, problem: Problem, state: State, most: float) -> Outcome:
        solution = learner.solve(problem, start=learner.resume(state.extra) or state.chain)
        if solution.objective <= most:
            state.chain = solution.chain
        state.extra = solution.state.arrays()
        return Outcome(min(solution.objective, most), solution.gap)


def anneal(task: Task, learner: MarginLearner, run: Run, rounds: int, *, C: float, way: Way) -> Iterator[State]:
    """Go through the stages, which are C_u; yields the state at the end of each.

    rounds  of matching and learning per C_u; stops early when the labels no longer change
    C       the weight of labelled sequences
    """
    state, fixed = run.state, task.known[: task.first_open]
    while state.stage < len(run.stages):
        weight = task.weights_at(C, run.stages[state.stage])
        while state.round < rounds and not state.settled:
            matching = way.match(task, state, weight[task.n_fixed :])
            old = state.labels
            if old is None:
                old = task.decoded(state.chain, learner.n_jobs)
            switched = int(np.sum(matching.labels != old))
            state.labels, old = matching.labels, None  # the old ones would take room while learning
            costs = {
                "sequences": task.n_open,
                "penalty": matching.penalty,
                "broken": task.n_broken(matching.labels, learner.n_jobs),
                "switched": switched,
            }
            before = labelled_part(task, state.chain, weight, learner.n_jobs) + matching.objective
            run.note("match", before, rounds, **costs)
            state.settled = switched == 0 and state.round > 0
            if not state.settled:
                target = np.concatenate([fixed, matching.labels])
                problem = Problem(task.batch, learner.n_labels, target, weight, np.ones(task.batch.n_tokens, np.int8))
                found = way.learn(task, learner, problem, state, before - matching.penalty)
                after = found.objective + matching.penalty
                run.note("learn", after, rounds, gap=found.gap, **costs, **learner.traffic())
            state.round += 1
            run.save()
        yield state
        state.next_stage()


@dataclass(frozen=True)
class MatchBySlack:
    """Lowers J by switching labels, starting from the best of the model; kept where J does not rise.

    As the paper prints it, what is found is always kept, so that J may rise.
    """

    moves: Moves
    n_jobs: int | None

    def __call__(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        matcher = Matcher(task.opened, task.tables, task.open_known, self.moves, n_jobs=self.n_jobs)
        new = matcher.match(state.chain, scale)
        if state.labels is None or self.moves == "printed":
            return new
        return cheaper(task, new, matcher.price(state.chain, scale, state.labels))


@dataclass(frozen=True)
class MatchByScore:
    """Takes the labels with the highest score less penalty, as far as a narrow search finds them; kept where J does
    not rise.

    These labels move more freely than those of `MatchBySlack`, and end up nearer to the truth.  Rules about the corpus
    and functions cannot be searched for: there, and where single labels are to be switched, labels are switched as long
    as that is better, starting from the best of the model.
    """

    moves: Moves
    n_jobs: int | None

    def __call__(self, task: Task, state: State, scale: np.ndarray) -> Matching:
        if self.searches(task):
            labels = self.search(task, state.chain, scale, np.arange(task.n_open))
        else:
            labels = replace(self._matcher(task), loss=0.0).match(state.chain, scale).labels
        new = self.price(task, state.chain, scale, labels)
        if state.labels is None:
            return new
        return cheaper(task, new, self.price(task, state.chain, scale, state.labels))

    def searches(self, task: Task) -> bool:
        """Whether the labels can be searched for, one sequence at a time."""
        return self.moves == "spans" and not task.tables.has_corpus_rules and not task.tables.functions

    def search(self, task: Task, chain: ChainWeights, scale: np.ndarray, which: np.ndarray) -> np.ndarray:
        """(open tokens,): labels for some sequences, UNKNOWN for the others."""
        labels = np.full(task.opened.n_tokens, UNKNOWN, np.int16)
        for one in np.unique(scale[which]).tolist():  # those with the same weight together
            some, aim = which[scale[which] == one], Aim(one, known=task.open_known)
            found = find_best(task.opened, chain, task.tables, aim, width=MATCH_WIDTH, which=some, n_jobs=self.n_jobs)
            np.maximum(labels, found.labels[0], out=labels)  # UNKNOWN is below every label
        return labels

    def price(self, task: Task, chain: ChainWeights, scale: np.ndarray, labels: np.ndarray) -> Matching:
        """What labels of the open sequences cost."""
        return self._matcher(task).price(chain, scale, labels)

    def _matcher(self, task: Task) -> Matcher:
        return Matcher(task.opened, task.tables, task.open_known, self.moves, n_jobs=self.n_jobs)


def cheaper(task: Task, new: Matching, old: Matching) -> Matching:
    """New labels where they cost no more than old ones."""
    if task.tables.has_corpus_rules:
        return new if new.objective <= old.objective else old  # what some sequences take, others would miss
    return better_of(new, old, task.opened.lengths)


def labelled_part(task: Task, chain: ChainWeights, weight: np.ndarray, n_jobs: int | None) -> float:
    """1/2 ||w||^2 + sum_i C_i H_i(w) over the sequences that have all their labels."""
    batch, fixed = task.batch.take(np.arange(task.n_fixed)), task.known[: task.first_open]
    bonus = np.ones((batch.n_tokens, chain.n_labels))
    bonus[np.arange(batch.n_tokens), fixed] = 0.0
    worst = decode(batch, chain, bonus=bonus, n_jobs=n_jobs)[1]
    own = decode(batch, chain, known=fixed, n_jobs=n_jobs)[1]
    return 0.5 * chain.norm2 + float(weight[: task.n_fixed] @ (worst - own))
