"""Posterior regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistruct import params
from semistruct.fitting.projected import ProjectedMethod
from semistruct.fitting.standing import Line
from semistruct.fitting.task import Task


@dataclass(eq=False, repr=False)
class PosteriorRegularization(ProjectedMethod):
    """Posterior regularisation (Ganchev, Graca, Gillenwater, Taskar 2010) of a conditional random field:

        min_{w, q}  1/2 ||w||^2 - C sum_i log p_w(y_i) + C_u ( sum_j KL(q_j || p_w) + cost of what rules expect of q )

    It starts from the supervised model and alternates between projecting the model's distribution over the labels of
    the pool on what the rules expect, and learning from the result.

    Parameters
    ----------
    slack : how soft rules without a weight are: missing the target by a share s costs n s^2 / (2 slack), where n is
        the number of events that the rule is about; for an instance rule s is counted in events, and n is 1
    ratio : the weight of the whole pool, relative to that of all labelled data
    rounds : of projecting and learning, each a point of the path; stops early when the objective no longer changes
    others : those of `ProjectedMethod`

    Attributes
    ----------
    those of `ProjectedMethod`
    """

    name = "pr"
    lines = (Line("PR", 60, rules="expect"),)
    checks: ClassVar[params.Checks] = {**ProjectedMethod.checks, "slack": params.positive, "ratio": params.positive}

    slack: float = 0.01
    ratio: float = 1.0

    def _softness(self, level: str, n: float) -> float:
        return self.slack * n

    def _weight_of_unlabelled(self, task: Task) -> float:
        return task.share_of_free(self.ratio * self.C_ * float(task.labelled[2].sum()))
