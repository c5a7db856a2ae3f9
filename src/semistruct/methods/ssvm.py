"""The supervised structural SVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np

from semistruct import params
from semistruct.constraints import Constraints
from semistruct.errors import DataError
from semistruct.features import Encoder
from semistruct.methods.base import Pairs, SequenceLabeller, all_labels, check_data, is_known, label_codes
from semistruct.methods.supervised import DEFAULT_C, Learner, checked_weights, encoded, seed_from
from semistruct.methods.trust import trusted
from semistruct.model import Model
from semistruct.params import check_params
from semistruct.solvers.sdm import Watch


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
        weight = checked_weights(sample_weight, len(X))
        keep = [i for i, labels in enumerate(y) if is_known(labels) and weight[i] > 0]
        if not keep:
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        weight = weight[keep]
        X, y = [X[i] for i in keep], [y[i] for i in keep]
        labels = all_labels(y, self.constraints)
        encoder = Encoder.for_data(X, self.features)
        batch = encoder.fit(X)
        known = label_codes(y, batch.lengths.tolist(), labels)
        seed = seed_from(self.random_state)
        learner = Learner(len(labels), self.tol, self.max_passes, seed, self.n_jobs, watch)
        self.C_, self.search_ = learner.choose_C(self.C, batch, known, weight, encoded(dev, encoder, labels))
        solution = learner.learn(batch, known, self.C_ * weight)
        self.history_ = [asdict(record) for record in solution.history]
        self.stop_ = solution.stop
        model = Model(labels, encoder, solution.state.chain, self.constraints).compact()
        self.model_ = replace(model, constraints=trusted(model, len(y), dev, self.n_jobs))
        return self
