"""The multi-class transductive SVM, for matrices instead of sequences."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from semistruct.base import parameters as params
from semistruct.base.errors import DataError, ParameterError, quoted
from semistruct.base.parameters import Estimator, check_is_fitted, seed_from
from semistruct.base.progress import Place, Progress
from semistruct.learning.declarations import check_params
from semistruct.learning.solvers.multiclass import first_labels, hinge, solve_classes, swapped, whole_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RELATIVE = (0.1, 0.3, 1.0, 3.0, 10.0)
NOBODY = -1


@dataclass(eq=False, repr=False)
class TransductiveSVM(Estimator):
    """Multi-class SVM from labelled examples and a pool, in which the number of examples of each class is known:

        min_{W, y}  1/2 ||W||^2 + C sum_i H(x_i, y_i) + C_u sum_j H(x_j, y_j),
        H(x, y) = max_c [ cost(y, c) + w_c.x ] - w_y.x

    over W and labels y_j of the pool with given class counts (after Keerthi, Sundararajan and Shevade,
    2012).  In turns the y_j are found by swapping labels of pairs (`learning.solvers.multiclass`) and W by a dual
    method, while C_u grows along a schedule.

    Parameters
    ----------
    C : weight of the losses of labelled examples
    schedule : growing weights of the whole pool, relative to the weight of all labelled examples
    class_counts : mapping of classes to their numbers (or shares) in the pool; None: the shares among the labels
    costs : (K, K), of a class (row, in sorted order) predicted as another; None: 1 for each mistake
    fit_intercept : learn a constant for each class, as if each example had one more feature of value 1
    rounds : of swapping and learning for each weight; stops early when the labels no longer change
    tol : the relative duality gap to reach
    random_state : seed of the order in which examples are visited

    Attributes
    ----------
    classes_, coef_ (K, F), intercept_ (K,)
    labels_ : labels of the examples without labels, those of X first
    history_ : list of dicts, one per half-step: C_u, round, step ("swap" or "learn"), objective, switched, ...
    """

    checks: ClassVar[params.Checks] = {
        "C": params.positive,
        "schedule": params.growing,
        "class_counts": params.none | params.Check("a mapping", lambda value: isinstance(value, Mapping)),
        "fit_intercept": params.yes_or_no,
    }

    C: float = 1.0
    schedule: Sequence[float] = RELATIVE
    class_counts: Mapping[Any, float] | None = None
    costs: Any = None
    fit_intercept: bool = True
    rounds: int = 5
    tol: float = 0.01
    random_state: int | np.random.RandomState | None = 0

    def fit(self, X: Any, y: Sequence[Any], *, pool: Any = None) -> Self:
        """Learn from the rows of X with classes y (-1 or None: no label) and the rows of `pool`."""
        check_params(self)
        rows, given = self._rows(X), list(y)
        if rows.shape[0] != len(given):
            raise DataError(f"X has {rows.shape[0]} rows, y has {len(given)} labels")
        known = np.array([not (c is None or (not isinstance(c, str) and c == NOBODY)) for c in given], bool)
        if not known.any():
            raise DataError("y: no example has a label")
        self.classes_ = np.unique(np.array([c for c, k in zip(given, known, strict=True) if k]))
        if len(self.classes_) < 2:
            raise DataError(f"y: there is only one class, {quoted(self.classes_[0])}")
        self.n_features_in_ = rows.shape[1] - self.fit_intercept
        code = np.searchsorted(self.classes_, np.array([c for c, k in zip(given, known, strict=True) if k]))
        free = [rows[np.flatnonzero(~known)]] + ([] if pool is None else [self._rows(pool)])
        if free[-1].shape[1] != rows.shape[1]:
            raise DataError(f"pool has {free[-1].shape[1]} columns, X has {rows.shape[1]}")
        self._learn(rows[np.flatnonzero(known)], code, _stacked(free), self._costs())
        return self

    def _learn(self, labelled: csr_array, code: np.ndarray, free: csr_array, cost: np.ndarray) -> None:
        seed, n, m, K = seed_from(self.random_state), len(code), free.shape[0], len(cost)
        self.history_: list[dict[str, Any]] = []
        began = time.perf_counter()
        found = solve_classes(labelled, code, np.full(n, self.C), cost, tol=self.tol, seed=seed)
        counts = whole_counts(self._shares(code), m)
        every, labels = _stacked([labelled, free]), None
        alpha = np.concatenate([found.alpha, np.zeros((m, K))])
        stages = [ratio * self.C * n / max(m, 1) for ratio in self.schedule] if m else []
        for stage, C_u in enumerate(stages):
            weight = np.concatenate([np.full(n, self.C), np.full(m, C_u)])
            for turn in range(self.rounds):
                place = Place("C_u", C_u, stage, len(stages), turn, self.rounds)
                loss = hinge(every @ found.W, cost)
                old = labels
                labels = swapped(loss[n:], first_labels(loss[n:], counts) if old is None else old)
                switched = m if old is None else int(np.sum(labels != old))
                target = np.concatenate([code, labels])
                before = 0.5 * float((found.W**2).sum()) + float(weight @ loss[np.arange(n + m), target])
                self._note("swap", place, before, switched, began)
                if turn and not switched:
                    break
                fresh = np.ones(m, bool) if old is None else labels != old
                alpha[n:][fresh] = np.eye(K)[labels[fresh]]
                better = solve_classes(every, target, weight, cost, tol=self.tol, alpha=alpha, seed=seed)
                alpha = better.alpha.copy()
                found = better if better.primal <= before else found
                self._note("learn", place, min(better.primal, before), switched, began)
        self.labels_ = self.classes_[np.zeros(0, np.int64) if labels is None else labels]
        W = found.W.T if self.fit_intercept else np.hstack([found.W.T, np.zeros((K, 1))])
        self.coef_, self.intercept_ = W[:, :-1].copy(), W[:, -1].copy()

    def _note(self, step: str, place: Place, objective: float, switched: int, began: float) -> None:
        seconds, details = time.perf_counter() - began, {"switched": switched}
        count = len(self.history_) + 1
        self.history_.append(Progress(step, count, objective, seconds, place=place, details=details).row())

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, K): the score of each class."""
        check_is_fitted(self, "coef_")
        rows = self._rows(X)
        if rows.shape[1] - self.fit_intercept != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1] - self.fit_intercept} columns, the model was fitted with {self.n_features_in_}"
            )
        W = np.hstack([self.coef_, self.intercept_[:, None]]) if self.fit_intercept else self.coef_
        return rows @ W.T

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        best = np.argmax(self.decision_function(X), axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is right."""
        from sklearn.metrics import accuracy_score

        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.target_tags.required = "classifier", ClassifierTags(), True
        return tags

    def _rows(self, X: Any) -> csr_array:
        from scipy.sparse import csr_array
        from sklearn.utils.validation import check_array

        try:
            found = csr_array(check_array(X, accept_sparse="csr", dtype=float))
        except ValueError as err:
            raise DataError(f"X: {err}") from None
        return _stacked([found, np.ones((found.shape[0], 1))], across=True) if self.fit_intercept else found

    def _shares(self, code: np.ndarray) -> np.ndarray:
        if self.class_counts is None:
            return np.bincount(code, minlength=len(self.classes_)).astype(float)
        missing = [c for c in self.classes_.tolist() if c not in self.class_counts]
        extra = [c for c in self.class_counts if c not in self.classes_.tolist()]
        if missing or extra:
            raise ParameterError(
                f"class_counts: {'no number for' if missing else 'no class'} {quoted((missing + extra)[0])}"
            )
        shares = np.array([self.class_counts[c] for c in self.classes_.tolist()], float)
        if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
            raise ParameterError("class_counts must hold numbers >= 0, not all 0")
        return shares

    def _costs(self) -> np.ndarray:
        K = len(self.classes_)
        if self.costs is None:
            return 1.0 - np.eye(K)
        cost = np.asarray(self.costs, float)
        if cost.shape != (K, K) or not np.isfinite(cost).all() or (cost < 0).any() or np.diag(cost).any():
            raise ParameterError(f"costs must be a ({K}, {K}) matrix of numbers >= 0 with zeros on the diagonal")
        return cost


def _stacked(parts: list[Any], across: bool = False) -> csr_array:
    from scipy.sparse import csr_array, hstack, issparse, vstack

    found = (hstack if across else vstack)([part if issparse(part) else csr_array(part) for part in parts])
    return csr_array(found)
