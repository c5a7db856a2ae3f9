"""Fitting a line of the line-up, with the best of the settings that are to be tried on dev data."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from semistruct.experiments.lineup import QUICK, Entry
from semistruct.fitting.labeller import Pairs
from semistruct.fitting.trust import trusted
from semistruct.methods import METHODS
from semistruct.rules import Rules


@dataclass(frozen=True)
class Task:
    """What there is to learn from, and how.

    taught  the rules to learn with
    rules   the rules to predict with
    """

    learn: Pairs
    dev: Pairs
    pool: Sequence[Any]
    features: str
    taught: Rules
    rules: Rules
    quick: bool = False
    jobs: int | None = None

    def weighed(self, estimator: Any) -> Rules:
        """The rules to predict with, as they weigh for an estimator: by its own way if it has learned with them."""
        if self.taught == self.rules and estimator.model_.rules is not None:
            return estimator.model_.rules
        model = replace(estimator.model_, rules=self.rules)
        return trusted(model, len(self.learn[0]), self.dev, self.jobs) or self.rules


@dataclass(frozen=True)
class Fitted:
    """An estimator, its rules for prediction, the settings it has, and those it was chosen from."""

    estimator: Any
    rules: Rules
    params: dict[str, Any]
    search: list[dict[str, Any]]
    seconds: float
    search_seconds: float  # those of the settings that were not taken


def fit(entry: Entry, task: Task) -> Fitted:
    """The first of the settings that label dev data best."""
    best: Fitted | None = None
    search: list[dict[str, Any]] = []
    total = top = 0.0
    tries = entry.tries[:1] if task.quick else entry.tries
    for params in tries:
        began = time.perf_counter()
        estimator = _fit_one(entry, params, task)
        rules = task.weighed(estimator)
        seconds = time.perf_counter() - began
        accuracy = estimator.score(*task.dev, rules=rules) if len(tries) > 1 else None
        search.append({**params, "dev_accuracy": accuracy})
        total += seconds
        if best is None or (accuracy or 0.0) > top:
            top = accuracy or 0.0
            best = Fitted(estimator, rules, dict(params), search, seconds, 0.0)
    assert best is not None
    return replace(best, search_seconds=total - best.seconds)


def _fit_one(entry: Entry, params: Any, task: Task) -> Any:
    kind: Any = METHODS[entry.method]
    estimator = kind()
    given: dict[str, Any] = {
        "C": "auto", "features": task.features, "rules": task.taught, "n_jobs": task.jobs, "select": "dev",
        **(QUICK.get(entry.method, {}) if task.quick else {}), **params,
    }  # fmt: skip
    if entry.own_features:
        del given["features"]
    known = estimator.get_params()
    estimator.set_params(**{key: value for key, value in given.items() if key in known})
    offered = {"dev": task.dev, "pool": task.pool, "keep_models": True}
    taken = inspect.signature(kind.fit).parameters
    estimator.fit(*task.learn, **{key: value for key, value in offered.items() if key in taken})
    if getattr(estimator, "stop_", None) == "interrupted":
        raise KeyboardInterrupt  # a path that was cut short is no result
    return estimator
