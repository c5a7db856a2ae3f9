"""Supervised learning from labels of which some may be unknown: the part that several methods share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.batch import UNKNOWN, SequenceBatch
from semistruct.chain.inference import decode
from semistruct.errors import DataError
from semistruct.features import Encoder
from semistruct.methods.base import Pairs, check_data, label_codes
from semistruct.methods.search import Known, search_C
from semistruct.solvers.sdm import DualState, Problem, Solution, Watch, solve

DEFAULT_C = 0.5
SEARCH_TOL = 0.05  # the relative gap at which accuracies are compared when C is chosen
ROUGH_TOL = 0.1  # and at which unknown labels are filled in for a start
COMPLETIONS = 10  # rounds of filling in unknown labels and learning again


@dataclass(frozen=True)
class Learner:
    """Trains chain models by the sequential dual method."""

    n_labels: int
    tol: float
    max_passes: int
    seed: int
    n_jobs: int | None = None
    watch: Watch | None = None

    def solve(self, problem: Problem, *, tol: float | None = None, start: DualState | None = None) -> Solution:
        """Train on complete labels."""
        return solve(
            problem,
            tol=tol or self.tol,
            max_passes=self.max_passes,
            start=start,
            seed=self.seed,
            n_jobs=self.n_jobs,
            watch=self.watch,
        )

    def learn(
        self,
        batch: SequenceBatch,
        known: np.ndarray,
        weight: np.ndarray,
        *,
        tol: float | None = None,
        start: DualState | None = None,
    ) -> Solution:
        """Train on labels of which some may be UNKNOWN; these are filled in and learned in turns."""
        cost, tol = (known != UNKNOWN).astype(float), tol or self.tol
        target, complete = filled(batch, known), bool(cost.all())
        for level in (tol,) if complete else (max(tol, ROUGH_TOL), tol):
            for _ in range(COMPLETIONS):
                solution = self.solve(Problem(batch, self.n_labels, target, weight, cost), tol=level, start=start)
                start = solution.state
                better = target if complete else decode(batch, start.chain, known=known, n_jobs=self.n_jobs)[0]
                if np.array_equal(better, target):
                    break
                target = better
        return solution

    def choose_C(
        self, C: float | str, batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, dev: Known | None
    ) -> tuple[float, list[dict[str, float]]]:
        """(C, the accuracies that speak for it): for "auto" the best on dev data or in cross-validation."""
        if not isinstance(C, str):
            return float(C), []

        def learn(batch: SequenceBatch, known: np.ndarray, weight: np.ndarray, start: DualState | None) -> Solution:
            return self.learn(batch, known, weight, tol=max(self.tol, SEARCH_TOL), start=start)

        found = search_C(learn, (batch, known), dev, weight, self.seed, self.n_jobs)
        best = max(found, key=lambda row: row["token_accuracy"], default={"C": DEFAULT_C})
        return best["C"], found


def filled(batch: SequenceBatch, known: np.ndarray) -> np.ndarray:
    """Unknown labels replaced by the nearest known one of the sequence, the left one if two are equally near."""
    out = known.copy()
    for i in range(len(batch)):
        row = out[batch.offsets[i] : batch.offsets[i + 1]]
        places = np.flatnonzero(row != UNKNOWN)
        if len(places) < len(row):
            distance = np.abs(np.arange(len(row))[:, None] - places[None, :])
            row[:] = row[places[np.argmin(distance, axis=1)]]
    return out


def encoded(dev: Pairs | None, encoder: Encoder, labels: Sequence[str]) -> Known | None:
    """Dev data as the solver sees it."""
    if dev is None:
        return None
    check_data(*dev, name="dev")
    batch = encoder.transform(dev[0])
    return batch, label_codes(dev[1], batch.lengths.tolist(), labels)


def checked_weights(sample_weight: Sequence[float] | None, n: int) -> np.ndarray:
    """One factor of C per sequence."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (n,):
        raise DataError(f"sample_weight has shape {weight.shape}, expected one number for each of {n} sequences")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample_weight must hold finite numbers >= 0")
    return weight


def seed_from(random_state: Any) -> int:
    """The seed that a `random_state` stands for."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31))
