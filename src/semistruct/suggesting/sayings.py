"""What rules say, in a form that can be compared: does a rule say anything that others do not?

Rules about words are compared by what they forbid at the tokens of given sequences, so that a word can be covered by a
pattern, and by a word in another case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import inf
from typing import Any

from semistruct.rules import Rule
from semistruct.rules.base import Term
from semistruct.rules.events import LengthEvent, OrderEvent, StartEvent, StepEvent, TokenEvent
from semistruct.rules.occurrences import Occurrences, Place


class Sayings:
    """What has been said about sequences X; corpus rules and functions are not looked at."""

    def __init__(self, X: Sequence[Any], labels: Sequence[str], rules: Iterable[Rule] = ()) -> None:
        self.X, self.labels, self.where = X, tuple(labels), Occurrences(X)
        self._steps: dict[StepEvent, frozenset[Place]] = {}
        self.not_here: dict[Place, set[str]] = defaultdict(set)  # labels that a token must not have
        self.not_after: set[tuple[str, str]] = set()  # pairs (y, z): z never right after y
        self.no_change: set[Place] = set()  # tokens whose label is that of the token before
        self.order: set[tuple[str, str]] = set()  # pairs (y, z): no y after z
        self.most: dict[str, float] = defaultdict(lambda: inf)  # blocks
        self.least: dict[str, float] = defaultdict(float)
        self.longest: dict[str, float] = defaultdict(lambda: inf)  # tokens in a block
        self.shortest: dict[str, float] = defaultdict(lambda: 1.0)
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> None:
        """Note what a rule says, unless it says it only under a condition."""
        for term in rule.terms(self.labels) if rule.level == "instance" and rule.if_ is None else ():
            if term.per is not None:
                continue
            match term.event:
                case TokenEvent() as event if term.high == 0:
                    for place in self.where.of(event):
                        self.not_here[place] |= event.labels
                case StepEvent() as event if term.high == 0:
                    if event.mark is None:
                        self.not_after |= self._pairs(event)
                    elif event.pairs is None:
                        self.no_change |= self._away(event)
                case OrderEvent() as event if term.high == 0:
                    self.order |= set(combinations(event.order, 2))
                case StartEvent() as event:
                    self.most[event.label] = min(self.most[event.label], term.high)
                    self.least[event.label] = max(self.least[event.label], term.low)
                case LengthEvent() as event if term.high == 0:
                    for label in event.labels:
                        self.shortest[label] = max(self.shortest[label], event.least)
                        self.longest[label] = min(self.longest[label], inf if event.most is None else event.most)

    def imply(self, rule: Rule) -> bool:
        """Whether whatever obeys what was said obeys the rule too, at least in X."""
        return rule.level == "instance" and all(map(self._implies, rule.terms(self.labels)))

    def _implies(self, term: Term) -> bool:
        if term.per is not None or not (isinstance(term.event, StartEvent) or term.low <= 0 == term.high):
            return False
        match term.event:
            case TokenEvent() as event:
                return all(event.labels <= self.not_here.get(place, set()) for place in self.where.of(event))
            case StepEvent(mark=None) as event:
                # A block of z right after one of y breaks the order z, y.
                return all((y, z) in self.not_after or (z, y) in self.order for y, z in self._pairs(event))
            case StepEvent() as event:
                return self._away(event) <= self.no_change
            case OrderEvent() as event:
                return set(combinations(event.order, 2)) <= self.order
            case StartEvent(label=label):
                return self.most[label] <= term.high and self.least[label] >= term.low
            case LengthEvent() as event:
                most = inf if event.most is None else event.most
                return all(self.shortest[z] >= event.least and self.longest[z] <= most for z in event.labels)
        return False

    def _pairs(self, event: StepEvent) -> set[tuple[str, str]]:
        return {(y, z) for y in self.labels for z in self.labels if event.counts(y, z)}

    def _away(self, event: StepEvent) -> frozenset[Place]:
        """The tokens at which the label must not change, by the marks around them."""
        if event not in self._steps:
            self._steps[event] = frozenset(
                (i, t) for i, x in enumerate(self.X) for t in range(1, len(x)) if event.applies_to(x, t)
            )
        return self._steps[event]
