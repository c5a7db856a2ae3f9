"""What rules count: events in a labelled sequence, each defined here in plain Python.

An event has a place, the position of the token where it happens.  `tables` turns the same definitions into arrays
for the kernels; that both agree is tested on random corpora.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Protocol

from semistruct.features.words import word_of
from semistruct.rules.words import WordTest


class Event(Protocol):
    """Something that happens at places of a labelled sequence."""

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True)
class TokenEvent:
    """A token that is spoken of has one of `labels`.

    Spoken of are the words that pass `word`, with neighbours that pass `before` and `after`, at `place`; a missing
    test passes everything.
    """

    labels: frozenset[str]
    word: WordTest | None = None
    before: WordTest | None = None
    after: WordTest | None = None
    place: Literal["any", "first", "last"] = "any"

    def speaks_of(self, tokens: Sequence[Any], t: int) -> bool:
        last = len(tokens) - 1
        return (
            (self.place == "any" or t == (0 if self.place == "first" else last))
            and (self.word is None or self.word(word_of(tokens[t])))
            and (self.before is None or (t > 0 and self.before(word_of(tokens[t - 1]))))
            and (self.after is None or (t < last and self.after(word_of(tokens[t + 1]))))
        )

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [t for t, y in enumerate(labels) if y in self.labels and self.speaks_of(tokens, t)]


@dataclass(frozen=True)
class StepEvent:
    """The label changes from y to z, for any y and z or for those with y in pairs[z].

    mark  only changes away from marks count: the token before is no mark (nor the token itself, if side is "either")
    """

    pairs: Mapping[str, frozenset[str]] | None = None
    mark: WordTest | None = None
    side: Literal["after", "either"] = "after"

    def counts(self, y: str, z: str) -> bool:
        return y != z and (self.pairs is None or y in self.pairs.get(z, ()))

    def speaks_of(self, tokens: Sequence[Any], t: int) -> bool:
        if self.mark is None:
            return True
        return not self.mark(word_of(tokens[t - 1])) and (self.side == "after" or not self.mark(word_of(tokens[t])))

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        steps = range(1, len(labels))
        return [t for t in steps if self.counts(labels[t - 1], labels[t]) and self.speaks_of(tokens, t)]


@dataclass(frozen=True)
class StartEvent:
    """A block of `label` begins."""

    label: str

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, _, y in blocks(labels) if y == self.label]


@dataclass(frozen=True)
class OrderEvent:
    """A block begins that should have come before one that is already there: once for each such label."""

    order: tuple[str, ...]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        starts = [(a, y) for a, _, y in blocks(labels)]
        return [
            a for first, then in combinations(self.order, 2)
            for i, (a, y) in enumerate(starts) if y == first and any(z == then for _, z in starts[:i])
        ]  # fmt: skip


@dataclass(frozen=True)
class LengthEvent:
    """A block of one of `labels` has fewer than `least` or more than `most` tokens; its place is its first token."""

    labels: frozenset[str]
    least: int = 0
    most: int | None = None

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        def odd(n: int) -> bool:
            return n < self.least or (self.most is not None and n > self.most)

        return [a for a, b, y in blocks(labels) if y in self.labels and odd(b - a)]


@dataclass(frozen=True)
class FunctionEvent:
    """A user's own measure of a labelled sequence; it has no places."""

    function: Callable[[Sequence[Any], Sequence[str]], float]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return []


def blocks(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """The runs of equal labels as (start, end, label)."""
    cuts = [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]
    return [(a, b, labels[a]) for a, b in zip(cuts, [*cuts[1:], len(labels)], strict=True)]
