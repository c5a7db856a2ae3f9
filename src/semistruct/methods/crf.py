"""The conditional random field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from semistruct import params
from semistruct.batch import SequenceBatch
from semistruct.chain.inference import ChainWeights
from semistruct.fitting.probabilities import Probabilities
from semistruct.fitting.supervised import Learned, SupervisedMethod
from semistruct.rules import Rules
from semistruct.solvers.crf import Expected, Objective, solve

DEFAULT_C = 1.0
ROUGH_TOL = 1e-3  # the relative fall of the objective at which accuracies are compared when C is chosen


@dataclass(frozen=True)
class LikelihoodLearner:
    """Conditional random fields, by L-BFGS-B."""

    grid: ClassVar[tuple[float, ...]] = (0.1, 0.3, 1.0, 3.0, 10.0)
    default_C: ClassVar[float] = DEFAULT_C

    n_labels: int
    tol: float
    max_iterations: int
    l1: float = 0.0
    n_jobs: int | None = None
    watch: Callable[[Any], None] | None = None
    warn: bool = True

    def learn(
        self, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, *, rough: bool = False, start: Any = None
    ) -> Learned:
        """Unknown labels are summed over."""
        return self._solve(batch, known, weight, max(self.tol, ROUGH_TOL) if rough else self.tol, start)

    def learn_expected(
        self, batch: SequenceBatch, goal: Expected, weight: np.ndarray, *, start: ChainWeights | None = None
    ) -> Learned:
        """Learn a distribution over labellings; the history begins with where it started."""
        return self._solve(batch, goal, weight, self.tol, start)

    def learn_mixture(
        self, batch: SequenceBatch, labellings: np.ndarray, share: np.ndarray, weight: np.ndarray
    ) -> Learned:
        """Learn several labellings (k, n_tokens) of each sequence, with shares (n, k) that sum to 1."""
        tokens = np.zeros((batch.n_tokens, self.n_labels))
        steps = np.zeros((batch.n_kinds, self.n_labels, self.n_labels))
        for labels, part in zip(labellings, share.T, strict=True):
            one = Expected.of_labels(batch, labels, self.n_labels, weight * part)
            tokens += np.repeat(part, batch.lengths)[:, None] * one.tokens
            steps += one.steps
        return self.learn_expected(batch, Expected(tokens, steps), weight)

    def _solve(
        self,
        batch: SequenceBatch,
        goal: np.ndarray | Expected,
        weight: np.ndarray,
        tol: float,
        start: ChainWeights | None,
    ) -> Learned:
        objective = Objective(batch, self.n_labels, weight, goal, self.n_jobs, merge=not self.l1)
        limits: dict[str, Any] = {"l1": self.l1, "tol": tol, "max_iterations": self.max_iterations}
        found = solve(objective, **limits, start=start, watch=self.watch, warn=self.warn)
        return Learned(found.chain, found.chain, [asdict(record) for record in found.history], found.stop)


class CRF(Probabilities, SupervisedMethod):
    """Log-linear chain model:  min_w  1/2 ||w||^2 + l1 |w| - C sum_i log p_w(y_i | x_i)

    Unlabelled sequences teach it nothing.  Unknown labels within a sequence are summed over.  Unlike `SSVM` it gives
    probabilities: see `predict_marginals`.

    Parameters
    ----------
    C : weight of the losses, or "auto": the best of a grid on the dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : Rules; they do not change what is learned, but `predict(X, rules=True)` obeys them
    l1 : weight of the sum of absolute weights, which sets many of them to zero
    tol : stop when the objective falls by less than this share in five iterations
    max_iterations : give up, with a warning, after so many
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the folds of cross-validation

    Attributes
    ----------
    model_, C_, search_ : as for `SSVM`
    history_ : list of dicts with iterations, objective, gradient (largest entry), seconds
    stop_ : "converged" or "max_iterations"

    Examples
    --------
    >>> model = CRF().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    >>> model.predict_marginals([["1937"]])[0].shape
    (1, 2)
    """

    checks: ClassVar = {
        "l1": params.not_negative,
        "max_iterations": params.at_least_one,
    }

    def __init__(
        self,
        C: float | str = DEFAULT_C,
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

    def learner(self, n_labels: int, watch: Callable[[Any], None] | None = None) -> LikelihoodLearner:
        return LikelihoodLearner(n_labels, self.tol, self.max_iterations, self.l1, self.n_jobs, watch)
