"""Suggestions: the candidates that hold, without what is said already, sorted by what they would gain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import inf
from typing import Any

import yaml

from semistruct.rules.base import Candidate, Rule
from semistruct.rules.events import Fact
from semistruct.rules.evidence import MOSTLY, OFTEN, Evidence, Examples
from semistruct.rules.files import dump_rule
from semistruct.rules.ruleset import Rules
from semistruct.rules.vocabulary import VOCABULARY
from semistruct.rules.words import Texts

HABITUAL, CERTAIN, DOUBTFUL = 0.75 - 1e-9, 0.9 - 1e-9, 0.5
"""The least bound of a habit and of another rule that is suggested, and of a rule that is mentioned;
less what is lost in rounding."""

MENTIONED = 20
"""How many doubtful rules are mentioned at most."""


@dataclass(frozen=True)
class Suggestion:
    """A rule and what speaks for it; a doubtful one is only mentioned."""

    rule: Rule
    evidence: Evidence
    certain: bool

    def lines(self) -> list[str]:
        """The rule as lines of a rules file; a list of one is that one, but a label called `all` is not all labels."""
        entries = {
            key: value[0] if isinstance(value, list) and len(value) == 1 and value != ["all"] else value
            for key, value in dump_rule(self.rule).items()
        }
        return [f"{'  ' if i else '- '}{key}: {_flow(value)}" for i, (key, value) in enumerate(entries.items())]

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.rule.text, "rule": dump_rule(self.rule), "certain": self.certain, **asdict(self.evidence)}


@dataclass(frozen=True)
class Suggestions:
    """Rules that labelled data and a model suggest, those first that would change most; doubtful ones at the end.

    labels   all labels
    n, pool  the number of labelled sequences, and of those in the pool
    trained  whether the model was trained on the labelled sequences, as none was given
    """

    found: list[Suggestion]
    labels: tuple[str, ...]
    n: int
    pool: int
    trained: bool

    @property
    def rules(self) -> Rules:
        """The rules that are certain."""
        return Rules([one.rule for one in self.found if one.certain], self.labels)

    def to_yaml(self) -> str:
        """A rules file, in which doubtful rules are comments."""
        lines = [*self._head(), "", f"labels: {_flow(list(self.labels))}", ""]
        lines.append("rules:" if len(self.rules) else "rules: []    # without the brackets if you add a rule")
        for certain, some in groupby(self.found, key=lambda one: one.certain):
            lines += [] if certain else ["", "  # Doubtful: true of what was labelled, but that is too little to tell."]
            mark = "" if certain else "# "
            for one in some:
                lines += ["", f"  # {one.evidence.text}", *(f"  {mark}{line}" for line in one.lines())]
        return "\n".join(lines) + "\n"

    def _head(self) -> list[str]:
        model = "a model trained on them" if self.trained else "the given model"
        pool = f", and by what {model} sees in a pool of {self.pool}" if self.pool else ""
        lines = [
            f"# Rules suggested by {self.n} labelled sequences{pool}.",
            "# Behind `holds`: labelled cases that obey, of all cases; and the share that can be relied on.",
            "# Behind `pool`: sequences with cases, those that break the rule as the model labels them, and how",
            "# many of these the rule would probably put right, which is what the rules are sorted by.",
        ]
        return lines if self.pool else lines[:2]

    def to_dict(self) -> dict[str, Any]:
        about = {"labels": list(self.labels), "labelled": self.n, "pool": self.pool, "trained": self.trained}
        return {**about, "suggestions": [one.to_dict() for one in self.found]}


class KnownFacts:
    """What rules say about sequences X, so that a rule can be compared with them; corpus rules are not looked at.

    Rules about words are compared by what they forbid at the tokens of X, so that a word can be covered by a pattern.
    """

    def __init__(self, X: Sequence[Any], labels: Sequence[str], rules: Iterable[Rule] = ()) -> None:
        self.texts, self.labels = Texts(X), tuple(labels)
        self._numbers: dict[Any, float] = {}
        self._sets: dict[Any, frozenset[str]] = {}
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> None:
        """Note what a rule says, unless it says it only under a condition."""
        for term in rule.terms(self.labels) if rule.level == "instance" and rule.if_ is None else ():
            for key, value in term.facts(self.texts, self.labels) or ():
                if isinstance(value, frozenset):
                    self._sets[key] = self._sets.get(key, frozenset()) | value
                else:
                    self._numbers[key] = max(self._numbers.get(key, -inf), value)

    def imply(self, rule: Rule) -> bool:
        """Whether whatever obeys what was said obeys the rule too, at least in X."""
        if rule.level != "instance":
            return False
        told = [term.facts(self.texts, self.labels) for term in rule.terms(self.labels)]
        return all(facts is not None and all(map(self._has, facts)) for facts in told)

    def _has(self, fact: Fact) -> bool:
        key, value = fact
        if isinstance(value, frozenset):
            return value <= self._sets.get(key, frozenset())
        return value <= self._numbers.get(key, -inf)


def candidates_of(examples: Examples, by_words: bool | None = None) -> Iterator[Candidate]:
    """All candidates, or those about words, or the others; first those that others may follow from."""
    for kind in sorted(VOCABULARY.values(), key=lambda kind: kind.suggesting.turn):
        if by_words in (None, kind.suggesting.by_words):
            yield from kind.candidates(examples)


def chosen(examples: Examples, given: Rules, candidates: Iterable[Candidate] | None = None) -> list[Suggestion]:
    """Of candidates, by default all, the certain ones and then the doubtful ones, each part sorted."""
    if len(examples.labels) < 2:
        return []
    said = KnownFacts([*examples.X, *examples.pool], examples.labels, given)
    every = candidates_of(examples) if candidates is None else candidates
    judged = [(candidate, _evidence(examples, candidate)) for candidate in every]
    parts = []
    for certain in (True, False):
        kept: list[tuple[Candidate, Evidence]] = []
        for candidate, evidence in judged:
            fits = evidence.bound >= DOUBTFUL and _is_certain(candidate, evidence) == certain
            if fits and _matters(candidate.rule, evidence, examples) and not said.imply(candidate.rule):
                said.add(candidate.rule)
                kept.append((candidate, evidence))
        merged = [Suggestion(one.rule, _evidence(examples, one), certain) for one in _merged(kept)]
        parts.append(sorted(merged, key=lambda one: (-one.evidence.gain, -one.evidence.bound)))
    return parts[0] + parts[1][:MENTIONED]


def _evidence(examples: Examples, candidate: Candidate) -> Evidence:
    return examples.evidence(candidate.rule, candidate.surprises, candidate.weakest)


def _is_certain(candidate: Candidate, evidence: Evidence) -> bool:
    enough = evidence.bound >= (HABITUAL if candidate.rule.is_habit else CERTAIN)
    return enough and evidence.share >= MOSTLY and min(evidence.sequences, candidate.weakest or OFTEN) >= OFTEN


def _matters(rule: Rule, evidence: Evidence, examples: Examples) -> bool:
    """Whether it is worth a line: of the kinds of which there are many, only what the model does not yet obey."""
    return not examples.pool or evidence.broken > 0 or not rule.suggesting.numerous


def _merged(judged: list[tuple[Candidate, Evidence]]) -> list[Candidate]:
    """Rules that say the same of several words or labels become one, which is as certain as the weakest of them."""
    groups: dict[str, list[tuple[Candidate, Evidence]]] = {}
    for one, evidence in judged:
        joined = one.rule.suggesting.joined
        rest = {key: value for key, value in dump_rule(one.rule).items() if key != joined}
        groups.setdefault(f"{one.rule.key} {rest}" if joined else str(id(one)), []).append((one, evidence))
    return [_joined(group) if len(group) > 1 else group[0][0] for group in groups.values()]


def _joined(group: list[tuple[Candidate, Evidence]]) -> Candidate:
    surprises, weakest = sum(one.surprises for one, _ in group), min(evidence.sequences for _, evidence in group)
    return Candidate(_union([one.rule for one, _ in group]), surprises, weakest)


def _union(rules: list[Rule]) -> Rule:
    joined = rules[0].suggesting.joined or ""
    values = [value for rule in rules for value in getattr(rule, joined) or ()]
    if not values:
        return rules[0]
    return type(rules[0])(**{**dump_rule(rules[0]), joined: values})


def _flow(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf"), sort_keys=False)
    return text.removesuffix("...\n").strip()
