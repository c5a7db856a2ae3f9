"""What parameters are chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from semistruct import metrics
from semistruct.batch import UNKNOWN
from semistruct.metrics import Standing


@dataclass(frozen=True)
class Measure:
    """A metric for labels as numbers; the names of the labels tell which of them are spans."""

    metric: str
    labels: tuple[str, ...]

    def standing(self, known: np.ndarray, found: np.ndarray, lengths: Sequence[int]) -> Standing:
        """How well `found` agrees with `known` (n_tokens,), in sequences of these lengths."""
        edges = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        gold, predicted = ([row[a:b] for a, b in pairwise(edges)] for row in map(self._names, (known, found)))
        return metrics.standing(gold, predicted, self.metric)

    def _names(self, codes: np.ndarray) -> list[str | None]:
        return np.array([*self.labels, None], object)[np.where(codes == UNKNOWN, len(self.labels), codes)].tolist()

    def rank(self, found: Standing) -> tuple[float, float]:
        return metrics.rank(found, self.metric)
