"""Collecting what the terms of rules count in some sequences, as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from semistruct.core.batch import starts
from semistruct.rules.words import Texts

ANY_LENGTH = 2**31 - 1
BITS = 62  # tests per number when sets of tests are compared
PLACES = 1 << 20  # whose sets of tests are compared at once; a multiple of 8


NO_MARK = -1  # of a label whose occurrence no rule needs to remember

ENTRY = np.dtype([("term", "i8"), ("least", "i8"), ("most", "i8"), ("mark", "i8")])
"""An event of a term in a cell: `Entry` in `core/events.hpp`."""


class Events(NamedTuple):
    """What happens where, by cells: `Events` in `core/events.hpp`."""

    token_class: np.ndarray
    step_class: np.ndarray
    first_step: int
    ptr: np.ndarray
    entry: np.ndarray
    mark: np.ndarray


class _Test(NamedTuple):
    """Term k counts what has a label, or a pair of labels, of the mask, at the tokens `where` (bits); None for all."""

    term: int
    mask: np.ndarray
    where: np.ndarray | None

    @classmethod
    def of(cls, term: int, mask: np.ndarray, where: np.ndarray | None) -> _Test:
        return cls(term, mask, None if where is None else np.packbits(where))


class Builder(Texts):
    """Collects the events of terms in sequences X, of N tokens in all, with Y labels.

    labels   the names of the labels, in the order of their numbers
    entered  how many times something was entered
    """

    def __init__(self, X: Sequence[Any], labels: tuple[str, ...]) -> None:
        super().__init__(X)
        self.labels = labels
        self._only: np.ndarray | None = None
        self._tokens: list[_Test] = []
        self._steps: list[_Test] = []
        self._lengths: list[tuple[int, int, int, int]] = []  # label, term, least, most
        self._orders: list[tuple[int, int, int]] = []  # first label, term, label that came before

    @property
    def entered(self) -> int:
        return len(self._tokens) + len(self._steps) + len(self._lengths) + len(self._orders)

    def mask(self, labels: Iterable[str]) -> np.ndarray:
        """(Y,): which of all labels these are."""
        wanted = set(labels)
        return np.array([label in wanted for label in self.labels])

    def pairs(self, counts: Callable[[str | None, str], bool]) -> np.ndarray:
        """(Y + 1, Y): the steps from label y to z that count; y is None at the first token of a sequence."""
        return np.array([[counts(y, z) for z in self.labels] for y in (*self.labels, None)])

    def within(self, where: np.ndarray) -> Builder:
        """The same builder, for which only what happens at the tokens `where` (N,) counts."""
        limited = copy(self)
        limited._only = self._also(where)
        return limited

    def _also(self, where: np.ndarray | None) -> np.ndarray | None:
        return where if self._only is None else self._only if where is None else self._only & where

    def at_tokens(self, k: int, having: np.ndarray, where: np.ndarray | None = None) -> None:
        """Term k counts the tokens `where` (N,), everywhere if not given, that have a label of having (Y,)."""
        self._tokens.append(_Test.of(k, having, self._also(where)))

    def at_steps(self, k: int, pairs: np.ndarray, where: np.ndarray | None = None) -> None:
        """Term k counts the steps into tokens `where` from label y to z with pairs[y, z]; pairs (Y + 1, Y).

        The last row of pairs is for the first token of a sequence, which comes after no label.
        """
        self._steps.append(_Test.of(k, pairs, self._also(where)))

    def at_lengths(self, k: int, having: np.ndarray, least: int, most: int | None) -> None:
        """Term k counts the blocks of labels having (Y,) that are shorter than least or longer than most."""
        longest = ANY_LENGTH if most is None else most
        self._lengths += [(int(y), k, least, longest) for y in np.flatnonzero(having)]

    def at_starts_after(self, k: int, label: str, earlier: str) -> None:
        """Term k counts the blocks of a label that begin after a token, however far away, that has another label."""
        self._orders.append((self.labels.index(label), k, self.labels.index(earlier)))

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
