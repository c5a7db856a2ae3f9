"""Rules about the labels of certain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from semistruct.patterns import compiled
from semistruct.rules.base import ShareRule, Term
from semistruct.rules.events import TokenEvent
from semistruct.rules.label_sets import LabelSet, labels_text, members, named, others
from semistruct.rules.word_lists import Pattern_, Patterns, WordList
from semistruct.rules.wording import bounds, factor, pattern_text, range_text, words_text
from semistruct.rules.words import Case, Wanted, WordTest, in_any_case, wanted_patterns, wanted_words

FARTHEST = 1000  # tokens that `within` may reach


class _WordRule(ShareRule):
    """What `Words` and `Pattern` share: everything except the choice of the words."""

    are: LabelSet | None = None
    are_not: LabelSet | None = None
    case: Case | None = None
    punctuation: Literal["ignore"] | None = None
    place: Literal["first", "last"] | None = None
    before: Pattern_ | None = None
    after: Pattern_ | None = None
    within: Annotated[int, Field(ge=1, le=FARTHEST)] = 1

    @model_validator(mode="after")
    def _check_word_rule(self) -> Self:
        if (self.are is None) == (self.are_not is None):
            raise ValueError("give the labels with either `are` or `are_not`")
        if self.fraction is not None and self.level == "instance":
            raise ValueError("a fraction needs the corpus level")
        if self.within > 1 and self.before is None and self.after is None:
            raise ValueError("`within` says how far `before` and `after` may be, and neither is given")
        return self

    def wanted(self) -> Wanted:
        raise NotImplementedError

    def what(self) -> str:
        raise NotImplementedError

    @property
    def says(self) -> str:
        near = f" at most {self.within} tokens" if self.within > 1 else ""
        sides = {"after": self.before, "before": self.after}
        context = "".join(f"{near} {side} {pattern!r}" for side, pattern in sides.items() if pattern)
        context += f" as the {self.place} token" if self.place else ""
        labels = f"is {labels_text(self.are)}" if self.are else f"is not {labels_text(self.are_not or ())}"
        share = "" if self.fraction is None else f" in {range_text(self.fraction, percent=True)}"
        return f"{self.what()}{context} {labels}{share}"

    def mentioned(self) -> set[str]:
        return named(self.are or self.are_not)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        before, after = (None if p is None else WordTest(patterns=(p,)) for p in (self.before, self.after))
        wanted = self.wanted()

        def having(these: frozenset[str]) -> TokenEvent:
            return TokenEvent(these, wanted.word, before, after, self.place or "any", wanted.run, self.within)

        wrong = others(labels, self.are) if self.are else frozenset(members(self.are_not or (), labels))
        if self.level == "instance":
            return [Term(self.says, having(wrong), high=0)]
        right, share = frozenset(labels) - wrong, bounds(1.0 if self.fraction is None else self.fraction)
        return [Term(self.says, having(right), *share, per=having(frozenset(labels)), unit=factor(self.unit))]


class Words(_WordRule):
    """These words and phrases have one of the labels `are`, or none of the labels `are_not`.

    case           "any" or "exact"; by default a word in lower case matches any case, others match as written
    punctuation    "ignore": words are compared without the punctuation around them
    place          "first" or "last": only at that end of the sequence
    before, after  patterns that a token up to `within` tokens away must match for the rule to apply
    fraction       on the corpus level, the share of the words that obey (1 if not given); a number or a range
    """

    key: ClassVar = "words"
    words: WordList

    def wanted(self) -> Wanted:
        return wanted_words(self.words, self.case, self.punctuation == "ignore")

    def what(self) -> str:
        return words_text(self.words)


class Pattern(_WordRule):
    """Words that match a regular expression as a whole have one of the labels `are`, or none of the labels `are_not`.

    Several patterns in a list are matched by as many tokens in a row.  All else is as in `Words`.
    """

    key: ClassVar = "pattern"
    pattern: Patterns

    @model_validator(mode="after")
    def _compiles_in_any_case(self) -> Self:
        for pattern in [self.pattern] if isinstance(self.pattern, str) else self.pattern:
            compiled(in_any_case(pattern) if self.case == "any" else pattern)
        return self

    def wanted(self) -> Wanted:
        return wanted_patterns(self.pattern, self.case, self.punctuation == "ignore")

    def what(self) -> str:
        return pattern_text(self.pattern)
