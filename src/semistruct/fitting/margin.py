"""The base of the semi-supervised methods that learn margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from semistruct.features import FeatureSet
from semistruct.fitting.learners import MARGIN_C, MarginLearner
from semistruct.fitting.path import PathMethod
from semistruct.fitting.task import Task
from semistruct.params import seed_from

START_TOL = 0.01  # the relative gap of the supervised start
MAX_PASSES = 1000


@dataclass(eq=False, repr=False)
class MarginPath(PathMethod):
    """A path of structural SVMs.

    Parameters
    ----------
    C : weight of the losses of labelled sequences, or "auto": the best of a grid on dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    tol : the relative duality gap to reach in learning
    others : those of `PathMethod`
    """

    ranks = True
    C: float | str = MARGIN_C
    features: FeatureSet = "default"
    tol: float = 0.05

    def learner(self, n_labels: int) -> MarginLearner:
        return MarginLearner(n_labels, self.tol, MAX_PASSES, seed_from(self.random_state), self.n_jobs)

    def _start_learner(self, n_labels: int) -> MarginLearner:
        return replace(self.learner(n_labels), tol=min(self.tol, START_TOL))

    def _relative_stages(self, task: Task, ratios: Sequence[float]) -> list[float]:
        """C_u per sequence, where the whole pool has these weights relative to all labelled data."""
        labelled = self.C_ * float(task.labelled[2].sum())
        return [task.share_of_free(float(ratio) * labelled) for ratio in ratios]
