"""A ranker at the end of a fit, kept if sequences that were held out do not speak against it.

The labelled sequences are cut into parts, and the best labellings of each are found by a model learned from the others.
Methods with a path use supervised models, like that of their start, for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from semistruct.corpus import complete
from semistruct.features.encoder import form_of
from semistruct.fitting.calibrating import MOST, PARTS, Asked
from semistruct.labels import scheme_of
from semistruct.model import Model
from semistruct.ranking.learning import Lists, learn
from semistruct.ranking.ranker import SIZE, Ranker
from semistruct.rules import Rules

LEAST, LEAST_RULED = 50, 20  # labelled sequences, without and with rules
PROOF, PROOF_RULED = 1.0, -2.0  # see `semistruct.ranking.learning.helps`
FEW_PARTS = 3  # where models have to be learned for the ranker alone


@dataclass(frozen=True)
class Ranking:
    """What was learned: the ranker, None if it does not help.

    without  by the number of a labelled sequence, a ranker that has not learned from it
    """

    ranker: Ranker | None
    without: dict[int, Ranker]

    def apart(self, asked: Iterable[Asked]) -> Iterator[Asked]:
        """The same sequences, each asked about with a ranker that has not learned from it."""
        for one in asked:
            own = [self.without.get(i, self.ranker) for i in one.numbers]
            for ranker in {id(each): each for each in own}.values():
                rows = [k for k, each in enumerate(own) if each is ranker]
                yield replace(one.take(rows), model=replace(one.model, ranker=ranker))


NO_RANKING = Ranking(None, {})


def can_rank(X: Sequence[Any], y: Sequence[Any], given: Rules | None) -> bool:
    """Whether there are words, and complete labels of enough sequences."""
    return len(complete(y)) >= (LEAST_RULED if is_ruled(given) else LEAST) and form_of(X) == "tokens"


def is_ruled(given: Rules | None) -> bool:
    """Whether rules for single sequences were given.

    Where these sort out what makes no sense, a ranker helps already with few labels, too few to prove it.
    """
    return any(rule.level == "instance" for rule in given or ())


def learn_ranking(model: Model, asked: Iterable[Asked], ruled: bool, n_jobs: int | None) -> Ranking:
    """A ranker for the model under its rules; `asked` are models that have not learned from their sequences.

    ruled  see `is_ruled`
    """
    held = [one.take(complete(one.y)) for one in asked]
    if len(held) == 1:
        rows = np.arange(min(len(held[0].y), MOST))
        held = [held[0].take(part.tolist()) for part in np.array_split(rows, PARTS)]
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
    learned = learn(lists, parts, SIZE, PROOF_RULED if ruled else PROOF)
    if learned is None:
        return NO_RANKING
    pairs = zip(held, learned.without, strict=True)
    return Ranking(learned.ranker, {i: ranker for one, ranker in pairs for i in one.numbers})
