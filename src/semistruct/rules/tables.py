"""Rules compiled for some sequences: arrays that the kernels read.

    Events    where the terms of the rules count something
    Targets   where the counts should lie, and what it costs if they do not

A term is numbered k; terms that only serve as divisors of others come last and have weight 0.  Functions of the user
cannot be compiled: they are kept aside in `functions`, with the sequences X that they look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import starts
from semistruct.errors import DataError
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.rules.base import Rule, Term
from semistruct.rules.event_kernels import count_sequences, penalty, total_of
from semistruct.rules.events import Event, LengthEvent, OrderEvent, StartEvent, StepEvent, TokenEvent
from semistruct.rules.vocabulary.function import Function
from semistruct.rules.words import WordTest
from semistruct.threads import spread

PER = {None: -1, "tokens": -2, "sequences": -3}
ANY_LENGTH = 2**31 - 1


class Events(NamedTuple):
    """What counts where; N tokens, Y labels.

    token_ptr (N+1,), token_test      the tests of token t are token_test[token_ptr[t]:token_ptr[t+1]]
    test_term (Q,), test_mask (Q, Y)  test q adds one to its term for the labels of its mask
    step_ptr, step_test, step_term, step_mask (S, Y, Y)   the same for changes of the label into token t
    start_ptr (Y+1,), start_term      the terms that count the blocks of a label
    label_ptr (Y+1,), label_term      the terms that count the tokens of a label
    length_term (L,), length_mask (L, Y), least, most     blocks that are too short or too long
    order_term (R,), order_first, order_then              blocks of `first` after one of `then`
    """

    token_ptr: np.ndarray
    token_test: np.ndarray
    test_term: np.ndarray
    test_mask: np.ndarray
    step_ptr: np.ndarray
    step_test: np.ndarray
    step_term: np.ndarray
    step_mask: np.ndarray
    start_ptr: np.ndarray
    start_term: np.ndarray
    label_ptr: np.ndarray
    label_term: np.ndarray
    length_term: np.ndarray
    length_mask: np.ndarray
    least: np.ndarray
    most: np.ndarray
    order_term: np.ndarray
    order_first: np.ndarray
    order_then: np.ndarray


class Targets(NamedTuple):
    """Term k should lie in [low, high]; outside it costs weight * (unit * distance)^power.

    per    -1: the count itself, -2: per token, -3: per sequence, else per count of that term
    group  number of the group of joint terms it belongs to, or -1
    """

    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray
    weight: np.ndarray
    power: np.ndarray
    per: np.ndarray
    group: np.ndarray


class Classes(NamedTuple):
    """Tokens of one class are spoken of by the same tests: those marked in its row of class_tests; so for steps."""

    token_class: np.ndarray
    class_tests: np.ndarray
    step_class: np.ndarray
    class_steps: np.ndarray


class Costs(NamedTuple):
    """Costs by class: token (classes, Y), step (classes, Y, Y), and first (Y,) for the label of the first token."""

    token_class: np.ndarray
    token: np.ndarray
    step_class: np.ndarray
    step: np.ndarray
    first: np.ndarray


@dataclass(frozen=True)
class Tally:
    """The counts of a labelled corpus and what they cost.

    counts    (n, K) one row per sequence
    instance  (n,) penalty of the instance rules of each sequence
    corpus    penalty of the corpus rules
    """

    counts: np.ndarray
    instance: np.ndarray
    corpus: float

    @property
    def penalty(self) -> float:
        return float(self.instance.sum()) + self.corpus


@dataclass(frozen=True)
class RuleTables:
    """Compiled rules: see the module."""

    labels: tuple[str, ...]
    offsets: np.ndarray
    rules: tuple[Rule, ...]
    rule_of: tuple[int, ...]
    terms: tuple[Term, ...]
    events: Events
    targets: Targets
    functions: tuple[Function, ...]
    X: Sequence[Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_terms(self) -> int:
        return len(self.targets.low)

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
    def plain(self) -> np.ndarray:
        """(K,): the price per event of terms that cost the same for every event; 0 for all other terms."""
        t, additive = self.targets, np.zeros(self.n_terms)
        for k in self.instance:
            local = isinstance(self.terms[k].event, TokenEvent | StepEvent)
            if local and t.high[k] == 0 and t.low[k] == -np.inf and t.power[k] == 1 and t.per[k] == -1:
                additive[k] = t.weight[k]
        return additive

    @cached_property
    def classes(self) -> Classes:
        """The tokens, and the steps into them, grouped by the tests that speak of them."""
        e = self.events
        token_class, class_tests = _classes(e.token_ptr, e.token_test, len(e.test_term))
        step_class, class_steps = _classes(e.step_ptr, e.step_test, len(e.step_term))
        return Classes(token_class, class_tests, step_class, class_steps)

    def potentials(self, price: np.ndarray) -> Costs:
        """What labels and steps cost if every event of term k costs price[k] (lengths and order apart)."""
        e, c = self.events, self.classes
        Y = len(self.labels)
        token = c.class_tests @ (price[e.test_term][:, None] * e.test_mask)
        step = np.tensordot(c.class_steps, price[e.step_term][:, None, None] * e.step_mask, 1)
        label, start = (
            np.bincount(np.repeat(np.arange(Y), np.diff(ptr)), price[term], Y)
            for ptr, term in ((e.label_ptr, e.label_term), (e.start_ptr, e.start_term))
        )
        return Costs(c.token_class, token + label, c.step_class, step + start * (1 - np.eye(Y)), start)

    def count(self, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """(n, K): every count of every sequence, labelled y (n_tokens,)."""
        counts = np.zeros((len(self), self.n_terms))
        spread(count_sequences, np.arange(len(self)), self.events, self.offsets, y, counts, n_jobs=n_jobs)
        return counts

    def broken(self, y: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """(n, number of rules): where the labels of a sequence break an instance rule."""
        t, counts = self.targets, self.count(y, n_jobs)
        counts[:, t.per == -2] /= np.diff(self.offsets)[:, None]
        out = np.zeros((len(self), len(self.rules)), bool)
        for k in self.instance:
            out[:, self.rule_of[k]] |= (counts[:, k] < t.low[k]) | (counts[:, k] > t.high[k])
        return out

    def tally(self, y: np.ndarray, n_jobs: int | None = None) -> Tally:
        """Count and price a labelling of all sequences."""
        counts, lengths = self.count(y, n_jobs), np.diff(self.offsets)
        instance = np.array(
            [penalty(self.targets, self.instance, row, float(n), 1.0) for row, n in zip(counts, lengths, strict=True)]
        )
        totals = np.zeros(self.n_terms)
        total_of(counts, totals)
        corpus = penalty(self.targets, self.corpus, totals, float(lengths.sum()), float(len(self)))
        return Tally(counts, instance, corpus)


def compile_rules(rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str]) -> RuleTables:
    """The tables of rules for sequences X whose labels are numbered as in `labels`."""
    builder = _Builder(X, tuple(labels))
    functions = tuple(rule for rule in rules if isinstance(rule, Function))
    compiled = [rule for rule in rules if not isinstance(rule, Function)]
    found = [(r, term) for r, rule in enumerate(compiled) for term in rule.terms(labels)]
    for k, (_, term) in enumerate(found):
        builder.add(term.event, k)
    divisors: dict[Event, int] = {}
    for _, term in found:
        if term.per is not None and not isinstance(term.per, str) and term.per not in divisors:
            divisors[term.per] = len(found) + len(divisors)
            builder.add(term.per, divisors[term.per])
    return RuleTables(
        labels=tuple(labels),
        offsets=builder.offsets,
        rules=tuple(compiled),
        rule_of=tuple(r for r, _ in found),
        terms=tuple(term for _, term in found),
        events=builder.events(),
        targets=_targets(compiled, found, divisors),
        functions=functions,
        X=X,
    )


def _targets(rules: Sequence[Rule], found: Sequence[tuple[int, Term]], divisors: dict[Event, int]) -> Targets:
    blank = len(divisors)

    def column(values: Iterable[float], fill: float, kind: type = np.float64) -> np.ndarray:
        return np.array([*values, *[fill] * blank], kind)

    def per(term: Term) -> int:
        return PER[term.per] if term.per is None or isinstance(term.per, str) else divisors[term.per]

    return Targets(
        low=column((term.low for _, term in found), -np.inf),
        high=column((term.high for _, term in found), np.inf),
        unit=column((term.unit for _, term in found), 1),
        weight=column((rules[r].cost for r, _ in found), 0),
        power=column((rules[r].power for r, _ in found), 1, np.int64),
        per=column((per(term) for _, term in found), -1, np.int64),
        group=column((r if term.joint else -1 for r, term in found), -1, np.int64),
    )


class _Builder:
    """Collects the events of terms."""

    def __init__(self, X: Sequence[Any], labels: tuple[str, ...]) -> None:
        self.X, self.labels, self.number = X, labels, {label: y for y, label in enumerate(labels)}
        lengths = np.array([len(x) for x in X], np.int64)
        if not lengths.all():
            raise DataError(f"sequence {int(np.argmin(lengths))} has no tokens")
        self.offsets = starts(lengths)
        self.first = np.zeros(self.offsets[-1], bool)
        self.first[self.offsets[:-1]] = True
        self.last = np.roll(self.first, -1)
        self._words: tuple[list[str], np.ndarray] | None = None
        self._passed: dict[WordTest, np.ndarray] = {}
        self.tests: list[tuple[int, np.ndarray, np.ndarray]] = []  # term, mask, tokens
        self.steps: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.by_start: list[tuple[int, int]] = []  # label, term
        self.by_label: list[tuple[int, int]] = []
        self.lengths: list[tuple[int, np.ndarray, int, int]] = []
        self.orders: list[tuple[int, int, int]] = []

    def add(self, event: Event, k: int) -> None:
        """Term k counts this event."""
        if isinstance(event, TokenEvent):
            self._add_token(event, k)
        elif isinstance(event, StepEvent):
            self._add_step(event, k)
        elif isinstance(event, StartEvent):
            self.by_start.append((self.number[event.label], k))
        elif isinstance(event, LengthEvent):
            most = ANY_LENGTH if event.most is None else event.most
            self.lengths.append((k, self._mask(event.labels), event.least, most))
        elif isinstance(event, OrderEvent):
            places = [self.number[label] for label in event.order]
            self.orders += [(k, a, b) for i, a in enumerate(places) for b in places[i + 1 :]]
        else:
            raise TypeError(f"a {type(event).__name__} cannot be compiled")

    def _add_token(self, event: TokenEvent, k: int) -> None:
        if event.place == "any" and not (event.word or event.before or event.after):
            self.by_label += [(self.number[label], k) for label in event.labels]
            return
        where = {"any": np.ones_like(self.first), "first": self.first, "last": self.last}[event.place].copy()
        if event.word is not None:
            where &= self._passes(event.word)
        if event.before is not None:
            where &= np.roll(self._passes(event.before), 1) & ~self.first
        if event.after is not None:
            where &= np.roll(self._passes(event.after), -1) & ~self.last
        self.tests.append((k, self._mask(event.labels), np.flatnonzero(where)))

    def _add_step(self, event: StepEvent, k: int) -> None:
        where = ~self.first
        if event.mark is not None:
            mark = self._passes(event.mark)
            where &= ~np.roll(mark, 1)
            if event.side == "either":
                where &= ~mark
        mask = np.array([[event.counts(y, z) for z in self.labels] for y in self.labels])
        self.steps.append((k, mask, np.flatnonzero(where)))

    def _mask(self, labels: frozenset[str]) -> np.ndarray:
        return np.array([label in labels for label in self.labels])

    def _passes(self, test: WordTest) -> np.ndarray:
        """(n_tokens,): which tokens pass; every distinct word is tested once."""
        if self._words is None:
            if form_of(self.X) != "tokens":
                raise DataError(f"rules about words need tokens, this data holds {form_of(self.X)}")
            codes: dict[str, int] = {}
            flat = [codes.setdefault(word_of(token), len(codes)) for x in self.X for token in x]
            self._words = list(codes), np.array(flat, np.int64)
        words, code = self._words
        if test not in self._passed:
            self._passed[test] = np.array([test(word) for word in words], bool)[code]
        return self._passed[test]

    def events(self) -> Events:
        n, Y = int(self.offsets[-1]), len(self.labels)

        def by_place(parts: list[tuple[int, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
            """CSR from the places of every test."""
            return _grouped(n, *(_joined(parts, f) for f in (lambda _, p: p[2], lambda q, p: np.full(len(p[2]), q))))

        def by_number(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
            return _grouped(Y, np.array([y for y, _ in pairs], np.int64), np.array([k for _, k in pairs], np.int64))

        def column(rows: Sequence[tuple[Any, ...]], i: int) -> np.ndarray:
            return np.array([row[i] for row in rows], np.int64)

        def masks(rows: Sequence[tuple[Any, ...]], shape: tuple[int, ...]) -> np.ndarray:
            return np.array([row[1] for row in rows], bool).reshape(len(rows), *shape)

        token_ptr, token_test = by_place(self.tests)
        step_ptr, step_test = by_place(self.steps)
        start_ptr, start_term = by_number(self.by_start)
        label_ptr, label_term = by_number(self.by_label)
        return Events(
            token_ptr, token_test, column(self.tests, 0), masks(self.tests, (Y,)),
            step_ptr, step_test, column(self.steps, 0), masks(self.steps, (Y, Y)),
            start_ptr, start_term, label_ptr, label_term,
            column(self.lengths, 0), masks(self.lengths, (Y,)), column(self.lengths, 2), column(self.lengths, 3),
            column(self.orders, 0), column(self.orders, 1), column(self.orders, 2),
        )  # fmt: skip


def _classes(ptr: np.ndarray, tests: np.ndarray, n_tests: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct sets of tests: (class of each place, (classes, n_tests) which tests it has)."""
    bits = 62
    codes = np.zeros((len(ptr) - 1, max(-(-n_tests // bits), 1)), np.int64)
    place = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    np.bitwise_or.at(codes, (place, tests // bits), np.left_shift(1, tests % bits))
    distinct, of = np.unique(codes, axis=0 if codes.shape[1] > 1 else None, return_inverse=True)
    distinct = distinct.reshape(-1, codes.shape[1])
    q = np.arange(n_tests)
    return of.reshape(-1).astype(np.int32), ((distinct[:, q // bits] >> (q % bits)) & 1).astype(float)


def _joined(parts: list[Any], pick: Callable[[int, Any], np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *(pick(q, part) for q, part in enumerate(parts))])


def _grouped(n: int, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR: the values of each of n keys, in their order."""
    order = np.argsort(keys, kind="stable")
    return starts(np.bincount(keys, minlength=n)), values[order]
