"""Rules where none are given: those that the labelled sequences suggest, so that a pool has something to teach.

What a few labelled sequences show of how such texts are built (each label once, this one first, labels change only
after punctuation) is rarely an accident, and a model that has seen only these does not obey it in the pool.
"""

from __future__ import annotations

import numpy as np

from semistruct.chain.inference import ChainWeights, token_margins
from semistruct.corpus import complete
from semistruct.features.encoder import form_of
from semistruct.fitting.data import Pairs
from semistruct.fitting.task import Task
from semistruct.rules import AtMostOnce, ChangeOnlyOn, MinLength, NeverFollows, Order, Present, Rules, StartsWith
from semistruct.suggesting.choosing import CERTAIN, chosen
from semistruct.suggesting.evidence import Seen
from semistruct.suggesting.structure import structure
from semistruct.suggesting.suggestions import Suggestion

LEAST = 10
"""How many labelled sequences there must be where no dev data tell whether the rules help."""

SAFE = (AtMostOnce, ChangeOnlyOn, StartsWith, MinLength, Present, NeverFollows)
"""Kinds that few labels are enough for."""

LOOKED_AT = 300
"""How many sequences without labels are looked at, at most: they only show how often a rule would change something."""


def own_rules(data: Pairs, task: Task, chain: ChainWeights, *, guarded: bool, n_jobs: int | None) -> Rules | None:
    """The rules that the fully labelled sequences of `data` and the labels of a model suggest; None if there are none.

    task     holds the same sequences and the pool
    guarded  dev data will tell whether they help; else there must be LEAST labelled sequences
    """
    X, y = data
    whole = complete(y)
    if len(whole) < (1 if guarded else LEAST) or not len(task.free) or form_of(X) != "tokens":
        return None
    some = task.part(task.free[:: -(-len(task.free) // LOOKED_AT)])
    path = some.decoded(chain, n_jobs)
    labels = [row.tolist() for row in some.opened.split(np.array(task.labels, object)[path])]
    margins = some.opened.split(token_margins(some.opened, chain, path, n_jobs=n_jobs))
    seen = Seen([X[i] for i in whole], [y[i] for i in whole], some.tables.X, labels, margins, task.labels)
    found = chosen(seen, Rules([]), structure(seen))
    rules = Rules([one.rule for one in found if one.certain and _is_safe(one)])
    return rules or None


def _is_safe(one: Suggestion) -> bool:
    """Whether a rule may be used though nothing will tell whether it helps."""
    return isinstance(one.rule, SAFE) or (isinstance(one.rule, Order) and one.evidence.bound >= CERTAIN)
