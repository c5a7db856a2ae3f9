"""Choosing C on held-out data: on the dev data if there is any, otherwise by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import decode
from semistruct.fitting.data import DevData
from semistruct.fitting.learners import Learner

FOLDS = 5
ONE_FOLD_FROM = 1000  # from this many sequences on, a single fold is held out: it is large enough

Known = tuple[SequenceBatch, np.ndarray]


def choose_C(C: float | str, learner: Learner, *data: Any) -> tuple[float, list[dict[str, float]]]:
    """(C, the accuracies it was chosen by): for "auto" the best of a grid, the default if nothing can be held out.

    data  the further arguments of `search_C`
    """
    if not isinstance(C, str):
        return float(C), []
    found = search_C(learner, *data)
    return max(found, key=lambda row: row["token_accuracy"], default={"C": learner.default_C})["C"], found


def search_C(
    learner: Learner, data: Known, dev: DevData | None, weight: np.ndarray, seed: int, n_jobs: int | None = None
) -> list[dict[str, float]]:
    """The token accuracy on held-out data for each C of the grid; empty if there is nothing to hold out.

    data is (batch, known labels); weight (n,) multiplies C.  Each path goes from small to large C and starts
    every problem where the last one ended.
    """
    grid = learner.grid
    right, total = np.zeros(len(grid)), 0
    for train, held, part in _folds(data, dev, weight, seed):
        start: Any = None
        counted = held[1] != UNKNOWN
        total += int(counted.sum())
        for k, C in enumerate(grid):
            learned = learner.learn(*train, C * part, rough=True, start=start)
            start = learned.start
            found, _ = decode(held[0], learned.chain, n_jobs=n_jobs)
            right[k] += np.sum(found[counted] == held[1][counted])
    return [{"C": C, "token_accuracy": float(r / total)} for C, r in zip(grid, right, strict=True)] if total else []


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
