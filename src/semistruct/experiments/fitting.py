"""Fitting a line of the line-up."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    settings       of the method that are not its defaults
    """

    learn: Pairs
    dev: Pairs
    pool: Sequence[Any]
    features: str
    learn_rules: Rules
    predict_rules: Rules
    settings: Mapping[str, Any]
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
    """An estimator, its rules for prediction, and the seconds it took."""

    estimator: Any
    rules: Rules
    seconds: float


def fit(entry: Entry, setup: Setup) -> Fitted:
    """Fit the method of the line."""
    began = time.perf_counter()
    estimator: Any = entry.method()
    given: dict[str, Any] = {
        "C": "auto", "features": setup.features, "rules": setup.learn_rules, "n_jobs": setup.n_jobs, "select": "dev",
        **setup.settings,
    }  # fmt: skip
    if entry.line.own_features:
        del given["features"]
    known = estimator.get_params()
    estimator.set_params(**{key: value for key, value in given.items() if key in known})
    estimator.keep_models = True
    offered = {"dev": setup.dev, "pool": setup.pool}
    taken = inspect.signature(estimator.fit).parameters
    estimator.fit(*setup.learn, **{key: value for key, value in offered.items() if key in taken})
    if getattr(estimator, "stop_", None) == "interrupted":
        raise KeyboardInterrupt  # a path that was cut short is no result
    return Fitted(estimator, setup.rules_for(estimator), time.perf_counter() - began)
