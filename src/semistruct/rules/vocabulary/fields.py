"""Rules that compare the words of two labels.

Words are compared without case and outer punctuation; tokens without a letter or digit do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from semistruct.features.words import core_of, is_punctuation, word_of
from semistruct.rules.base import Labels
from semistruct.rules.vocabulary.function import Measured
from semistruct.rules.wording import all_of

TwoLabels = Annotated[Labels, Field(min_length=2, max_length=2)]


class _TwoFields(Measured):
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

    def _words(self, tokens: Sequence[Any], labels: Sequence[str]) -> tuple[set[str], set[str]]:
        """The words of each of the two labels."""
        pairs = [(core_of(word_of(token)).lower(), y) for token, y in zip(tokens, labels, strict=True)]
        first, second = ({word for word, y in pairs if y == label and not is_punctuation(word)} for label in self._pair)
        return first, second


class Differ(_TwoFields):
    """No word of a sequence has both labels; every word that has counts."""

    key: ClassVar = "differ"
    differ: TwoLabels

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        first, second = self._words(tokens, labels)
        return len(first & second)


class Agree(_TwoFields):
    """Where both labels occur they have the same words; every word that only one of them has counts."""

    key: ClassVar = "agree"
    agree: TwoLabels

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        first, second = self._words(tokens, labels)
        return len(first ^ second) if set(self._pair) <= set(labels) else 0
