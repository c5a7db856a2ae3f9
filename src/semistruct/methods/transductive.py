"""The transductive structural SVM of Yu: rules as bits that the predictions for the pool should have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.learning import settings
from semistruct.learning.declarations import Line
from semistruct.learning.path import MarginPath
from semistruct.learning.rounds import Round, Run
from semistruct.learning.solvers.rule_hinge import RuleWorkbench
from semistruct.learning.solvers.sdm import DualState, Problem
from semistruct.learning.task import Task
from semistruct.rules import Rule
from semistruct.rules.indicators import Bits, kind_of_bits


@dataclass(eq=False, repr=False)
class TransductiveSSVM(MarginPath):
    """Transductive structural SVM from labelled sequences, and from a pool whose predictions should obey rules:

        min_{w, v}  1/2 ||w||^2 + C sum_i H_i(w) + c sum_j { |v_j - 1|_1 + mu/2 ||v_j||^2
                    + max_y [ w.f(x_j, y) + (mu/4 - mu/2 v_j).phi_j(y) ]
                    - max_y [ w.f(x_j, y) - (mu/4 - mu/2 v_j).phi_j(y) ] }

    H is the structured hinge loss of `SSVM`, and phi_j(y) has a bit for every place where a rule applies, 1 if y obeys
    it there, and one bit for all rules about blocks together.  The term in braces is an upper bound of
    |v_j - 1|_1 + mu/2 ||phi_j(y*) - v_j||^2  for the prediction y* (Yu, AISTATS 2012).  It is a difference of convex
    functions: in turns the labelling ybar_j of the second maximum is found, guided by the rules, and the convex problem
    in which it stands for that maximum is solved (`learning.solvers.rule_hinge`, which eliminates v).  The objective
    never rises.

    Bits come from instance rules that forbid labels of single tokens or steps (words, pattern, starts_with, ends_with,
    change_only_on, follows, never_follows); at_most_once, exactly_once, present and the count of blocks make the one
    bit for blocks.  All bits count equally: weights of rules matter in prediction only.  Other rules are set aside,
    with a warning, and obeyed in prediction.
    Partly labelled sequences count as labelled ones, their unknown labels filled in as by `SSVM`.

    Parameters
    ----------
    C_u : weight of the whole pool, relative to that of all labelled data:  c = C_u C n / m
    mu : how much the bits of predictions are to agree with v; up to mu = 1 all v are 1
    rounds : the largest number of turns; stops early when the objective no longer changes
    others : those of `MarginPath`

    Attributes
    ----------
    those of `PathMethod`, where a point of the path is a turn, and
    history_ : list of dicts, two per turn: iteration, step ("guide" or "learn"), objective, broken, switched, gap
    """

    name = "transductive"
    lines = (Line("transductive SSVM", 100),)
    settles_all: ClassVar[bool] = True
    axis = "iteration"
    axis_text = "turn of guiding and learning"
    checks: ClassVar[params.Checks] = {"C_u": params.positive, "mu": params.positive}

    C_u: float = 1.0
    mu: float = 4.0
    rounds: int = 10
    tol: float = 0.02

    @classmethod
    def usable(cls, rule: Rule, labels: Sequence[str]) -> Rule | None:
        return rule if kind_of_bits(rule, labels) else None

    def _check_task(self, task: Task) -> None:
        _bits(task)

    def _stages(self, task: Task) -> list[float]:
        return [float(k) for k in range(1, self.rounds + 1)]

    def _round(self, task: Task, run: Run) -> Round:
        state, bits, learner = run.state, _bits(task), self.learner(len(task.labels))
        weight = task.weights_at(self.C_, *self._relative_stages(task, [self.C_u]))
        objective = Objective(task, bits, weight, self.mu, self.n_jobs)

        def one_round(turn: float) -> bool:
            v = state.extra.pop("v", np.ones(bits.n))
            target, before = objective.guide(state.chain, v, state.labels)
            details = objective.compared(target, state.labels)
            state.labels = target[task.first_open :]
            run.note("guide", before, **details)
            new = v.copy()
            bench = partial(RuleWorkbench, bits=bits, mu=self.mu, v=new)
            start = DualState.from_arrays(state.extra)
            solution = learner.solve(objective.problem(target), start=start, bench=bench)
            if solution.objective <= before:
                state.chain, v = solution.chain, new
            after = min(solution.objective, before)
            run.note("learn", after, gap=solution.gap, **details)
            state.extra = {**solution.state.arrays(), "v": v}
            return before - after <= settings.ROUGH_FALL * before

        return one_round


def _bits(task: Task) -> Bits:
    return Bits.of(task.batch, task.tables, task.n_fixed + task.free)


class Objective:
    """What the method minimises, for the labels and the pool of a task."""

    def __init__(self, task: Task, bits: Bits, weight: np.ndarray, mu: float, n_jobs: int | None) -> None:
        self.task, self.bits, self.weight, self.mu, self.n_jobs = task, bits, weight, mu, n_jobs
        self.cost = (task.known != UNKNOWN).astype(np.int8)
        self.free_tokens = ~np.repeat(task.has_labels, task.batch.lengths)

    def problem(self, target: np.ndarray) -> Problem:
        """The convex one, in which the labels `target` stand for those of the second maximum."""
        return Problem(self.task.batch, len(self.task.labels), target, self.weight, self.cost)

    def guide(self, chain: ChainWeights, v: np.ndarray, old: np.ndarray | None) -> tuple[np.ndarray, float]:
        """(labels of all sequences, the objective): for free sequences those of the second maximum.

        Labels that are no better than the old ones (of the open sequences) do not replace them.
        """
        task, bits, price = self.task, self.bits, self.mu / 4 - self.mu / 2 * v
        target, own = decode(task.batch, chain, known=task.known, n_jobs=self.n_jobs)
        bonus = np.repeat(self.cost[:, None].astype(float), chain.n_labels, axis=1)
        bonus[np.arange(len(target)), target] = 0.0
        hinge = decode(task.batch, chain, bonus=bonus, n_jobs=self.n_jobs)[1] - own
        most = bits.best(chain, price, self.n_jobs)[1]
        guided, value = bits.best(chain, -price, self.n_jobs)
        if old is not None:
            before = np.concatenate([task.known[: task.first_open], old])
            stays = bits.worth(chain, -price, before, self.n_jobs)
            kept = stays >= value
            value = np.maximum(stays, value)
            guided = np.where(np.repeat(kept, task.batch.lengths), before, guided)
        target = np.where(self.free_tokens, guided, target).astype(np.int16)
        loss = np.where(task.has_labels, hinge, bits.sums(np.abs(v - 1) + self.mu / 2 * v**2) + most - value)
        return target, float(0.5 * chain.norm2 + self.weight @ loss)

    def compared(self, target: np.ndarray, old: np.ndarray | None) -> dict[str, int]:
        """How many sequences break rules, and how many labels are new."""
        labels = target[self.task.first_open :]
        switched = 0 if old is None else int(np.sum(labels != old))
        return {"broken": self.task.n_broken(labels, self.n_jobs), "switched": switched}
