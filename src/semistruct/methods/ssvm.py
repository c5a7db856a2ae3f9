"""The supervised structural SVM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.parameters import seed_from
from semistruct.base.progress import Watch
from semistruct.learning import settings
from semistruct.learning.declarations import Line
from semistruct.learning.fitting import SupervisedMethod
from semistruct.learning.learners import MarginLearner


@dataclass(eq=False, repr=False)
class SSVM(SupervisedMethod):
    """Structural SVM, a large-margin chain model:  min_w  1/2 ||w||^2 + C sum_i H_i(w)  with the structured hinge loss

        H_i(w) = max_y [ L(y_i, y) + w.f(x_i, y) ] - w.f(x_i, y_i),    L = number of wrong labels.

    Sequences without labels are ignored.  Unknown labels within a sequence are filled in with the best labelling
    that agrees with the known ones, in turns with learning; they carry no loss.

    Parameters
    ----------
    C : weight of the losses, or "auto": the best of a grid on dev data, or by cross-validation
    tol : the relative duality gap to reach; a smaller one hardly changes predictions
    max_passes : stop with a warning after this many passes over the data
    random_state : seed of the order in which examples are visited
    features, rules, n_jobs : as for all supervised methods

    Attributes
    ----------
    those of `SupervisedMethod`, and
    history_ : list of dicts, after some of the passes (count): objective, dual, gap, scale, viterbi (calls), seconds
    stop_ : "converged" or "max_passes"

    Examples
    --------
    >>> model = SSVM().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    """

    name = "ssvm"
    ranks: ClassVar[bool] = True
    lines = (Line("SSVM, supervised", 30),)
    checks: ClassVar[params.Checks] = {"max_passes": params.at_least_one}

    C: float | str = settings.MARGIN_C
    tol: float = 0.05
    max_passes: int = settings.MAX_ITERATIONS
    random_state: int | np.random.RandomState | None = 0

    def learner(self, n_labels: int, watch: Watch | None = None) -> MarginLearner:
        return MarginLearner(n_labels, self.tol, self.max_passes, seed_from(self.random_state), self.n_jobs, watch)

    def _brief_learner(self, n_labels: int) -> MarginLearner:
        tol = max(self.tol, settings.BRIEF_GAP)
        return replace(self.learner(n_labels), tol=tol, min_passes=settings.BRIEF_PASSES)
