"""What rules count: events in a labelled sequence, and the ranges in which their numbers should lie.

An event is defined twice, side by side: `places` says in plain Python where it happens, `enter` says the same to the
kernels.  Tests compare the two on random corpora.  An event that several parts of semistruct ask for more than that
(contradictions, suggestions, indicators) answers by further methods, all of which have a default.

This module has the events of tokens; others stand in `vocabulary` beside the rules that are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np

from semistruct.features.words import word_of
from semistruct.rules.building import Builder
from semistruct.rules.words import PhraseTest, RunTest, Texts, WordTest, ranges

Fact = tuple[Hashable, float | frozenset[str]]
"""Something that a rule says, in a form that can be compared: of what, and a number or labels.

A fact is implied by one about the same with a number that is no smaller, or with at least these labels.
"""


class Event:
    """Something that happens at places of a labelled sequence, each the position of a token.

    local       it is seen at a single token or step, so that every place can have a price of its own
    at_blocks   it is seen at whole blocks, so that every block can have a price of its own
    what        it is about, for messages
    blocks_of   the label whose blocks it counts, if that is all it does
    """

    local: ClassVar[bool] = False
    at_blocks: ClassVar[bool] = False
    what: ClassVar[str]
    blocks_of: str | None = None

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        """Where it happens."""
        raise NotImplementedError

    def number(self, tokens: Sequence[Any], labels: Sequence[str], where: str = "") -> float:
        """How often it happens; `where` names the sequence in messages."""
        return float(len(self.places(tokens, labels)))

    def enter(self, builder: Builder, k: int) -> None:
        """Have the kernels count it as term k."""
        raise NotImplementedError

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int] | None:
        """Where it could happen: each place is a case of a rule; None if the whole sequence is one."""
        return None

    def tokens(self, texts: Texts) -> np.ndarray | None:
        """The tokens that it is about, in order, if it is the event that they have certain labels (`having`)."""
        return None

    @property
    def having(self) -> frozenset[str] | None:
        """The labels that tokens have where it happens, if that is the event."""
        return None

    @property
    def has_indicators(self) -> bool:
        """Whether every place that it is about can have an indicator of its own (`indicators`)."""
        return self.local

    @property
    def limits_changes(self) -> bool:
        """Whether it happens where the label changes at places that the text tells."""
        return False

    def is_constant(self, labels: Iterable[str]) -> bool:
        """Whether it happens as often whatever the labels, of which these are all."""
        return False

    def subjects(self) -> Iterable[Hashable]:
        """What it is about: two events can only clash if they share a subject."""
        return ()

    def clash(self, other: Any, labels: Sequence[str]) -> str | None:
        """Why another event of this kind must happen where this one does not; None if there is no reason."""
        return None

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact] | None:
        """What a rule says that wants low to high such events, given the texts; None if that cannot be compared."""
        return None


@dataclass(frozen=True)
class Term:
    """A number that a rule is about, and the range [low, high] in which it should lie.

    event  what is counted
    per    what the count is divided by: nothing; "tokens", "sequences" or the places of another event
    unit   100 if distances from the range are measured in percent
    joint  the joint terms of a rule have one penalty, on the number of those that are out of range
    needs  an event without which the term does not matter in a sequence
    bars   an event with which it does not matter
    """

    text: str
    event: Event
    low: float = -inf
    high: float = inf
    per: Event | Literal["tokens", "sequences"] | None = None
    unit: float = 1.0
    joint: bool = False
    needs: Event | None = None
    bars: Event | None = None

    @property
    def forbids(self) -> bool:
        """Whether the event must not happen, and nothing else is wanted."""
        return self.per is None and self.low == -inf and self.high == 0

    @property
    def forbidden_labels(self) -> frozenset[str] | None:
        """The labels that the term forbids certain tokens to have; None if it does something else."""
        return self.event.having if self.forbids else None

    @property
    def has_condition(self) -> bool:
        return self.needs is not None or self.bars is not None

    def matters(self, tokens: Sequence[Any], labels: Sequence[str]) -> bool:
        """Whether the value of the term matters in a sequence."""
        needed = self.needs is None or bool(self.needs.places(tokens, labels))
        return needed and (self.bars is None or not self.bars.places(tokens, labels))

    def value(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """What is counted in one sequence, whether or not it matters there."""
        return self.event.number(tokens, labels, where) / (len(tokens) if self.per == "tokens" else 1)

    def size(self, tokens: Sequence[Any], labels: Sequence[str]) -> int:
        """What a sequence adds to the divisor of the count in a corpus."""
        if isinstance(self.per, Event):
            return len(self.per.places(tokens, labels))
        return len(tokens) if self.per == "tokens" else 1

    def corpus_value(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """What is counted in a corpus; a share of nothing counts as in its range."""
        pairs = list(zip(X, y, strict=True))
        total = sum(self.event.number(*pair, f"sequence {i}") for i, pair in enumerate(pairs))
        divisor = sum(self.size(*pair) for pair in pairs)
        return total / divisor if divisor else max(min(0.0, self.high), self.low)

    def distance(self, value: float) -> float:
        """How far a value lies outside the range."""
        return self.unit * max(self.low - value, value - self.high, 0.0)

    def facts(self, texts: Texts, labels: Sequence[str]) -> Iterator[Fact] | None:
        """What the term says, in a form that can be compared; None if there is none."""
        if self.per is not None or (self.high != 0 and self.event.blocks_of is None):
            return None
        return self.event.facts(self.low, self.high, texts, labels)


@dataclass(frozen=True)
class TokenEvent(Event):
    """One of certain tokens has one of `labels`.

    They are the tokens whose word passes `word`, and those of a run of words that passes `run`: all tokens if there is
    no such test.

    before, after  one of the `within` tokens before, after the word or run must pass
    place          it must begin at the first token, or end at the last
    """

    local: ClassVar = True
    what: ClassVar = "labels of tokens"
    labels: frozenset[str]
    word: WordTest | None = None
    before: WordTest | None = None
    after: WordTest | None = None
    place: Literal["any", "first", "last"] = "any"
    run: PhraseTest | RunTest | None = None
    within: int = 1

    def about(self, tokens: Sequence[Any]) -> list[int]:
        """The tokens of a sequence that it is about, in plain Python."""
        words = [word_of(token) for token in tokens] if self._looks else tokens
        found: set[int] = set()
        for t, word in enumerate(words):
            ends = self.run.ends(words, t) if self.run is not None else []
            if self.word(word) if self.word is not None else self.run is None:
                ends = [t + 1, *ends]
            found.update(place for end in ends if self._fits(words, t, end) for place in range(t, end))
        return sorted(found)

    @property
    def _looks(self) -> bool:
        return bool(self.word or self.run or self.before or self.after)

    @property
    def is_everywhere(self) -> bool:
        """It is about all tokens."""
        return self.place == "any" and not self._looks

    def _fits(self, words: Sequence[str], a: int, b: int) -> bool:
        """Whether words[a:b], which pass, are at the right place and have the right neighbours."""
        return (
            (self.place == "any" or (a == 0 if self.place == "first" else b == len(words)))
            and (self.before is None or any(map(self.before, words[max(a - self.within, 0) : a])))
            and (self.after is None or any(map(self.after, words[b : b + self.within])))
        )

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        about = range(len(labels)) if self.is_everywhere else self.about(tokens)
        return [t for t in about if labels[t] in self.labels]

    def tokens(self, texts: Texts) -> np.ndarray:
        start, end = self._spans(texts)
        fits = np.ones(len(start), bool)
        if self.place != "any":
            fits &= texts.first[start] if self.place == "first" else texts.last[end - 1]
        if self.before is not None:
            fits &= _near(texts.passes(self.before), texts.first, self.within)[start]
        if self.after is not None:
            fits &= _near(texts.passes(self.after)[::-1], texts.last[::-1], self.within)[::-1][end - 1]
        return start[fits] if self.run is None else np.unique(ranges(start[fits], (end - start)[fits]))

    def _spans(self, texts: Texts) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all that passes `word` or `run`."""
        anything = np.arange(len(texts) if self.run is None else 0)
        single = anything if self.word is None else texts.passing(self.word)
        start, end = texts.runs(self.run) if self.run is not None else (single[:0], single[:0])
        return np.concatenate([single, start]), np.concatenate([single + 1, end])

    def enter(self, builder: Builder, k: int) -> None:
        where = None
        if not self.is_everywhere:
            where = np.zeros(len(builder), bool)
            where[self.tokens(builder)] = True
        builder.at_tokens(k, builder.mask(self.labels), where)

    @property
    def having(self) -> frozenset[str]:
        return self.labels

    @property
    def has_indicators(self) -> bool:
        return not self.is_everywhere

    def is_constant(self, labels: Iterable[str]) -> bool:
        return self.labels >= set(labels)

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact]:
        return ((("token", int(n)), self.labels) for n in self.tokens(texts))


