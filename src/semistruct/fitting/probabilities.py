"""What models with probabilities offer besides labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semistruct.fitting.data import sequences
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.params import check_is_fitted


class Probabilities(SequenceLabeller):
    """A labeller whose scores are logarithms of probabilities, up to a constant for each sequence."""

    probabilistic = True

    def predict_marginals(self, X: Sequence[Any]) -> list[np.ndarray]:
        """For each sequence an array (tokens, labels): the probability of each label of `classes_` at each token."""
        check_is_fitted(self)
        return self.model_.marginals(sequences(X), self.n_jobs)
