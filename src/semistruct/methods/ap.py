"""Alternating projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistruct import params
from semistruct.fitting.projected import ProjectedMethod
from semistruct.fitting.standing import Line
from semistruct.fitting.task import Task


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
    }

    gamma: float = 0.1
    beta: float = 1.0
    instance_beta: float = 0.01

    def _softness(self, level: str, n: float) -> float:
        return self.instance_beta if level == "instance" else self.beta

    def _weight_of_unlabelled(self, task: Task) -> float:
        return self.gamma * self.C_
