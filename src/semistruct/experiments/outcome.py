"""The result of one labelling of the reported sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from semistruct import metrics
from semistruct.corpus import Example
from semistruct.features.words import word_of
from semistruct.fitting.data import label_codes
from semistruct.rules import Rules

WORST = 3  # sequences that are kept token by token


class Judged:
    """The reported sequences, their true labels and the rules they are compared with."""

    def __init__(self, report: list[Example], which: list[int], rules: Rules) -> None:
        self.tokens = [e.tokens for e in report]
        self.gold: list[Any] = [e.labels for e in report]
        self.which = which
        self.labels = rules.all_labels({label for row in self.gold for label in row})
        self.tables = rules.compile(self.tokens, self.labels)
        self.lengths = [len(x) for x in self.tokens]

    def right(self, predicted: Sequence[Sequence[str]]) -> list[int]:
        """How many tokens of each sequence are labelled right."""
        return [sum(y == z for y, z in zip(g, p, strict=True)) for g, p in zip(self.gold, predicted, strict=True)]

    def accuracy(self, predicted: Sequence[Sequence[str]]) -> float:
        return sum(self.right(predicted)) / sum(self.lengths)

    def broken(self, predicted: Sequence[Sequence[str]]) -> np.ndarray:
        """(sequences, rules) bool."""
        return self.tables.broken(label_codes(predicted, self.lengths, self.labels))

    def outcome(self, predicted: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Scores, confused labels, and how many sequences break each rule."""
        scores, broken = metrics.evaluate(self.gold, predicted), self.broken(predicted)
        pairs = Counter((y, z) for g, p in zip(self.gold, predicted, strict=True) for y, z in zip(g, p, strict=True))
        kept = ("token_accuracy", "sequence_accuracy", "span_f1", "macro_f1")
        return {
            **{key: scores[key] for key in kept},
            "right": self.right(predicted),
            "confusion": [[y, z, n] for (y, z), n in sorted(pairs.items())],
            "broken": {rule.text: int(n) for rule, n in zip(self.tables.rules, broken.sum(axis=0), strict=True)},
            "broken_any": int(broken.any(axis=1).sum()),
        }

    def worst(self, plain: Sequence[Sequence[str]], obedient: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """The sequences with the largest share of wrong labels under the rules, token by token."""
        wrong = [(n - r) / n for r, n in zip(self.right(obedient), self.lengths, strict=True)]
        broken = self.broken(obedient)
        order = sorted(range(len(wrong)), key=lambda i: (-wrong[i], -self.lengths[i], i))[:WORST]
        return [
            {
                "sequence": self.which[i],
                "tokens": [word_of(token) for token in self.tokens[i]],
                "gold": self.gold[i],
                "plain": list(plain[i]),
                "rules": list(obedient[i]),
                "broken": [rule.text for rule, b in zip(self.tables.rules, broken[i], strict=True) if b],
            }
            for i in order
        ]
