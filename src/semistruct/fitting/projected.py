"""Methods that learn, in turns, from the model's own distribution after it was projected on what rules expect.

    J(w, q) = 1/2 ||w||^2 - C sum_i log p_w(y_i) + C_u sum_j ( E_q[-log p_w] - T entropy(q_j) ) + C_u cost(E_q[counts])

Given w, the minimum over q is a projection (`expectations.projection`); given q, that over w is a conditional random
field with soft labels (`solvers.crf`).  At T = 1 the middle term is the divergence KL(q || p_w).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semistruct import params
from semistruct.chain.inference import ChainWeights
from semistruct.errors import RuleWarning
from semistruct.expectations.projection import Multipliers, Projection, Projector
from semistruct.expectations.rows import Expectations, why_no_expectation
from semistruct.features import FeatureSet
from semistruct.fitting.learners import LIKELIHOOD_C, LikelihoodLearner
from semistruct.fitting.path import PathMethod
from semistruct.fitting.points import Point
from semistruct.fitting.probabilities import Probabilities
from semistruct.fitting.runs import Run
from semistruct.fitting.standing import RuleReport
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.rules import Rule
from semistruct.rules.vocabulary.function import Measured
from semistruct.solvers.crf import Expected

START_TOL, START_ITERATIONS = 1e-4, 1000  # of the supervised start
PROJECT_TOL = 1e-3  # of the multipliers, in expected events per sequence
SETTLED = 1e-4  # rounds end when the objective falls by less than this share
UNMET = 0.01  # a hard rule whose expectation is missed by more, per sequence, is reported


@dataclass(eq=False, repr=False)
class ProjectedMethod(Probabilities, PathMethod):
    """Base of posterior regularisation and its relatives; see the module.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : the rules; lengths, order and functions have no expectation on a chain and are refused
    rounds : of projecting and learning; each is a point of the path
    learn_iterations, project_iterations : limits of L-BFGS in a round
    tol : learning stops when the objective falls by less than this share in five iterations
    others : those of `PathMethod`

    Attributes
    ----------
    those of `PathMethod`, and
    expectations_ : list of dicts, one per rule: how far the expectations of the model itself ("model"), and of the
        projected distribution ("projected"), miss the rule, per sequence of the pool
    """

    reports = (
        RuleReport(
            "expectations_",
            "how far each rule is missed, per sequence of the pool: by the model, and after projection:",
            before="model", after="projected", digits=4, largest_first=True,
        ),
    )  # fmt: skip
    axis = "cycle"
    axis_text = "number of rounds"
    checks: ClassVar[params.Checks] = {
        "learn_iterations": params.at_least_one,
        "project_iterations": params.at_least_one,
    }

    C: float | str = LIKELIHOOD_C
    features: FeatureSet = "default"
    rounds: int = 10
    learn_iterations: int = 40
    project_iterations: int = 100
    tol: float = 1e-4

    @classmethod
    def usable(cls, rule: Rule, labels: Sequence[str]) -> Rule | None:
        return rule if has_expectation(rule, labels) else None

    def learner(self, n_labels: int) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, self.learn_iterations, n_jobs=self.n_jobs, warn=False)

    def _start_learner(self, n_labels: int) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, START_TOL, START_ITERATIONS, n_jobs=self.n_jobs)

    def _check_task(self, task: Task) -> None:
        self._expectations(task)

    def _expectations(self, task: Task) -> Expectations:
        return Expectations.of(task.tables, self._softness)

    def _softness(self, level: str, n: float) -> float:
        """The slack of a rule about n events."""
        raise NotImplementedError

    def _weight_of_unlabelled(self, task: Task) -> float:
        """C_u."""
        raise NotImplementedError

    def _stages(self, task: Task) -> list[float]:
        return [float(k) for k in range(1, self.rounds + 1)]

    def _temperature(self, place: float) -> float:
        return 1.0

    def _rounds(self) -> int:
        """Rounds of projecting and learning, per stage."""
        return 1

    def _projector(self, task: Task) -> Projector:
        expectations = self._expectations(task)
        limits: dict[str, Any] = {"tol": PROJECT_TOL, "rounds": self.project_iterations}
        return Projector(task.opened, expectations, task.open_known, **limits, n_jobs=self.n_jobs)

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        state, projector, rounds = run.state, self._projector(task), self._rounds()
        C_u = self._weight_of_unlabelled(task)
        weight = task.weights_at(self.C_, C_u)
        batch, n_fixed = task.batch.take(np.arange(task.n_fixed)), task.n_fixed
        fixed = Expected.of_labels(batch, task.known[: task.first_open], len(task.labels), weight[:n_fixed])
        while state.stage < len(run.stages):
            T = self._temperature(run.stages[state.stage])
            while state.round < rounds and not state.settled:
                earlier = None if state.stage == 0 else self._temperature(run.stages[state.stage - 1])
                first = state.round == 0 and earlier != T  # at this temperature
                start = Multipliers(**state.extra) if state.extra else None
                projection = projector.project(state.chain, temperature=T, start=start, weight=weight[n_fixed:])
                labels = projector.best(state.chain, projection.multipliers)
                old, state.labels = state.labels, labels
                details = {
                    "broken": task.n_broken(labels, self.n_jobs),
                    "switched": len(labels) if old is None else int(np.sum(labels != old)),
                    "residual": projection.residual,
                }
                goal = Expected(np.concatenate([fixed.tokens, projection.marginal]), fixed.steps + projection.steps)
                rest = _constant(projection, projector.expectations, T, weight[n_fixed:], C_u)
                chain, before, after = self._learn(task, state, projector, projection, goal, weight)
                before, after = before + rest, after + rest
                run.note("project", before, rounds, **details)
                run.note("learn", after, rounds, **details)
                state.chain, state.extra = chain, vars(projection.multipliers)
                state.settled = not first and abs(before - after) <= SETTLED * abs(after)
                state.round += 1
                run.save()
            yield state
            if state.settled and self._temperature(run.stages[-1]) == T:
                return  # nothing would change any more
            state.next_stage()

    def _learn(
        self, task: Task, state: State, projector: Projector, projection: Projection, goal: Expected, weight: np.ndarray
    ) -> tuple[ChainWeights, float, float]:
        """(new weights, the objective of the goal before, and after)."""
        learned = self.learner(len(task.labels)).learn_expected(task.batch, goal, weight, start=state.chain)
        before, after = (float(record.objective or 0.0) for record in (learned.history[0], learned.history[-1]))
        return learned.chain, before, after

    def _report(self, task: Task, points: list[Point], point: Point) -> None:
        if len(task.opened) and len(task.tables.rules):
            self.expectations_ = self._compared(self._projector(task), point)

    def _compared(self, projector: Projector, point: Point) -> list[dict[str, Any]]:
        """What rules expect, before and after projection; warns of hard rules that cannot be met."""
        T = self._temperature(1.0 if point.place is None else point.place)
        expectations, n, out = projector.expectations, len(projector.batch), []
        before = expectations.beyond(projector.expected(point.chain))
        after = expectations.beyond(projector.project(point.chain, temperature=T).expected)
        for r, rule in enumerate(expectations.tables.rules):
            of_instance, of_corpus = (
                rows.rule == r for rows in (projector.expectations.instance, projector.expectations.corpus)
            )
            model, projected = (
                float((xi[:, of_instance].sum() + yi[of_corpus].sum()) / n) for xi, yi in (before, after)
            )
            out.append({"rule": rule.text, "level": rule.level, "model": model, "projected": projected})
            if rule.weight == "hard" and projected > UNMET:
                problem = f"rule {rule.text!r} cannot be met: it is missed by {projected:.3g} per sequence"
                warnings.warn(problem, RuleWarning, stacklevel=4)
        return out


def has_expectation(rule: Rule, labels: Sequence[str]) -> bool:
    """Whether a chain model can compute the expectation of what a rule counts."""
    return not isinstance(rule, Measured) and not any(why_no_expectation(term) for term in rule.terms(labels))


def _constant(projection: Projection, expectations: Expectations, T: float, weight: np.ndarray, C_u: float) -> float:
    """The part of J that does not depend on w."""
    instance, corpus = expectations.instance, expectations.corpus
    values = expectations.instance_scale() * (projection.expected @ instance.a.T)
    each = instance.cost(values, projection.multipliers.instance) - T * projection.entropy
    total = projection.expected.sum(axis=0)
    return float(weight @ each + C_u * corpus.cost(corpus.a @ total, projection.multipliers.corpus))
