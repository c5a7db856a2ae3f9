"""Rules that measure a whole labelled sequence: functions of the user, and rules that compare the words of two labels.

In comparisons, words are taken without case and outer punctuation; tokens without a letter or digit do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from semistruct.base.errors import ParameterError, quoted
from semistruct.features.words import core_of, is_punctuation, word_of
from semistruct.rules.base import Rule
from semistruct.rules.events import Event, FunctionEvent, PlaceEvent, Term
from semistruct.rules.values import Labels, Level

TwoLabels = Annotated[Labels, Field(min_length=2, max_length=2)]


class Measured(Rule):
    """A rule about a number that should lie in a range; see `whole_sequences`."""

    of_sequences: ClassVar = True

    @property
    def range(self) -> tuple[float, float]:
        """Where the number should lie."""
        return -inf, 0.0

    def mentioned(self) -> set[str]:
        return set()

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        """What is measured."""
        raise NotImplementedError

    def terms(self, labels: Sequence[str]) -> list[Term]:
        per: Literal["sequences"] | None = "sequences" if self.level == "corpus" else None
        return [Term(self.says, FunctionEvent(self.measure), *self.range, per)]

    def excess(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """How far what is measured lies outside the range; 0 where the condition does not hold."""
        if self.if_ is not None and not self.if_.holds(tokens, labels):
            return 0.0
        low, high = self.range
        value = self.measure(tokens, labels, where)
        return max(low - value, value - high, 0.0)

    def measure(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """What is measured, if it is a number."""
        try:
            value = self.number(tokens, labels)
        except Exception as err:
            raise ParameterError(f"rule {quoted(self.text)} fails on {where}: {type(err).__name__}: {err}") from err
        if isinstance(value, Real | np.bool_) and isfinite(value):
            return float(value)
        raise ParameterError(f"rule {quoted(self.text)} returns {quoted(value)} on {where}, expected a finite number")


class Function(Measured):
    """Your own rule: function(tokens, labels) returns a number that should lie in [low, high].

    The default [-inf, 0] fits a function that counts mistakes.  On the corpus level the mean over the sequences should
    lie there.  It exists in Python only, and is not saved with a model.
    """

    key: ClassVar = "function"
    in_files: ClassVar = False
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    function: Callable[[Sequence[Any], Sequence[str]], float]
    low: float = -inf
    high: float = 0.0

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.low <= self.high:
            raise ValueError(f"the range [{self.low:g}, {self.high:g}] is empty")
        return self

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def says(self) -> str:
        return getattr(self.function, "__name__", "function")

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        return self.function(tokens, labels)


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
        return f"{' and '.join(self._pair)} {self.key}"

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
