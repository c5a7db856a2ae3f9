"""What rules count: events in a labelled sequence.

An event is defined twice, side by side: `places` says in plain Python where it happens, `enter` says the same to the
kernels.  Tests compare the two on random corpora.  What happens at a single token or at a step from one
label to the next is entered as a table of labels; what needs a longer memory (lengths, order) has loops of its own in
`core/events.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from semistruct.features.words import word_of
from semistruct.rules.words import PhraseTest, RunTest, WordTest


class Entries(Protocol):
    """Where events are entered, for N tokens and Y labels (`building.Builder`).

    X                 the sequences of tokens, whose tokens are numbered from 0 to N - 1
    first, last (N,)  the first and the last tokens of the sequences
    labels            the names of the labels, in the order of their numbers
    """

    X: Sequence[Any]
    first: np.ndarray
    last: np.ndarray
    labels: tuple[str, ...]

    def passes(self, test: WordTest) -> np.ndarray:
        """(N,): the tokens whose word passes."""
        ...

    def runs(self, test: PhraseTest | RunTest) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all runs of words that pass."""
        ...

    def within(self, where: np.ndarray) -> Entries:
        """The same entries, in which only what happens at the tokens `where` (N,) counts."""
        ...

    def at_tokens(self, k: int, having: np.ndarray, where: np.ndarray | None = None) -> None:
        """Term k counts the tokens `where` (N,), everywhere if not given, that have a label of having (Y,)."""
        ...

    def at_steps(self, k: int, pairs: np.ndarray, where: np.ndarray | None = None) -> None:
        """Term k counts the steps into tokens `where` from label y to z with pairs[y, z]; pairs (Y + 1, Y).

        The last row of pairs is for the first token of a sequence, which comes after no label.
        """
        ...

    def of_lengths(self, k: int, having: np.ndarray, least: int, most: int | None) -> None:
        """Term k counts the blocks of these labels that are shorter than least or longer than most."""
        ...

    def of_order(self, k: int, first: str, then: str) -> None:
        """Term k counts the blocks of `first` that begin after a block of `then`."""
        ...


Passes = Callable[[WordTest, str], bool]


def _passes(test: WordTest, word: str) -> bool:
    return test(word)


class Event(Protocol):
    """Something that happens at places of a labelled sequence, each the position of a token.

    local  it is seen at a single token or step, so that every place can have a price of its own
    what   it is about, for messages
    """

    @property
    def local(self) -> bool: ...

    @property
    def what(self) -> str: ...

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]: ...

    def enter(self, entries: Entries, k: int) -> None: ...


