"""Choosing C on held-out data: on the dev data if there is any, otherwise by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import ChainWeights, decode
from semistruct.fitting.data import DevData
from semistruct.fitting.learners import Learner
from semistruct.fitting.measure import Measure

FOLDS = 5
ONE_FOLD_FROM = 1000  # from this many sequences on, a single fold is held out: it is large enough

Known = tuple[SequenceBatch, np.ndarray]


@dataclass(frozen=True)
class Search:
    """What was seen on held-out data for each C of the grid; nothing if there was nothing to hold out.

    rows     the scores
    without  for each C the weights learned without a part of the sequences, and this part; none with dev data
    """

    rows: list[dict[str, Any]]
    without: list[list[tuple[np.ndarray, ChainWeights]]]


@dataclass(frozen=True)
class Choice:
    """The C, the scores by which it was chosen, and of a `Search` the weights that were learned with it."""

    C: float
    rows: list[dict[str, Any]]
    without: list[tuple[np.ndarray, ChainWeights]]


def choose_C(C: float | str, learner: Learner, measure: Measure, *data: Any) -> Choice:
    """For "auto" the best of a grid, the default if nothing can be held out.

    data  the further arguments of `search_C`
    """
    if not isinstance(C, str):
        return Choice(float(C), [], [])
    found = search_C(learner, measure, *data)
    if not found.rows:
        return Choice(learner.default_C, [], [])
    best = max(range(len(found.rows)), key=lambda k: measure.rank(found.rows[k]))
    return Choice(found.rows[best]["C"], found.rows, found.without[best])


def search_C(
    learner: Learner,
    measure: Measure,
    data: Known,
    dev: DevData | None,
    weight: np.ndarray,
    seed: int,
    n_jobs: int | None = None,
) -> Search:
    """Learn with each C of the grid.

    data is (batch, known labels); weight (n,) multiplies C.  Each path goes from small to large C and starts
    every problem where the last one ended.
    """
    folds = _folds(data, dev, weight, seed)
    found: list[list[np.ndarray]] = [[] for _ in learner.grid]
    without: list[list[tuple[np.ndarray, ChainWeights]]] = [[] for _ in learner.grid]
    for train, held, rest, part in folds:
        start: Any = None
        for k, C in enumerate(learner.grid):
            learned = learner.learn(*train, C * rest, rough=True, start=start)
            start = learned.start
            found[k].append(decode(held[0], learned.chain, n_jobs=n_jobs)[0])
            if len(part):
                without[k].append((part, learned.chain))
    known = np.concatenate([held[1] for _, held, _, _ in folds]) if folds else np.empty(0)
    if not (known != UNKNOWN).any():
        return Search([], [])
    lengths = [n for _, held, _, _ in folds for n in held[0].lengths.tolist()]
    rows = [
        {"C": C, **measure.standing(known, np.concatenate(labels), lengths)}
        for C, labels in zip(learner.grid, found, strict=True)
    ]
    return Search(rows, without)


def _folds(
    data: Known, dev: DevData | None, weight: np.ndarray, seed: int
) -> list[tuple[Known, Known, np.ndarray, np.ndarray]]:
    """(train, held out, weights of train, numbers of those held out, none of which are dev data)."""
    if dev is not None:
        return [(data, (dev.batch, dev.known), weight, np.empty(0, np.int64))]
    n = len(data[0])
    parts = np.array_split(np.random.default_rng(seed).permutation(n), min(FOLDS, n))
    folds = []
    for part in parts[:1] if n >= ONE_FOLD_FROM else parts:
        rest = np.setdiff1d(np.arange(n), part)
        if len(rest):
            folds.append((_take(data, rest), _take(data, part), weight[rest], part))
    return folds


def _take(data: Known, which: np.ndarray) -> Known:
    batch, known = data
    return batch.take(which), known[batch.tokens_of(which)]
