"""Fitting a line of the line-up, with the settings that are best on dev data."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from semistruct.experiments.lineup import Entry
from semistruct.fitting.data import Pairs
from semistruct.fitting.trust import Trust, best_strength
from semistruct.rules import Rules


@dataclass(frozen=True)
class Setup:
    """What to learn from, and how.

    learn_rules    to learn with
    predict_rules  to predict with
    tries          settings to try; the best on dev data is taken
    """

    learn: Pairs
    dev: Pairs
    pool: Sequence[Any]
    features: str
    learn_rules: Rules
    predict_rules: Rules
    tries: Sequence[Mapping[str, Any]]
    n_jobs: int | None = None

    def rules_for(self, estimator: Any) -> Rules:
        """The rules to predict with and their weights: those of the estimator if it has learned with these rules."""
        if self.learn_rules == self.predict_rules and estimator.model_.rules is not None:
            return estimator.model_.rules
        model, n = estimator.model_, len(self.learn[0])
        trust = Trust.of(self.predict_rules, [self.learn, self.dev], model.labels)
        return trust.weighted(best_strength(trust, model, n, self.dev, estimator.metric, self.n_jobs))


@dataclass(frozen=True)
class Fitted:
    """An estimator, its rules for prediction, its settings, and all settings that were tried."""

    estimator: Any
    rules: Rules
    params: dict[str, Any]
    search: list[dict[str, Any]]
    seconds: float
    search_seconds: float  # those of the settings that were not taken


def fit(entry: Entry, setup: Setup) -> Fitted:
    """The first of the settings that label dev data best."""
    best: Fitted | None = None
    search: list[dict[str, Any]] = []
    total = top = 0.0
    for params in setup.tries:
        began = time.perf_counter()
        estimator = _fit_one(entry, params, setup)
        rules = setup.rules_for(estimator)
        seconds = time.perf_counter() - began
        accuracy = estimator.score(*setup.dev, rules=rules) if len(setup.tries) > 1 else None
        search.append({**params, "dev_accuracy": accuracy})
        total += seconds
        if best is None or (accuracy or 0.0) > top:
            top = accuracy or 0.0
            best = Fitted(estimator, rules, dict(params), search, seconds, 0.0)
    assert best is not None
    return replace(best, search_seconds=total - best.seconds)


def _fit_one(entry: Entry, params: Mapping[str, Any], setup: Setup) -> Any:
    estimator: Any = entry.method()
    given: dict[str, Any] = {
        "C": "auto", "features": setup.features, "rules": setup.learn_rules, "n_jobs": setup.n_jobs, "select": "dev",
        **params,
    }  # fmt: skip
    if entry.line.own_features:
        del given["features"]
    known = estimator.get_params()
    estimator.set_params(**{key: value for key, value in given.items() if key in known})
    estimator.keep_models, estimator.calibrates = True, False
    offered = {"dev": setup.dev, "pool": setup.pool}
    taken = inspect.signature(estimator.fit).parameters
    estimator.fit(*setup.learn, **{key: value for key, value in offered.items() if key in taken})
    if getattr(estimator, "stop_", None) == "interrupted":
        raise KeyboardInterrupt  # a path that was cut short is no result
    return estimator
