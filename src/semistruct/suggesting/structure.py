"""Candidates about whole sequences and blocks: ends, numbers, order, steps and lengths.

What a rule allows is what was seen.  Cases that were seen in one sequence only are counted as surprises: another
sequence may bring another one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from math import ceil
from typing import Any

from semistruct.rules import ChangeOnlyOn, Rule
from semistruct.rules.events import OrderEvent, blocks
from semistruct.rules.files import rule_name
from semistruct.rules.vocabulary import VOCABULARY
from semistruct.suggesting.evidence import Labelled, Seen

MOSTLY = 0.95
"""The share of cases that must obey for a rule to be proposed."""

ENDS, BEFORE = 3, 3
"""How many labels a rule about ends, or about what comes before, may list."""

EXPECTED = 2.0
"""How often two labels should have been neighbours by chance for their absence to mean something."""

OFTEN = 4
"""How many sequences must show a regularity for it to be certain."""

ROOM = 1.5
"""The limits of lengths lie beyond what was seen by this factor."""

MARKS: tuple[dict[str, Any], ...] = (
    {"change_only_on": ["newline"]},
    {"change_only_on": ["punctuation"]},
    {"change_only_on": ["newline", "punctuation"]},
    {"change_only_on": ["punctuation"], "side": "either"},
    {"change_only_on": ["newline", "punctuation"], "side": "either"},
    {"change_only_on": [r".*\W"]},
)
"""Where labels may change, the narrowest first; the last is for words that carry their punctuation."""


Pair = tuple[str, str]


@dataclass(frozen=True)
class Candidate:
    """A rule, and what its evidence has to make allowance for (`Seen.evidence`)."""

    rule: Rule
    surprises: int = 0
    weakest: int | None = None


def made(**entries: Any) -> Rule:
    """The rule with these entries, as in a rules file."""
    return VOCABULARY[rule_name(entries)](**entries)


def structure(seen: Seen) -> Iterator[Candidate]:
    """Candidates of all kinds but words, those first that others may follow from."""
    y = seen.y
    yield from _ends(y)
    yield from _numbers(y)
    yield from _orders(y)
    yield from _changes(seen)
    yield from _steps(y)
    yield from _lengths(y)


def _ends(y: Labelled) -> Iterator[Candidate]:
    for kind, at in (("starts_with", 0), ("ends_with", -1)):
        seen = Counter(row[at] for row in y)
        labels = sorted(seen, key=lambda label: (-seen[label], label))
        if len(labels) <= ENDS:
            yield Candidate(made(**{kind: labels}), _singles(seen))


def _singles(seen: Counter[str]) -> int:
    return sum(n == 1 for n in seen.values())


def _numbers(y: Labelled) -> Iterator[Candidate]:
    """One rule for all labels that are one block, as that is a habit; and the labels that are always there."""
    having = Counter(label for row in y for label in set(row))
    split = Counter(label for row in y for label, n in Counter(z for _, _, z in blocks(row)).items() if n > 1)
    once = [label for label in sorted(having) if split[label] <= (1 - MOSTLY) * having[label]]
    if len(once) == len(having):
        yield Candidate(made(at_most_once="all"))
    elif once:
        yield Candidate(made(at_most_once=once))
    yield from (Candidate(made(present=label)) for label in sorted(having) if having[label] >= MOSTLY * len(y))


def _orders(y: Labelled) -> Iterator[Candidate]:
    """Chains of labels of which any two are often seen together, in this order: first chains of which much was seen."""
    having = Counter(label for row in y for label in set(row))
    together, wrong = Counter[Pair](), Counter[Pair]()
    for row in y:
        for pair in permutations(set(row), 2):
            together[pair] += 1
            wrong[pair] += bool(OrderEvent(pair).places(row, row))
    frequent = sorted(having, key=lambda label: (-having[label], label))
    for least in (OFTEN, 2):
        obeying = {
            pair for pair, n in together.items()
            if n >= least and wrong[pair] <= (1 - MOSTLY) * n and wrong[pair] < wrong[pair[::-1]]
        }  # fmt: skip
        for chain in _chains(frequent, obeying):
            yield Candidate(made(order=chain), weakest=min(together[pair] for pair in combinations(chain, 2)))


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


def _changes(seen: Seen) -> Iterator[Candidate]:
    """Where labels change; line breaks or punctuation alone only if both together have no fewer exceptions."""
    rules = [rule for marks in MARKS if isinstance(rule := made(**marks), ChangeOnlyOn)]
    exceptions = [sum(len(one.broken) for one in seen.in_labelled.of(rule, seen.labels).values()) for rule in rules]
    for rule, n in zip(rules, exceptions, strict=True):
        wider = [m for other, m in zip(rules, exceptions, strict=True) if _is_wider(other, rule)]
        if n <= min(wider, default=n):
            yield Candidate(rule)


def _is_wider(other: ChangeOnlyOn, rule: ChangeOnlyOn) -> bool:
    return set(other.change_only_on) > set(rule.change_only_on) and other.side == rule.side


def _steps(y: Labelled) -> Iterator[Candidate]:
    """For each label, which labels come right before it, and which do not though chance would have it."""
    before: dict[str, Counter[str]] = defaultdict(Counter)
    for row in y:
        runs = [z for _, _, z in blocks(row)]
        for first, then in pairwise(runs):
            before[then][first] += 1
    left = sum(before.values(), Counter[str]())
    total = left.total()
    for z in sorted(before):
        seen, n = before[z], before[z].total()
        ranked = sorted(seen, key=lambda label: (-seen[label], label))
        if len(ranked) <= BEFORE:
            yield Candidate(made(follows={z: ranked}), _singles(seen))
        never = [label for label in sorted(left) if label not in (z, *seen) and left[label] * n >= EXPECTED * total]
        if never:
            yield Candidate(made(never_follows={z: never}))


def _lengths(y: Labelled) -> Iterator[Candidate]:
    """Limits with some room beyond what was seen; the most extreme block is a surprise."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for row in y:
        for a, b, z in blocks(row):
            lengths[z].append(b - a)
    shortest = {z: min(found) for z, found in lengths.items()}
    if min(shortest.values()) > 1:
        yield Candidate(made(min_length=_shorter(min(shortest.values()))), 1)
    for z in sorted(lengths):
        if shortest[z] > 1:
            yield Candidate(made(min_length=_shorter(shortest[z]), labels=[z]), 1)
        yield Candidate(made(max_length=min(ceil(max(lengths[z]) * ROOM), 10_000), labels=[z]), 1)


def _shorter(length: int) -> int:
    return min(max(int(length / ROOM), 2), 10_000)
