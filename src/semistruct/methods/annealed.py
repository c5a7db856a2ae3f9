"""The annealed structural SVM: labels, a pool and rules together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, cast

import numpy as np

from semistruct import params
from semistruct.fitting.annealing import MatchByScore, MatchBySlack, anneal
from semistruct.fitting.learners import MARGIN_C, MarginLearner
from semistruct.fitting.path import PathMethod, Run
from semistruct.fitting.standing import Line
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.params import seed_from
from semistruct.rules import Rules
from semistruct.switching.matching import Moves

RELATIVE = (1.0, 10.0, 30.0)
PRINTED = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
QUICK = {"schedule": [1.0, 10.0], "rounds": 2}
START_TOL = 0.01  # the relative gap of the supervised start
MAX_PASSES = 1000


class AnnealedSSVM(PathMethod):
    """Annealed structural SVM, a large-margin chain model from labelled sequences, a pool and rules:

        min_{w, y}  1/2 ||w||^2 + C sum_i H_i(w) + C_u sum_j H_j(w; y_j) + penalty(y)

    over the weights w and the labels y of the pool, H being the structured hinge loss of `SSVM`.  It
    starts from the supervised solution and alternates between matching labels to model and rules and learning, while
    C_u grows along a schedule.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, or by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : the rules
    schedule : growing weights of the whole pool: a list, relative to the weight of all labelled data;
        "relative" for a good one; "printed" for the absolute 0.0001, 0.0003, ..., 1 of the paper
    rounds : of matching and learning for each weight; stops early when the labels no longer change
    moves : "spans", or the single-label switching of the paper: "tokens" (fast), "printed" (literally)
    match_by : "slack" lowers the objective; "score" follows the scores of the model, where that does not raise it
    select : which point of the path becomes the model: "dev": the best on dev data; "labels-free": the one with the
        fewest known mistakes (see `semistruct.fitting.points`); "last"; "auto": "dev" if there is dev data, else
        "labels-free".  The supervised start is a point too, so that a pool that hurts is ignored.
    tol : the relative duality gap to reach in learning
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the order in which examples are visited

    Attributes
    ----------
    model_ : labels, features and weights of the chosen point
    labels_ : the labels of the sequences without labels at the chosen point, those of X (y is None) first
    C_, search_ : as for `SSVM`
    history_ : list of dicts, one per half-step: C_u, round, step, objective, penalty, broken, switched, ...
    path_ : list of dicts, one per point: C_u, dev_accuracy, mistakes, chosen
    explanation_ : the rules that the supervised model broke, those still broken, and which labels changed
    stop_ : "finished" or "interrupted"
    """

    name: ClassVar = "annealed"
    lines: ClassVar = (
        Line("annealed SSVM", 40, quick=QUICK),
        Line("annealed SSVM, our rules", 41, "-ours", rules="ours", quick=QUICK),
    )
    axis: ClassVar = "C_u"
    axis_text: ClassVar = "weight of each sequence of the pool"
    checks: ClassVar = {
        "schedule": params.the_word("relative") | params.the_word("printed") | params.growing,
        "moves": params.the_word("spans") | params.the_word("tokens") | params.the_word("printed"),
        "match_by": params.the_word("score") | params.the_word("slack"),
    }

    def __init__(
        self,
        C: float | str = MARGIN_C,
        features: str | Sequence[str] = "default",
        rules: Rules | None = None,
        schedule: str | Sequence[float] = "relative",
        rounds: int = 3,
        moves: str = "spans",
        match_by: str = "score",
        select: str = "auto",
        tol: float = 0.05,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.rules = rules
        self.schedule = schedule
        self.rounds = rounds
        self.moves = moves
        self.match_by = match_by
        self.select = select
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learner(self, n_labels: int) -> MarginLearner:
        return MarginLearner(n_labels, self.tol, MAX_PASSES, seed_from(self.random_state), self.n_jobs)

    def _start_learner(self, n_labels: int) -> MarginLearner:
        return replace(self.learner(n_labels), tol=min(self.tol, START_TOL))

    def _stages(self, task: Task) -> list[float]:
        """The C_u per sequence."""
        n_free = max(len(task.free), 1)
        if isinstance(self.schedule, str) and self.schedule == "printed":
            return [total / n_free for total in PRINTED]
        ratios = RELATIVE if isinstance(self.schedule, str) else self.schedule
        labelled = self.C_ * float(task.labelled[2].sum())
        return [float(ratio) * labelled / n_free for ratio in ratios]

    def _walk(self, task: Task, run: Run) -> Iterator[State]:
        learner = self.learner(len(task.labels))
        matcher = MatchByScore if self.match_by == "score" else MatchBySlack
        matched = matcher(cast(Moves, self.moves), self.n_jobs)
        return anneal(task, learner, run, self.rounds, C=self.C_, matched=matched)
