"""Answers of a model at three levels (tokens, blocks, whole sequences), their scores, and whether they are right.

A score is higher the surer the model is.  Models with probabilities score by the logarithm of the odds that an answer
is right; the others by margins: what another label would cost at a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semistruct.labels import Span, spans

LEVELS = ("token", "block", "sequence")
SOFTNESS = 0.5  # of the least margin: a few that are nearly as small count for something

Row = Sequence[str | None]
Case = tuple[float, bool, int, float, float]


@dataclass(frozen=True)
class Scores:
    """The scores of the labels of one sequence: of its tokens, of its blocks from left to right, and of all of it."""

    token: np.ndarray
    block: np.ndarray
    sequence: float

    @classmethod
    def of_margins(cls, margins: np.ndarray, blocks: Sequence[Span]) -> Scores:
        """A block is as sure as its own tokens and its two neighbours, which might belong to it."""
        block = [soft_least(margins[max(one.start - 1, 0) : one.end + 1]) for one in blocks]
        return cls(margins, np.array(block), soft_least(margins))


def soft_least(values: np.ndarray) -> float:
    """The least of them, or somewhat less if others are nearly as small."""
    least = float(np.min(values))
    if not np.isfinite(least):
        return least
    return least - SOFTNESS * float(np.log(np.sum(np.exp((least - values) / SOFTNESS))))


@dataclass(frozen=True)
class Cases:
    """Answers at one level: their scores, whether they are right, and the numbers of their sequences.

    block, sequence  the scores of the block and of the sequence that each is a part of, -inf where there is none
    """

    score: np.ndarray
    right: np.ndarray
    owner: np.ndarray
    block: np.ndarray
    sequence: np.ndarray

    def __len__(self) -> int:
        return len(self.score)


def cases(scores: Sequence[Scores], found: Sequence[Row], gold: Sequence[Row | None], scheme: str) -> dict[str, Cases]:
    """The answers whose truth is known, by level: tokens with a gold label, and all else in complete sequences."""
    rows: dict[str, list[Case]] = {level: [] for level in LEVELS}
    for i, (own, labels, truth) in enumerate(zip(scores, found, gold, strict=True)):
        if truth is None:
            continue
        equal = [y == z for y, z in zip(truth, labels, strict=True)]
        known = [t for t, y in enumerate(truth) if y is not None]
        blocks = blocks_of(labels, scheme)
        block, whole = spread(own.block, blocks, len(labels), -np.inf), own.sequence
        rows["token"] += [(float(own.token[t]), equal[t], i, float(block[t]), whole) for t in known]
        if len(known) == len(truth):
            wanted = set(blocks_of(truth, scheme))
            scored = zip(own.block, blocks, strict=True)
            rows["block"] += [(float(score), one in wanted, i, -np.inf, whole) for score, one in scored]
            rows["sequence"].append((whole, all(equal), i, -np.inf, -np.inf))
    return {level: _cases(found) for level, found in rows.items()}


def _cases(rows: list[Case]) -> Cases:
    score, right, owner, block, sequence = zip(*rows, strict=True) if rows else ((),) * 5
    numbers = (np.array(one, float) for one in (block, sequence))
    return Cases(np.array(score, float), np.array(right, bool), np.array(owner, np.int64), *numbers)


def spread(values: np.ndarray, blocks: Sequence[Span], n: int, outside: float) -> np.ndarray:
    """The values of blocks at each of n tokens, `outside` where no block is."""
    out = np.full(n, outside)
    for value, one in zip(values, blocks, strict=True):
        out[one.start : one.end] = value
    return out


def blocks_of(labels: Row, scheme: str) -> list[Span]:
    """The blocks of a labelling; gold labels of another scheme than the model's are read by their own."""
    if scheme != "plain" and not all(y is None or y == "O" or y[1:2] == "-" for y in labels):
        scheme = "plain"
    return spans(labels, scheme)
