"""Where the events of tokens can happen in a corpus, found by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semistruct.features.words import word_of
from semistruct.rules.events import TokenEvent
from semistruct.rules.words import WordIndex, WordTest

Place = tuple[int, int]
"""A sequence and a token of it, by number."""


class Occurrences:
    """The places of every word in sequences X."""

    def __init__(self, X: Sequence[Sequence[Any]]) -> None:
        self._words = [[word_of(token) for token in x] for x in X]
        self._everywhere = [(n, t) for n, words in enumerate(self._words) for t in range(len(words))]
        places: dict[str, list[Place]] = {}
        for n, t in self._everywhere:
            places.setdefault(self._words[n][t], []).append((n, t))
        self._index, self._places = WordIndex(places), list(places.values())

    def of(self, event: TokenEvent) -> list[Place]:
        """The tokens to which the event applies, in order."""
        found = self._everywhere
        if event.word is not None:
            found = sorted(place for i in self._index.passing(event.word) for place in self._places[i])
        if event.place == "first":
            found = [(n, t) for n, t in found if t == 0]
        elif event.place == "last":
            found = [(n, t) for n, t in found if t == len(self._words[n]) - 1]
        found = found if event.before is None else self._beside(found, event.before, -1)
        return found if event.after is None else self._beside(found, event.after, 1)

    def _beside(self, places: list[Place], test: WordTest, step: int) -> list[Place]:
        """The places whose neighbour passes."""
        passing = set(self._index.passing(test))
        number, words = self._index.number, self._words
        return [(n, t) for n, t in places if 0 <= t + step < len(words[n]) and number[words[n][t + step]] in passing]
