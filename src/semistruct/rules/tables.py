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

from semistruct.base.threads import spread
from semistruct.core.kernels import kernels
from semistruct.rules.base import Rule
from semistruct.rules.building import NO_MARK, Builder, Events
from semistruct.rules.events import Event, Term
from semistruct.rules.vocabulary.measured import Measured

ITSELF, PER_TOKEN, PER_SEQUENCE = -1, -2, -3
"""What a count is divided by, unless that is the count of another term: nothing, tokens, sequences."""

PER = {None: ITSELF, "tokens": PER_TOKEN, "sequences": PER_SEQUENCE}
NO_TERM = -1  # where a term could be named
ALONE = -1  # the group of a term that has a penalty of its own

TARGET = np.dtype(
    [
        ("low", "f8"), ("high", "f8"), ("unit", "f8"), ("weight", "f8"), ("power", "i8"), ("per", "i8"),
        ("group", "i8"), ("needs", "i8"), ("bars", "i8"),
    ]
)  # fmt: skip
"""Where the count of a term should lie, and what it costs if it does not: `Target` in `core/events.hpp`."""

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

    def _level(self, level: str) -> np.ndarray:
        return np.array([k for k, r in enumerate(self.rule_of) if self.rules[r].level == level], np.int64)

    @cached_property
    def has_corpus_rules(self) -> bool:
        """Whether rules about the corpus make sequences depend on each other."""
        return any(rule.level == "corpus" for rule in self.rules)

    @cached_property
    def functions(self) -> dict[int, Measured]:
        """The rules that measure a whole sequence, by their numbers."""
        return {r: rule for r, rule in enumerate(self.rules) if isinstance(rule, Measured)}

    def some(self, numbers: Iterable[int]) -> RuleTables:
        """The tables of some of the rules, in the order of their numbers; no word is looked at again."""
        kept = sorted(set(numbers))
        number = {r: new for new, r in enumerate(kept)}
        terms = [k for k, r in enumerate(self.rule_of) if r in number]
        named = [int(k) for row in self.targets[["per", "needs", "bars"]][terms] for k in row if k >= 0]
        which = np.array([*terms, *dict.fromkeys(named)], np.int64)
        targets = self.targets[which]
        for name in ("per", "needs", "bars"):
            targets[name] = [np.flatnonzero(which == k)[0] if k >= 0 else k for k in targets[name]]
        targets["group"] = [number[r] if r >= 0 else ALONE for r in targets["group"]]
        return replace(
            self,
            rules=tuple(self.rules[r] for r in kept),
            rule_of=tuple(number[self.rule_of[k]] for k in terms),
            terms=tuple(self.terms[k] for k in terms),
            events=only(self.events, which),
            targets=targets,
            token_tests=self.token_tests[:, which],
            step_tests=self.step_tests[:, which],
        )

    def reweighted(self, rules: Sequence[Rule]) -> RuleTables:
        """The tables of the same rules, or of some of them in the same order, with other weights and penalties.

        No word is looked at again.  Rules that are not among those of the tables are compiled anew.
        """
        here, numbers = enumerate(map(_content, self.rules)), list[int]()
        for rule in map(_content, rules):
            number = next((r for r, content in here if content == rule), None)
            if number is None:
                return compile_rules(rules, self.X, self.labels)
            numbers.append(number)
        tables = self.some(numbers)
        targets = tables.targets.copy()
        for k, r in enumerate(tables.rule_of):
            targets["weight"][k], targets["power"][k] = rules[r].cost, rules[r].power
        return replace(tables, rules=tuple(rules), targets=targets)

    @cached_property
    def event_price(self) -> np.ndarray:
        """(K,): what every local event costs, for terms of instance rules that cost the same for each; else 0."""
        return self._price([term.event.local for term in self.terms])

    @cached_property
    def block_price(self) -> np.ndarray:
        """(K,): the same for blocks of wrong lengths."""
        return self._price([term.event.at_blocks for term in self.terms])

    def _price(self, wanted: list[bool]) -> np.ndarray:
        t, price = self.targets, np.zeros(self.n_terms)
        for k in self.instance:
            forbidden = t["high"][k] == 0 and t["low"][k] == -np.inf
            always = t["needs"][k] == t["bars"][k] == NO_TERM
            if wanted[k] and forbidden and always and t["power"][k] == 1 and t["per"][k] == ITSELF:
                price[k] = t["weight"][k]
        return price

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
        total = np.bincount(cell, price[e.entry["term"]], len(e.ptr) - 1).astype(float)  # integers without terms
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


def only(events: Events, terms: np.ndarray) -> Events:
    """The events of some terms, which are numbered anew."""
    number = np.full(max(events.entry["term"].max(initial=-1), terms.max(initial=-1)) + 1, NO_TERM, np.int64)
    number[terms] = np.arange(len(terms))
    stays = number[events.entry["term"]] >= 0
    entry = events.entry[stays]
    entry["term"] = number[entry["term"]]
    ptr = np.append(0, np.cumsum(stays))[events.ptr]
    remembered = entry["mark"][: ptr[len(events.mark)]]
    marks = np.unique(remembered)
    remembered[:] = np.searchsorted(marks, remembered)
    mark = np.where(np.isin(events.mark, marks), np.searchsorted(marks, events.mark), NO_MARK)
    return events._replace(ptr=ptr, entry=entry, mark=mark)


def _content(rule: Rule) -> Rule:
    """A rule without what may change in tables."""
    return rule.model_copy(update={"weight": 1.0, "penalty": "absolute", "name": None})


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> RuleTables:
    """The tables of rules for sequences X whose labels are numbered as in `labels`."""
    builder = Builder(X, tuple(labels))
    counting = [(r, rule) for r, rule in enumerate(rules) if not isinstance(rule, Measured)]
    found = [(r, term) for r, rule in counting for term in rule.terms(labels)]
    for k, (_, term) in enumerate(found):
        _enter(builder, term.event, k)
    others: dict[Event, int] = {}
    for event in [event for _, term in found for event in (term.per, term.needs, term.bars)]:
        if event is not None and not isinstance(event, str) and event not in others:
            others[event] = len(found) + len(others)
            _enter(builder, event, others[event])
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


def _enter(builder: Builder, event: Event, k: int) -> None:
    """Have term k count an event, which must say how: one that the kernels never see would cost nothing."""
    before = builder.entered
    event.enter(builder, k)
    if builder.entered == before:
        raise TypeError(f"a {type(event).__name__} enters nothing, so it would never be counted")


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
