"""Learning a ranker at the end of a fit, which is kept if sequences that were held out do not speak against it.

The labelled sequences are cut into parts, and lists of the best labellings of each part are found by a model that has
learned from the others.  Methods with a path use supervised models, like that of their start, for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from semistruct.core.lbfgs import minimise
from semistruct.data.corpus import complete
from semistruct.data.labels import scheme_of
from semistruct.learning import settings
from semistruct.learning.data import Data
from semistruct.learning.held_out import HeldOut, HeldOutModels
from semistruct.model.model import Model
from semistruct.model.ranking import SIZE, WITHIN, Parts, Ranker, Record
from semistruct.rules import Rules

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
        C = settings.RANK_C * min(float(lists.lengths.mean()) / settings.LONG, 1.0)
        return cls(csr_array(lists.features - lists.features[aim]), price - price[aim], lists.offsets, C)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """(value, gradient)."""
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        excess = (self.price + self.rows @ weights) / settings.SOFTNESS
        top = np.maximum.reduceat(excess, starts)
        share = np.exp(excess - np.repeat(top, sizes))
        total = np.add.reduceat(share, starts)
        loss = settings.SOFTNESS * float(np.sum(top + np.log(total)))
        gradient = self.rows.T @ (share / np.repeat(total, sizes))
        return 0.5 * float(weights @ weights) + self.C * loss, weights + self.C * gradient


def learn_weights(lists: Lists) -> np.ndarray:
    """The weights of the columns; small ones are 0."""
    objective = Objective.of(lists)
    weights = minimise(objective, np.zeros(lists.features.shape[1]), max_iterations=settings.RANK_ITERATIONS).x
    return np.where(np.abs(weights) < settings.SMALLEST, 0.0, weights)


def learn(lists: Lists, parts: Sequence[np.ndarray], size: int, proof: float) -> tuple[Ranker, list[Ranker]] | None:
    """(a ranker, those learned without each part) if the latter help where they have not learned (see `helps`)."""
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

    return ranker(learn_weights(lists)), [ranker(weights) for weights in without]


def helps(gain: np.ndarray, proof: float) -> bool:
    """Whether more sequences become better than worse, and no more tokens become wrong than by bad luck.

    gain   (n,) wrong tokens less
    proof  how clearly more become better, in standard errors; below 0, it is enough if hardly more become worse
    """
    return bool(gain.any()) and _surely(np.sign(gain)) > proof and _surely(gain) >= min(proof, -settings.BAD_LUCK)


def _surely(gain: np.ndarray) -> float:
    """The mean of paired differences, in standard errors."""
    mean, error = float(gain.mean()), float(gain.std(ddof=1)) / len(gain) ** 0.5
    if mean == 0 or error > 0:
        return mean / (error or 1.0)
    return float(np.copysign(np.inf, mean))


# ---- at the end of a fit


@dataclass(frozen=True)
class Ranking:
    """What was learned: the ranker, None if it does not help.

    without  by the number of a labelled sequence, a ranker that has not learned from it
    """

    ranker: Ranker | None
    without: dict[int, Ranker]

    def apart(self, models: HeldOutModels) -> Iterator[HeldOut]:
        """The same models and sequences, each with a ranker that has not learned from it."""
        for one in models():
            own = [self.without.get(i, self.ranker) for i in one.numbers]
            for ranker in {id(each): each for each in own}.values():
                rows = [k for k, each in enumerate(own) if each is ranker]
                yield replace(one.take(rows), model=replace(one.model, ranker=ranker))


NO_RANKING = Ranking(None, {})


def can_rank(data: Data, given: Rules | None) -> bool:
    """Whether there are words, and complete labels of enough sequences."""
    least = settings.RANK_FROM_RULED if is_ruled(given) else settings.RANK_FROM
    return data.n_whole >= least and data.has_words


def is_ruled(given: Rules | None) -> bool:
    """Whether rules for single sequences were given.

    Where these sort out what makes no sense, a ranker helps already with few labels, too few to prove it.
    """
    return any(rule.level == "instance" for rule in given or ())


def learn_ranking(model: Model, held_out: Iterable[HeldOut], ruled: bool, n_jobs: int | None) -> Ranking:
    """A ranker for the model under its rules; the models that are held out have not learned from their sequences.

    ruled  see `is_ruled`
    """
    held = [one.take(complete(one.y)) for one in held_out]
    if len(held) == 1:
        rows = np.arange(min(len(held[0].y), settings.MANY))
        held = [held[0].take(part.tolist()) for part in np.array_split(rows, settings.PARTS)]
    held = [one for one in held if one.y]
    if len(held) < 2:
        return NO_RANKING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [best for one in held for best in one.model.predict_k(one.X, SIZE, n_jobs, model.rules)]
    X, y = [x for one in held for x in one.X], [row for one in held for row in one.y]
    lists = Lists.of(X, y, found, scheme_of(model.labels))
    ends = np.cumsum([0, *(len(one.y) for one in held)])
    parts = [np.arange(a, b) for a, b in pairwise(ends)]
    learned = learn(lists, parts, SIZE, settings.PROOF_RULED if ruled else settings.PROOF)
    if learned is None:
        return NO_RANKING
    ranker, without = learned
    return Ranking(ranker, {i: other for one, other in zip(held, without, strict=True) for i in one.numbers})
