"""Choosing C on data held out: the dev data if there is any, else by cross-validation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import decode
from semistruct.solvers.sdm import DualState, Solution

GRID = (0.03, 0.1, 0.3, 1.0)
FOLDS = 5
ONE_FOLD_FROM = 1000  # with so many sequences a single fold is held out: it is large enough

Known = tuple[SequenceBatch, np.ndarray]
Learn = Callable[[SequenceBatch, np.ndarray, np.ndarray, DualState | None], Solution]


def search_C(
    learn: Learn, data: Known, dev: Known | None, weight: np.ndarray, seed: int, n_jobs: int | None = None
) -> list[dict[str, float]]:
    """The token accuracy on held-out data for each C of the grid; empty if there is nothing to hold out.

    learn(batch, known, weight, start) trains; data and dev are (batch, known labels); weight (n,) multiplies C.
    Each path goes from small to large C and starts every problem where the last one ended.
    """
    right, total = np.zeros(len(GRID)), 0
    for train, held, part in _folds(data, dev, weight, seed):
        state: DualState | None = None
        counted = held[1] != UNKNOWN
        total += int(counted.sum())
        for k, C in enumerate(GRID):
            solution = learn(*train, C * part, state)
            state = solution.state
            found, _ = decode(held[0], state.chain, n_jobs=n_jobs)
            right[k] += np.sum(found[counted] == held[1][counted])
    return [{"C": C, "token_accuracy": float(r / total)} for C, r in zip(GRID, right, strict=True)] if total else []


def _folds(data: Known, dev: Known | None, weight: np.ndarray, seed: int) -> list[tuple[Known, Known, np.ndarray]]:
    """(train, held out, weights of train) triples."""
    if dev is not None:
        return [(data, dev, weight)]
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