@dataclass(frozen=True)
class PlaceEvent(Event):
    """One of the tokens at certain places, of the only sequence there is, has one of `labels`."""

    local: ClassVar = True
    what: ClassVar = "labels of tokens"
    labels: frozenset[str]
    at: tuple[int, ...]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [t for t in self.at if labels[t] in self.labels]

    def enter(self, builder: Builder, k: int) -> None:
        where = np.zeros(len(builder), bool)
        where[list(self.at)] = True
        builder.at_tokens(k, builder.mask(self.labels), where)


@dataclass(frozen=True)
class FunctionEvent(Event):
    """A user's own measure of a labelled sequence; it has no places."""

    what: ClassVar = "a function"
    function: Callable[[Sequence[Any], Sequence[str], str], float]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return []

    def number(self, tokens: Sequence[Any], labels: Sequence[str], where: str = "") -> float:
        return self.function(tokens, labels, where)


def blocks(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """The runs of equal labels as (start, end, label)."""
    cuts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
    return [(a, b, labels[a]) for a, b in zip(cuts, [*cuts[1:], len(labels)], strict=True)]


def _near(passes: np.ndarray, first: np.ndarray, reach: int) -> np.ndarray:
    """(N,): where one of the `reach` tokens before, of the same sequence, passes."""
    place = np.arange(len(first))
    begin = np.maximum.accumulate(np.where(first, place, 0))
    passed = np.concatenate([[0], np.cumsum(passes)])
    return np.asarray(passed[place] > passed[np.maximum(place - reach, begin)])
