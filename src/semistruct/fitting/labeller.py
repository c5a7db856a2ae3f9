"""What all sequence labellers share: prediction, scoring, saving, and the check of the data at the door."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from semistruct import metrics, params
from semistruct.batch import UNKNOWN
from semistruct.corpus import refuse_corpus
from semistruct.errors import DataError, ParameterError, RuleWarning, nearest
from semistruct.features.encoder import form_of
from semistruct.model import Model
from semistruct.params import Check
from semistruct.rules import Rules

Pairs = tuple[Sequence[Any], Sequence[Any]]


class SequenceLabeller(BaseEstimator):
    """Base of the learning methods.

    A method sets `model_` in `fit`; X is a list of sequences of tokens (or of feature lists or dictionaries, see
    `semistruct.features`) and y a list of label lists, with None for an unknown label or a whole unlabelled sequence.
    """

    checks: ClassVar[dict[str, Check]] = {}
    n_jobs: int | None
    model_: Model
    card_: dict[str, Any]

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        check_is_fitted(self, "model_")
        return list(self.model_.labels)

    def predict(
        self,
        X: Sequence[Any],
        *,
        rules: bool | Rules = False,
        corpus: bool = False,
        n_best: int | None = None,
    ) -> list[Any]:
        """The labels of each sequence; with n_best=k a list of (labels, score) pairs for each, best first.

        rules  True: obey the instance rules the model was given, or those given here
        corpus       obey the corpus rules too, taking X for the corpus
        """
        obeyed = self._obeyed(rules)
        if corpus and (obeyed is None or n_best is not None):
            raise ParameterError("corpus=True needs rules, and is not for n_best")
        if n_best is None:
            return self.model_.predict(X, self.n_jobs, obeyed, corpus)
        if not params.at_least_one.test(n_best):
            raise ParameterError(f"n_best={n_best!r}: n_best must be {params.at_least_one.words}")
        return self.model_.predict_k(X, n_best, self.n_jobs, obeyed)

    def decision_function(self, X: Sequence[Any], *, rules: bool | Rules = False) -> np.ndarray:
        """(n, 2): the score of the predicted labelling and its margin over the runner-up."""
        obeyed = self._obeyed(rules)
        return self.model_.margins(X, self.n_jobs, obeyed)

    def confidence(self, X: Sequence[Any], y: Sequence[Sequence[str]] | None = None) -> list[np.ndarray]:
        """How sure the model is of each label of y (what it predicts, if not given), in units of its scores.

        A value is the margin by which the best labelling with that label beats the best one with another label at the
        token; the smallest one of a sequence is the margin over the runner-up.  Labels that rules have enforced against
        the model have negative values.
        """
        check_is_fitted(self, "model_")
        return self.model_.confidence(X, self.predict(X) if y is None else self._familiar(y), self.n_jobs)

    def _familiar(self, y: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """The same labels, if the model knows them all."""
        for label in sorted({label for row in y for label in row} - set(self.classes_)):
            raise DataError(f"the model does not know the label {label!r}; it has {', '.join(self.classes_)}")
        return y

    def score(self, X: Sequence[Any], y: Sequence[Any], *, rules: bool | Rules = False) -> float:
        """Token accuracy."""
        return metrics.token_accuracy(y, self.predict(X, rules=rules))

    def _obeyed(self, rules: bool | Rules) -> Rules | None:
        check_is_fitted(self, "model_")
        if isinstance(rules, Rules):
            return rules
        if not isinstance(rules, bool):
            raise ParameterError(f"rules={rules!r:.40}: must be True, False or {params.rules.words}")
        if rules and self.model_.rules is None:
            raise ParameterError("rules=True, but the model was fitted without rules")
        return self.model_.rules if rules else None

    def save(self, path: str | os.PathLike[str], *, card: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, with `card` (scores, the origin of the data) for its readers."""
        from semistruct.store import save

        save(self, path, card=card)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def check_data(X: Sequence[Any], y: Sequence[Any], name: str = "training") -> None:
    """Labels fit the tokens, and are texts or None."""
    refuse_corpus(X, y, name=name)
    if y is None:
        raise DataError(f"{name} data: there are no labels (y is None)")
    if len(X) != len(y):
        raise DataError(f"{name} data: {len(X)} sequences but {len(y)} label lists")
    if len(X):
        form_of(X, name)
    for i, (tokens, labels) in enumerate(zip(X, y, strict=True)):
        if len(tokens) == 0:
            raise DataError(f"{name} data: sequence {i} has no tokens")
        if labels is None:
            continue
        listed = not isinstance(labels, str) and hasattr(labels, "__len__")
        if not listed or len(labels) != len(tokens):
            found = f"{len(labels)} labels" if listed else f"{labels!r:.40}"
            raise DataError(f"{name} data: sequence {i} has {len(tokens)} tokens but {found}")
        odd = next((label for label in labels if label is not None and not isinstance(label, str)), None)
        if odd is not None:
            raise DataError(f"{name} data: sequence {i} has the label {odd!r}, expected a text or None")


def is_known(labels: Sequence[Any] | None) -> bool:
    """At least one label is known."""
    return labels is not None and any(label is not None for label in labels)


def all_labels(y: Sequence[Any], rules: Rules | None) -> tuple[str, ...]:
    """The labels to tell apart, sorted: those that occur in y and those that the rules declare."""
    seen = {str(label) for row in y if row is not None for label in row if label is not None}
    if rules is None:
        return tuple(sorted(seen))
    _warn_of_strange_labels(seen, set(rules.labels or ()))
    return rules.all_labels(seen)


def _warn_of_strange_labels(seen: set[str], declared: set[str]) -> None:
    """Labels of the data that the rules do not declare, if they declare most: they are taken to be slips."""
    strange = sorted(seen - declared)
    if len(strange) >= len(seen & declared):
        return  # the rules declare further labels only
    for label in strange:
        near = nearest(label, declared)
        hint = f"did you mean {near!r}?" if near else "if it is right, it belongs there"
        told = f"label {label!r} of the data is not among the labels of the rules; {hint}"
        warnings.warn(told, RuleWarning, stacklevel=4)


def label_codes(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    """All labels end to end as numbers, UNKNOWN for None and for labels that are not in `labels`."""
    number = {label: code for code, label in enumerate(labels)}
    number_or_unknown = [
        UNKNOWN if label is None else number.get(label, UNKNOWN)
        for row, n in zip(y, lengths, strict=True)
        for label in ([None] * n if row is None else row)
    ]
    return np.array(number_or_unknown, np.int16)
