"""Choosing C on held-out data: on the dev data if there is any, otherwise by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import decode
from semistruct.fitting.data import DevData
from semistruct.fitting.learners import Learner
from semistruct.fitting.measure import Measure

FOLDS = 5
ONE_FOLD_FROM = 1000  # from this many sequences on, a single fold is held out: it is large enough

Known = tuple[SequenceBatch, np.ndarray]


def choose_C(C: float | str, learner: Learner, measure: Measure, *data: Any) -> tuple[float, list[dict[str, Any]]]:
    """(C, the scores it was chosen by): for "auto" the best of a grid, the default if nothing can be held out.

    data  the further arguments of `search_C`
    """
    if not isinstance(C, str):
        return float(C), []
    found = search_C(learner, measure, *data)
    return max(found, key=measure.rank, default={"C": learner.default_C})["C"], found


def search_C(
    learner: Learner,
    measure: Measure,
    data: Known,
    dev: DevData | None,
    weight: np.ndarray,
    seed: int,
    n_jobs: int | None = None,
) -> list[dict[str, Any]]:
    """The scores on held-out data for each C of the grid; empty if there is nothing to hold out.

    data is (batch, known labels); weight (n,) multiplies C.  Each path goes from small to large C and starts
    every problem where the last one ended.
    """
    folds = _folds(data, dev, weight, seed)
    found: list[list[np.ndarray]] = [[] for _ in learner.grid]
    for train, held, part in folds:
        start: Any = None
        for C, labels in zip(learner.grid, found, strict=True):
            learned = learner.learn(*train, C * part, rough=True, start=start)
            start = learned.start
            labels.append(decode(held[0], learned.chain, n_jobs=n_jobs)[0])
    known = np.concatenate([held[1] for _, held, _ in folds]) if folds else np.empty(0)
    if not (known != UNKNOWN).any():
        return []
    lengths = [n for _, held, _ in folds for n in held[0].lengths.tolist()]
    return [
        {"C": C, **measure.standing(known, np.concatenate(labels), lengths)}
        for C, labels in zip(learner.grid, found, strict=True)
    ]


def _folds(data: Known, dev: DevData | None, weight: np.ndarray, seed: int) -> list[tuple[Known, Known, np.ndarray]]:
    """(train, held out, weights of train) triples."""
    if dev is not None:
        return [(data, (dev.batch, dev.known), weight)]
    n = len(data[0])
    parts = np.array_split(np.random.default_rng(seed).permutation(n), min(FOLDS, n))
    folds = []
    for part in parts[:1] if n >= ONE_FOLD_FROM else parts:
        rest = np.setdiff1d(np.arange(n), part)
        if len(rest):
            folds.append((_take(data, rest), _take(data, part), weight[rest]))
    return folds


def _take(data: Known, which: np.ndarray) -> Known:
    batch, known = data
    return batch.take(which), np.concatenate([batch.split(known)[i] for i in which])
