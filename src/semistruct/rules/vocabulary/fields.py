"""Rules that compare the words of two labels.

Words are compared without case and outer punctuation; tokens without a letter or digit do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from semistruct.features.words import core_of, is_punctuation, word_of
from semistruct.rules.base import Labels, Term
from semistruct.rules.events import Event, PlaceEvent
from semistruct.rules.vocabulary.function import Measured
from semistruct.rules.wording import all_of

TwoLabels = Annotated[Labels, Field(min_length=2, max_length=2)]


class TwoFields(Measured):
    """What the two rules share."""

    @property
    def _pair(self) -> tuple[str, str]:
        first, second = getattr(self, self.key)
        return first, second

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self._pair)) < 2:
            raise ValueError("expected two different labels")
        return self

    @property
    def says(self) -> str:
        return f"{all_of(self._pair)} {self.key}"

    def mentioned(self) -> set[str]:
        return set(self._pair)

    def places(self, tokens: Sequence[Any]) -> dict[str, tuple[int, ...]]:
        """Where each word of a sequence stands."""
        found: dict[str, tuple[int, ...]] = {}
        for t, token in enumerate(tokens):
            word = core_of(word_of(token)).lower()
            if not is_punctuation(word):
                found[word] = (*found.get(word, ()), t)
        return found

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        return len(self.wrong(tokens, labels))

    def wrong(self, tokens: Sequence[Any], labels: Sequence[str]) -> set[str]:
        """The words that count."""
        raise NotImplementedError

    def ways(self, tokens: Sequence[Any], words: Iterable[str], labels: Sequence[str]) -> list[list[Term]]:
        """What the kernels can count in a sequence so that these words are not wrong, in one of several ways.

        A labelling costs as much as these words do in one of the ways, and no less in any other.
        """
        raise NotImplementedError

    def _words(self, tokens: Sequence[Any], labels: Sequence[str]) -> tuple[set[str], set[str]]:
        """The words of each of the two labels."""
        where = self.places(tokens)
        first, second = (
            {word for word, places in where.items() if any(labels[t] == label for t in places)} for label in self._pair
        )
        return first, second

    def _joint(self, having: Iterable[str], at: tuple[int, ...], most: int = 0, needs: Event | None = None) -> Term:
        """A word counts if more than `most` of its tokens, at these places, have these labels."""
        return Term(self.says, PlaceEvent(frozenset(having), at), high=most, joint=True, needs=needs)


class Differ(TwoFields):
    """No word of a sequence has both labels; every word that has counts."""

    key: ClassVar = "differ"
    differ: TwoLabels

    def wrong(self, tokens: Sequence[Any], labels: Sequence[str]) -> set[str]:
        first, second = self._words(tokens, labels)
        return first & second

    def ways(self, tokens: Sequence[Any], words: Iterable[str], labels: Sequence[str]) -> list[list[Term]]:
        first, second = self._pair
        where = self.places(tokens)
        spots = [where[word] for word in sorted(words)]
        return [[self._joint([second], at, needs=PlaceEvent(frozenset([first]), at)) for at in spots]]


class Agree(TwoFields):
    """Where both labels occur they have the same words; every word that only one of them has counts."""

    key: ClassVar = "agree"
    agree: TwoLabels

    def wrong(self, tokens: Sequence[Any], labels: Sequence[str]) -> set[str]:
        first, second = self._words(tokens, labels)
        return first ^ second if set(self._pair) <= set(labels) else set()

    def ways(self, tokens: Sequence[Any], words: Iterable[str], labels: Sequence[str]) -> list[list[Term]]:
        """One of the labels does not occur, or no word has only one of them."""
        where, found = self.places(tokens), []
        for at in (where[word] for word in sorted(words)):
            if len(at) == 1:
                found.append(self._joint(self._pair, at))
                continue
            for has, lacks in (self._pair, self._pair[::-1]):
                needs = PlaceEvent(frozenset([has]), at)
                found.append(self._joint(set(labels) - {lacks}, at, len(at) - 1, needs))
        everywhere = tuple(range(len(tokens)))
        return [[Term(self.says, PlaceEvent(frozenset([label]), everywhere), high=0)] for label in self._pair] + [found]
