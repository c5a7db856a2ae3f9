"""Rules about steps from one label to the next: which labels follow each other, and beside which words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from semistruct.features.words import word_of
from semistruct.rules.base import Candidate, Rule, ShareRule, Suggesting
from semistruct.rules.building import Builder
from semistruct.rules.events import Event, Fact, Term, blocks
from semistruct.rules.evidence import LISTED, Examples, ranked, singles
from semistruct.rules.values import (
    LabelSet,
    Marks,
    any_of,
    bounds,
    factor,
    labels_text,
    members,
    named,
    others,
    range_text,
)
from semistruct.rules.words import Texts, WordTest

EXPECTED = 2.0
"""How often two labels should have been neighbours by chance for their absence to mean something."""

MARKS = (
    (["newline"], "after"), (["punctuation"], "after"), (["newline", "punctuation"], "after"),
    (["punctuation"], "either"), (["newline", "punctuation"], "either"), ([r".*\W"], "after"),
)  # fmt: skip
"""Where labels may change, the narrowest first; the last is for words that carry their punctuation."""


@dataclass(frozen=True)
class StepEvent(Event):
    """The label changes from y to z, for any y and z or for those with y in pairs[z].

    mark  only changes away from marks count: the token before is no mark (nor the token itself, if side is "either")
    """

    local: ClassVar = True
    what: ClassVar = "changes of the label"
    pairs: Mapping[str, frozenset[str]] | None = None
    mark: WordTest | None = None
    side: Literal["after", "either"] = "after"

    def __hash__(self) -> int:
        return hash((None if self.pairs is None else frozenset(self.pairs.items()), self.mark, self.side))

    def _counts(self, y: str | None, z: str) -> bool:
        return y is not None and y != z and (self.pairs is None or y in self.pairs.get(z, ()))

    def _applies_to(self, tokens: Sequence[Any], t: int) -> bool:
        if self.mark is None:
            return True
        return not self.mark(word_of(tokens[t - 1])) and (self.side == "after" or not self.mark(word_of(tokens[t])))

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        steps = range(1, len(labels))
        return [t for t in steps if self._counts(labels[t - 1], labels[t]) and self._applies_to(tokens, t)]

    def enter(self, builder: Builder, k: int) -> None:
        builder.at_steps(k, builder.pairs(self._counts), None if self.mark is None else self._where(self.mark, builder))

    def _where(self, mark: WordTest, texts: Texts) -> np.ndarray:
        """(N,): the tokens that have no mark beside them."""
        marks = texts.passes(mark)
        where = ~np.roll(marks, 1) & ~texts.first
        return where & ~marks if self.side == "either" else where

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, _, z in blocks(labels) if a > 0 and (self.pairs is None or z in self.pairs)]

    @property
    def limits_changes(self) -> bool:
        return self.mark is not None

    def subjects(self) -> Iterator[Hashable]:
        return (("after", z) for z in self.pairs or ())

    def clash(self, other: StepEvent, labels: Sequence[str]) -> str | None:
        here, there = self.pairs or {}, other.pairs or {}
        for z in sorted(here.keys() & there.keys()):
            if here[z] | there[z] >= set(labels) - {z} and len(labels) > 1:
                return f"there is no label left that {z} may follow"
        return None

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact]:
        if self.mark is not None:
            return ((("change", int(n)), 1.0) for n in np.flatnonzero(self._where(self.mark, texts)))
        return ((("after", z), frozenset(y for y in labels if self._counts(y, z))) for z in labels)


@dataclass(frozen=True)
class StayEvent(Event):
    """The label stays the same right after a mark; only if it is one of `labels`, where these are given."""

    local: ClassVar = True
    what: ClassVar = "places where the label stays"
    mark: WordTest
    labels: frozenset[str] | None = None

    def _counts(self, label: str) -> bool:
        return self.labels is None or label in self.labels

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        """Where the label should change."""
        return [
            t for t in range(1, len(labels)) if self._counts(labels[t - 1]) and self.mark(word_of(tokens[t - 1]))
        ]  # fmt: skip

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [t for t in self.possible(tokens, labels) if labels[t] == labels[t - 1]]

    def enter(self, builder: Builder, k: int) -> None:
        pairs = builder.pairs(lambda y, z: y == z and self._counts(z))
        builder.at_steps(k, pairs, np.roll(builder.passes(self.mark), 1) & ~builder.first)


@dataclass(frozen=True)
class EdgeEvent(Event):
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

    def enter(self, builder: Builder, k: int) -> None:
        for label, test in self.tests:
            fails = ~builder.passes(test)
            if self.side == "start":
                builder.at_steps(k, builder.pairs(lambda y, z: y != z == label), fails)  # noqa: B023
            else:
                pairs = builder.pairs(lambda y, z: z != y == label)  # noqa: B023
                builder.at_steps(k, pairs, np.roll(fails, 1) & ~builder.first)
                builder.at_tokens(k, builder.mask([label]), fails & builder.last)

    @property
    def has_indicators(self) -> bool:
        """Not at the start: steps into first tokens have no indicators."""
        return self.side == "end"


class ChangeOnlyOn(ShareRule):
    """The label changes only after a mark: "punctuation", "newline", a pattern, or one of several.

    side      "either": the change may also be right before a mark
    fraction  makes it a corpus rule: the share of the changes at other places; a number or a range
    """

    key: ClassVar = "change_only_on"
    suggesting: ClassVar = Suggesting(habit=True, safe=True, turn=6)
    change_only_on: Marks
    side: Literal["after", "either"] = "after"

    @model_validator(mode="after")
    def _fraction_needs_corpus(self) -> Self:
        if (self.fraction is None) == (self.level == "corpus"):
            raise ValueError("the corpus level needs a fraction, and a fraction needs the corpus level")
        return self

    @property
    def says(self) -> str:
        where = "after or before" if self.side == "either" else "after"
        share = "" if self.fraction is None else f", except {range_text(self.fraction, percent=True)}"
        return f"changes only {where} {any_of(self.change_only_on)}{share}"

    def mentioned(self) -> set[str]:
        return set()

    def terms(self, labels: Sequence[str]) -> list[Term]:
        away = StepEvent(mark=WordTest.of(self.change_only_on), side=self.side)
        if self.fraction is None:
            return [Term(self.says, away, high=0)]
        return [Term(self.says, away, *bounds(self.fraction), per=StepEvent(), unit=factor(self.unit))]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """Line breaks or punctuation alone only if both together have no fewer exceptions."""
        rules = [cls.made(marks, side=side) for marks, side in MARKS]
        cases = [examples.in_labelled.of(rule, examples.labels).values() for rule in rules]
        exceptions = [sum(len(case.broken) for case in some) for some in cases]
        for rule, n in zip(rules, exceptions, strict=True):
            wider = [m for other, m in zip(rules, exceptions, strict=True) if other._is_wider(rule)]
            if n <= min(wider, default=n):
                yield Candidate(rule)

    def _is_wider(self, other: ChangeOnlyOn) -> bool:
        return set(self.change_only_on) > set(other.change_only_on) and self.side == other.side


class Follows(Rule):
    """A block of label z comes at the start or right after a block of one of follows[z]."""

    key: ClassVar = "follows"
    suggesting: ClassVar = Suggesting(turn=7)
    follows: Annotated[dict[str, LabelSet], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} only after {labels_text(ys)}" for z, ys in self.follows.items())

    def mentioned(self) -> set[str]:
        return set(self.follows).union(*map(named, self.follows.values()))

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: others(labels, ys) for z, ys in self.follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """For each label, which labels come right before it, and which do not though chance would have it."""
        before: dict[str, Counter[str]] = defaultdict(Counter)
        for row in examples.y:
            for first, then in pairwise(z for _, _, z in blocks(row)):
                before[then][first] += 1
        left = sum(before.values(), Counter[str]())
        for z in sorted(before):
            seen, n = before[z], before[z].total()
            if len(seen) <= LISTED:
                yield Candidate(cls.made({z: ranked(seen)}), singles(seen))
            often = [label for label in sorted(left) if left[label] * n >= EXPECTED * left.total()]
            if never := [label for label in often if label not in (z, *seen)]:
                yield Candidate(NeverFollows.made({z: never}))


class NeverFollows(Rule):
    """A block of label z never comes right after a block of one of never_follows[z]."""

    key: ClassVar = "never_follows"
    suggesting: ClassVar = Suggesting(numerous=True, safe=True)
    never_follows: Annotated[dict[str, LabelSet], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} never after {labels_text(ys)}" for z, ys in self.never_follows.items())

    def mentioned(self) -> set[str]:
        return set(self.never_follows).union(*map(named, self.never_follows.values()))

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: frozenset(members(ys, labels)) for z, ys in self.never_follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]


class ChangeAfter(Rule):
    """The label changes after every mark: "punctuation", "newline", a pattern, or one of several.

    labels  restricts the rule to marks that have one of these labels
    """

    key: ClassVar = "change_after"
    change_after: Marks
    labels: LabelSet | None = None

    @property
    def says(self) -> str:
        inside = "" if self.labels is None else f" in {labels_text(self.labels)}"
        return f"the label changes after {any_of(self.change_after)}{inside}"

    def mentioned(self) -> set[str]:
        return named(self.labels)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = None if self.labels is None else frozenset(members(self.labels, labels))
        return [Term(self.says, StayEvent(WordTest.of(self.change_after), which), high=0)]


class _Edge(Rule):
    """What rules about one end of blocks share; the value has marks for labels."""

    side: ClassVar[Literal["start", "end"]]

    @property
    def says(self) -> str:
        marks = getattr(self, self.key).items()
        return "; ".join(f"{label} {self.side}s with {any_of(some)}" for label, some in marks)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        tests = tuple((label, WordTest.of(marks)) for label, marks in getattr(self, self.key).items())
        return [Term(self.says, EdgeEvent(tests, self.side), high=0)]


class BlockStartsWith(_Edge):
    """The first token of a block of label z is one of the marks block_starts_with[z]: classes of words, or patterns."""

    key: ClassVar = "block_starts_with"
    side: ClassVar = "start"
    block_starts_with: Annotated[dict[str, Marks], Field(min_length=1)]


class BlockEndsWith(_Edge):
    """The last token of a block of label z is one of the marks block_ends_with[z]: classes of words, or patterns."""

    key: ClassVar = "block_ends_with"
    side: ClassVar = "end"
    block_ends_with: Annotated[dict[str, Marks], Field(min_length=1)]
