"""Generalised expectation criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.errors import ParameterError
from semistruct.base.progress import Watch
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import NOWHERE, ChainWeights, scorer_of
from semistruct.core.chain.posterior import PIECES, over_pieces, summed_steps
from semistruct.core.kernels import kernels
from semistruct.features import FeatureSet
from semistruct.learning import settings
from semistruct.learning.choice import Point
from semistruct.learning.declarations import Line, RuleReport
from semistruct.learning.labeller import Probabilities
from semistruct.learning.learners import LikelihoodLearner
from semistruct.learning.path import PathMethod
from semistruct.learning.rounds import Round, Run
from semistruct.learning.solvers.crf import Columns, Objective, solve
from semistruct.learning.task import Task
from semistruct.methods.projected import has_expectation
from semistruct.rules import Rule
from semistruct.rules.expectations import Expectations
from semistruct.rules.projection import Field, Projector
from semistruct.rules.tables import PER_SEQUENCE, PER_TOKEN, RuleTables


class Shares:
    """The shares that a model expects of what corpus rules speak of, as part of an objective.

        loss(w) = sum_k KL(target_k || share_k(w)),    share_k = E_w[count_k] / E_w[divisor_k]

    summed over all sequences; KL is that of two outcomes.  Where a rule allows a range, the target is the nearest share
    in it.  The gradient is the covariance of the counts, each at its present rate, with the features: one pass, see the
    kernel `covary`.  Rules that speak of anything but shares are refused.
    """

    def __init__(self, batch: SequenceBatch, tables: RuleTables, n_jobs: int | None = None) -> None:
        expectations = Expectations.of(tables, lambda level, n: 1.0)  # refuses what has no expectation
        for k, r in enumerate(tables.rule_of):
            rule = tables.rules[r]
            if rule.level == "instance" or tables.targets["per"][k] == PER_SEQUENCE:
                problem = "is about single sequences" if rule.level == "instance" else "is about numbers"
                either = rule.level == "instance" and "corpus" in rule.levels
                hint = "; give it `level: corpus` and a `fraction`" if either else ""
                raise ParameterError(f"rule {rule.text!r} {problem}, not about shares in the corpus{hint}")
        self.batch, self.tables, self.n_jobs = batch, tables, n_jobs
        self.projector = Projector(batch, expectations, n_jobs=n_jobs)
        self.columns = Columns(batch, n_jobs)
        spoken_of = np.unique([np.flatnonzero(row)[0] for row in expectations.corpus.a]).astype(np.int64)
        self.terms = spoken_of  # those of words that occur
        self.low, self.high = tables.targets["low"][self.terms], tables.targets["high"][self.terms]

    def values(self, chain: ChainWeights) -> tuple[np.ndarray, np.ndarray]:
        """(shares, divisors) of the terms."""
        total = self.projector.expected(chain).sum(axis=0)
        per = self.tables.targets["per"][self.terms]
        n_tokens = float(self.batch.n_tokens)
        divisor = np.array([n_tokens if p == PER_TOKEN else total[p] for p in per.tolist()])
        return total[self.terms] / np.maximum(divisor, settings.EDGE), np.maximum(divisor, settings.EDGE)

    def __call__(self, chain: ChainWeights) -> tuple[float, np.ndarray, np.ndarray]:
        """(loss, its gradient by `tokens`, and by `trans`)."""
        share, divisor = self.values(chain)
        target = np.clip(np.clip(share, self.low, self.high), 0.0, 1.0)
        s = np.clip(share, settings.EDGE, 1 - settings.EDGE)
        loss = float(np.sum(_relative(target, s) + _relative(1 - target, 1 - s)))
        rate = np.where(share == target, 0.0, (1 - target) / (1 - s) - target / s)
        price = np.zeros(self.tables.n_terms)
        np.add.at(price, self.terms, rate / divisor)
        for k, p in enumerate(self.tables.targets["per"][self.terms]):
            if p >= 0:
                price[p] -= rate[k] * share[k] / divisor[k]
        return loss, *self._covariance(chain, price)

    def _covariance(self, chain: ChainWeights, price: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the features with the counts at these prices."""
        Y, tables = chain.n_labels, self.tables
        marginal, steps = np.empty((self.batch.n_tokens, Y)), np.zeros((PIECES, *chain.trans.shape))
        costs, nothing = tables.costs(price), tables.costs(np.zeros(tables.n_terms))
        field = Field(scorer_of(self.batch, chain), nothing, 1.0, NOWHERE)
        over_pieces(kernels.covary, len(self.batch), field, costs, marginal, steps, n_jobs=self.n_jobs)
        return self.columns.gather(marginal), summed_steps(steps.sum(axis=0))

    def compared(self, before: ChainWeights, after: ChainWeights) -> list[dict[str, Any]]:
        """The shares that two models expect, beside what the rules say."""
        start, end = self.values(before)[0], self.values(after)[0]
        return [
            {
                "rule": self.tables.terms[k].text,
                "low": float(self.low[j]),
                "high": float(self.high[j]),
                "start": float(start[j]),
                "end": float(end[j]),
            }
            for j, k in enumerate(self.terms)
        ]


class WithShares:
    """An objective, and the loss of shares at some rate."""

    def __init__(self, objective: Objective, shares: Shares, rate: float) -> None:
        self.objective, self.shares, self.rate = objective, shares, rate
        self.size, self.pack, self.unpack = objective.size, objective.pack, objective.unpack

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        f, gradient = self.objective(w)
        loss, tokens, trans = self.shares(self.unpack(w))
        return f + self.rate * loss, gradient + self.rate * self.pack(ChainWeights(tokens, trans))


def _relative(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p log(p / q), 0 where p is."""
    return p * np.log(np.where(p > 0, p, 1.0) / q)


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
    rules : the rules: corpus rules about shares, and rules about words, which become such; others are set aside, with a
        warning, and obeyed in prediction
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

    C: float | str = settings.LIKELIHOOD_C
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

    def learner(self, n_labels: int, watch: Watch | None = None) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, settings.MAX_ITERATIONS, n_jobs=self.n_jobs)

    def _check_task(self, task: Task) -> None:
        if len(task.opened):
            Shares(task.opened, task.tables)

    def _stages(self, task: Task) -> list[float]:
        return [self.ratio]

    def _round(self, task: Task, run: Run) -> Round:
        state, (batch, known, weight) = run.state, task.labelled

        def one_round(ratio: float) -> bool:
            rate = ratio * self.C_ * float(weight.sum())
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
            return False

        return one_round

    def _report(self, task: Task, points: list[Point], point: Point) -> None:
        if len(task.opened):
            self.shares_ = Shares(task.opened, task.tables, self.n_jobs).compared(points[0].chain, points[-1].chain)
