"""The conditional random field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semistruct import params
from semistruct.fitting.learners import LIKELIHOOD_C, LikelihoodLearner
from semistruct.fitting.probabilities import Probabilities
from semistruct.fitting.standing import Line
from semistruct.fitting.supervised import SupervisedMethod
from semistruct.progress import Watch
from semistruct.rules import Rules


class CRF(Probabilities, SupervisedMethod):
    """Conditional random field, a log-linear chain model:  min_w  1/2 ||w||^2 + l1 |w| - C sum_i log p_w(y_i | x_i)

    Sequences without labels are ignored.  Unknown labels within a sequence are summed over.  Unlike `SSVM` it gives
    probabilities: see `predict_marginals`.

    Parameters
    ----------
    C : weight of the losses, or "auto": the best of a grid on dev data, or by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : Rules; they do not change what is learned, but `predict(X, rules=True)` obeys them
    l1 : weight of the sum of absolute weights, which sets many of them to zero
    tol : stop when the objective falls by less than this share in five iterations
    max_iterations : stop with a warning after this many
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the folds of cross-validation

    Attributes
    ----------
    model_, C_, search_ : as for `SSVM`
    history_ : list of dicts, one per iteration (count): objective, gradient (largest entry), seconds
    stop_ : "converged" or "max_iterations"

    Examples
    --------
    >>> model = CRF().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    >>> model.predict_marginals([["1937"]])[0].shape
    (1, 2)
    """

    name: ClassVar = "crf"
    lines: ClassVar = (Line("CRF, supervised", 20),)
    checks: ClassVar = {
        "l1": params.not_negative,
        "max_iterations": params.at_least_one,
    }

    def __init__(
        self,
        C: float | str = LIKELIHOOD_C,
        features: str | Sequence[str] = "default",
        rules: Rules | None = None,
        l1: float = 0.0,
        tol: float = 1e-4,
        max_iterations: int = 1000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.rules = rules
        self.l1 = l1
        self.tol = tol
        self.max_iterations = max_iterations
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learner(self, n_labels: int, watch: Watch | None = None) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, self.max_iterations, self.l1, self.n_jobs, watch)
