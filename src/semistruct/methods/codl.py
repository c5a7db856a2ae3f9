"""Constraint-driven learning: labelling under rules and learning in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar, cast

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.errors import ParameterError, quoted
from semistruct.base.progress import Watch
from semistruct.core.chain.inference import ChainWeights, decode
from semistruct.features import FeatureSet
from semistruct.learning.declarations import Line
from semistruct.learning.fitting import SupervisedMethod
from semistruct.learning.learners import Learner, learn_mixture
from semistruct.learning.path import PathMethod
from semistruct.learning.rounds import Round, Run, State
from semistruct.learning.task import Task
from semistruct.learning.trust import Trust
from semistruct.methods.hmm import HMM
from semistruct.model.prediction import best_under
from semistruct.rules import Rule, Rules
from semistruct.rules.search import Found

PENALTY = 9.21  # -log(1e-4)


@dataclass(eq=False, repr=False)
class CODL(PathMethod):
    """Constraint-driven learning (Chang, Ratinov and Roth, ACL 2007) with any supervised method:

        w_0 = learn(labelled sequences),  w = w_0
        repeat:  T = the k best labellings of every sequence of the pool by  score(y; w) - penalty(y)
                 w = gamma w_0 + (1 - gamma) learn(T)

    The last line mixes the probabilities of an HMM, or the weights of other methods.  Labelled sequences have an
    influence through w_0 only.  Corpus rules are not used.  Without rules and with k=1 this is hard
    expectation-maximisation, held back by w_0.

    Parameters
    ----------
    base : the supervised method that learns, e.g. SSVM(); None for HMM().  Features and C are its own.
    k : how many labellings of a sequence are learned, all with equal weight; fewer if there are not as many.  Methods
        that cannot learn several labellings at once get copies, which takes k times as long.
    gamma : the share of w_0 in the weights
    rounds : of labelling and learning
    penalty : what breaking a rule without a weight costs, in units of the scores (logarithms for an HMM)
    others : those of `PathMethod`

    Attributes
    ----------
    those of `PathMethod`, and
    history_ : list of dicts, one per half-step: cycle, step ("label" or "learn"), objective, penalty, broken, switched,
        exact; the objective is the score of the known labels and the best labellings together, less the penalty
    """

    name = "codl"
    lines = (Line("CODL", 50, published={"apartments": {"penalty": -log(0.1)}}, own_features=True),)
    axis = "cycle"
    axis_text = "number of cycles of labelling and learning"
    checks: ClassVar[params.Checks] = {
        "base": params.none
        | params.Check(
            "a supervised method such as HMM() or SSVM(), which has a method learner(n_labels)",
            lambda value: isinstance(value, SupervisedMethod),
        ),
        "k": params.at_least_one,
        "gamma": params.share,
        "penalty": params.positive,
    }

    base: SupervisedMethod | None = None
    k: int = 50
    gamma: float = 0.1
    rounds: int = 5
    penalty: float = PENALTY

    @property
    def features(self) -> FeatureSet:  # type: ignore[override]
        """The features of the base."""
        return self._base.features

    @property
    def C(self) -> float | str:  # type: ignore[override]
        """The C of the base."""
        return self._base.C

    @property
    def _base(self) -> SupervisedMethod:
        return HMM() if self.base is None else self.base

    def learner(self, n_labels: int, watch: Watch | None = None) -> Learner:
        return self._base.unfitted().set_params(n_jobs=self.n_jobs).learner(n_labels)

    @classmethod
    def usable(cls, rule: Rule, labels: Sequence[str]) -> Rule | None:
        return rule if rule.level == "instance" else None

    def _trusted(self, trust: Trust, strength: float) -> Rules:
        return trust.rules.softened(self.penalty)

    def _check_task(self, task: Task) -> None:
        if self._base.rules is not None:
            raise ParameterError(f"CODL(base={quoted(self.base)}): give the rules to CODL, not to its base")

    def _stages(self, task: Task) -> list[float]:
        return [float(cycle) for cycle in range(1, self.rounds + 1)]

    def _round(self, task: Task, run: Run) -> Round:
        learner, state, weight = self.learner(len(task.labels)), run.state, task.weight[task.n_fixed :]
        if not state.extra:
            state.extra = {"tokens": state.chain.tokens, "trans": state.chain.trans}
        supervised = ChainWeights(**state.extra)

        def one_round(cycle: float) -> bool:
            found = self._label(task, state.chain)
            details = self._compared(task, state, found)
            state.labels = found.labels[0]
            run.note("label", self._objective(task, state) - details["penalty"], **details)
            learned = learn_mixture(learner, task.opened, found.labels, shares(found), self.C_ * weight).chain
            state.chain = getattr(learner, "blend", blend)(learned, supervised, self.gamma)
            run.note("learn", self._objective(task, state) - details["penalty"], **details)
            return False

        return one_round

    def _label(self, task: Task, chain: ChainWeights) -> Found:
        """The k best labellings of the open sequences."""
        return best_under(
            task.opened, chain, task.tables,
            k=self.k, known=task.open_known, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _compared(self, task: Task, state: State, found: Found) -> dict[str, Any]:
        """The details of new labels, and how they differ from those of the state."""
        old, best = state.labels, found.labels[0]
        if old is None:
            old = task.decoded(state.chain, self.n_jobs)
        scores = decode(task.opened, state.chain, known=best, n_jobs=self.n_jobs)[1]
        return {
            "penalty": float(np.sum(scores - found.values[:, 0])),
            "broken": task.n_broken(best, self.n_jobs),
            "switched": int(np.sum(best != old)),
            "exact": float(np.mean(found.exact)),
        }

    def _objective(self, task: Task, state: State) -> float:
        """The score of the known labels and those of the state."""
        labels = np.append(task.known[: task.first_open], cast(np.ndarray, state.labels))
        return float(decode(task.batch, state.chain, known=labels, n_jobs=self.n_jobs)[1].sum())


def shares(found: Found) -> np.ndarray:
    """(n, k): the labellings that were found of a sequence share it equally."""
    there = found.values > -np.inf
    return there / there.sum(axis=1, keepdims=True)


def blend(learned: ChainWeights, supervised: ChainWeights, gamma: float) -> ChainWeights:
    """A mixture of two models, with the share gamma of the second; for learners without a way of their own."""
    return ChainWeights(
        gamma * supervised.tokens + (1 - gamma) * learned.tokens,
        gamma * supervised.trans + (1 - gamma) * learned.trans,
    )
