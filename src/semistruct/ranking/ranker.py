"""The ranker, which chooses among the best labellings of a chain model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from semistruct.labels import Span, scheme_of, spans
from semistruct.ranking.features import of_block, of_order

SIZE = 10
"""How many of the best labellings are ranked; finding them takes time that grows with their number."""

WITHIN = 3.0
"""Labellings whose score is further below the best one than this many wrong tokens are not ranked."""

Made = TypeVar("Made")
LARGEST = 1e100  # of a weight, so that no rating can become infinite


@dataclass
class Parts(Generic[Made]):
    """What `make` makes of the features of the parts of labellings: of the order of the blocks, and of each block.

    Labellings share most of their parts: each is made once.
    """

    scheme: str
    make: Callable[[Iterable[str]], Made]
    _orders: dict[tuple[str, ...], Made] = field(default_factory=dict)

    def of(self, tokens: Sequence[Any], labellings: Iterable[Sequence[str]]) -> list[list[Made]]:
        """The parts of each labelling of a sequence; of tokens with columns only the word counts."""
        words = [token if isinstance(token, str) else token[0] for token in tokens]
        known, out = dict[Span, Made](), []
        for labels in labellings:
            blocks = spans(labels, self.scheme)
            order = tuple([block.label for block in blocks])
            if order not in self._orders:
                self._orders[order] = self.make(of_order(order))
            for block in blocks:
                if block not in known:
                    known[block] = self.make(of_block(words, block))
            out.append([self._orders[order], *[known[block] for block in blocks]])
        return out


@dataclass(frozen=True)
class Record:
    """What ranking did to sequences that were held out: how many there were, and how many became better and worse."""

    sequences: int
    better: int
    worse: int

    @property
    def text(self) -> str:
        return f"{self.better} of {self.sequences} held-out sequences better, {self.worse} worse"


@dataclass(frozen=True)
class Ranker:
    """Rates labellings; the rating is added to the score of the model.

    weights  by the names of features
    record   for reports
    size     how many labellings are ranked
    """

    weights: dict[str, float]
    record: Record
    size: int = SIZE

    @property
    def text(self) -> str:
        """One line for reports."""
        return f"the {self.size} best labellings are ranked once more: {self.record.text}"

    def rank(
        self,
        X: Sequence[Sequence[Any]],
        offsets: np.ndarray,
        labels: Sequence[str],
        found: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The labellings found (k, n_tokens) and their scores (n, k), ranked once more.

        Those beyond `size`, or too far below the best, stay behind the others, with no higher score.
        """
        names = np.array(labels, object)
        parts = Parts(scheme_of(labels), lambda found: sum([self.weights.get(name, 0.0) for name in found]))
        paths, scores = found[0].copy(), found[1].copy()
        for i, (a, b) in enumerate(pairwise(offsets)):
            n = int(np.sum(found[1][i] > -np.inf))
            total = found[1][i, :n] + [sum(row) for row in parts.of(X[i], names[found[0][:n, a:b]].tolist())]
            beyond = (np.arange(n) >= self.size) | (found[1][i, :n] < found[1][i, 0] - WITHIN)
            order = np.lexsort((-total, beyond))
            paths[:n, a:b], scores[i, :n] = found[0][order, a:b], np.minimum.accumulate(total[order])
        return paths, scores

    def to_dict(self) -> dict[str, Any]:
        return {"size": self.size, "record": vars(self.record), "weights": self.weights}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Ranker:
        record = Record(**about["record"])
        if any(type(n) is not int or n < 0 for n in (about["size"], *vars(record).values())) or about["size"] < 1:
            raise ValueError("the numbers of the ranker are not whole numbers")
        weights = {str(name): float(weight) for name, weight in about["weights"].items()}
        if not all(abs(weight) <= LARGEST for weight in weights.values()):
            raise ValueError(f"the ranker holds a weight that is not a number or larger than {LARGEST:g}")
        return cls(weights, record, about["size"])
