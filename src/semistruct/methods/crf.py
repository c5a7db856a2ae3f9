"""The conditional random field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.progress import Watch
from semistruct.learning import settings
from semistruct.learning.declarations import Line
from semistruct.learning.fitting import SupervisedMethod
from semistruct.learning.labeller import Probabilities
from semistruct.learning.learners import LikelihoodLearner


@dataclass(eq=False, repr=False)
class CRF(Probabilities, SupervisedMethod):
    """Conditional random field, a log-linear chain model:  min_w  1/2 ||w||^2 + l1 |w| - C sum_i log p_w(y_i | x_i)

    Sequences without labels are ignored.  Unknown labels within a sequence are summed over.  Unlike `SSVM` it gives
    probabilities: see `predict_marginals`.

    Parameters
    ----------
    C : weight of the losses, or "auto": the best of a grid on dev data, or by cross-validation
    l1 : weight of the sum of absolute weights, which sets many of them to zero
    tol : stop when the objective falls by less than this share in five iterations
    max_iterations : stop with a warning after this many
    random_state : seed of the folds of cross-validation
    features, rules, n_jobs : as for all supervised methods

    Attributes
    ----------
    those of `SupervisedMethod`, and
    history_ : list of dicts, one per iteration (count): objective, gradient (largest entry), seconds
    stop_ : "converged", "max_iterations", or "line_search" if no step lowers the objective, far from its minimum

    Examples
    --------
    >>> model = CRF().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    >>> model.predict_marginals([["1937"]])[0].shape
    (1, 2)
    """

    name = "crf"
    lines = (Line("CRF, supervised", 20),)
    checks: ClassVar[params.Checks] = {"l1": params.not_negative, "max_iterations": params.at_least_one}

    C: float | str = settings.LIKELIHOOD_C
    l1: float = 0.0
    tol: float = 1e-4
    max_iterations: int = settings.MAX_ITERATIONS
    random_state: int | np.random.RandomState | None = 0

    def learner(self, n_labels: int, watch: Watch | None = None) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, self.max_iterations, self.l1, self.n_jobs, watch)
