"""The ranker, which chooses among the best labellings of a chain model.

A chain model sees a label and the one before it.  A ranker sees all of a block, and all blocks: it rates a labelling by
features of its blocks and of the order in which they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from semistruct.data.labels import Span, scheme_of, spans
from semistruct.features.words import is_punctuation, shape_of

SIZE = 10
"""How many of the best labellings are ranked; finding them takes time that grows with their number."""

WITHIN = 3.0
"""Labellings whose score is further below the best one than this many wrong tokens are not ranked."""

LARGEST = 1e100  # of a weight, so that no score and no rating can become infinite
PLACES = 4  # parts of a sequence in which a block can begin
LENGTHS = (1, 2, 3, 5, 8, 12, 20)  # the longest of each class
LONG = 6  # marks of a block, and letters of a shape, beyond which all are alike; tokens whose shapes are one feature
MOST_OF_A_LABEL, MOST_BLOCKS = 3, 12  # counts beyond are one
FIRST, LAST = "<s>", "</s>"
Made = TypeVar("Made")


def of_block(tokens: Sequence[str], block: Span) -> Iterator[str]:
    """How long a block is and where it begins, what it begins and ends with, what it holds, and what is beside it."""
    label, own = block.label, tokens[block.start : block.end]
    before, after = tokens[block.start - 1 : block.start] or [FIRST], tokens[block.end : block.end + 1] or [LAST]
    words, shapes = [token.lower() for token in own], [shape_of(token)[:LONG] for token in own]
    yield f"length {label} {sum(len(own) > longest for longest in LENGTHS)}"
    yield f"marks {label} {min(sum(is_punctuation(token) for token in own[:-1]), LONG)}"
    yield f"place {label} {PLACES * block.start // len(tokens)}"
    yield f"before {label} {before[0].lower()}"
    yield f"after {label} {after[0].lower()}"
    for place, k, two in (("first", 0, shapes[:2]), ("last", -1, shapes[-2:])):
        yield f"{place} word {label} {words[k]}"
        yield f"{place} shape {label} {shapes[k]}"
        yield f"{place} shapes {label} {' '.join(two)}"
    if len(own) <= LONG:
        yield f"shapes {label} {' '.join(shapes)}"
    for word in sorted(set(words)):
        yield f"word {label} {word}"
    for shape in sorted(set(shapes)):
        yield f"shape {label} {shape}"


def of_order(labels: Sequence[str]) -> Iterator[str]:
    """How many blocks there are, of which labels, and in which order; `labels` are those of the blocks."""
    yield f"blocks {min(len(labels), MOST_BLOCKS)}"
    number = Counter(labels)
    for label in sorted(number):
        yield f"number {label} {min(number[label], MOST_OF_A_LABEL)}"
    for pair in combinations(sorted(number), 2):
        yield f"both {' '.join(pair)}"
    row = [FIRST, *labels, LAST]
    for two in pairwise(row):
        yield f"order {' '.join(two)}"
    for three in zip(row, row[1:], row[2:], strict=False):
        yield f"order {' '.join(three)}"


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
