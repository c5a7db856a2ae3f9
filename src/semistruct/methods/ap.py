"""Alternating projections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semistruct import params
from semistruct.chain.inference import ChainWeights
from semistruct.expectations.online import OnlineLearner
from semistruct.expectations.projection import Projection, Projector
from semistruct.fitting.learners import LIKELIHOOD_C
from semistruct.fitting.projected import ProjectedMethod
from semistruct.fitting.standing import Line
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.params import seed_from
from semistruct.rules import Rules
from semistruct.solvers.crf import Expected, Objective


class AlternatingProjections(ProjectedMethod):
    """Alternating projections (Bellare, Druck, McCallum 2009) for a conditional random field:

        min_{w, q}  1/2 ||w||^2 - C sum_i log p_w(y_i) + C gamma ( sum_j KL(q_j || p_w) + cost of what rules expect )

    It differs from `PosteriorRegularization` in how it weighs things: a sequence of the pool has gamma times the
    weight of a labelled one, and missing a target by x events costs x^2 / (2 beta), whether they are few or many.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, or by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : the rules; those about lengths, order and functions are refused, as a chain has no expectation of them
    gamma : the weight of a sequence of the pool relative to that of a labelled one
    beta : how soft corpus rules without a weight are, in events
    instance_beta : the same for instance rules
    rounds : of projecting and learning; each is a point of the path
    online : learn by stochastic gradient, one sequence at a time, each projected when its turn comes
    eta : (online) the length of the first step; step t has eta / (1 + eta t / n)
    learn_iterations, project_iterations : limits of L-BFGS in a round
    select : which point becomes the model, as for `AnnealedSSVM`
    tol : learning stops when the objective falls by less than this share in five iterations
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the folds of cross-validation, and of the order of sequences (online)

    Attributes
    ----------
    those of `ProjectedMethod`
    """

    name: ClassVar = "ap"
    lines: ClassVar = (Line("alternating projections", 80, rules="project"),)
    axis: ClassVar = "cycle"
    axis_text: ClassVar = "number of rounds"
    checks: ClassVar = {
        "gamma": params.positive,
        "beta": params.positive,
        "instance_beta": params.positive,
        "online": params.yes_or_no,
        "eta": params.positive,
        "learn_iterations": params.at_least_one,
        "project_iterations": params.at_least_one,
    }

    def __init__(
        self,
        C: float | str = LIKELIHOOD_C,
        features: str | Sequence[str] = "default",
        rules: Rules | None = None,
        gamma: float = 0.1,
        beta: float = 1.0,
        instance_beta: float = 0.01,
        rounds: int = 10,
        online: bool = False,
        eta: float = 0.1,
        learn_iterations: int = 40,
        project_iterations: int = 100,
        select: str = "auto",
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.rules = rules
        self.gamma = gamma
        self.beta = beta
        self.instance_beta = instance_beta
        self.rounds = rounds
        self.online = online
        self.eta = eta
        self.learn_iterations = learn_iterations
        self.project_iterations = project_iterations
        self.select = select
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _softness(self, level: str, n: float) -> float:
        return self.instance_beta if level == "instance" else self.beta

    def _weight_of_unlabelled(self, task: Task) -> float:
        return self.gamma * self.C_

    def _stages(self, task: Task) -> list[float]:
        return [float(k) for k in range(1, self.rounds + 1)]

    def _learn(
        self,
        task: Task,
        state: State,
        projector: Projector,
        projection: Projection,
        goal: Expected,
        weight: np.ndarray,
    ) -> tuple[ChainWeights, float, float]:
        if not self.online:
            return super()._learn(task, state, projector, projection, goal, weight)
        seed = seed_from(self.random_state) + state.stage
        learner = OnlineLearner(task.batch, task.known[: task.first_open], projector, weight, self.eta)
        chain, _ = learner.one_pass(state.chain, projection, seen=state.stage * len(task.batch), seed=seed)
        objective = Objective(task.batch, len(task.labels), weight, goal, self.n_jobs)
        before, after = (objective(objective.pack(c))[0] for c in (state.chain, chain))
        return chain, before, after
