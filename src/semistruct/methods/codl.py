"""Constraint-driven learning: labelling under rules and learning in turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar, cast

import numpy as np

from semistruct import params
from semistruct.chain.inference import ChainWeights, decode
from semistruct.errors import ParameterError, quoted
from semistruct.features import FeatureSet
from semistruct.fitting.learners import Learner, learn_mixture
from semistruct.fitting.path import PathMethod
from semistruct.fitting.runs import Run
from semistruct.fitting.standing import Line
from semistruct.fitting.state import State
from semistruct.fitting.supervised import SupervisedMethod
from semistruct.fitting.task import Task
from semistruct.fitting.trust import Trust
from semistruct.methods.hmm import HMM
from semistruct.prediction import best_under
from semistruct.rules import Rule, Rules
from semistruct.search.best import WIDTH, Found

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
    beam : how many prefixes the search for labellings keeps, but no fewer than k; None for enough to be almost
        always exact
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
        "beam": params.none | params.at_least_one,
    }

    base: SupervisedMethod | None = None
    k: int = 50
    gamma: float = 0.1
    rounds: int = 5
    penalty: float = PENALTY
    beam: int | None = None

    @property
    def features(self) -> FeatureSet:  # type: ignore[override]
        """The features of the base."""
        return self._base.features

    @property
    def C(self) -> float | str:  # type: ignore[override]
        """The learner of the base."""
        return self._base.C

    @property
    def _base(self) -> SupervisedMethod:
        return HMM() if self.base is None else self.base

    def learner(self, n_labels: int) -> Learner:
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

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        learner, state, weight = self.learner(len(task.labels)), run.state, task.weight[task.n_fixed :]
        if not state.extra:
            state.extra = {"tokens": state.chain.tokens, "trans": state.chain.trans}
        supervised = ChainWeights(**state.extra)
        while state.stage < len(run.stages):
            if state.round == 0:
                found = self._label(task, state.chain)
                details = self._compared(task, state, found)
                state.labels = found.labels[0]
                run.note("label", self._objective(task, state) - details["penalty"], **details)
                learned = learn_mixture(learner, task.opened, found.labels, shares(found), self.C_ * weight).chain
                state.chain = getattr(learner, "blend", blend)(learned, supervised, self.gamma)
                run.note("learn", self._objective(task, state) - details["penalty"], **details)
                state.round = 1
                run.save()
            yield state
            state.next_stage()

    def _label(self, task: Task, chain: ChainWeights) -> Found:
        """The k best labellings of the open sequences."""
        return best_under(
            task.opened, chain, task.tables,
            k=self.k, known=task.open_known, width=WIDTH if self.beam is None else self.beam, n_jobs=self.n_jobs,
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
