"""Rules about the blocks of labels: how many there are, how long, and in which order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import ceil, inf
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from semistruct.rules.base import Candidate, Rule, Suggesting
from semistruct.rules.building import Builder
from semistruct.rules.events import Event, Fact, Term, blocks
from semistruct.rules.evidence import MOSTLY, OFTEN, Examples, ranked
from semistruct.rules.values import Labels, LabelSet, labels_text, members, named
from semistruct.rules.words import Texts

Pair = tuple[str, str]
LONGEST = 10_000  # limit of a length
ROOM = 1.5  # the limits of lengths that are suggested lie beyond what was seen by this factor


@dataclass(frozen=True)
class StartEvent(Event):
    """A block of `label` begins."""

    local: ClassVar = True
    what: ClassVar = "the number of blocks"
    label: str

    @property
    def blocks_of(self) -> str:  # type: ignore[override]
        return self.label

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, _, y in blocks(labels) if y == self.label]

    def enter(self, builder: Builder, k: int) -> None:
        builder.at_steps(k, builder.pairs(lambda y, z: y != z == self.label))

    @property
    def has_indicators(self) -> bool:
        return False

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact]:
        if low > 0:
            yield ("fewest", self.label), low
        if high < inf:
            yield ("most", self.label), -high


@dataclass(frozen=True)
class OrderEvent(Event):
    """A block begins that should have come before one that is already there: once for each such label."""

    what: ClassVar = "the order of blocks"
    order: tuple[str, ...]

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        starts = [(a, y) for a, _, y in blocks(labels)]
        return [
            a for first, then in combinations(self.order, 2)
            for i, (a, y) in enumerate(starts) if y == first and any(z == then for _, z in starts[:i])
        ]  # fmt: skip

    def enter(self, builder: Builder, k: int) -> None:
        for first, then in combinations(self.order, 2):
            builder.at_starts_after(k, first, then)

    def subjects(self) -> Iterator[Hashable]:
        return (frozenset(pair) for pair in combinations(self.order, 2))

    def clash(self, other: OrderEvent, labels: Sequence[str]) -> str | None:
        turned = {(z, y) for y, z in combinations(other.order, 2)}
        both = [pair for pair in combinations(self.order, 2) if pair in turned]
        return f"{both[0][0]} comes before {both[0][1]}, and {both[0][1]} before {both[0][0]}" if both else None

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact]:
        for first, then in combinations(self.order, 2):
            yield ("order", then), frozenset([first])
            yield ("after", first), frozenset([then])  # it never comes right after, either


@dataclass(frozen=True)
class LengthEvent(Event):
    """A block of one of `labels` has fewer than `least` or more than `most` tokens; its place is its first token."""

    at_blocks: ClassVar = True
    what: ClassVar = "lengths of blocks"
    labels: frozenset[str]
    least: int = 0
    most: int | None = None

    @property
    def longest(self) -> float:
        return inf if self.most is None else self.most

    def places(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, b, y in blocks(labels) if y in self.labels and not self.least <= b - a <= self.longest]

    def enter(self, builder: Builder, k: int) -> None:
        builder.at_lengths(k, builder.mask(self.labels), self.least, self.most)

    def possible(self, tokens: Sequence[Any], labels: Sequence[str]) -> list[int]:
        return [a for a, _, z in blocks(labels) if z in self.labels]

    def subjects(self) -> Iterator[Hashable]:
        return (("length", label) for label in self.labels)

    def clash(self, other: LengthEvent, labels: Sequence[str]) -> str | None:
        both = sorted(self.labels & other.labels)
        if both and max(self.least, other.least) > min(self.longest, other.longest):
            return f"no block of {both[0]} can be that long and that short"
        return None

    def facts(self, low: float, high: float, texts: Texts, labels: Sequence[str]) -> Iterator[Fact]:
        for label in self.labels:
            if self.least > 1:
                yield ("shortest", label), self.least
            if self.most is not None:
                yield ("longest", label), -self.most


class AtMostOnce(Rule):
    """Each of these labels ("all" for every one) is one contiguous block, if it occurs.

    counting  "blocks": every further block of a label counts; "labels": every label with further blocks counts once
    """

    key: ClassVar = "at_most_once"
    suggesting: ClassVar = Suggesting(habit=True, safe=True, turn=3)
    at_most_once: Literal["all"] | LabelSet = "all"
    counting: Literal["blocks", "labels"] = "blocks"

    @property
    def says(self) -> str:
        return f"{'each label' if self.at_most_once == 'all' else labels_text(self.at_most_once, 'and')} at most once"

    def mentioned(self) -> set[str]:
        return set() if self.at_most_once == "all" else named(self.at_most_once)

    def is_shown_by(self, labels: Sequence[str]) -> bool:
        return self.at_most_once == "all" or not self.mentioned().isdisjoint(labels)

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = members(labels if self.at_most_once == "all" else self.at_most_once, labels)
        joint = self.counting == "labels"
        return [Term(f"blocks of {label}", StartEvent(label), high=1, joint=joint) for label in which]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """One rule for all labels that are one block, as that is a habit."""
        y, having = examples.y, examples.having
        split = Counter(label for row in y for label, n in Counter(z for _, _, z in blocks(row)).items() if n > 1)
        once = [label for label in sorted(having) if split[label] <= (1 - MOSTLY) * having[label]]
        if once:
            yield Candidate(cls.made("all" if len(once) == len(having) else once))


class ExactlyOnce(Rule):
    """Each of these labels occurs as one contiguous block."""

    key: ClassVar = "exactly_once"
    exactly_once: LabelSet

    @property
    def says(self) -> str:
        return f"{labels_text(self.exactly_once, 'and')} exactly once"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        which = members(self.exactly_once, labels)
        return [Term(f"blocks of {label}", StartEvent(label), 1, 1) for label in which]


class Present(Rule):
    """Each of these labels occurs."""

    key: ClassVar = "present"
    suggesting: ClassVar = Suggesting(safe=True, joined="present", turn=4)
    present: LabelSet

    @property
    def says(self) -> str:
        return f"{labels_text(self.present, 'and')} present"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(f"blocks of {label}", StartEvent(label), low=1) for label in members(self.present, labels)]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        having, n = examples.having, len(examples.y)
        return (Candidate(cls.made(label)) for label in sorted(having) if having[label] >= MOSTLY * n)


class _Length(Rule):
    """What rules about lengths share; the value is the limit."""

    labels: LabelSet | None = None

    def mentioned(self) -> set[str]:
        return named(self.labels)

    def _term(self, labels: Sequence[str], least: int = 0, most: int | None = None) -> list[Term]:
        which = members(labels if self.labels is None else self.labels, labels)
        return [Term(self.says, LengthEvent(frozenset(which), least, most), high=0)] if which else []

    @property
    def _blocks(self) -> str:
        return "blocks" if self.labels is None else f"blocks of {labels_text(self.labels)}"


class MinLength(_Length):
    """Blocks have at least this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "min_length"
    suggesting: ClassVar = Suggesting(safe=True, numerous=True, joined="labels", turn=8)
    min_length: Annotated[int, Field(ge=1, le=LONGEST)]

    @property
    def says(self) -> str:
        return f"{self._blocks} have at least {self.min_length} tokens"

    @property
    def is_habit(self) -> bool:
        return self.labels is None

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return self._term(labels, least=self.min_length)

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """Limits of both kinds, with some room beyond what was seen; the most extreme block is a surprise."""
        lengths: dict[str, list[int]] = defaultdict(list)
        for row in examples.y:
            for a, b, z in blocks(row):
                lengths[z].append(b - a)
        shortest = {z: min(found) for z, found in lengths.items()}
        if min(shortest.values()) > 1:
            yield Candidate(cls.made(_shorter(min(shortest.values()))), 1)
        for z in sorted(lengths):
            if shortest[z] > 1:
                yield Candidate(cls.made(_shorter(shortest[z]), labels=[z]), 1)
            yield Candidate(MaxLength.made(min(ceil(max(lengths[z]) * ROOM), LONGEST), labels=[z]), 1)


