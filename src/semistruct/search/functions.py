"""Rules that measure a whole labelled sequence, such as functions of the user."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from semistruct.rules.tables import RuleTables
from semistruct.rules.vocabulary.function import Measured

CANDIDATES = 50  # labellings among which such rules choose first


class FunctionRules:
    """Such rules for sequences X; label y is labels[y]."""

    def __init__(self, rules: Sequence[Measured], X: Sequence[Any], labels: Sequence[str]) -> None:
        self.rules, self.X, self.names = tuple(rules), X, np.array(labels, object)
        self.are_instance = np.array([rule.level == "instance" for rule in rules], bool)

    @classmethod
    def of(cls, tables: RuleTables, level: str | None = None) -> Self:
        """Those of some tables, on one level or on both."""
        rules = [rule for rule in tables.functions.values() if level in (None, rule.level)]
        return cls(rules, tables.X, tables.labels)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def values(self, i: int, y: np.ndarray) -> np.ndarray:
        """(number of rules,): of sequence i, labelled y, how far off instance rules are, and numbers of others."""
        row, where = self.names[y].tolist(), f"sequence {i}"
        return np.array(
            [
                rule.excess(self.X[i], row, where) if alone else rule.measure(self.X[i], row, where)
                for rule, alone in zip(self.rules, self.are_instance, strict=True)
            ]
        )

    def all_values(self, y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n, number of rules) for all sequences end to end."""
        rows = [self.values(i, y[a:b]) for i, (a, b) in enumerate(pairwise(offsets))]
        return np.array(rows).reshape(len(offsets) - 1, len(self.rules))

    def n_broken(self, y: np.ndarray, offsets: np.ndarray) -> int:
        """How many times instance rules are broken, in all sequences."""
        return int(np.sum(self.all_values(y, offsets)[:, self.are_instance] > 0))

    def instance(self, values: np.ndarray) -> float:
        """The penalty of the instance rules for the values of one sequence."""
        rules = zip(self.rules, values.tolist(), self.are_instance, strict=True)
        return sum(rule.cost * v**rule.power for rule, v, alone in rules if alone)

    def corpus(self, mean: np.ndarray) -> float:
        """The penalty of the corpus rules for the mean values."""
        return sum(
            rule.cost * max(rule.range[0] - v, v - rule.range[1], 0.0) ** rule.power
            for rule, v, alone in zip(self.rules, mean.tolist(), self.are_instance, strict=True)
            if not alone
        )
