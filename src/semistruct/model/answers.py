"""Answers of a model at three levels (tokens, blocks, whole sequences), their scores, and whether they are right.

A score is higher the surer the model is.  Models with probabilities score by the logarithm of the odds that an answer
is right; the others by margins: what another label would cost at a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semistruct.data.labels import Span, spans

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
        block = [soft_least(margins[max(span.start - 1, 0) : span.end + 1]) for span in blocks]
        return cls(margins, np.array(block), soft_least(margins))


def soft_least(values: np.ndarray) -> float:
    """The least of the values, or somewhat less if others are nearly as small."""
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

    @classmethod
    def of_rows(cls, rows: Sequence[Case]) -> Cases:
        columns = zip(*rows, strict=True) if rows else ((),) * 5
        types = (float, bool, np.int64, float, float)
        return cls(*(np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)))

    @classmethod
    def joined(cls, parts: Sequence[Cases]) -> Cases:
        """The cases of several parts, whose sequences are numbered each from 0."""
        first = np.cumsum([0, *(int(part.owner.max(initial=-1)) + 1 for part in parts)])
        empty, keys = cls.of_rows([]), ("score", "right", "owner", "block", "sequence")
        columns = {key: [getattr(part, key) for part in (empty, *parts)] for key in keys}
        columns["owner"][1:] = [part.owner + k for part, k in zip(parts, first, strict=False)]
        return cls(**{key: np.concatenate(pieces) for key, pieces in columns.items()})


def cases(scores: Sequence[Scores], found: Sequence[Row], gold: Sequence[Row | None], scheme: str) -> dict[str, Cases]:
    """The answers whose truth is known, by level: tokens with a gold label, and all else in complete sequences."""
    rows: dict[str, list[Case]] = {level: [] for level in LEVELS}
    for i, (own, labels, truth) in enumerate(zip(scores, found, gold, strict=True)):
        if truth is None:
            continue
        equal = [y == z for y, z in zip(truth, labels, strict=True)]
        known = [t for t, y in enumerate(truth) if y is not None]
        blocks = blocks_of(labels, scheme)
        block, whole = at_tokens(own.block, blocks, len(labels), -np.inf), own.sequence
        rows["token"] += [(float(own.token[t]), equal[t], i, float(block[t]), whole) for t in known]
        if len(known) == len(truth):
            wanted = set(blocks_of(truth, scheme))
            scored = zip(own.block, blocks, strict=True)
            rows["block"] += [(float(score), span in wanted, i, -np.inf, whole) for score, span in scored]
            rows["sequence"].append((whole, all(equal), i, -np.inf, -np.inf))
    return {level: Cases.of_rows(rows[level]) for level in LEVELS}


def at_tokens(values: np.ndarray, blocks: Sequence[Span], n: int, outside: float) -> np.ndarray:
    """The values of blocks at each of n tokens, `outside` where no block is."""
    out = np.full(n, outside)
    for value, span in zip(values, blocks, strict=True):
        out[span.start : span.end] = value
    return out


def blocks_of(labels: Row, scheme: str) -> list[Span]:
    """The blocks of a labelling; gold labels of another scheme than the model's are read by their own."""
    if scheme != "plain" and not all(y is None or y == "O" or y[1:2] == "-" for y in labels):
        scheme = "plain"
    return spans(labels, scheme)
