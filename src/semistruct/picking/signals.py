"""What a model says about sequences: the labels that it proposes, and how sure it is of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semistruct.batch import starts
from semistruct.corpus import Labels
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.rules import Rules

DISPUTED = 0.5  # how likely, at most, a label is wrong that the rules have put in place of another
GUESS = 20  # labelled sequences, of a model that does not say how many it learned from


@dataclass(frozen=True)
class Signals:
    """One entry, or row, for each of n sequences; those that nobody asked about have no labels.

    labels   the proposed ones, under the rules
    wrong    (N,)    how likely the label of each of the N tokens is wrong, as far as the model knows
    doubt    (n,)    the sum of that over a sequence
    changed  (n,)    how many of them are not what it would propose without the rules
    has      (n, Y)  whether a label is among them
    names    of the Y labels
    """

    labels: list[Labels]
    wrong: np.ndarray
    doubt: np.ndarray
    changed: np.ndarray
    has: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, estimator: SequenceLabeller, X: Sequence[Any], asked: np.ndarray, rules: Rules | None) -> Signals:
        """Of the sequences X[i] for i in `asked`, under the rules given or those of the model."""
        model, some = estimator.model_, [X[i] for i in asked]
        obeyed = rules if rules is not None else model.rules
        plain = estimator.predict(some, rules=False)
        proposed = plain if obeyed is None else estimator.predict(some, rules=obeyed)
        number = {label: y for y, label in enumerate(model.labels)}
        labels: list[Labels] = [[] for _ in X]
        doubt, changed, has = np.zeros(len(X)), np.zeros(len(X)), np.zeros((len(X), len(number)), bool)
        first = starts(np.array([len(x) for x in X], np.int64))
        wrong = np.zeros(first[-1])
        sure = estimator.confidence(some, proposed, rules=False)
        for i, row, before, chance in zip(asked.tolist(), proposed, plain, sure, strict=True):
            codes = [number[label] for label in row]
            labels[i], has[i, codes] = row, True
            other = np.array([a != b for a, b in zip(row, before, strict=True)])
            wrong[first[i] : first[i + 1]] = np.where(other, np.minimum(1 - chance, DISPUTED), 1 - chance)
            doubt[i], changed[i] = wrong[first[i] : first[i + 1]].sum(), other.sum()
        return cls(labels, wrong, doubt, changed, has, model.labels)

    def seen(self, y: Sequence[Any], asked: np.ndarray, n_labelled: int) -> np.ndarray:
        """(Y,): how many labelled sequences have each label.

        Without labelled sequences y, about as many as one expects among `n_labelled` from what is proposed.
        """
        if len(y):
            return np.array([sum(name in row for row in y) for name in self.names], float)
        return self.has[asked].mean(axis=0) * n_labelled