@dataclass(frozen=True)
class TokenEvent:
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

    @property
    def is_everywhere(self) -> bool:
        """It is about all tokens."""
        return self.place == "any" and not (self.word or self.run or self.before or self.after)

    def fits(self, words: Sequence[str], a: int, b: int, passes: Passes = _passes) -> bool:
        """Whether words[a:b], which pass, are at the right place and have the right neighbours."""
        return (
            (self.place == "any" or (a == 0 if self.place == "first" else b == len(words)))
            and (self.before is None or any(passes(self.before, w) for w in words[max(a - self.within, 0) : a]))
            and (self.after is None or any(passes(self.after, w) for w in words[b : b + self.within]))
        )

    def about(self, tokens: Sequence[Any]) -> list[int]:
        """The tokens that it is about."""
        looks = bool(self.word or self.run or self.before or self.after)
        words = [word_of(token) for token in tokens] if looks else tokens
        found: set[int] = set()
        for t, word in enumerate(words):
            ends = self.run.ends(words, t) if self.run is not None else []
            if self.word(word) if self.word is not None else self.run is None:
                ends = [t + 1, *ends]
            for end in ends:
                if self.fits(words, t, end):
                    found.update(range(t, end))
        return sorted(found)

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        if self.is_everywhere:
            return [t for t, y in enumerate(labels) if y in self.labels]
        return [t for t in self.about(tokens) if labels[t] in self.labels]

    def where(self, entries: Entries) -> np.ndarray:
        """(N,): the tokens that it is about."""
        start, end = self._spans(entries)
        fits = np.ones(len(start), bool)
        if self.place != "any":
            fits &= entries.first[start] if self.place == "first" else entries.last[end - 1]
        if self.before is not None:
            fits &= _near(entries.passes(self.before), entries.first, self.within)[start]
        if self.after is not None:
            fits &= _near(entries.passes(self.after)[::-1], entries.last[::-1], self.within)[::-1][end - 1]
        n = len(entries.first)
        steps = np.bincount(start[fits], minlength=n + 1) - np.bincount(end[fits], minlength=n + 1)
        return np.cumsum(steps[:-1]) > 0

    def _spans(self, entries: Entries) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all that passes `word` or `run`."""
        if self.word is None and self.run is None:
            single = np.arange(len(entries.first))
        else:
            single = np.flatnonzero(entries.passes(self.word)) if self.word is not None else np.zeros(0, np.int64)
        start, end = entries.runs(self.run) if self.run is not None else (single[:0], single[:0])
        return np.concatenate([single, start]), np.concatenate([single + 1, end])

    def enter(self, entries: Entries, k: int) -> None:
        having = _mask(entries, self.labels)
        if self.is_everywhere:
            entries.at_tokens(k, having)
        else:
            entries.at_tokens(k, having, self.where(entries))


@dataclass(frozen=True)
class StepEvent:
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

    def counts(self, y: str, z: str) -> bool:
        return y != z and (self.pairs is None or y in self.pairs.get(z, ()))

    def applies_to(self, tokens: Sequence[Any], t: int) -> bool:
        if self.mark is None:
            return True
        return not self.mark(word_of(tokens[t - 1])) and (self.side == "after" or not self.mark(word_of(tokens[t])))

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        steps = range(1, len(labels))
        return [t for t in steps if self.counts(labels[t - 1], labels[t]) and self.applies_to(tokens, t)]

    def enter(self, entries: Entries, k: int) -> None:
        names = entries.labels
        pairs = np.array([[self.counts(y, z) for z in names] for y in names] + [[False] * len(names)])
        if self.mark is None:
            entries.at_steps(k, pairs)
            return
        mark = entries.passes(self.mark)
        where = ~np.roll(mark, 1) & ~entries.first
        entries.at_steps(k, pairs, where & ~mark if self.side == "either" else where)


@dataclass(frozen=True)
class StartEvent:
    """A block of `label` begins."""

    local: ClassVar = True
    what: ClassVar = "the number of blocks"
    label: str

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, _, y in blocks(labels) if y == self.label]

    def enter(self, entries: Entries, k: int) -> None:
        pairs = np.array([[y != z == self.label for z in entries.labels] for y in (*entries.labels, None)])
        entries.at_steps(k, pairs)


@dataclass(frozen=True)
class OrderEvent:
    """A block begins that should have come before one that is already there: once for each such label."""

    local: ClassVar = False
    what: ClassVar = "the order of blocks"
    order: tuple[str, ...]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        starts = [(a, y) for a, _, y in blocks(labels)]
        return [
            a for first, then in combinations(self.order, 2)
            for i, (a, y) in enumerate(starts) if y == first and any(z == then for _, z in starts[:i])
        ]  # fmt: skip

    def enter(self, entries: Entries, k: int) -> None:
        for first, then in combinations(self.order, 2):
            entries.of_order(k, first, then)


@dataclass(frozen=True)
class LengthEvent:
    """A block of one of `labels` has fewer than `least` or more than `most` tokens; its place is its first token."""

    local: ClassVar = False
    what: ClassVar = "lengths of blocks"
    labels: frozenset[str]
    least: int = 0
    most: int | None = None

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        def odd(n: int) -> bool:
            return n < self.least or (self.most is not None and n > self.most)

        return [a for a, b, y in blocks(labels) if y in self.labels and odd(b - a)]

    def enter(self, entries: Entries, k: int) -> None:
        entries.of_lengths(k, _mask(entries, self.labels), self.least, self.most)


@dataclass(frozen=True)
class PlaceEvent:
    """One of the tokens at certain places, of the only sequence there is, has one of `labels`."""

    local: ClassVar = True
    what: ClassVar = "labels of tokens"
    labels: frozenset[str]
    at: tuple[int, ...]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [t for t in self.at if labels[t] in self.labels]

    def enter(self, entries: Entries, k: int) -> None:
        where = np.zeros(len(entries.first), bool)
        where[list(self.at)] = True
        entries.at_tokens(k, _mask(entries, self.labels), where)


@dataclass(frozen=True)
class FunctionEvent:
    """A user's own measure of a labelled sequence; it has no places."""

    local: ClassVar = False
    what: ClassVar = "a function"
    function: Callable[[Sequence[Any], Sequence[str]], float]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return []

    def enter(self, entries: Entries, k: int) -> None:
        raise TypeError("a function cannot be compiled")


def blocks(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """The runs of equal labels as (start, end, label)."""
    cuts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
    return [(a, b, labels[a]) for a, b in zip(cuts, [*cuts[1:], len(labels)], strict=True)]


def _mask(entries: Entries, labels: frozenset[str]) -> np.ndarray:
    return np.array([label in labels for label in entries.labels])


def _near(passes: np.ndarray, first: np.ndarray, reach: int) -> np.ndarray:
    """(N,): where one of the `reach` tokens before, of the same sequence, passes."""
    place = np.arange(len(first))
    begin = np.maximum.accumulate(np.where(first, place, 0))
    passed = np.concatenate([[0], np.cumsum(passes)])
    return np.asarray(passed[place] > passed[np.maximum(place - reach, begin)])
