"""Deterministic annealing for structured output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from semistruct import params
from semistruct.fitting.standing import Line
from semistruct.fitting.task import Task
from semistruct.methods.pr import PosteriorRegularization

PUBLISHED = tuple(2.0 * 0.9**k for k in range(11))
# Another of the schedules in the paper (its table 4), with one round per temperature.  On dev data (one draw of 5
# citations) its main schedule, from 2, did no better than without a pool with 10 rounds, which take minutes, and
# gave 72% with one; this one gave 80%.
COOLER = {"rounds": 1, "schedule": [0.9**k for k in range(11)]}


@dataclass(eq=False, repr=False)
class DASO(PosteriorRegularization):
    """Deterministic annealing of posterior regularisation (Dhillon, Keerthi, Bellare, Chapelle, Sundararajan 2012):

        min_{w, q}  1/2 ||w||^2 - C sum_i log p_w(y_i)
                    + C_u ( sum_j E_q[-log p_w] - T sum_j entropy(q_j) + cost of what rules expect of q )

    while the temperature T falls: at first q is spread out, and at the end it decides.  At T = 1 this is
    `PosteriorRegularization`.

    Parameters
    ----------
    schedule : falling temperatures: a list, or "published" for 2, 1.8, 1.62, ..., 0.697
    rounds : of projecting and learning for each temperature; stops early when the objective no longer changes
    others : as for `PosteriorRegularization`

    Attributes
    ----------
    those of `PosteriorRegularization`; each temperature is a point of the path
    """

    name = "daso"
    lines = (Line("DASO", 70, rules="expect", tries=(COOLER,)),)
    axis = "T"
    axis_text = "temperature"
    checks: ClassVar[params.Checks] = {
        **PosteriorRegularization.checks,
        "schedule": params.the_word("published") | params.falling,
    }

    schedule: str | Sequence[float] = "published"

    def _stages(self, task: Task) -> list[float]:
        return [float(T) for T in (PUBLISHED if isinstance(self.schedule, str) else self.schedule)]

    def _temperature(self, place: float) -> float:
        return place

    def _rounds(self) -> int:
        return self.rounds
