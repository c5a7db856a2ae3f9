"""Generalised expectation criteria."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semistruct import params
from semistruct.expectations.shares import Shares, WithShares
from semistruct.features import FeatureSet
from semistruct.fitting.learners import LIKELIHOOD_C, LikelihoodLearner
from semistruct.fitting.path import PathMethod
from semistruct.fitting.points import Point
from semistruct.fitting.probabilities import Probabilities
from semistruct.fitting.projected import has_expectation
from semistruct.fitting.runs import Run
from semistruct.fitting.standing import Line, RuleReport
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.rules import Rule
from semistruct.solvers.crf import Objective, solve


@dataclass(eq=False, repr=False)
class GeneralizedExpectation(Probabilities, PathMethod):
    """Generalised expectation criteria (Mann, McCallum 2008) for a conditional random field:

        min_w  1/2 ||w||^2 - C sum_i log p_w(y_i) + C_u sum_k KL(target_k || share_k(w))

    where share_k is a share that the model expects in the pool: of the words of rule k that have the labels it says (or
    of tokens that have a label, or of label changes at other places than it says).

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, or by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : the rules: corpus rules about shares; others are refused
    ratio : C_u relative to the weight of all labelled data
    tol : learning stops when the objective falls by less than this share in five iterations
    max_iterations : stop with a warning after this many
    select : which point becomes the model; the path has two: the supervised model, and this
    others : those of `PathMethod`

    Attributes
    ----------
    those of `PathMethod`, and
    shares_ : list of dicts, one per target: rule, target (low, high), start, end: the shares that the model
        expects before and after learning
    """

    name = "ge"
    lines = (Line("GE", 90, rules="expect"),)
    reports = (
        RuleReport(
            "shares_", "the shares that the rules are about, as the model expects them: before and after learning:",
            before="start", after="end", digits=3,
        ),
    )  # fmt: skip
    axis = "ratio"
    axis_text = "weight of the rules"
    checks: ClassVar[params.Checks] = {"ratio": params.positive, "max_iterations": params.at_least_one}

    C: float | str = LIKELIHOOD_C
    features: FeatureSet = "default"
    ratio: float = 3.0
    tol: float = 1e-4
    max_iterations: int = 300

    @classmethod
    def usable(cls, rule: Rule, labels: Sequence[str]) -> Rule | None:
        """Corpus rules about shares; instance rules about words are turned into them."""
        if not has_expectation(rule, labels) or rule.if_ is not None:
            return None
        if rule.level == "corpus":
            return rule if all(term.per not in (None, "sequences") for term in rule.terms(labels)) else None
        return rule.model_copy(update={"level": "corpus"}) if rule.key in ("words", "pattern") else None

    def learner(self, n_labels: int) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, 1000, n_jobs=self.n_jobs)

    def _check_task(self, task: Task) -> None:
        if len(task.opened):
            Shares(task.opened, task.tables)

    def _stages(self, task: Task) -> list[float]:
        return [self.ratio]

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        state = run.state
        if state.round == 0:
            self._learn(task, run)
            state.round = 1
            run.save()
        yield state
        state.next_stage()

    def _learn(self, task: Task, run: Run) -> None:
        state = run.state
        batch, known, weight = task.labelled
        rate = self.ratio * self.C_ * float(weight.sum())
        losses = Objective(batch, len(task.labels), self.C_ * weight, known, self.n_jobs, merge=False)
        objective = WithShares(losses, Shares(task.opened, task.tables, self.n_jobs), rate)
        solution = solve(objective, tol=self.tol, max_iterations=self.max_iterations, start=state.chain)
        old, state.labels = (task.decoded(chain, self.n_jobs) for chain in (state.chain, solution.chain))
        state.chain, last = solution.chain, solution.history[-1]
        run.note(
            "learn",
            float(last.objective or 0.0),
            broken=task.n_broken(state.labels, self.n_jobs),
            switched=int(np.sum(old != state.labels)),
            iterations=last.count,
        )

    def _report(self, task: Task, points: list[Point], point: Point) -> None:
        if len(task.opened):
            self.shares_ = Shares(task.opened, task.tables, self.n_jobs).told(points[0].chain, points[-1].chain)