def _shorter(length: int) -> int:
    return min(max(int(length / ROOM), 2), LONGEST)


class MaxLength(_Length):
    """Blocks have at most this many tokens; `labels` restricts the rule to some labels."""

    key: ClassVar = "max_length"
    suggesting: ClassVar = Suggesting(numerous=True, joined="labels")
    max_length: Annotated[int, Field(ge=1, le=LONGEST)]

    @property
    def says(self) -> str:
        return f"{self._blocks} have at most {self.max_length} tokens"

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return self._term(labels, most=self.max_length)


class Order(Rule):
    """Where several of these labels occur, they come in this order."""

    key: ClassVar = "order"
    suggesting: ClassVar = Suggesting(habit=True, turn=5)
    order: Annotated[Labels, Field(min_length=2)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.order)) < len(self.order):
            raise ValueError("a label is named twice")
        return self

    @property
    def says(self) -> str:
        return f"order {', '.join(self.order)}"

    def concerns(self, labels: Sequence[str]) -> bool:
        return len(set(self.order) & set(labels)) > 1

    def terms(self, labels: Sequence[str]) -> list[Term]:
        return [Term(self.says, OrderEvent(self.order), high=0)]

    @classmethod
    def candidates(cls, examples: Examples) -> Iterator[Candidate]:
        """Chains of labels of which any two are often seen together, in this order: first those seen much."""
        together, wrong = Counter[Pair](), Counter[Pair]()
        for row in examples.y:
            for pair in permutations(set(row), 2):
                together[pair] += 1
                wrong[pair] += bool(OrderEvent(pair).places(row, row))
        for least in (OFTEN, 2):
            obeying = {
                pair for pair, n in together.items()
                if n >= least and wrong[pair] <= (1 - MOSTLY) * n and wrong[pair] < wrong[pair[::-1]]
            }  # fmt: skip
            for chain in _chains(ranked(examples.having), obeying):
                yield Candidate(cls.made(chain), weakest=min(together[pair] for pair in combinations(chain, 2)))


def _chains(labels: list[str], obeying: set[Pair]) -> Iterator[list[str]]:
    """Chains of which all pairs are among these, each with a pair that no earlier chain has."""
    told: set[Pair] = set()
    for start in permutations(labels, 2):
        if start not in obeying - told:
            continue
        chain = list(start)
        for label in labels:
            place = sum((other, label) in obeying for other in chain)
            longer = [*chain[:place], label, *chain[place:]]
            if label not in chain and obeying.issuperset(combinations(longer, 2)):
                chain = longer
        told |= set(combinations(chain, 2))
        yield chain
