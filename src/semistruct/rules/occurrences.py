"""Where the events of tokens can happen in a corpus, found by their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        self._tested: dict[WordTest, frozenset[int]] = {}

    def of(self, event: TokenEvent) -> list[Place]:
        """The tokens to which the event applies, in order."""
        spans: set[tuple[int, int, int]] = set()
        if event.word is not None:
            spans |= {(n, t, t + 1) for n, t in self._passing(event.word)}
        if event.run is not None:
            spans |= {
                (n, t, end) for n, t in self._passing(event.run.head) for end in event.run.ends(self._words[n], t)
            }
        if event.word is None and event.run is None:
            spans = {(n, t, t + 1) for n, t in self._everywhere}
        fitting = [(n, a, b) for n, a, b in spans if event.fits(self._words[n], a, b, self._passes)]
        return sorted({(n, t) for n, a, b in fitting for t in range(a, b)})

    def _passing(self, test: WordTest) -> Iterator[Place]:
        return (place for i in self._index.passing(test) for place in self._places[i])

    def _passes(self, test: WordTest, word: str) -> bool:
        if test not in self._tested:
            self._tested[test] = frozenset(self._index.passing(test))
        return self._index.number[word] in self._tested[test]
