"""Transductive structural SVM by continuous optimisation: the labels of the pool are eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.progress import Watch
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import ChainWeights, decode, decode_k
from semistruct.core.lbfgs import minimise
from semistruct.learning import settings
from semistruct.learning.declarations import Line
from semistruct.learning.learners import MarginLearner
from semistruct.learning.path import MarginPath
from semistruct.learning.rounds import Round, Run, State
from semistruct.learning.solvers.working_sets import SmoothObjective, WantedShares, WorkingSets
from semistruct.learning.task import Task
from semistruct.rules import Proportion
from semistruct.rules.events import TokenEvent

RELATIVE = (0.01, 0.03, 0.1, 0.3)
START_ROUNDS = 20  # of growing the working sets of labelled sequences


@dataclass(frozen=True)
class Learning:
    """Growing the working sets of a task and learning, in turns.

    cost  (n_tokens,) of a wrong label
    """

    task: Task
    sets: WorkingSets
    cost: np.ndarray
    n_jobs: int | None

    @classmethod
    def of(cls, task: Task, state: State, n_jobs: int | None) -> Learning:
        """With the working sets of the state; at the start they hold the labels of the supervised model."""
        sets = WorkingSets(task.batch, len(task.labels))
        for labels, present in zip(state.extra.get("labels", ()), state.extra.get("present", ()), strict=True):
            sets.put(labels, present)
        if not sets.labels:
            target = decode(task.batch, state.chain, known=task.known, n_jobs=n_jobs)[0]
            sets.put(target, np.ones(len(task.batch), bool))
        return cls(task, sets, (task.known != UNKNOWN).astype(float), n_jobs)

    def grow_labelled(self, chain: ChainWeights) -> int:
        """Add the strongest rival of each true labelling; returns how many are new."""
        bonus = np.repeat(self.cost[:, None].astype(float), chain.n_labels, axis=1)
        bonus[np.arange(len(bonus)), self.sets.labels[0]] = 0.0
        return self.sets.add(decode(self.task.batch, chain, bonus=bonus, n_jobs=self.n_jobs)[0], self.task.has_labels)

    def grow_free(self, chain: ChainWeights) -> int:
        """Add the two best labellings of each sequence without labels."""
        labels, scores = decode_k(self.task.batch, chain, 2, n_jobs=self.n_jobs)
        free = ~self.task.has_labels
        return self.sets.add(labels[0], free) + self.sets.add(labels[1], free & np.isfinite(scores[:, 1]))

    def objective(self, weight: np.ndarray, shares: WantedShares | None) -> SmoothObjective:
        return SmoothObjective(self.sets, self.task.has_labels, weight, self.cost, shares)

    def supervised(self, chain: ChainWeights, weight: np.ndarray, tol: float, max_steps: int) -> ChainWeights:
        """The model from the labelled sequences alone; their working sets are kept."""
        for _ in range(START_ROUNDS):
            if not self.grow_labelled(chain):
                break
            chain, _, _ = self.learned(chain, weight, None, tol, max_steps)
        return chain

    def learned(
        self, chain: ChainWeights, weight: np.ndarray, shares: WantedShares | None, tol: float, max_steps: int
    ) -> tuple[ChainWeights, float, str]:
        """(weights, objective, why it ended) by L-BFGS."""
        objective, w = self.objective(weight, shares), chain.flat
        found = minimise(objective, w[objective.columns], max_iterations=max_steps, fall=tol, slope=0.0)
        out = np.zeros_like(w)
        out[objective.columns] = found.x
        return ChainWeights.of_flat(out, self.task.batch.n_features, chain.n_labels), found.value, found.stop


@dataclass(eq=False, repr=False)
class ContinuousTransductiveSSVM(MarginPath):
    """Structural SVM that should label the pool with clear margins, one way or another:

        min_w  1/2 ||w||^2 + C sum_i loss(m_i) + C_u { sum_j loss_u(m_j) + balance sum_y (share_y - target_y)^2 }

    m_i is the margin of the true labelling over the best other one, less the number of its wrong labels, as in `SSVM`;
    m_j is that of the best labelling over the runner-up.  Both losses are smooth (`learning.solvers.working_sets`),
    so that a gradient method finds w; the labels of the pool are not variables (after Zien, Brefeld and Scheffer,
    ICML 2007).  The labellings that compete are those of working sets, which grow by the strongest rival of a true
    labelling, and by the two best ones of each sequence without labels.  C_u grows along a schedule.

    Shares of labels are held near those of the labelled data, or near those of corpus-level `proportion` rules.  All
    other rules are used in prediction only, as with `SSVM`.
    Partly labelled sequences count as labelled ones, their unknown labels filled in by the supervised model.

    Parameters
    ----------
    schedule : growing weights of the whole pool, relative to the weight of all labelled data
    balance : weight of the shares of labels, per sequence of the pool
    rounds : of growing the working sets and learning for each weight; stops early when no labelling is new
    max_steps : of the gradient method in each round
    tol : the relative decrease of the objective at which the gradient method ends
    others : those of `MarginPath`

    Attributes
    ----------
    those of `PathMethod`, and
    history_ : list of dicts, one per round: C_u, round, objective (on the working sets), broken, switched, labellings,
        stop (why the gradient method ended: "converged", "max_iterations", or "line_search" if no step helped)
    """

    name = "continuous"
    lines = (Line("continuous optimisation", 110),)
    axis = "C_u"
    axis_text = "weight of each sequence of the pool"
    checks: ClassVar[params.Checks] = {
        "schedule": params.growing,
        "balance": params.positive,
        "max_steps": params.at_least_one,
    }

    schedule: Sequence[float] = RELATIVE
    balance: float = 1.0
    rounds: int = 7
    max_steps: int = 30
    tol: float = 1e-5

    def _start_learner(self, n_labels: int, watch: Watch | None = None) -> MarginLearner:
        return replace(self.learner(n_labels), tol=settings.MARGIN_GAP)

    def _stages(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        return self._relative_stages(task, self.schedule)

    def _rounds(self) -> int:
        return self.rounds

    def _round(self, task: Task, run: Run) -> Round:
        state, learning = run.state, Learning.of(task, run.state, self.n_jobs)
        if not state.extra:
            alone = task.weights_at(self.C_, 0.0)
            state.chain = learning.supervised(state.chain, alone, self.tol, self.max_steps)

        def one_round(C_u: float) -> bool:
            weight, shares = task.weights_at(self.C_, C_u), wanted_shares(task, self.balance * C_u * len(task.free))
            new = learning.grow_free(state.chain) + learning.grow_labelled(state.chain)
            state.chain, value, stop = learning.learned(state.chain, weight, shares, self.tol, self.max_steps)
            old, state.labels = state.labels, task.decoded(state.chain, self.n_jobs)
            sets = learning.sets
            run.note(
                "learn",
                value,
                broken=task.n_broken(state.labels, self.n_jobs),
                switched=0 if old is None else int(np.sum(state.labels != old)),
                labellings=int(np.sum(sets.present)),
                stop=stop,
            )
            state.extra = {"labels": np.array(sets.labels), "present": np.array(sets.present)}
            return new == 0

        return one_round


def wanted_shares(task: Task, balance: float) -> WantedShares:
    """Those of corpus-level `proportion` rules, else those of the labelled data."""
    low, high = np.full(len(task.labels), -np.inf), np.full(len(task.labels), np.inf)
    for rule in task.tables.rules:
        if isinstance(rule, Proportion) and rule.level == "corpus":
            for term in rule.terms(task.labels):
                assert isinstance(term.event, TokenEvent)
                y = task.labels.index(next(iter(term.event.labels)))
                low[y], high[y] = term.low, term.high
    if np.isneginf(low).all() and np.isposinf(high).all():
        known = task.known[task.known != UNKNOWN]
        low = high = np.bincount(known, minlength=len(task.labels)) / len(known)
    return WantedShares(low, high, balance)
