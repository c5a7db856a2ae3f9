"""Rules compiled for some sequences: arrays that the kernels read.

    Events    where the terms of the rules count something: see `event_kernels`
    targets   where the counts should lie, and what it costs if they do not
    Costs     what every label and every step costs if the events of each term have a price

A term is numbered k; terms that only serve others, as divisors or conditions, come last and have weight 0.  Users'
functions cannot be compiled: they are in `functions`, with the sequences X that they look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import starts
from semistruct.errors import DataError
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.rules.base import Rule, Term
from semistruct.rules.event_kernels import (
    ALONE,
    ENTRY,
    ITSELF,
    NO_MARK,
    NO_TERM,
    PER_SEQUENCE,
    PER_TOKEN,
    TARGET,
    Events,
    count_sequences,
)
from semistruct.rules.events import Event
from semistruct.rules.vocabulary.function import Measured
from semistruct.rules.words import PhraseTest, RunTest, WordIndex, WordTest
from semistruct.threads import spread

PER = {None: ITSELF, "tokens": PER_TOKEN, "sequences": PER_SEQUENCE}
ANY_LENGTH = 2**31 - 1
PART = 10_000  # sequences that are counted at once
BITS = 62  # tests per number when sets of tests are compared


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
    functions: tuple[Measured, ...]
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
    def event_price(self) -> np.ndarray:
        """(K,): what every event costs, for terms of instance rules that cost the same for each; 0 for all others."""
        t, price = self.targets, np.zeros(self.n_terms)
        for k in self.instance:
            forbidden = t["high"][k] == 0 and t["low"][k] == -np.inf
            always = t["needs"][k] == t["bars"][k] == NO_TERM
            if forbidden and always and self.terms[k].event.local and t["power"][k] == 1 and t["per"][k] == ITSELF:
                price[k] = t["weight"][k]
        return price

    @cached_property
    def room(self) -> int:
        """The size of the array `work` of the kernels."""
        return 2 * len(self.labels) + most_hits(self.events)

    @property
    def _first_step(self) -> int:
        """The first of the cells of steps."""
        Y = len(self.labels)
        return 2 * Y + len(self.token_tests) * Y

    @cached_property
    def token_class(self) -> np.ndarray:
        """(N,): which row of token_tests a token has."""
        Y = len(self.labels)
        return ((self.events.token_cell - 2 * Y) // Y).astype(np.int32)

    @cached_property
    def step_class(self) -> np.ndarray:
        """(N,): which row of step_tests the step into a token has."""
        Y = len(self.labels)
        return ((self.events.step_cell - self._first_step) // ((Y + 1) * Y)).astype(np.int32)

    def costs(self, price: np.ndarray) -> Costs:
        """What labels and steps cost if every event of term k costs price[k]."""
        e, Y = self.events, len(self.labels)
        for k in e.entry["term"][: e.ptr[2 * Y]]:
            if price[k]:
                raise TypeError(f"{self.terms[k].event.what} cannot have a price at every place")
        cell = np.repeat(np.arange(len(e.ptr) - 1), np.diff(e.ptr))
        total = np.bincount(cell, price[e.entry["term"]], len(e.ptr) - 1)
        token, step = np.split(total[2 * Y :], [self._first_step - 2 * Y])
        return Costs(self.token_class, token.reshape(-1, Y), self.step_class, step.reshape(-1, Y + 1, Y))

    @cached_property
    def event_costs(self) -> Costs:
        """The costs of `event_price`."""
        return self.costs(self.event_price)

    def count(self, y: np.ndarray, n_jobs: int | None = None, part: slice = slice(None)) -> np.ndarray:
        """(n, K): every count of every sequence, or of a part of them, where all are labelled y (n_tokens,)."""
        offsets = self._offsets(part)
        counts = np.zeros((len(offsets) - 1, self.n_terms))
        spread(count_sequences, np.arange(len(counts)), self.events, offsets, y, self.room, counts, n_jobs=n_jobs)
        return counts

    def excess(self, y: np.ndarray, n_jobs: int | None = None, part: slice = slice(None)) -> np.ndarray:
        """(n, terms of instance rules): how far the value of a term lies outside its range."""
        t, counts = self.targets, self.count(y, n_jobs, part)
        counts[:, t["per"] == PER_TOKEN] /= np.diff(self._offsets(part))[:, None]
        values, t = counts[:, self.instance], t[self.instance]
        matters = (t["needs"] < 0) | (counts[:, t["needs"]] > 0)
        matters &= (t["bars"] < 0) | (counts[:, t["bars"]] == 0)
        return np.maximum(np.maximum(values - t["high"], t["low"] - values), 0.0) * matters

    def _offsets(self, part: slice) -> np.ndarray:
        first, last, _ = part.indices(len(self))
        return self.offsets[first : last + 1]

    def broken(self, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """(n, number of rules): where the labels of a sequence break an instance rule."""
        out = np.zeros((len(self), len(self.rules)), bool)
        for part in (slice(a, a + PART) for a in range(0, len(self), PART)):
            for k, column in zip(self.instance, self.excess(y, n_jobs, part).T, strict=True):
                out[part, self.rule_of[k]] |= column > 0
        return out


def shifted(events: Events, n: int) -> Events:
    """The same events for a corpus with n tokens before, whose own events are of no interest."""
    before = np.zeros(n, np.int32)
    return events._replace(
        token_cell=np.concatenate([before, events.token_cell]), step_cell=np.concatenate([before, events.step_cell])
    )


def most_hits(events: Events) -> int:
    """How many terms can have an event at one token: at it, at the step, and where blocks begin and end."""
    return 5 * int(np.diff(events.ptr).max(initial=0))


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> RuleTables:
    """The tables of rules for sequences X whose labels are numbered as in `labels`."""
    builder = Builder(X, tuple(labels))
    functions = tuple(rule for rule in rules if isinstance(rule, Measured))
    compiled = [rule for rule in rules if not isinstance(rule, Measured)]
    found = [(r, term) for r, rule in enumerate(compiled) for term in rule.terms(labels)]
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
        rules=tuple(compiled),
        rule_of=tuple(r for r, _ in found),
        terms=tuple(term for _, term in found),
        events=events,
        targets=_targets(compiled, found, others),
        token_tests=token_tests,
        step_tests=step_tests,
        functions=functions,
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


class _Test(NamedTuple):
    """Term k counts what has a label, or a pair of labels, of the mask, at the tokens `where` (bits); None for all."""

    term: int
    mask: np.ndarray
    where: np.ndarray | None

    @classmethod
    def of(cls, term: int, mask: np.ndarray, where: np.ndarray | None) -> _Test:
        return cls(term, mask, None if where is None else np.packbits(where))

    def places(self, n: int) -> np.ndarray:
        """(n,): whether each token is tested."""
        return np.ones(n, bool) if self.where is None else np.unpackbits(self.where, count=n).view(bool)


class Builder:
    """Collects the events of terms, see `events.Entries`."""

    def __init__(self, X: Sequence[Any], labels: tuple[str, ...]) -> None:
        self.X, self.labels = X, labels
        lengths = np.array([len(x) for x in X], np.int64)
        if not lengths.all():
            raise DataError(f"sequence {int(np.argmin(lengths))} has no tokens")
        self.offsets = starts(lengths)
        self.first = np.zeros(self.offsets[-1], bool)
        self.first[self.offsets[:-1]] = True
        self.last = np.roll(self.first, -1)
        self._only: np.ndarray | None = None
        self._tokens: list[_Test] = []
        self._steps: list[_Test] = []
        self._lengths: list[tuple[int, int, int, int]] = []  # label, term, least, most
        self._orders: list[tuple[int, int, int]] = []  # first label, term, label that came before

    def enter(self, event: Event, k: int) -> None:
        """Term k counts this event, which must say how: one that the kernels never see would cost nothing."""
        before = self._size()
        event.enter(self, k)
        if self._size() == before:
            raise TypeError(f"a {type(event).__name__} enters nothing, so it would never be counted")

    def _size(self) -> int:
        return len(self._tokens) + len(self._steps) + len(self._lengths) + len(self._orders)

    @cached_property
    def _words(self) -> tuple[WordIndex, np.ndarray]:
        """The distinct words, and the number of the word of each token (N,)."""
        if form_of(self.X) != "tokens":
            hint = "give each token as (word, features)"
            raise DataError(f"rules about words need tokens, but this data holds {form_of(self.X)}; {hint}")
        codes: dict[str, int] = {}
        flat = [codes.setdefault(word_of(token), len(codes)) for x in self.X for token in x]
        return WordIndex(codes), np.array(flat, np.int64)

    def passes(self, test: WordTest) -> np.ndarray:
        """(N,): the tokens whose word passes."""
        words, code = self._words
        passed = np.zeros(len(words.number), bool)
        passed[words.passing(test)] = True
        return passed[code]

    def runs(self, test: PhraseTest | RunTest) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all runs of words that pass."""
        begin = np.flatnonzero(self.passes(test.head))
        found = []
        for i in np.unique(np.searchsorted(self.offsets, begin, side="right") - 1).tolist():
            a, b = int(self.offsets[i]), int(self.offsets[i + 1])
            words = [word_of(token) for token in self.X[i]]
            for t in begin[np.searchsorted(begin, a) : np.searchsorted(begin, b)].tolist():
                found += [(t, a + end) for end in test.ends(words, t - a)]
        start, end = np.array(found, np.int64).reshape(-1, 2).T
        return start, end

    def within(self, where: np.ndarray) -> Builder:
        """The same builder, for which only what happens at the tokens `where` (N,) counts."""
        limited = copy(self)
        limited._only = self._also(where)
        return limited

    def _also(self, where: np.ndarray | None) -> np.ndarray | None:
        return where if self._only is None else self._only if where is None else self._only & where

    def at_tokens(self, k: int, having: np.ndarray, where: np.ndarray | None = None) -> None:
        self._tokens.append(_Test.of(k, having, self._also(where)))

    def at_steps(self, k: int, pairs: np.ndarray, where: np.ndarray | None = None) -> None:
        self._steps.append(_Test.of(k, pairs, self._also(where)))

    def of_lengths(self, k: int, having: np.ndarray, least: int, most: int | None) -> None:
        longest = ANY_LENGTH if most is None else most
        self._lengths += [(int(y), k, least, longest) for y in np.flatnonzero(having)]

    def of_order(self, k: int, first: str, then: str) -> None:
        self._orders.append((self.labels.index(first), k, self.labels.index(then)))

    def events(self, n_terms: int) -> tuple[Events, np.ndarray, np.ndarray]:
        """(Events, token_tests, step_tests of RuleTables)."""
        n, Y = int(self.offsets[-1]), len(self.labels)
        token_class, token_cells, token_tests = _classes(self._tokens, n, Y, n_terms)
        step_class, step_cells, step_tests = _classes(self._steps, n, (Y + 1) * Y, n_terms)
        first_step = 2 * Y + len(token_tests) * Y
        marks = sorted({then for _, _, then in self._orders})
        rows = [(z, k, 0, 0, marks.index(then)) for z, k, then in self._orders]
        rows += [(Y + z, k, least, most, 0) for z, k, least, most in self._lengths]
        cells = [np.array([row[0] for row in rows], np.int64), 2 * Y + token_cells[0], first_step + step_cells[0]]
        special = np.array([row[1:] for row in rows], ENTRY)
        entry = np.zeros(len(rows) + len(token_cells[1]) + len(step_cells[1]), ENTRY)
        entry[: len(rows)], entry["term"][len(rows) :] = special, np.concatenate([token_cells[1], step_cells[1]])
        cell = np.concatenate(cells)
        mark = np.full(Y, NO_MARK, np.int64)
        mark[marks] = np.arange(len(marks))
        events = Events(
            token_cell=(2 * Y + token_class * Y).astype(np.int32),
            step_cell=(first_step + step_class * (Y + 1) * Y).astype(np.int32),
            ptr=starts(np.bincount(cell, minlength=first_step + len(step_tests) * (Y + 1) * Y)),
            entry=entry[np.argsort(cell, kind="stable")],
            mark=mark,
        )
        return events, token_tests, step_tests


def _classes(
    tests: list[_Test], n: int, size: int, n_terms: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Number the distinct sets of tests that n places have.

    Returns the class of each place, the (cells class * size + label, terms) of all events, and which terms the places
    of a class are tested for.
    """
    some = [test for test in tests if test.where is not None]
    codes = np.zeros((n, max(-(-len(some) // BITS), 1)), np.int64)
    for q, test in enumerate(some):
        codes[test.places(n), q // BITS] |= 1 << (q % BITS)
    distinct, of = np.unique(codes, axis=0 if codes.shape[1] > 1 else None, return_inverse=True)
    distinct = distinct.reshape(-1, codes.shape[1])
    cells, terms, tested = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], np.zeros((len(distinct), n_terms), bool)
    q = 0
    for test in tests:
        which = np.arange(len(distinct))
        if test.where is not None:
            which, q = np.flatnonzero(distinct[:, q // BITS] >> (q % BITS) & 1), q + 1
        tested[which, test.term] = True
        cells.append((which[:, None] * size + np.flatnonzero(test.mask)).ravel())
        terms.append(np.full(len(cells[-1]), test.term))
    return of.reshape(-1), (np.concatenate(cells), np.concatenate(terms)), tested
