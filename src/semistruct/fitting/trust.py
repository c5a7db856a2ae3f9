"""The weights of rules without a weight.

    in matching    1000, more than any score, while the pool is matched to the rules (`OPEN_WEIGHT` of rules)
    in judging     by the number of labels, where the points of a path are compared on dev data (`for_judging`)
    in prediction  what is best on dev data, or by the number of labels (`for_prediction`)

A model that has learned from many labels knows the exceptions to rules better than the rules do, and then they should
weigh little: the more labels, the less.  All this is about instance rules; a method may have its own way to weigh
them in matching, as CODL does.
"""

from __future__ import annotations

import warnings
from math import sqrt

from semistruct import metrics
from semistruct.errors import UncertainWarning
from semistruct.fitting.data import Pairs
from semistruct.model import Model
from semistruct.rules import Rules
from semistruct.rules.base import OPEN_WEIGHT

GRID = (1.0, 2.0, 4.0, 8.0, 16.0, OPEN_WEIGHT)
BASE = 40.0  # without dev data: the weight for one labelled sequence


def weight_by_labels(n_labelled: int) -> float:
    """The weight of rules in prediction by the number of labelled sequences."""
    return max(1.0, BASE / sqrt(max(n_labelled, 1)))


def for_judging(rules: Rules | None, n_labelled: int) -> Rules:
    """The rules under which models on a path label dev data."""
    return Rules([]) if rules is None else rules.softened(weight_by_labels(n_labelled))


def for_prediction(model: Model, n_labelled: int, dev: Pairs | None, metric: str, n_jobs: int | None) -> Rules | None:
    """The rules of a model with weights for prediction: the best of a grid on dev data, or by the number of labels.

    Among equally good weights the largest is taken.
    """
    rules = model.rules
    if rules is None or dev is None:
        return None if rules is None else for_judging(rules, n_labelled)

    def rank(weight: float) -> tuple[float, float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainWarning)  # good enough to choose by
            found = model.predict(dev[0], n_jobs, rules.softened(weight))
        return *metrics.rank(metrics.standing(dev[1], found, metric), metric), weight

    return rules.softened(max(GRID, key=rank))
