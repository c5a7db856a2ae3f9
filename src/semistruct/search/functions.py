"""Rules that are functions of the user: nothing is known of them but their value, so they choose among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from semistruct.rules.vocabulary.function import Measured

CANDIDATES = 50  # labellings among which functions of the user choose


class FunctionRules:
    """The function rules for sequences X; label y is labels[y]."""

    def __init__(self, rules: Sequence[Measured], X: Sequence[Any], labels: Sequence[str]) -> None:
        self.rules, self.X, self.names = tuple(rules), X, np.array(labels, object)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def values(self, i: int, y: np.ndarray) -> np.ndarray:
        """(number of rules,): what the functions say of sequence i, labelled y."""
        row = self.names[y].tolist()
        return np.array([rule.measure(self.X[i], row, f"sequence {i}") for rule in self.rules])

    def all_values(self, y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n, number of rules) for all sequences end to end."""
        rows = [self.values(i, y[a:b]) for i, (a, b) in enumerate(pairwise(offsets))]
        return np.array(rows).reshape(len(offsets) - 1, len(self.rules))

    def n_broken(self, y: np.ndarray, offsets: np.ndarray) -> int:
        """How many values of instance rules lie outside their ranges, in all sequences."""
        values = self.all_values(y, offsets)
        columns = zip(self.rules, values.T, strict=True)
        ranges = [(*rule.range, column) for rule, column in columns if rule.level == "instance"]
        return sum(int(np.sum((column < low) | (column > high))) for low, high, column in ranges)

    def instance(self, values: np.ndarray) -> float:
        """The penalty of the instance rules for the values of one sequence."""
        return self._penalty(values, "instance")

    def corpus(self, mean: np.ndarray) -> float:
        """The penalty of the corpus rules for the mean values."""
        return self._penalty(mean, "corpus")

    def _penalty(self, values: np.ndarray, level: str) -> float:
        return sum(
            rule.cost * max(rule.range[0] - v, v - rule.range[1], 0.0) ** rule.power
            for rule, v in zip(self.rules, values.tolist(), strict=True)
            if rule.level == level
        )
