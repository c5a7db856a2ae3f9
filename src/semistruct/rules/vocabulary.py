"""The vocabulary of rules.

The same words serve in Python and in rules files: `starts_with: [author, editor]` there is
`StartsWith(["author", "editor"])` here, and further entries such as `weight: hard` are keyword arguments.
Every rule says what it counts and where the counts should lie (`terms`); nothing else is known about it elsewhere.

A term that lies a distance v outside its range costs  weight * v  or  weight * v^2  (`penalty`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from semistruct.errors import ParameterError
from semistruct.rules.base import (
    AmountRange,
    Labels,
    Level,
    Marks,
    Pattern_,
    Rule,
    ShareRange,
    Term,
    Unit,
    WordList,
)
from semistruct.rules.events import (
    Event,
    FunctionEvent,
    LengthEvent,
    OrderEvent,
    StartEvent,
    StepEvent,
    TokenEvent,
)
from semistruct.rules.words import WordTest


class StartsWith(Rule):
    """The first token has one of these labels."""

    key: ClassVar = "starts_with"
    starts_with: Labels

    @property
    def says(self) -> str:
        return f"starts with {_or(self.starts_with)}"

    def mentioned(self) -> set[str]:
        return set(self.starts_with)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, TokenEvent(_others(labels, self.starts_with), place="first"), high=0)]


class EndsWith(Rule):
    """The last token has one of these labels."""

    key: ClassVar = "ends_with"
    ends_with: Labels

    @property
    def says(self) -> str:
        return f"ends with {_or(self.ends_with)}"

    def mentioned(self) -> set[str]:
        return set(self.ends_with)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, TokenEvent(_others(labels, self.ends_with), place="last"), high=0)]


class AtMostOnce(Rule):
    """Each of these labels ("all" for every one) is one contiguous block, if it occurs.

    counting  "blocks": every further block of a label counts; "labels": every label with further blocks counts once
    """

    key: ClassVar = "at_most_once"
    at_most_once: Literal["all"] | Labels = "all"
    counting: Literal["blocks", "labels"] = "blocks"

    @property
    def says(self) -> str:
        return f"{'each label' if self.at_most_once == 'all' else _and(self.at_most_once)} at most once"

    def mentioned(self) -> set[str]:
        return set() if self.at_most_once == "all" else set(self.at_most_once)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = labels if self.at_most_once == "all" else self.at_most_once
        joint = self.counting == "labels"
        return [Term(f"blocks of {label}", StartEvent(label), high=1, joint=joint) for label in dict.fromkeys(which)]


class ExactlyOnce(Rule):
    """Each of these labels occurs as one contiguous block."""

    key: ClassVar = "exactly_once"
    exactly_once: Labels

    @property
    def says(self) -> str:
        return f"{_and(self.exactly_once)} exactly once"

    def mentioned(self) -> set[str]:
        return set(self.exactly_once)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), 1, 1) for label in dict.fromkeys(self.exactly_once)]


class Present(Rule):
    """Each of these labels occurs."""

    key: ClassVar = "present"
    present: Labels

    @property
    def says(self) -> str:
        return f"{_and(self.present)} present"

    def mentioned(self) -> set[str]:
        return set(self.present)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), low=1) for label in dict.fromkeys(self.present)]


class ChangeOnlyOn(Rule):
    """The label changes only after a mark: "punctuation", "newline", a pattern, or one of several.

    side      "either": or before a mark
    fraction  makes it a rule for the whole corpus: this share of the changes is elsewhere; a number or a range
    """

    key: ClassVar = "change_only_on"
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    change_only_on: Marks
    side: Literal["after", "either"] = "after"
    fraction: ShareRange | None = None
    unit: Unit = "fraction"

    @model_validator(mode="before")
    @classmethod
    def _corpus_if_fraction(cls, fields: Any) -> Any:
        return {"level": "corpus", **fields} if fields.get("fraction") is not None else fields

    @model_validator(mode="after")
    def _fraction_needs_corpus(self) -> Self:
        if (self.fraction is None) == (self.level == "corpus"):
            raise ValueError("the corpus level needs a fraction, and a fraction the corpus level")
        return self

    @property
    def says(self) -> str:
        where = "after or before" if self.side == "either" else "after"
        share = "" if self.fraction is None else f", but for {_range(self.fraction, percent=True)}"
        return f"changes only {where} {_or(self.change_only_on)}{share}"

    def mentioned(self) -> set[str]:
        return set()

    def terms(self, labels: Sequence[str]) -> list[Term]:
        away = StepEvent(mark=WordTest.of(self.change_only_on), side=self.side)
        if self.fraction is None:
            return [Term(self.says, away, high=0)]
        return [Term(self.says, away, *_bounds(self.fraction), per=StepEvent(), unit=_factor(self.unit))]


class _WordRule(Rule):
    """What `Words` and `Pattern` share: all but the choice of the words they speak of."""

    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    are: Labels | None = None
    are_not: Labels | None = None
    before: Pattern_ | None = None
    after: Pattern_ | None = None
    fraction: ShareRange | None = None
    unit: Unit = "fraction"

    @model_validator(mode="before")
    @classmethod
    def _corpus_if_fraction(cls, fields: Any) -> Any:
        return {"level": "corpus", **fields} if fields.get("fraction") is not None else fields

    @model_validator(mode="after")
    def _check_word_rule(self) -> Self:
        if (self.are is None) == (self.are_not is None):
            raise ValueError("either `are` or `are_not` says which labels")
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
        labels = f"is {_or(self.are)}" if self.are else f"is not {_or(self.are_not or ())}"
        share = "" if self.fraction is None else f" in {_range(self.fraction, percent=True)}"
        return f"{self.what()}{context} {labels}{share}"

    def mentioned(self) -> set[str]:
        return set(self.are or self.are_not or ())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        before, after = (None if p is None else WordTest(patterns=(p,)) for p in (self.before, self.after))

        def having(wanted: frozenset[str]) -> TokenEvent:
            return TokenEvent(wanted, self.test(), before, after)

        wrong = _others(labels, self.are) if self.are else frozenset(self.are_not or ())
        if self.level == "instance":
            return [Term(self.says, having(wrong), high=0)]
        right, bounds = frozenset(labels) - wrong, _bounds(1.0 if self.fraction is None else self.fraction)
        return [Term(self.says, having(right), *bounds, per=having(frozenset(labels)), unit=_factor(self.unit))]


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
        return _or(self.words)


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


class MinLength(Rule):
    """Blocks have at least so many tokens; `labels` restricts it to some labels."""

    key: ClassVar = "min_length"
    min_length: Annotated[int, Field(ge=1, le=10_000)]
    labels: Labels | None = None

    @property
    def says(self) -> str:
        return f"blocks{_of(self.labels)} have at least {self.min_length} tokens"

    def mentioned(self) -> set[str]:
        return set(self.labels or ())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, LengthEvent(frozenset(self.labels or labels), least=self.min_length), high=0)]


class MaxLength(Rule):
    """Blocks have at most so many tokens; `labels` restricts it to some labels."""

    key: ClassVar = "max_length"
    max_length: Annotated[int, Field(ge=1, le=10_000)]
    labels: Labels | None = None

    @property
    def says(self) -> str:
        return f"blocks{_of(self.labels)} have at most {self.max_length} tokens"

    def mentioned(self) -> set[str]:
        return set(self.labels or ())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, LengthEvent(frozenset(self.labels or labels), most=self.max_length), high=0)]


class Order(Rule):
    """Where several of these labels occur, they come in this order."""

    key: ClassVar = "order"
    order: Annotated[Labels, Field(min_length=2)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.order)) < len(self.order):
            raise ValueError("a label is named twice")
        return self

    @property
    def says(self) -> str:
        return f"order {', '.join(self.order)}"

    def mentioned(self) -> set[str]:
        return set(self.order)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, OrderEvent(self.order), high=0)]


class Follows(Rule):
    """A block of label z comes at the start or right after a block of one of follows[z]."""

    key: ClassVar = "follows"
    follows: Annotated[dict[str, Labels], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} only after {_or(ys)}" for z, ys in self.follows.items())

    def mentioned(self) -> set[str]:
        return set(self.follows).union(*self.follows.values())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: _others(labels, ys) for z, ys in self.follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]


class NeverFollows(Rule):
    """A block of label z never comes right after a block of one of never_follows[z]."""

    key: ClassVar = "never_follows"
    never_follows: Annotated[dict[str, Labels], Field(min_length=1)]

    @property
    def says(self) -> str:
        return "; ".join(f"{z} never after {_or(ys)}" for z, ys in self.never_follows.items())

    def mentioned(self) -> set[str]:
        return set(self.never_follows).union(*self.never_follows.values())

    def terms(self, labels: Sequence[str]) -> list[Term]:
        pairs = {z: frozenset(ys) for z, ys in self.never_follows.items()}
        return [Term(self.says, StepEvent(pairs), high=0)]


class Proportion(Rule):
    """The share of the tokens that have a label: a number or a range, for the corpus or for every sequence."""

    key: ClassVar = "proportion"
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    level: Level = "corpus"
    penalty: Literal["absolute", "square"] = "square"
    proportion: Annotated[dict[str, ShareRange], Field(min_length=1)]
    unit: Unit = "percent"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        least = sum(_bounds(share)[0] for share in self.proportion.values() if _bounds(share)[0] > 0)
        if least > 1 + 1e-9:
            raise ValueError(f"the proportions add up to {least:.0%}, more than all tokens")
        return self

    @property
    def says(self) -> str:
        return _and([f"{_range(share, percent=True)} {label}" for label, share in self.proportion.items()])

    def mentioned(self) -> set[str]:
        return set(self.proportion)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [
            Term(
                f"share of {label}", TokenEvent(frozenset({label})), *_bounds(share), "tokens", unit=_factor(self.unit)
            )
            for label, share in self.proportion.items()
        ]


class Count(Rule):
    """How many blocks (or tokens) of a label there are per sequence: a number or a range.

    On the corpus level that is the mean over the sequences, on the instance level it holds for each.
    """

    key: ClassVar = "count"
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    level: Level = "corpus"
    penalty: Literal["absolute", "square"] = "square"
    count: Annotated[dict[str, AmountRange], Field(min_length=1)]
    of: Literal["blocks", "tokens"] = "blocks"

    @property
    def says(self) -> str:
        amounts = _and([f"{_range(n)} {self.of} of {label}" for label, n in self.count.items()])
        return f"{amounts} {'in each sequence' if self.level == 'instance' else 'per sequence on average'}"

    def mentioned(self) -> set[str]:
        return set(self.count)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        per: Literal["sequences"] | None = "sequences" if self.level == "corpus" else None

        def event(label: str) -> Event:
            return StartEvent(label) if self.of == "blocks" else TokenEvent(frozenset({label}))

        return [Term(f"{self.of} of {label}", event(label), *_bounds(n), per) for label, n in self.count.items()]


class Function(Rule):
    """A rule of one's own: function(tokens, labels) returns a number that should lie in [low, high].

    The default [-inf, 0] fits a function that counts mistakes.  On the corpus level the mean over the sequences should
    lie there.  It exists in Python only, and a saved model forgets it.
    """

    key: ClassVar = "function"
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
    def says(self) -> str:
        return getattr(self.function, "__name__", "function")

    def mentioned(self) -> set[str]:
        return set()

    def terms(self, labels: Sequence[str]) -> list[Term]:
        per: Literal["sequences"] | None = "sequences" if self.level == "corpus" else None
        return [Term(self.says, FunctionEvent(self.function), self.low, self.high, per)]

    def measure(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """The value of the function, if it is a number."""
        try:
            value = self.function(tokens, labels)
        except Exception as err:
            raise ParameterError(f"rule {self.text!r} fails on {where}: {type(err).__name__}: {err}") from err
        if isinstance(value, Real | np.bool_) and isfinite(value):
            return float(value)
        raise ParameterError(f"rule {self.text!r} returns {value!r:.40} on {where}, expected a finite number")


VOCABULARY: dict[str, type[Rule]] = {
    rule.key: rule
    for rule in (
        StartsWith, EndsWith, AtMostOnce, ExactlyOnce, Present, ChangeOnlyOn, Words, Pattern, MinLength, MaxLength,
        Order, Follows, NeverFollows, Proportion, Count,
    )
}  # fmt: skip


def _bounds(target: float | tuple[float | None, float | None]) -> tuple[float, float]:
    if isinstance(target, tuple):
        low, high = target
        return (-inf if low is None else low, inf if high is None else high)
    return target, target


def _factor(unit: str) -> float:
    return 100.0 if unit == "percent" else 1.0


def _others(labels: Sequence[str], these: Sequence[str]) -> frozenset[str]:
    return frozenset(labels) - frozenset(these)


def _or(names: Sequence[str], word: str = "or") -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _and(names: Sequence[str]) -> str:
    return _or(names, "and")


def _of(labels: Sequence[str] | None) -> str:
    return f" of {_or(labels)}" if labels else ""


def _range(target: float | tuple[float | None, float | None], percent: bool = False) -> str:
    low, high = _bounds(target)

    def show(value: float) -> str:
        return f"{100 * value:g}%" if percent else f"{value:g}"

    if low == high:
        return show(low)
    if low == -inf or high == inf:
        return f"at most {show(high)}" if low == -inf else f"at least {show(low)}"
    return f"{show(low)} to {show(high)}"
