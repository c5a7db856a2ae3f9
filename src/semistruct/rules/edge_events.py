"""Events of single steps that look at the words beside them: where a block must end, and what its ends look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from semistruct.features.words import word_of
from semistruct.rules.events import Entries, blocks
from semistruct.rules.words import WordTest


@dataclass(frozen=True)
class StayEvent:
    """The label stays the same right after a mark; only if it is one of `labels`, where these are given."""

    local: ClassVar = True
    what: ClassVar = "places where the label stays"
    mark: WordTest
    labels: frozenset[str] | None = None

    def counts(self, label: str) -> bool:
        return self.labels is None or label in self.labels

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        """Where the label should change."""
        return [
            t for t in range(1, len(labels)) if self.counts(labels[t - 1]) and self.mark(word_of(tokens[t - 1]))
        ]  # fmt: skip

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [t for t in self.possible(tokens, labels) if labels[t] == labels[t - 1]]

    def enter(self, entries: Entries, k: int) -> None:
        pairs = np.array([[y == z and self.counts(z) for z in entries.labels] for y in (*entries.labels, None)])
        entries.at_steps(k, pairs, np.roll(entries.passes(self.mark), 1) & ~entries.first)


@dataclass(frozen=True)
class EdgeEvent:
    """A block of a label begins, or ends, with a token that does not pass the test of the label."""

    local: ClassVar = True
    what: ClassVar = "the ends of blocks"
    tests: tuple[tuple[str, WordTest], ...]
    side: Literal["start", "end"]

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        """The first, or the last, tokens of the blocks that it is about."""
        tested = dict(self.tests)
        return [a if self.side == "start" else b - 1 for a, b, y in blocks(labels) if y in tested]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        tested = dict(self.tests)
        return [t for t in self.possible(tokens, labels) if not tested[labels[t]](word_of(tokens[t]))]

    def enter(self, entries: Entries, k: int) -> None:
        rows = (*entries.labels, None)
        for label, test in self.tests:
            fails = ~entries.passes(test)
            if self.side == "start":
                entries.at_steps(k, np.array([[y != z == label for z in entries.labels] for y in rows]), fails)
            else:
                pairs = np.array([[z != y == label for z in entries.labels] for y in rows])
                entries.at_steps(k, pairs, np.roll(fails, 1) & ~entries.first)
                entries.at_tokens(k, np.array([z == label for z in entries.labels]), fails & entries.last)
