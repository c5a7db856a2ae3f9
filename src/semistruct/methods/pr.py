"""Posterior regularisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semistruct import params
from semistruct.fitting.learners import LIKELIHOOD_C
from semistruct.fitting.projected import ProjectedMethod
from semistruct.fitting.standing import Line
from semistruct.fitting.task import Task
from semistruct.rules import Rules


class PosteriorRegularization(ProjectedMethod):
    """Posterior regularisation (Ganchev, Graca, Gillenwater, Taskar 2010) of a conditional random field:

        min_{w, q}  1/2 ||w||^2 - C sum_i log p_w(y_i) + C_u ( sum_j KL(q_j || p_w) + cost of what rules expect of q )

    It starts from the supervised model and alternates between projecting the model's distribution over the labels of
    the pool on what the rules expect, and learning from the result.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, or by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : the rules; those about lengths, order and functions are refused, as a chain has no expectation of them
    slack : how soft rules without a weight are: missing the target by a share s costs n s^2 / (2 slack), where n is
        the number of events that the rule is about; for an instance rule s is counted in events, and n is 1
    ratio : the weight of the whole pool, relative to that of all labelled data
    rounds : of projecting and learning, each a point of the path; stops early when the objective no longer changes
    learn_iterations, project_iterations : limits of L-BFGS in a round
    select : which point becomes the model, as for `AnnealedSSVM`
    tol : learning stops when the objective falls by less than this share in five iterations
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the folds of cross-validation

    Attributes
    ----------
    those of `ProjectedMethod`
    """

    name: ClassVar = "pr"
    lines: ClassVar = (Line("PR", 60, rules="expect"),)
    axis: ClassVar = "cycle"
    axis_text: ClassVar = "number of rounds"
    checks: ClassVar = {
        "slack": params.positive,
        "ratio": params.positive,
        "learn_iterations": params.at_least_one,
        "project_iterations": params.at_least_one,
    }

    def __init__(
        self,
        C: float | str = LIKELIHOOD_C,
        features: str | Sequence[str] = "default",
        rules: Rules | None = None,
        slack: float = 0.01,
        ratio: float = 1.0,
        rounds: int = 10,
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
        self.slack = slack
        self.ratio = ratio
        self.rounds = rounds
        self.learn_iterations = learn_iterations
        self.project_iterations = project_iterations
        self.select = select
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _softness(self, level: str, n: float) -> float:
        return self.slack * n

    def _weight_of_unlabelled(self, task: Task) -> float:
        return self.ratio * self.C_ * float(task.labelled[2].sum()) / max(len(task.free), 1)

    def _stages(self, task: Task) -> list[float]:
        return [float(k) for k in range(1, self.rounds + 1)]
