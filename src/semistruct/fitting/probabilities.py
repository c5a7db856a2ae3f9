"""What models with probabilities offer besides labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from semistruct.fitting.data import sequences
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.rules import Rules


class Probabilities(SequenceLabeller):
    """A labeller whose scores are logarithms of probabilities, up to a constant for each sequence."""

    def predict_marginals(self, X: Sequence[Any]) -> list[np.ndarray]:
        """For each sequence an array (tokens, labels): the probability of each label of `classes_` at each token."""
        check_is_fitted(self, "model_")
        return self.model_.marginals(sequences(X), self.n_jobs)

    def confidence(
        self, X: Sequence[Any], y: Sequence[Sequence[str]] | None = None, *, rules: bool | Rules = False
    ) -> list[np.ndarray]:
        """The probability of each label of y (default: the labels it predicts).

        rules  as in `predict`: they say which labels are predicted; the probabilities are those of the model alone
        """
        self._to_obey(rules)
        column = {label: k for k, label in enumerate(self.classes_)}
        X, y = self._labelled(X, y, rules)
        return [
            p[np.arange(len(row)), [column[label] for label in row]]
            for p, row in zip(self.predict_marginals(X), y, strict=True)
        ]
