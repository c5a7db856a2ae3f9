"""Rules that contradict each other.

Pairs of terms are looked at only if they are about the same: the same event, a subject that two events share, or one
token.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from semistruct.base.errors import quoted
from semistruct.features.words import word_of
from semistruct.rules.events import Term
from semistruct.rules.ruleset import Rules
from semistruct.rules.words import Texts

Pair = tuple[int, int]
"""Two terms, by number, of which the first is the smaller."""


@dataclass(frozen=True)
class Contradiction:
    """Two rules, numbered from 0, that cannot both hold."""

    first: int
    second: int
    why: str


def contradictions(
    rules: Rules, X: Sequence[Sequence[Any]], labels: Sequence[str], texts: Texts | None = None
) -> list[Contradiction]:
    """Pairs of rules that cannot both hold: by what they say, or because of a token in X to which both apply.

    Rules with a condition are left out.

    texts  the words of X, if they are already at hand
    """
    always = [(i, rule) for i, rule in enumerate(rules) if rule.if_ is None]
    numbered = [(i, term) for i, rule in always for term in rule.terms(labels)]
    terms = [term for _, term in numbered]
    stuck = _stuck(terms, texts or Texts(X), frozenset(labels))
    found: dict[Pair, str] = {}
    for k, m in sorted({*_suspects(terms), *stuck}):
        (i, s), (j, t) = numbered[k], numbered[m]
        if i == j or (i, j) in found:
            continue
        why = clash(s, t, labels)
        if why is None and (k, m) in stuck:
            n, place = stuck[k, m]
            why = f"no label is left for the token {quoted(word_of(X[n][place]))}"
        if why is not None:
            found[i, j] = why
    return [Contradiction(i, j, why) for (i, j), why in sorted(found.items())]


def clash(s: Term, t: Term, labels: Sequence[str]) -> str | None:
    """Why two terms cannot both lie in their ranges, whatever the data."""
    if s.event == t.event and s.per == t.per and max(s.low, t.low) > min(s.high, t.high):
        return f"the ranges for {s.text} do not meet"
    return s.event.clash(t.event, labels) if type(s.event) is type(t.event) else None


def _suspects(terms: list[Term]) -> set[Pair]:
    """Pairs of terms that may clash by what they say; all others cannot."""
    about: dict[Hashable, list[int]] = defaultdict(list)
    for k, term in enumerate(terms):
        for subject in ((term.event, term.per), *term.event.subjects()):
            about[subject].append(k)
    return {pair for group in about.values() for pair in combinations(group, 2)}


def _stuck(terms: list[Term], texts: Texts, labels: frozenset[str]) -> dict[Pair, tuple[int, int]]:
    """The pairs of terms that forbid every label of a token, and the first such token: its sequence and its place."""
    at: dict[int, list[int]] = defaultdict(list)
    forbidden: dict[int, frozenset[str]] = {}
    for k, term in enumerate(terms):
        if term.high == 0 and term.per is None and term.event.having is not None:
            forbidden[k], tokens = term.event.having, term.event.tokens(texts)
            for token in () if tokens is None else tokens.tolist():
                at[token].append(k)
    first: dict[tuple[int, ...], int] = {}
    for token in sorted(at):
        first.setdefault(tuple(at[token]), token)
    found: dict[Pair, tuple[int, int]] = {}
    for together, token in first.items():
        for k, m in combinations(together, 2):
            if (k, m) not in found and forbidden[k] | forbidden[m] >= labels:
                found[k, m] = texts.spots(np.array([token]))[0]
    return found
