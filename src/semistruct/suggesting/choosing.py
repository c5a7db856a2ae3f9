"""Suggestions: the candidates that hold, without what is said already, sorted by what they would gain."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    MaxLength,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Rule,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.files import dump_rule
from semistruct.suggesting.evidence import Evidence, Seen
from semistruct.suggesting.sayings import Sayings
from semistruct.suggesting.structure import MOSTLY, OFTEN, Candidate, made, structure
from semistruct.suggesting.suggestions import Suggestion
from semistruct.suggesting.words import vocabulary

HABITS = (AtMostOnce, ChangeOnlyOn, Order, StartsWith)
"""Rules about how such texts are built, and how people label: less evidence is enough for them."""

HABITUAL, CERTAIN, DOUBTFUL = 0.75 - 1e-9, 0.9 - 1e-9, 0.5
"""The least bound of a habit and of another rule that is suggested, and of a rule that is mentioned;
less what is lost in rounding."""

JOINED: dict[type[Rule], str] = {
    Words: "words", Pattern: "are_not", Present: "present", MinLength: "labels", MaxLength: "labels"
}  # fmt: skip
"""The entries of which rules that are otherwise the same become one."""

MENTIONED = 20
"""How many doubtful rules are mentioned at most."""


def chosen(seen: Seen, given: Rules, candidates: Iterable[Candidate] | None = None) -> list[Suggestion]:
    """Of candidates, by default all, the certain ones and then the doubtful ones, each part sorted."""
    if len(seen.labels) < 2:
        return []
    said = Sayings([*seen.X, *seen.pool], seen.labels, given)
    candidates = chain(structure(seen), vocabulary(seen)) if candidates is None else candidates
    judged = [(candidate, _evidence(seen, candidate)) for candidate in candidates]
    parts = []
    for certain in (True, False):
        kept: list[tuple[Candidate, Evidence]] = []
        for candidate, evidence in judged:
            fits = evidence.bound >= DOUBTFUL and _is_certain(candidate, evidence) == certain
            if fits and _matters(candidate.rule, evidence, seen) and not said.imply(candidate.rule):
                said.add(candidate.rule)
                kept.append((candidate, evidence))
        merged = [Suggestion(one.rule, _evidence(seen, one), certain) for one in _merged(kept)]
        parts.append(sorted(merged, key=lambda one: (-one.evidence.gain, -one.evidence.bound)))
    return parts[0] + parts[1][:MENTIONED]


def _evidence(seen: Seen, candidate: Candidate) -> Evidence:
    return seen.evidence(candidate.rule, candidate.surprises, candidate.weakest)


def _is_certain(candidate: Candidate, evidence: Evidence) -> bool:
    rule = candidate.rule
    habit = isinstance(rule, HABITS) or (isinstance(rule, MinLength) and rule.labels is None)
    enough = evidence.bound >= (HABITUAL if habit else CERTAIN)
    return enough and evidence.share >= MOSTLY and min(evidence.sequences, candidate.weakest or OFTEN) >= OFTEN


def _matters(rule: Rule, evidence: Evidence, seen: Seen) -> bool:
    """Whether it is worth a line: of the kinds of which there are many, only what the model does not yet obey."""
    many = isinstance(rule, Words | Pattern | MinLength | MaxLength | NeverFollows)
    return not seen.pool or evidence.broken > 0 or not many


def _merged(judged: list[tuple[Candidate, Evidence]]) -> list[Candidate]:
    """Rules that say the same of several words or labels become one, which is as certain as the weakest of them."""
    groups: dict[str, list[tuple[Candidate, Evidence]]] = {}
    for one, evidence in judged:
        joined = JOINED.get(type(one.rule))
        rest = {key: value for key, value in dump_rule(one.rule).items() if key != joined}
        groups.setdefault(f"{one.rule.key} {rest}" if joined else str(id(one)), []).append((one, evidence))
    return [_joined(group) if len(group) > 1 else group[0][0] for group in groups.values()]


def _joined(group: list[tuple[Candidate, Evidence]]) -> Candidate:
    surprises, weakest = sum(one.surprises for one, _ in group), min(evidence.sequences for _, evidence in group)
    return Candidate(_union([one.rule for one, _ in group]), surprises, weakest)


def _union(rules: list[Rule]) -> Rule:
    joined = JOINED[type(rules[0])]
    values = [value for rule in rules for value in getattr(rule, joined) or ()]
    if not values:
        return rules[0]
    return made(**{**dump_rule(rules[0]), joined: values})
