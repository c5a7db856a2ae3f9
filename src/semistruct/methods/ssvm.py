"""The supervised structural SVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from semistruct import params
from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import decode
from semistruct.constraints import Constraints
from semistruct.errors import DataError
from semistruct.features import Encoder
from semistruct.methods.base import Pairs, SequenceLabeller, all_labels, check_data, is_known, label_codes
from semistruct.methods.search import Known, search_C
from semistruct.methods.trust import trusted
from semistruct.model import Model
from semistruct.params import check_params
from semistruct.solvers.sdm import DualState, Problem, Solution, Watch, solve

DEFAULT_C = 0.5
SEARCH_TOL = 0.05  # the relative gap at which accuracies are compared when C is chosen
ROUGH_TOL = 0.1  # and at which unknown labels are filled in for a start
COMPLETIONS = 10  # rounds of filling in unknown labels and learning again


class SSVM(SequenceLabeller):
    """Large-margin chain model:  min_w  1/2 ||w||^2 + C sum_i H_i(w)  with the structured hinge loss

        H_i(w) = max_y [ L(y_i, y) + w.f(x_i, y) ] - w.f(x_i, y_i),    L = number of wrong labels.

    Unlabelled sequences teach it nothing.  Unknown labels within a sequence are filled in with the best labelling
    that agrees with the known ones, in turns with learning; they carry no loss.

    Parameters
    ----------
    C : weight of the losses, or "auto": the best of a grid on the dev data, else by cross-validation
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    constraints : Constraints; they do not change what is learned, but `predict(X, constraints=True)` obeys them, hard
        ones always and others as far as `semistruct.methods.trust` makes them weigh
    tol : the relative duality gap to reach
    max_passes : give up, with a warning, after so many passes over the data
    n_jobs : threads, None for all; does not change the result
    random_state : seed of the order in which examples are visited

    Attributes
    ----------
    model_ : labels, features and weights
    C_ : the C that was used
    search_ : with C="auto", the token accuracy seen for each C
    history_ : list of dicts with passes, primal, dual, gap, viterbi (calls), seconds
    stop_ : "converged" or "max_passes"

    Examples
    --------
    >>> model = SSVM().fit([["A", ".", "Turing"], ["1936"]], [["author"] * 3, ["date"]])
    >>> model.predict([["B", ".", "Turing"]])
    [['author', 'author', 'author']]
    """

    rules: ClassVar = {
        "C": params.positive | params.the_word("auto"),
        "features": params.features,
        "constraints": params.none | params.constraints,
        "tol": params.positive,
        "max_passes": params.at_least_one,
        "n_jobs": params.none | params.at_least_one,
        "random_state": params.seed,
    }

    def __init__(
        self,
        C: float | str = DEFAULT_C,
        features: str | Sequence[str] = "default",
        constraints: Constraints | None = None,
        tol: float = 0.01,
        max_passes: int = 1000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.constraints = constraints
        self.tol = tol
        self.max_passes = max_passes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Watch | None = None,
    ) -> SSVM:
        """Learn from sequences X with labels y.

        dev            (X, y) to choose C on
        sample_weight  one factor of C per sequence
        watch          called with every record of the solver as it is made, those of the search for C included
        """
        check_params(self)
        check_data(X, y)
        weight = _checked_weights(sample_weight, len(X))
        keep = [i for i, labels in enumerate(y) if is_known(labels) and weight[i] > 0]
        if not keep:
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        weight = weight[keep]
        X, y = [X[i] for i in keep], [y[i] for i in keep]
        labels = all_labels(y, self.constraints)
        encoder = Encoder.for_data(X, self.features)
        batch = encoder.fit(X)
        known = label_codes(y, batch.lengths.tolist(), labels)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        self._choose_C(batch, known, len(labels), weight, _encoded(dev, encoder, labels), watch)
        solution = self._learn(batch, known, len(labels), self.C_ * weight, tol=self.tol, watch=watch)
        self.history_ = [asdict(record) for record in solution.history]
        self.stop_ = solution.stop
        model = Model(labels, encoder, solution.state.chain, self.constraints).compact()
        self.model_ = replace(model, constraints=trusted(model, len(y), dev, self.n_jobs))
        return self

    def _choose_C(
        self,
        batch: SequenceBatch,
        known: np.ndarray,
        n_labels: int,
        weight: np.ndarray,
        dev: Known | None,
        watch: Watch | None,
    ) -> None:
        self.search_: list[dict[str, float]] = []
        if not isinstance(self.C, str):
            self.C_ = float(self.C)
            return

        def learn(batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, start: DualState | None) -> Solution:
            return self._learn(batch, known, n_labels, weight, tol=max(self.tol, SEARCH_TOL), start=start, watch=watch)

        self.search_ = search_C(learn, (batch, known), dev, weight, self.seed_, self.n_jobs)
        best = max(self.search_, key=lambda row: row["token_accuracy"], default={"C": DEFAULT_C})
        self.C_ = best["C"]

    def _learn(
        self,
        batch: SequenceBatch,
        known: np.ndarray,
        n_labels: int,
        weight: np.ndarray,
        *,
        tol: float,
        start: DualState | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Train on labels of which some may be UNKNOWN; these are filled in and learned in turns."""
        cost = (known != UNKNOWN).astype(float)
        target, complete = _filled(batch, known), bool(cost.all())
        for level in (tol,) if complete else (max(tol, ROUGH_TOL), tol):
            for _ in range(COMPLETIONS):
                solution = solve(
                    Problem(batch, n_labels, target, weight, cost),
                    tol=level,
                    max_passes=self.max_passes,
                    start=start,
                    seed=self.seed_,
                    n_jobs=self.n_jobs,
                    watch=watch,
                )
                start = solution.state
                better = target if complete else decode(batch, start.chain, known=known, n_jobs=self.n_jobs)[0]
                if np.array_equal(better, target):
                    break
                target = better
        return solution


def _filled(batch: SequenceBatch, known: np.ndarray) -> np.ndarray:
    """Unknown labels replaced by the nearest known one of the sequence, the left one if two are equally near."""
    out = known.copy()
    for i in range(len(batch)):
        row = out[batch.offsets[i] : batch.offsets[i + 1]]
        places = np.flatnonzero(row != UNKNOWN)
        if len(places) < len(row):
            distance = np.abs(np.arange(len(row))[:, None] - places[None, :])
            row[:] = row[places[np.argmin(distance, axis=1)]]
    return out


def _encoded(dev: Pairs | None, encoder: Encoder, labels: Sequence[str]) -> Known | None:
    if dev is None:
        return None
    check_data(*dev, name="dev")
    batch = encoder.transform(dev[0])
    return batch, label_codes(dev[1], batch.lengths.tolist(), labels)


def _checked_weights(sample_weight: Sequence[float] | None, n: int) -> np.ndarray:
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, expected one number for each of {n} sequences")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample_weight must hold finite numbers >= 0")
    return weight
