"""Alternating projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semistruct import params
from semistruct.chain.inference import ChainWeights
from semistruct.expectations.online import OnlineLearner
from semistruct.expectations.projection import Projection, Projector
from semistruct.fitting.projected import ProjectedMethod
from semistruct.fitting.standing import Line
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.params import seed_from
from semistruct.solvers.crf import Expected, Objective


@dataclass(eq=False, repr=False)
class AlternatingProjections(ProjectedMethod):
    """Alternating projections (Bellare, Druck, McCallum 2009) for a conditional random field:

        min_{w, q}  1/2 ||w||^2 - C sum_i log p_w(y_i) + C gamma ( sum_j KL(q_j || p_w) + cost of what rules expect )

    It differs from `PosteriorRegularization` in how it weighs things: a sequence of the pool has gamma times the
    weight of a labelled one, and missing a target by x events costs x^2 / (2 beta), whether they are few or many.

    Parameters
    ----------
    gamma : the weight of a sequence of the pool relative to that of a labelled one
    beta : how soft corpus rules without a weight are, in events
    instance_beta : the same for instance rules
    online : learn by stochastic gradient, one sequence at a time, each projected when its turn comes
    eta : (online) the length of the first step; step t has eta / (1 + eta t / n)
    others : those of `ProjectedMethod`

    Attributes
    ----------
    those of `ProjectedMethod`
    """

    name = "ap"
    lines = (Line("alternating projections", 80, rules="project"),)
    checks: ClassVar[params.Checks] = {
        **ProjectedMethod.checks,
        "gamma": params.positive,
        "beta": params.positive,
        "instance_beta": params.positive,
        "online": params.yes_or_no,
        "eta": params.positive,
    }

    gamma: float = 0.1
    beta: float = 1.0
    instance_beta: float = 0.01
    online: bool = False
    eta: float = 0.1

    def _softness(self, level: str, n: float) -> float:
        return self.instance_beta if level == "instance" else self.beta

    def _weight_of_unlabelled(self, task: Task) -> float:
        return self.gamma * self.C_

    def _learn(
        self, task: Task, state: State, projector: Projector, projection: Projection, goal: Expected, weight: np.ndarray
    ) -> tuple[ChainWeights, float, float]:
        if not self.online:
            return super()._learn(task, state, projector, projection, goal, weight)
        seed = seed_from(self.random_state) + state.stage
        learner = OnlineLearner(task.batch, task.known[: task.first_open], projector, weight, self.eta)
        chain, _ = learner.one_pass(state.chain, projection, seen=state.stage * len(task.batch), seed=seed)
        objective = Objective(task.batch, len(task.labels), weight, goal, self.n_jobs)
        before, after = (objective(objective.pack(c))[0] for c in (state.chain, chain))
        return chain, before, after
