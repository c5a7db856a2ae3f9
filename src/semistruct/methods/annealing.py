"""Deterministic annealing: matching labels and learning in turns, while unlabelled data gains weight.

    J(w, y) = 1/2 ||w||^2 + sum_i C_i H_i(w) + C_u sum_j slack_j(w, y_j) + penalty(y)

For each C_u of a growing list, repeat: lower J over the labels y of the unlabelled data (`matching`), then over w
(`solvers.sdm`, warm).  No half-step raises J, and this is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights, decode
from semistruct.constraints.tables import RuleTables
from semistruct.matching.switching import Matching, Moves, better_of, evaluate, match
from semistruct.methods.supervised import Learner
from semistruct.solvers.sdm import DualState, Problem

Row = dict[str, Any]
Matcher = Callable[["Task", SequenceBatch, "State", np.ndarray], Matching]


@dataclass(frozen=True)
class Task:
    """What is annealed: sequences of which the first n_fixed have all their labels, and the others are open.

    known   (n_tokens,) labels, UNKNOWN where they are to be found
    weight  (n,) C_i; for sequences without any label the factor of C_u
    free    (n_open,) the open sequences without any label
    tables  the rules, for the open sequences
    """

    batch: SequenceBatch
    n_fixed: int
    known: np.ndarray
    weight: np.ndarray
    free: np.ndarray
    tables: RuleTables

    @property
    def first_open(self) -> int:
        """The number of tokens of the sequences that have all their labels."""
        return int(self.batch.offsets[self.n_fixed])

    @property
    def open_known(self) -> np.ndarray | None:
        """(open tokens,) the labels that are known, None if no label is."""
        known = self.known[self.first_open :]
        return known if (known != UNKNOWN).any() else None

    def weights_at(self, C_u: float) -> np.ndarray:
        """(n,): the weights of the losses."""
        factor = np.ones(len(self.batch))
        factor[self.n_fixed :][self.free] = C_u
        return self.weight * factor


@dataclass
class State:
    """Where annealing is; what a checkpoint holds."""

    chain: ChainWeights
    temperature: int = 0
    round: int = 0
    dual: DualState | None = None
    labels: np.ndarray | None = None
    settled: bool = False
    history: list[Row] = field(default_factory=list)


def anneal(
    task: Task,
    learner: Learner,
    state: State,
    schedule: list[float],
    rounds: int,
    *,
    matched: Matcher,
    save: Callable[[State], None] | None = None,
    watch: Callable[[Row], None] | None = None,
) -> Iterator[State]:
    """Go through the list of C_u; yields the state at the end of each temperature.

    rounds  of matching and learning per temperature; fewer if the labels settle
    matched finds labels for the open sequences that cost no more than those of the state
    save    called after every round
    watch   called with every row of the history
    """
    n_labels, opened = learner.n_labels, task.batch.take(np.arange(task.n_fixed, len(task.batch)))
    fixed, began = task.known[: task.first_open], time.perf_counter()

    def note(row: Row) -> None:
        state.history.append(row)
        if watch:
            watch(row)

    while state.temperature < len(schedule):
        C_u = schedule[state.temperature]
        weight = task.weights_at(C_u)
        scale = weight[task.n_fixed :]
        while state.round < rounds and not state.settled:
            matching = matched(task, opened, state, scale)
            first = state.labels is None
            before_labels = (
                decode(opened, state.chain, known=task.open_known, n_jobs=learner.n_jobs)[0] if first else state.labels
            )
            switched = int(np.sum(matching.labels != before_labels))
            state.labels = matching.labels
            labelled = _labelled_part(task, state.chain, weight, fixed, learner)
            place = {
                "temperature": state.temperature, "temperatures": len(schedule), "C_u": C_u,
                "round": state.round, "rounds": rounds,
            }  # fmt: skip
            costs = {
                "penalty": matching.penalty,
                "broken": int(np.sum(task.tables.broken(matching.labels).any(axis=1))),
                "switched": switched,
                "moves": matching.switches,
            }
            before = labelled + matching.objective
            seconds = time.perf_counter() - began
            note({**place, "step": "match", "objective": before, **costs, "gap": None, "seconds": seconds})
            state.settled = switched == 0 and state.round > 0
            if not state.settled:
                target = np.concatenate([fixed, matching.labels])
                problem = Problem(task.batch, n_labels, target, weight, np.ones(task.batch.n_tokens))
                solution = learner.solve(problem, start=state.dual)
                last = solution.history[-1]
                if last.primal <= before - matching.penalty:
                    state.chain = solution.state.chain
                after = min(last.primal + matching.penalty, before)
                state.dual, seconds = solution.state, time.perf_counter() - began
                note({**place, "step": "learn", "objective": after, **costs, "gap": last.gap, "seconds": seconds})
            state.round += 1
            if save:
                save(state)
        yield state
        state.temperature, state.round, state.settled = state.temperature + 1, 0, False


@dataclass(frozen=True)
class MatchBySlack:
    """Labels switched from those of the state, to lower J: the algorithm of the paper."""

    moves: Moves
    seed: int
    n_jobs: int | None

    def __call__(self, task: Task, opened: SequenceBatch, state: State, scale: np.ndarray) -> Matching:
        return match(
            opened, state.chain, task.tables, scale,
            start=state.labels, known=task.open_known, moves=self.moves, seed=self.seed, n_jobs=self.n_jobs,
        )  # fmt: skip


@dataclass(frozen=True)
class MatchByScore:
    """Labels switched from the best by the model, for score instead of slack; taken where they do not raise J.

    They move more freely than those of `MatchBySlack`, and end up nearer to the truth.
    """

    moves: Moves
    seed: int
    n_jobs: int | None

    def __call__(self, task: Task, opened: SequenceBatch, state: State, scale: np.ndarray) -> Matching:
        fresh = match(
            opened, state.chain, task.tables, scale,
            known=task.open_known, moves=self.moves, loss=0.0, seed=self.seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        args = (opened, state.chain, task.tables, scale)
        new = replace(evaluate(*args, fresh.labels, n_jobs=self.n_jobs), switches=fresh.switches)
        if state.labels is None:
            return new
        old = evaluate(*args, state.labels, n_jobs=self.n_jobs)
        if any(rule.level == "corpus" for rule in (*task.tables.rules, *task.tables.functions)):
            return new if new.objective <= old.objective else old  # what some sequences take, others would miss
        return better_of(new, old, opened.lengths)


def _labelled_part(task: Task, chain: ChainWeights, weight: np.ndarray, fixed: np.ndarray, learner: Learner) -> float:
    """1/2 ||w||^2 + sum_i C_i H_i(w) over the sequences that have all their labels."""
    batch = task.batch.take(np.arange(task.n_fixed))
    bonus = np.ones((batch.n_tokens, chain.n_labels))
    bonus[np.arange(batch.n_tokens), fixed] = 0.0
    worst = decode(batch, chain, bonus=bonus, n_jobs=learner.n_jobs)[1]
    own = decode(batch, chain, known=fixed, n_jobs=learner.n_jobs)[1]
    norm = float((chain.tokens**2).sum() + (chain.trans**2).sum())
    return 0.5 * norm + float(weight[: task.n_fixed] @ (worst - own))
