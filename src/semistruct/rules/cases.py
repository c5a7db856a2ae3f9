"""The cases of a rule in labelled sequences, and those that do not obey.

The cases are the words that a rule is about, the changes of the label, the blocks, or else whole sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isfinite
from operator import itemgetter
from typing import Any

from semistruct.rules.base import Rule, Term
from semistruct.rules.conditions import InText
from semistruct.rules.edge_events import EdgeEvent, StayEvent
from semistruct.rules.events import Event, LengthEvent, StepEvent, TokenEvent, blocks
from semistruct.rules.occurrences import Occurrences
from semistruct.rules.ruleset import value
from semistruct.rules.vocabulary.amounts import Count, Proportion
from semistruct.rules.vocabulary.order import Order
from semistruct.rules.votes import VoteEvent


@dataclass(frozen=True)
class Labelled:
    """A sequence and its number."""

    number: int
    tokens: Sequence[Any]
    labels: list[Any]

    @property
    def where(self) -> str:
        return f"sequence {self.number}"


@dataclass(frozen=True)
class Cases:
    """The cases of a rule in one sequence: how many, the places of those that do not obey, and how bad that is.

    A place is None if it is the sequence as a whole.
    """

    n: int = 0
    broken: Sequence[int | None] = ()
    badness: float = 0.0


class CaseCounter:
    """Counts the cases of rules in those of the sequences X, labelled y, that are fully labelled: `data`."""

    def __init__(self, X: Sequence[Any], y: Sequence[Sequence[str | None] | None]) -> None:
        rows = [[] if row is None else list(row) for row in y]
        pairs = enumerate(zip(X, rows, strict=True))
        self.data = [Labelled(i, x, row) for i, (x, row) in pairs if row and None not in row]

    @cached_property
    def where(self) -> Occurrences:
        return Occurrences([example.tokens for example in self.data])

    def of(self, rule: Rule, labels: Sequence[str]) -> dict[int, Cases]:
        """By the place in `data` of the sequences that have some; labels are all labels."""
        terms = rule.terms(labels)
        return _cases(rule, terms, self.data, self.where) if terms else {}


def count(cases: dict[int, Cases]) -> tuple[int, int]:
    """(how many cases there are, how many obey)."""
    applies = sum(case.n for case in cases.values())
    return applies, applies - sum(len(case.broken) for case in cases.values())


def _cases(rule: Rule, terms: list[Term], data: list[Labelled], where: Occurrences) -> dict[int, Cases]:
    """The cases of a rule, by the place in the data of the sequences that have some."""
    first = terms[0].event
    event, text = (first.event, first.text) if isinstance(first, InText) else (first, None)

    def holds(example: Labelled) -> bool:
        in_text = text is None or text(example.tokens)
        return in_text and (rule.level == "corpus" or terms[0].matters(example.tokens, example.labels))

    if not isinstance(event, TokenEvent) or isinstance(rule, Proportion | Count):
        return {
            i: case for i, example in enumerate(data)
            if (rule.if_ is None or holds(example)) and (case := _case(rule, terms, example)).n
        }  # fmt: skip
    # A share of words counts those that obey, all others count those that do not.
    obeys, found = isinstance(terms[0].per, TokenEvent), {}
    for i, places in groupby(where.of(event), key=itemgetter(0)):
        if rule.if_ is not None and not holds(data[i]):
            continue
        tokens, labels = [t for _, t in places], data[i].labels
        wrong = [t for t in tokens if (labels[t] in event.labels) != obeys]
        found[i] = Cases(len(tokens), wrong, len(wrong))
    return found


def _case(rule: Rule, terms: list[Term], example: Labelled) -> Cases:
    """The cases of a rule that is not about single tokens in one sequence."""
    tokens, labels = example.tokens, example.labels
    places = None if isinstance(rule, Proportion | Count) else _possible(terms[0].event, tokens, labels)
    if places is not None:
        wrong = sorted(set(terms[0].event.places(tokens, labels)))
        return Cases(len(places), wrong, len(wrong))
    if rule.level == "corpus" or (isinstance(rule, Order) and len(set(rule.order) & set(labels)) < 2):
        return Cases()
    far = [term.distance(value(rule, term, tokens, labels, example.where)) for term in terms]
    broken = [_place(term, tokens, labels) for term, distance in zip(terms, far, strict=True) if distance > 0]
    return Cases(1, broken[:1], sum(far))


def _possible(event: Event, tokens: Sequence[Any], labels: list[str]) -> list[int] | None:
    """The places where the event could happen, for events that happen at a place or not."""
    match event.event if isinstance(event, InText) else event:
        case StepEvent() as event:
            into = set(labels) if event.pairs is None else set(event.pairs)
            return [a for a, _, z in blocks(labels) if a > 0 and z in into]
        case LengthEvent() as event:
            return [a for a, _, z in blocks(labels) if z in event.labels]
        case StayEvent() | EdgeEvent() | VoteEvent() as event:
            return event.possible(tokens, labels)
    return None


def _place(term: Term, tokens: Sequence[Any], labels: list[str]) -> int | None:
    """The first place that is too many, if there is one."""
    places = sorted(term.event.places(tokens, labels))
    allowed = int(term.high) if isfinite(term.high) and term.per is None else len(places)
    return places[allowed] if allowed < len(places) else None
