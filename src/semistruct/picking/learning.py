"""The model that proposes labels, learned in seconds from what is labelled, rules and a part of the pool."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

from semistruct.features import FeatureSet
from semistruct.fitting.data import Pairs
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.rules import Rules

SCHEDULE = [1.0, 10.0]
MOST, MOST_TOKENS = 150, 6000  # of the pool that it learns from


def learned(
    labelled: Pairs, pool: Sequence[Any], rules: Rules | None, features: FeatureSet, n_jobs: int | None
) -> AnnealedSSVM:
    """A model of the annealed method, with its default C."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rules that conflict in a sequence of the pool
        model = AnnealedSSVM(rules=rules, features=features, n_jobs=n_jobs, schedule=SCHEDULE, rounds=2)
        model.fit(*labelled, pool=part_of(pool))
    if model.stop_ == "interrupted":
        raise KeyboardInterrupt
    return model.leave_uncalibrated()


def part_of(pool: Sequence[Any]) -> list[Any]:
    """As many sequences of a pool, drawn at random, as can be learned from in seconds."""
    drawn, tokens = list[Any](), 0
    for i in random.Random(0).sample(range(len(pool)), min(len(pool), MOST)):
        tokens += len(pool[i])
        if drawn and tokens > MOST_TOKENS:
            break
        drawn.append(pool[i])
    return drawn
