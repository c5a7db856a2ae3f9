"""How much rules weigh against the scores of a model when they are used for prediction.

While unlabelled data is matched to the rules, a broken rule costs more than any score (weight 1000).  A model that
has learned from many labels knows the exceptions to rules better than the rules do, and then they should weigh
little: the more labels, the less.  This applies to instance rules whose weight was left open.
"""

from __future__ import annotations

from math import sqrt

from semistruct import metrics
from semistruct.fitting.labeller import Pairs
from semistruct.model import Model
from semistruct.rules import Rules

GRID = (1.0, 2.0, 4.0, 8.0, 16.0, 1000.0)
BASE = 40.0  # without dev data: the weight for one labelled sequence


def weight_for(n_labelled: int) -> float:
    """The weight of rules in prediction by the number of labelled sequences."""
    return max(1.0, BASE / sqrt(max(n_labelled, 1)))


def trusted(model: Model, n_labelled: int, dev: Pairs | None, n_jobs: int | None) -> Rules | None:
    """The rules of a model with weights for prediction: the best of a grid on dev data, else by the number of labels.

    Of equally good weights the largest is taken.
    """
    if model.rules is None:
        return None
    if dev is None:
        return model.rules.softened(weight_for(n_labelled))

    def accuracy(weight: float) -> tuple[float, float]:
        rules = model.rules.softened(weight) if model.rules else None
        return metrics.token_accuracy(dev[1], model.predict(dev[0], n_jobs, rules)), weight

    return model.rules.softened(max(map(accuracy, GRID))[1])
