"""Learning from rules and a pool alone: the labels that the rules imply take the place of labelled sequences.

A token has an implied label if the rules about single tokens leave it just one; or just one that they imply nowhere
else, if they leave it no more than half of all labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import UNKNOWN
from semistruct.errors import DataError
from semistruct.fitting.data import is_known
from semistruct.rules import Rules

WORTH = 5.0  # labelled sequences: what all implied labels weigh together


class Implied(NamedTuple):
    """Sequences with the labels that are implied, None where there are none; and the weights of their losses."""

    X: list[Any]
    y: list[list[str | None] | None]
    weight: list[float]


def implied_labels(rules: Rules, X: list[Any]) -> Implied:
    """What the rules imply about sequences none of which has a label."""
    if rules.labels is None:
        raise DataError("no sequence has a label: to learn from rules alone, the rules must list all `labels`")
    tables = rules.compile(X, rules.labels)
    allowed = tables.event_costs.token[tables.token_class] == 0
    known = np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), UNKNOWN)
    seldom = allowed & (np.bincount(known[known != UNKNOWN], minlength=len(rules.labels)) == 0)
    narrow = (known == UNKNOWN) & (2 * allowed.sum(axis=1) <= len(rules.labels)) & (seldom.sum(axis=1) == 1)
    known[narrow] = seldom[narrow].argmax(axis=1)
    names = np.array([*rules.labels, None], object)
    found = [names[row].tolist() for row in np.split(known, tables.offsets[1:-1])]
    n = sum(map(is_known, found))
    if not n:
        raise DataError(
            "no sequence has a label, and no rule implies one; `words` and `pattern` rules with one label do"
        )
    return Implied(X, [row if is_known(row) else None for row in found], [WORTH / n] * len(X))
