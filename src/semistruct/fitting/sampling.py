"""Large pools: the path is followed with a sample of the pool, and the stage that is chosen is then learned with all.

A sequence of the sample stands for several: its weight is so much larger, so that the pool weighs what it did.  Rules
about the corpus may count sequences, so with these there is no sample.
"""

from __future__ import annotations

import numpy as np

from semistruct.fitting.task import Task
from semistruct.rules import Rules

SAMPLE = 5000  # sequences without labels
ROUNDS = 1  # of matching and learning with all of them


def sample_of(task: Task, rules: Rules | None, seed: int) -> Task:
    """The task with a sample of its sequences without labels, or the task itself if there are few."""
    if len(task.free) <= SAMPLE or any(rule.level == "corpus" for rule in rules or ()):
        return task
    chosen = np.random.default_rng(seed).choice(task.free, SAMPLE, replace=False)
    some = task.part(np.union1d(np.flatnonzero(task.has_labels[task.n_fixed :]), chosen))
    some.weight[~some.has_labels] *= len(task.free) / SAMPLE
    return some
