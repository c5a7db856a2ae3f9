"""Rules about the labels of certain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import model_validator

from semistruct.rules.base import Labels, Pattern_, ShareRule, Term, WordList
from semistruct.rules.events import TokenEvent
from semistruct.rules.wording import any_of, bounds, factor, others, range_text
from semistruct.rules.words import WordTest


class _WordRule(ShareRule):
    """What `Words` and `Pattern` share: everything except the choice of the words."""

    are: Labels | None = None
    are_not: Labels | None = None
    before: Pattern_ | None = None
    after: Pattern_ | None = None

    @model_validator(mode="after")
    def _check_word_rule(self) -> Self:
        if (self.are is None) == (self.are_not is None):
            raise ValueError("give the labels with either `are` or `are_not`")
        if self.fraction is not None and self.level == "instance":
            raise ValueError("a fraction needs the corpus level")
        return self

    def test(self) -> WordTest:
        raise NotImplementedError

    def what(self) -> str:
        raise NotImplementedError

    @property
    def says(self) -> str:
        context = "".join(
            f" {side} {pattern!r}" for side, pattern in (("after", self.before), ("before", self.after)) if pattern
        )
        labels = f"is {any_of(self.are)}" if self.are else f"is not {any_of(self.are_not or ())}"
        share = "" if self.fraction is None else f" in {range_text(self.fraction, percent=True)}"
        return f"{self.what()}{context} {labels}{share}"

    def mentioned(self) -> set[str]:
        return set(self.are or self.are_not or ())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        before, after = (None if p is None else WordTest(patterns=(p,)) for p in (self.before, self.after))

        def having(wanted: frozenset[str]) -> TokenEvent:
            return TokenEvent(wanted, self.test(), before, after)

        wrong = others(labels, self.are) if self.are else frozenset(self.are_not or ())
        if self.level == "instance":
            return [Term(self.says, having(wrong), high=0)]
        right, share = frozenset(labels) - wrong, bounds(1.0 if self.fraction is None else self.fraction)
        return [Term(self.says, having(right), *share, per=having(frozenset(labels)), unit=factor(self.unit))]


class Words(_WordRule):
    """These words have one of the labels `are`, or none of the labels `are_not`.

    before, after  patterns that the neighbouring tokens must match for the rule to apply
    fraction       on the corpus level, the share of the words that obey (1 if not given); a number or a range
    """

    key: ClassVar = "words"
    words: WordList

    def test(self) -> WordTest:
        return WordTest(words=frozenset(self.words))

    def what(self) -> str:
        return any_of(self.words)


class Pattern(_WordRule):
    """Words that match a regular expression as a whole have one of the labels `are`, or none of the labels `are_not`.

    before, after  patterns that the neighbouring tokens must match for the rule to apply
    fraction       on the corpus level, the share of the words that obey (1 if not given); a number or a range
    """

    key: ClassVar = "pattern"
    pattern: Pattern_

    def test(self) -> WordTest:
        return WordTest(patterns=(self.pattern,))

    def what(self) -> str:
        return f"/{self.pattern}/"
