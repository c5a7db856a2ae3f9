"""Collecting what the terms of rules count in some sequences, as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import starts
from semistruct.errors import DataError
from semistruct.features.encoder import form_of
from semistruct.features.words import word_of
from semistruct.rules.events import Event
from semistruct.rules.records import ENTRY, NO_MARK, Events
from semistruct.rules.words import PhraseTest, RunTest, WordIndex, WordTest

ANY_LENGTH = 2**31 - 1
BITS = 62  # tests per number when sets of tests are compared
PLACES = 1 << 20  # whose sets of tests are compared at once; a multiple of 8


class _Test(NamedTuple):
    """Term k counts what has a label, or a pair of labels, of the mask, at the tokens `where` (bits); None for all."""

    term: int
    mask: np.ndarray
    where: np.ndarray | None

    @classmethod
    def of(cls, term: int, mask: np.ndarray, where: np.ndarray | None) -> _Test:
        return cls(term, mask, None if where is None else np.packbits(where))


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
        words = list(map(word_of, chain.from_iterable(self.X)))
        codes = {word: i for i, word in enumerate(dict.fromkeys(words))}
        return WordIndex(codes), np.fromiter(map(codes.__getitem__, words), np.int32, len(words))

    def passes(self, test: WordTest) -> np.ndarray:
        """(N,): the tokens whose word passes."""
        return self._passed(test)[self._words[1]]

    def _passed(self, test: WordTest) -> np.ndarray:
        """(n_words,): the distinct words that pass."""
        words, _ = self._words
        passed = np.zeros(len(words.number), bool)
        passed[words.passing(test)] = True
        return passed

    def _ends(self, tokens: np.ndarray) -> np.ndarray:
        """Where the sequences of these tokens end."""
        return self.offsets[np.searchsorted(self.offsets, tokens, "right")]

    def runs(self, test: PhraseTest | RunTest) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all runs of words that pass."""
        begin = np.flatnonzero(self.passes(test.head))
        if isinstance(test, RunTest):
            found = [self._following(begin, test.tests)]
        else:
            words, code = self._words
            order = np.argsort(code[begin], kind="stable")
            by_head = np.split(begin[order], np.flatnonzero(np.diff(code[begin][order])) + 1)
            spelling = list(words.number)
            found = [
                self._following(same, tests)
                for same in by_head
                if len(same)
                for tests in test.tests(spelling[code[same[0]]])
            ]
        nothing = np.zeros(0, np.int64)
        start, end = (np.concatenate(part) for part in zip((nothing, nothing), *found, strict=True))
        return start, end

    def _following(self, begin: np.ndarray, tests: tuple[WordTest, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The runs that begin at these tokens, whose words pass the tests after the first."""
        begin = begin[begin + len(tests) <= self._ends(begin)]
        _, code = self._words
        for k, test in enumerate(tests[1:] if len(begin) else (), 1):
            begin = begin[self._passed(test)[code[begin + k]]]
        return begin, begin + len(tests)

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
            token_class=token_class,
            step_class=step_class,
            first_step=first_step,
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
    some = [test.where for test in tests if test.where is not None]
    of, distinct = np.zeros(n, np.int32), np.zeros((0, max(-(-len(some) // BITS), 1)), np.int64)
    for a in range(0, n, PLACES):
        part = slice(a, min(a + PLACES, n))
        codes = np.zeros((part.stop - a, distinct.shape[1]), np.int64)
        for q, where in enumerate(some):
            here = np.unpackbits(where[a // 8 : -(-part.stop // 8)], count=len(codes)).view(bool)
            codes[here, q // BITS] |= 1 << (q % BITS)
        found, of_part = _distinct(codes)
        before = len(distinct)
        distinct, renumbered = _distinct(np.concatenate([distinct, found]))
        if len(distinct) > before:
            of[:a] = renumbered[of[:a]]
        of[part] = renumbered[len(renumbered) - len(found) :][of_part]
    cells, terms, tested = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], np.zeros((len(distinct), n_terms), bool)
    q = 0
    for test in tests:
        which = np.arange(len(distinct))
        if test.where is not None:
            which, q = np.flatnonzero(distinct[:, q // BITS] >> (q % BITS) & 1), q + 1
        tested[which, test.term] = True
        cells.append((which[:, None] * size + np.flatnonzero(test.mask)).ravel())
        terms.append(np.full(len(cells[-1]), test.term))
    return of, (np.concatenate(cells), np.concatenate(terms)), tested


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows, in order, and which of them each one is."""
    found, which = np.unique(rows, axis=0 if rows.shape[1] > 1 else None, return_inverse=True)
    return found.reshape(-1, rows.shape[1]), which.reshape(-1)
