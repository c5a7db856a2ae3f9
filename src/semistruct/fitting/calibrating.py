"""Calibration of a fitted model: models that have not seen some labelled sequences are asked about these.

It is learned when somebody first asks how sure the model is, or saves it; a fit only keeps what that needs.

With dev data that is the model itself.  Without, or with little of it, the labelled sequences are cut into parts, and
each is labelled by a model learned from the others, with the C that was chosen.  Where C was chosen by
cross-validation, supervised methods have such models already; else they start each of them from the one before.
Methods with a path go right to the stage that was chosen, for one round and with a part of the pool, so that all of
this takes little time beside the path itself; their models are somewhat worse than the one that is asked about.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from semistruct.batch import SequenceBatch
from semistruct.calibration.calibration import Calibration, Standing
from semistruct.calibration.cases import Cases, cases
from semistruct.calibration.curves import LOG_ODDS, MARGINS
from semistruct.chain.inference import ChainWeights
from semistruct.corpus import complete
from semistruct.fitting.data import Pairs
from semistruct.fitting.learners import Learner
from semistruct.fitting.refitting import chosen_C
from semistruct.labels import scheme_of
from semistruct.model import Model
from semistruct.params import seed_from
from semistruct.rules import Rules

FEW = 30  # sequences: up to this many of dev data are not enough
PARTS = 5
COSTLY = 2  # of the parts, where learning takes long
ONE_PART_FROM = 1000  # from this many on, a single part is held out
ONE_PART = 300  # of this size
SHARE_OF_POOL, LEAST = 10, 30  # models that are only asked learn from a tenth of the pool, or 30 sequences
MOST = 1000  # sequences that models are asked about, and of the pool for models that are only asked


@dataclass(frozen=True)
class Asked:
    """Labelled sequences, and a model that has not learned from them.

    numbers  of the sequences in the training data, none for others
    """

    model: Model
    X: Sequence[Any]
    y: Sequence[Any]
    numbers: Sequence[int] = ()

    @classmethod
    def of(cls, model: Model, data: Pairs, numbers: Sequence[int]) -> Asked:
        """About these of the training data."""
        X, y = data
        return cls(model, [X[i] for i in numbers], [y[i] for i in numbers], numbers)

    def take(self, rows: Sequence[int]) -> Asked:
        """About some of the same sequences."""
        X, y, numbers = ([column[k] for k in rows] for column in (self.X, self.y, self.numbers))
        return Asked(self.model, X, y, numbers)


Ranked = Callable[[Iterable[Asked]], Iterator[Asked]]


def nobody() -> Iterator[Asked]:
    """No model that has not seen a part."""
    return iter(())


@dataclass(frozen=True)
class Uncalibrated:
    """What a fit keeps until somebody asks how right its model is.

    without  gives models learned without parts of the labelled sequences; like all of this, it can be pickled
    exact    whether scores are logarithms of probabilities
    """

    model: Model
    dev: Pairs | None
    without: Callable[[], Iterator[Asked]]
    exact: bool
    n_jobs: int | None

    def calibration(self) -> Calibration:
        """How right the model is."""
        dev, rules, asked, sources = self.dev, self.model.rules, list[Asked](), list[str]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if dev is not None:
                asked.append(Asked(self.model, dev[0][:MOST], dev[1][:MOST]))
                sources.append("dev data")
            if dev is None or len(dev[0]) <= FEW:
                found = list(self.without())
                asked += found
                sources += ["cross-fitting"] * (len(found) > 0)
            asked = [replace(one, model=replace(one.model, rules=rules)) for one in asked]
            plain = [_answers(one, self.exact, self.n_jobs) for one in asked]
            ruled = [] if rules is None else [_answers(one, False, self.n_jobs, under_rules=True) for one in asked]
        return Calibration(
            " and ".join(sources) or "other data",
            Standing.of(LOG_ODDS if self.exact else MARGINS, False, plain),
            None if rules is None else Standing.of(MARGINS, True, ruled),
        )


def _answers(asked: Asked, exact: bool, n_jobs: int | None, *, under_rules: bool = False) -> dict[str, Cases]:
    """What the model answers, how sure it is, and whether it is right."""
    model, rules = asked.model, asked.model.rules if under_rules else None
    found, scores = model.answers(asked.X, n_jobs, rules, exact=exact)
    return cases(scores, found, asked.y, scheme_of(model.labels))


def parts_of(n: int, seed: int, n_parts: int = PARTS, *, costly: bool = False) -> list[np.ndarray]:
    """The parts of n sequences to hold out, none if there is nothing left to learn from."""
    order = np.random.default_rng(seed).permutation(n)
    if n >= ONE_PART_FROM:
        return [order[:ONE_PART]]
    parts = np.array_split(order, min(n_parts, n)) if n > 1 else []
    return parts[:COSTLY] if costly else parts


def paths_without(method: Any, labelled: Pairs, pool: list[Any], ranked: Ranked) -> Callable[[], Iterator[Asked]]:
    """Models like that of a method with a path, just fitted, but without parts of the labelled sequences.

    ranked  gives models that are asked the rankers that they may have
    """
    chosen = next(k for k, point in enumerate(method.path_) if point["chosen"])
    seed = seed_from(method.random_state)
    size = min(max(len(pool) // SHARE_OF_POOL, LEAST), MOST)
    some = np.random.default_rng(seed).permutation(len(pool))[:size]
    rules = Rules(list(method.rules_ or ()), method.model_.labels)  # a part may have labels that no other has
    wanted = {"select": "last", "rounds": 1, "rules": rules, "engine": None, **chosen_C(method)}
    settings = {name: value for name, value in wanted.items() if name in method.get_params()}
    short = method.unfitted().set_params(**settings)
    short.ranks, short.rough_start = False, True
    short.part_of_path, short.begins = slice(max(chosen - 1, 0), chosen), method.start_  # 0 is the supervised start
    whole = complete(labelled[1])
    parts = [[whole[i] for i in part] for part in parts_of(len(whole), seed, costly=True)]
    few = [pool[i] for i in some] if chosen or method.start_ == "rules" else None
    return partial(_paths_without, short, labelled, few, parts, ranked)


def _paths_without(
    short: Any, labelled: Pairs, pool: list[Any] | None, parts: list[list[int]], ranked: Ranked
) -> Iterator[Asked]:
    return ranked(Asked.of(_path_without(short, labelled, pool, {*part}), labelled, sorted(part)) for part in parts)


def _path_without(short: Any, labelled: Pairs, pool: list[Any] | None, held: set[int]) -> Model:
    """The model of a short path from the labelled sequences that are not held out."""
    rest = [[one for i, one in enumerate(rows) if i not in held] for rows in labelled]
    one = deepcopy(short).fit(*rest, pool=pool)
    if one.stop_ == "interrupted":
        raise KeyboardInterrupt
    return one.model_


def learned_without(
    learner: Learner, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, parts: list[np.ndarray],
    start: Any = None,
) -> Iterator[tuple[np.ndarray, ChainWeights]]:  # fmt: skip
    """(part, weights learned without it): its sequences weigh nothing, and learning starts from the one before."""
    for part in parts:
        rest = weight.copy()
        rest[part] = 0.0
        if (rest > 0).any():
            learned = learner.learn(batch, known, rest, rough=True, start=start)
            start = learned.start
            yield part, learned.chain
