"""Rules that contradict each other.

Pairs of terms are looked at only if they are about the same: the same event, the length of blocks of one label, the
order of the same two labels, steps into one label, or one token.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from math import inf
from typing import Any

from semistruct.errors import quoted
from semistruct.features.words import word_of
from semistruct.rules.base import Term
from semistruct.rules.events import LengthEvent, OrderEvent, StepEvent, TokenEvent
from semistruct.rules.occurrences import Occurrences, Place
from semistruct.rules.ruleset import Rules

Pair = tuple[int, int]
"""Two terms, by number, of which the first is the smaller."""


@dataclass(frozen=True)
class Contradiction:
    """Two rules, numbered from 0, that cannot both hold."""

    first: int
    second: int
    why: str


def contradictions(
    rules: Rules, X: Sequence[Sequence[Any]], labels: Sequence[str], where: Occurrences | None = None
) -> list[Contradiction]:
    """Pairs of rules that cannot both hold: by what they say, or because of a token in X to which both apply.

    Rules with a condition are left out.

    where  the words of X, if they are already at hand
    """
    always = [(i, rule) for i, rule in enumerate(rules) if rule.if_ is None]
    numbered = [(i, term) for i, rule in always for term in rule.terms(labels)]
    terms = [term for _, term in numbered]
    stuck = _stuck(terms, where or Occurrences(X), frozenset(labels))
    found: dict[Pair, str] = {}
    for k, m in sorted({*_suspects(terms, labels), *stuck}):
        (i, s), (j, t) = numbered[k], numbered[m]
        if i == j or (i, j) in found:
            continue
        why = _clash(s, t, labels)
        if why is None and (k, m) in stuck:
            n, place = stuck[k, m]
            why = f"no label is left for the token {quoted(word_of(X[n][place]))}"
        if why is not None:
            found[i, j] = why
    return [Contradiction(i, j, why) for (i, j), why in sorted(found.items())]


def _suspects(terms: list[Term], labels: Sequence[str]) -> Iterator[Pair]:
    """Pairs of terms that may clash by what they say; all others cannot."""
    same, lengths, orders = defaultdict[Hashable, list[int]](list), defaultdict[str, list[int]](list), _groups()
    steps: dict[str, dict[Hashable, list[int]]] = defaultdict(_groups)
    for k, term in enumerate(terms):
        same[term.event, term.per].append(k)
        match term.event:
            case LengthEvent() as event:
                for label in event.labels:
                    lengths[label].append(k)
            case OrderEvent() as event:
                for pair in combinations(event.order, 2):
                    orders[pair].append(k)
            case StepEvent(pairs=dict() as pairs):
                for z, before in pairs.items():
                    steps[z][before].append(k)
    for group in same.values():
        if max(terms[k].low for k in group) > min(terms[k].high for k in group):
            yield from combinations(group, 2)
    for group in lengths.values():
        blocks = [e for k in group if isinstance(e := terms[k].event, LengthEvent)]
        if max(e.least for e in blocks) > min(inf if e.most is None else e.most for e in blocks):
            yield from combinations(group, 2)
    for (y, z), group in orders.items():
        yield from _between(group, orders.get((z, y), []))
    for z, by_labels in steps.items():
        yield from _covering(by_labels, frozenset(labels) - {z})


def _groups() -> defaultdict[Any, list[int]]:
    return defaultdict(list)


def _between(some: list[int], others: list[int]) -> Iterator[Pair]:
    return ((min(pair), max(pair)) for pair in product(some, others) if pair[0] != pair[1])


def _covering(groups: dict[Any, list[int]], labels: frozenset[str]) -> Iterator[Pair]:
    """The pairs of terms, grouped by the labels that they forbid, that together forbid all of these."""
    for a, b in combinations_with_replacement(groups, 2):
        if a | b >= labels:
            yield from _between(groups[a], groups[b])


def _stuck(terms: list[Term], where: Occurrences, labels: frozenset[str]) -> dict[Pair, Place]:
    """The pairs of terms that forbid every label of a token, and the first such token."""
    at: dict[Place, list[int]] = defaultdict(list)
    for k, term in enumerate(terms):
        if isinstance(term.event, TokenEvent) and term.high == 0 and term.per is None:
            for place in where.of(term.event):
                at[place].append(k)
    first: dict[tuple[int, ...], Place] = {}
    for place in sorted(at):
        first.setdefault(tuple(at[place]), place)
    found: dict[Pair, Place] = {}
    for together, place in first.items():
        groups = _groups()
        for k in together:
            event = terms[k].event
            groups[event.labels if isinstance(event, TokenEvent) else frozenset()].append(k)
        for pair in _covering(groups, labels):
            found.setdefault(pair, place)
    return found


def _clash(s: Term, t: Term, labels: Sequence[str]) -> str | None:
    """Why two terms cannot both lie in their ranges, whatever the data."""
    if s.event == t.event and s.per == t.per and max(s.low, t.low) > min(s.high, t.high):
        return f"the ranges for {s.text} do not meet"
    match s.event, t.event:
        case LengthEvent() as a, LengthEvent() as b:
            most = min(inf if event.most is None else event.most for event in (a, b))
            if max(a.least, b.least) > most and (both := sorted(a.labels & b.labels)):
                return f"no block of {both[0]} can be that long and that short"
        case OrderEvent() as a, OrderEvent() as b:
            turned = {(z, y) for y, z in combinations(b.order, 2)}
            for y, z in combinations(a.order, 2):
                if (y, z) in turned:
                    return f"{y} comes before {z}, and {z} before {y}"
        case StepEvent(pairs=dict() as a), StepEvent(pairs=dict() as b):
            for z in sorted(a.keys() & b.keys()):
                if a[z] | b[z] >= set(labels) - {z} and len(labels) > 1:
                    return f"there is no label left that {z} may follow"
    return None
