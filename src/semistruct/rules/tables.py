"""Rules compiled for some sequences: arrays that the kernels read.

    Events    where the terms of the rules count something: see `core/events.hpp`
    targets   where the counts should lie, and what it costs if they do not
    Costs     what every label and every step costs if the events of each term have a price

A term is numbered k; terms that only serve others, as divisors or conditions, come last and have weight 0.  Rules that
measure a whole sequence have no terms here: they look at the sequences X themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from semistruct.core import kernels
from semistruct.rules.base import Rule, Term
from semistruct.rules.building import Builder
from semistruct.rules.events import Event, LengthEvent
from semistruct.rules.records import (
    ALONE,
    ITSELF,
    NO_TERM,
    PER_SEQUENCE,
    PER_TOKEN,
    TARGET,
    Events,
)
from semistruct.rules.vocabulary.function import Measured
from semistruct.threads import spread

PER = {None: ITSELF, "tokens": PER_TOKEN, "sequences": PER_SEQUENCE}
PART = 10_000  # sequences that are counted at once


class Costs(NamedTuple):
    """Costs by class of tokens and of steps into them, which are numbered by token_class and step_class (N,).

    token (classes, Y); step (classes, Y + 1, Y), the last row being for first labels
    """

    token_class: np.ndarray
    token: np.ndarray
    step_class: np.ndarray
    step: np.ndarray


@dataclass(frozen=True)
class RuleTables:
    """Compiled rules: see the module.

    rule_of (terms,)  the number of the rule of each term
    token_tests (classes, terms), step_tests   the terms that tokens of a class, and steps into them, are tested for
    aside             numbers of rules that nobody is to obey
    """

    labels: tuple[str, ...]
    offsets: np.ndarray
    rules: tuple[Rule, ...]
    rule_of: tuple[int, ...]
    terms: tuple[Term, ...]
    events: Events
    targets: np.ndarray
    token_tests: np.ndarray
    step_tests: np.ndarray
    X: Sequence[Any] = field(repr=False)
    aside: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_terms(self) -> int:
        return len(self.targets)

    @cached_property
    def instance(self) -> np.ndarray:
        """The terms of the instance rules."""
        return self._level("instance")

    @cached_property
    def corpus(self) -> np.ndarray:
        """The terms of the corpus rules."""
        return self._level("corpus")

    @cached_property
    def has_corpus_rules(self) -> bool:
        """Whether rules about the corpus make sequences depend on each other."""
        return any(rule.level == "corpus" for rule in self._used.values())

    @cached_property
    def functions(self) -> dict[int, Measured]:
        """The rules that measure a whole sequence, by their numbers."""
        return {r: rule for r, rule in self._used.items() if isinstance(rule, Measured)}

    @property
    def _used(self) -> dict[int, Rule]:
        return {r: rule for r, rule in enumerate(self.rules) if r not in self.aside}

    def with_only(self, numbers: Iterable[int]) -> RuleTables:
        """The same tables, all rules but these set aside."""
        return replace(self, aside=frozenset(range(len(self.rules))) - frozenset(numbers))

    def _level(self, level: str) -> np.ndarray:
        used = self._used
        return np.array([k for k, r in enumerate(self.rule_of) if r in used and used[r].level == level], np.int64)

    @cached_property
    def event_price(self) -> np.ndarray:
        """(K,): what every local event costs, for terms of instance rules that cost the same for each; else 0."""
        return self._price([event.local for event in self._events_of_terms])

    @cached_property
    def block_price(self) -> np.ndarray:
        """(K,): the same for blocks of wrong lengths."""
        return self._price([isinstance(event, LengthEvent) for event in self._events_of_terms])

    @property
    def _events_of_terms(self) -> list[Event]:
        return [term.event for term in self.terms]

    def _price(self, wanted: list[bool]) -> np.ndarray:
        t, price = self.targets, np.zeros(self.n_terms)
        for k in self.instance:
            forbidden = t["high"][k] == 0 and t["low"][k] == -np.inf
            always = t["needs"][k] == t["bars"][k] == NO_TERM
            if wanted[k] and forbidden and always and t["power"][k] == 1 and t["per"][k] == ITSELF:
                price[k] = t["weight"][k]
        return price

    @cached_property
    def room(self) -> int:
        """The size of the array `work` of the kernels."""
        return 2 * len(self.labels) + most_hits(self.events)

    @property
    def token_class(self) -> np.ndarray:
        """(N,): which row of token_tests a token has."""
        return self.events.token_class

    @property
    def step_class(self) -> np.ndarray:
        """(N,): which row of step_tests the step into a token has."""
        return self.events.step_class

    def costs(self, price: np.ndarray) -> Costs:
        """What labels and steps cost if every event of term k costs price[k]."""
        e, Y = self.events, len(self.labels)
        for k in e.entry["term"][: e.ptr[2 * Y]]:
            if price[k]:
                raise TypeError(f"{self.terms[k].event.what} cannot have a price at every place")
        cell = np.repeat(np.arange(len(e.ptr) - 1), np.diff(e.ptr))
        total = np.bincount(cell, price[e.entry["term"]], len(e.ptr) - 1).astype(
            float
        )  # integers if there are no terms
        token, step = np.split(total[2 * Y :], [e.first_step - 2 * Y])
        return Costs(self.token_class, token.reshape(-1, Y), self.step_class, step.reshape(-1, Y + 1, Y))

    @cached_property
    def event_costs(self) -> Costs:
        """The costs of `event_price`."""
        return self.costs(self.event_price)

    def count(self, y: np.ndarray, n_jobs: int | None = None, part: slice = slice(None)) -> np.ndarray:
        """(n, K): every count of every sequence, or of a part of them, where all are labelled y (n_tokens,)."""
        offsets = self._offsets(part)
        counts = np.zeros((len(offsets) - 1, self.n_terms))
        spread(kernels.count_sequences, np.arange(len(counts)), self.events, offsets, y, counts, n_jobs=n_jobs)
        return counts

    def excess(self, y: np.ndarray, n_jobs: int | None = None, part: slice = slice(None)) -> np.ndarray:
        """(n, terms of instance rules): how far the value of a term lies outside its range."""
        t, counts = self.targets, self.count(y, n_jobs, part)
        counts[:, t["per"] == PER_TOKEN] /= np.diff(self._offsets(part))[:, None]
        values, t = counts[:, self.instance], t[self.instance]
        return np.maximum(np.maximum(values - t["high"], t["low"] - values), 0.0) * self.matters(counts)

    def matters(self, counts: np.ndarray) -> np.ndarray:
        """(n, terms of instance rules): whether the condition of a term holds, given all counts."""
        t = self.targets[self.instance]
        needed = (t["needs"] < 0) | (counts[:, t["needs"]] > 0)
        return needed & ((t["bars"] < 0) | (counts[:, t["bars"]] == 0))

    def _offsets(self, part: slice) -> np.ndarray:
        first, last, _ = part.indices(len(self))
        return self.offsets[first : last + 1]

    def broken(self, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """(n, number of rules): where the labels of a sequence break an instance rule."""
        out = np.zeros((len(self), len(self.rules)), bool)
        for part in (slice(a, a + PART) for a in range(0, len(self), PART)):
            for k, column in zip(self.instance, self.excess(y, n_jobs, part).T, strict=True):
                out[part, self.rule_of[k]] |= column > 0
        for r, rule in self.functions.items():
            if rule.level == "instance":
                out[:, r] = [rule.excess(self.X[i], row, f"sequence {i}") > 0 for i, row in enumerate(self._named(y))]
        return out

    def _named(self, y: np.ndarray) -> Iterator[list[str]]:
        """The labels of each sequence."""
        names = np.array(self.labels, object)[y].tolist()
        return (names[a:b] for a, b in pairwise(self.offsets.tolist()))


def shifted(events: Events, n: int) -> Events:
    """The same events for a corpus with n tokens before, whose own events are of no interest."""
    token_class, step_class = (np.concatenate([np.zeros(n, np.int32), of]) for of in events[:2])
    return events._replace(token_class=token_class, step_class=step_class)


def most_hits(events: Events) -> int:
    """How many terms can have an event at one token: at it, at the step, and where blocks begin and end."""
    return 5 * int(np.diff(events.ptr).max(initial=0))


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> RuleTables:
    """The tables of rules for sequences X whose labels are numbered as in `labels`."""
    builder = Builder(X, tuple(labels))
    counting = [(r, rule) for r, rule in enumerate(rules) if not isinstance(rule, Measured)]
    found = [(r, term) for r, rule in counting for term in rule.terms(labels)]
    for k, (_, term) in enumerate(found):
        builder.enter(term.event, k)
    others: dict[Event, int] = {}
    for event in [event for _, term in found for event in (term.per, term.needs, term.bars)]:
        if event is not None and not isinstance(event, str) and event not in others:
            others[event] = len(found) + len(others)
            builder.enter(event, others[event])
    n_terms = len(found) + len(others)
    events, token_tests, step_tests = builder.events(n_terms)
    return RuleTables(
        labels=tuple(labels),
        offsets=builder.offsets,
        rules=tuple(rules),
        rule_of=tuple(r for r, _ in found),
        terms=tuple(term for _, term in found),
        events=events,
        targets=_targets(rules, found, others),
        token_tests=token_tests,
        step_tests=step_tests,
        X=X,
    )


def _targets(rules: Sequence[Rule], found: Sequence[tuple[int, Term]], others: dict[Event, int]) -> np.ndarray:
    targets = np.zeros(len(found) + len(others), TARGET)
    targets["low"], targets["high"], targets["unit"] = -np.inf, np.inf, 1.0
    targets["power"], targets["per"], targets["group"] = 1, ITSELF, ALONE
    targets["needs"], targets["bars"] = NO_TERM, NO_TERM
    for k, (r, term) in enumerate(found):
        target, rule = targets[k], rules[r]
        target["low"], target["high"], target["unit"] = term.low, term.high, term.unit
        target["weight"], target["power"] = rule.cost, rule.power
        target["per"] = PER[term.per] if term.per is None or isinstance(term.per, str) else others[term.per]
        target["group"] = r if term.joint else ALONE
        target["needs"] = NO_TERM if term.needs is None else others[term.needs]
        target["bars"] = NO_TERM if term.bars is None else others[term.bars]
    return targets
