"""Learning a ranker from lists of labellings that a chain model found for sequences which it had not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from semistruct.ranking.ranker import WITHIN, Parts, Ranker, Record
from semistruct.solvers.lbfgs import minimise

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_C, LONG = 0.1, 33
"""Weight of the losses, of sequences that have this many tokens in the mean or more; short ones, which tell less, weigh
less.  Scores of margins and wrong tokens have one unit, so that it suits all data alike."""

SOFTNESS = 0.3  # of the largest violation in a list, in wrong tokens
MOST_ITERATIONS = 60
SMALLEST = 1e-3  # of a weight that is kept
BAD_LUCK = 1.0  # standard errors by which more tokens may become wrong: a single long block is a matter of luck

Candidates = Sequence[tuple[Sequence[str], float]]
"""Labellings with their scores, best first."""


@dataclass(frozen=True)
class Lists:
    """Lists of labellings of some sequences, as rows one after the other.

    names     of the columns
    features  (rows, columns) how often each feature is seen
    scores    (rows,) of the chain model
    wrong     (rows,) the number of wrong tokens
    offsets   (n + 1,) where lists begin
    lengths   (n,) the tokens of each sequence
    """

    names: list[str]
    features: csr_array
    scores: np.ndarray
    wrong: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(
        cls, X: Sequence[Sequence[Any]], gold: Sequence[Sequence[str]], found: Sequence[Candidates], scheme: str
    ) -> Lists:
        from scipy.sparse import csr_array

        number: dict[str, int] = {}
        parts = Parts(scheme, lambda names: [number.setdefault(name, len(number)) for name in names])
        columns, ends, scores, wrong, sizes = list[int](), [0], list[float](), list[int](), list[int]()
        for tokens, truth, candidates in zip(X, gold, found, strict=True):
            near = [(labels, score) for labels, score in candidates if score >= candidates[0][1] - WITHIN]
            rows = [labels for labels, _ in near]
            for row in parts.of(tokens, rows):
                columns += [column for part in row for column in part]
                ends.append(len(columns))
            scores += [score for _, score in near]
            wrong += [sum(y != z for y, z in zip(truth, row, strict=True)) for row in rows]
            sizes.append(len(near))
        shape = (len(scores), max(len(number), 1))
        features = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        offsets = np.append(0, np.cumsum(sizes))
        lengths = np.array([len(tokens) for tokens in X])
        return cls(list(number), features, np.array(scores), np.array(wrong, float), offsets, lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, which: np.ndarray) -> Lists:
        """Some of the lists."""
        sizes = np.diff(self.offsets)[which]
        rows = np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in which])
        offsets = np.append(0, np.cumsum(sizes))
        lengths = self.lengths[which]
        return Lists(self.names, self.features[rows], self.scores[rows], self.wrong[rows], offsets, lengths)

    def chosen(self, weights: np.ndarray | None = None) -> np.ndarray:
        """(n,): wrong tokens of the best labelling of each list, by the model alone or with a ranker's weights."""
        total = self.scores if weights is None else self.scores + self.features @ weights
        return np.array([self.wrong[a + np.argmax(total[a:b])] for a, b in pairwise(self.offsets)])


@dataclass(frozen=True)
class Objective:
    """The objective of learning weights v over the columns of some lists,

        1/2 ||v||^2 + C sum_i max_y [ s_y + v.f_y + wrong_y ] - [ s_z + v.f_z + wrong_z ],

    where z is the labelling of list i with the fewest wrong tokens; the maximum is a soft one.

    rows, price  features, and scores and wrong tokens, by which a labelling differs from the z of its list
    """

    rows: csr_array
    price: np.ndarray
    offsets: np.ndarray
    C: float

    @classmethod
    def of(cls, lists: Lists) -> Objective:
        from scipy.sparse import csr_array

        own = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
        ends = pairwise(lists.offsets)
        aim = np.array([a + np.lexsort((-lists.scores[a:b], lists.wrong[a:b]))[0] for a, b in ends])[own]
        price = lists.scores + lists.wrong
        C = LARGEST_C * min(float(lists.lengths.mean()) / LONG, 1.0)
        return cls(csr_array(lists.features - lists.features[aim]), price - price[aim], lists.offsets, C)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """(value, gradient)."""
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        excess = (self.price + self.rows @ weights) / SOFTNESS
        top = np.maximum.reduceat(excess, starts)
        share = np.exp(excess - np.repeat(top, sizes))
        total = np.add.reduceat(share, starts)
        loss = SOFTNESS * float(np.sum(top + np.log(total)))
        gradient = self.rows.T @ (share / np.repeat(total, sizes))
        return 0.5 * float(weights @ weights) + self.C * loss, weights + self.C * gradient


def learn_weights(lists: Lists) -> np.ndarray:
    """The weights of the columns; small ones are 0."""
    objective = Objective.of(lists)
    weights = minimise(objective, np.zeros(lists.features.shape[1]), max_iterations=MOST_ITERATIONS).x
    return np.where(np.abs(weights) < SMALLEST, 0.0, weights)


@dataclass(frozen=True)
class Learned:
    """A ranker, and those learned without each of some parts of the lists."""

    ranker: Ranker
    without: list[Ranker]


def learn(lists: Lists, parts: Sequence[np.ndarray], size: int, proof: float) -> Learned | None:
    """A ranker if those learned without each part help there (see `helps`), else None."""
    before, after, without = lists.chosen(), np.zeros(len(lists)), list[np.ndarray]()
    for part in parts:
        without.append(learn_weights(lists.take(np.setdiff1d(np.arange(len(lists)), part))))
        after[part] = lists.take(part).chosen(without[-1])
    gain = before - after
    if not helps(gain, proof):
        return None
    record = Record(len(gain), int(np.sum(gain > 0)), int(np.sum(gain < 0)))

    def ranker(weights: np.ndarray) -> Ranker:
        used = np.flatnonzero(weights).tolist()
        return Ranker({lists.names[j]: float(weights[j]) for j in used}, record, size)

    return Learned(ranker(learn_weights(lists)), [ranker(weights) for weights in without])


def helps(gain: np.ndarray, proof: float) -> bool:
    """Whether more sequences become better than worse, and no more tokens become wrong than by bad luck.

    gain   (n,) wrong tokens less
    proof  how clearly more become better, in standard errors; below 0, it is enough if hardly more become worse
    """
    return bool(gain.any()) and _surely(np.sign(gain)) > proof and _surely(gain) >= min(proof, -BAD_LUCK)


def _surely(gain: np.ndarray) -> float:
    """The mean of paired differences, in standard errors."""
    mean, error = float(gain.mean()), float(gain.std(ddof=1)) / len(gain) ** 0.5
    if mean == 0 or error > 0:
        return mean / (error or 1.0)
    return float(np.copysign(np.inf, mean))
