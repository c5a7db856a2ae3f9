"""Where feature names come from: templates applied to tokens, or features that the user already has.

A source says which token has which row of weights with which value (`entries`).  It asks the encoder twice: for the
numbers of the names it found, then, when all of them are known, `rows` for where their rows are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import Growing, ranges, starts
from semistruct.features.functions import called
from semistruct.features.own import Dense, Entries, Gathered, Lookup
from semistruct.features.templates import Features

LABEL = re.compile(r"[a-z]+(?:\([^)]*\))?(?==)")
BLOCK = 2000  # sequences whose features of templates are made at once
BESIDE = "given="  # before the names of features that stand beside a token
Pairs = tuple[np.ndarray, np.ndarray]
"""(token, row), one of each per feature of a token."""


class Block(NamedTuple):
    """Some tokens in a row, counted from 0 in `pairs`."""

    n_tokens: int
    pairs: list[Pairs]


@dataclass(frozen=True)
class Found:
    """The features of all tokens.

    once    features of templates, which a token has or not, however often they are found; in blocks, which take less
            room than all at once
    valued  (token, row, value): those of users, which add up
    dense   vectors, which also add up
    """

    once: Iterable[Block]
    valued: Entries
    dense: Iterable[Dense] = ()


@dataclass(frozen=True)
class Rows:
    """Name v owns the rows first[v] .. first[v + 1] - 1: one, or a vector of them, for each offset from low[v] on."""

    first: np.ndarray
    low: np.ndarray


class Given:
    """Sequences whose tokens are lists or dictionaries of features."""

    n_kinds = 1

    def window(self, name: str) -> range:
        return range(1)

    def kinds(self, X: Sequence[Any]) -> np.ndarray:
        return np.zeros(sum(map(len, X)), np.int16)

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        tokens = list(chain.from_iterable(X))
        if not any(issubclass(kind, dict) for kind in set(map(type, tokens))):
            names = look.numbers(chain.from_iterable(tokens))
            known = np.flatnonzero(names >= 0)
            return Found([], (_owners(tokens)[known], rows().first[names[known]], np.ones(len(known))))
        own = Gathered()
        places = ((i, t) for i, x in enumerate(X) for t in range(len(x)))
        for number, (token, (i, t)) in enumerate(zip(tokens, places, strict=True)):
            own.add(number, token, f"sequence {i}, token {t}")
        numbered, first = own.numbered(look), rows().first
        return Found([], numbered.entries(first), numbered.dense(first))


class Templated:
    """Sequences of tokens, to which the templates of a feature set are applied; with the features beside them, if any.

    Word templates are called once per distinct token; their names are then laid out at every offset of their window.
    """

    def __init__(self, features: Features) -> None:
        self.templates = features.compile()
        self.n_kinds = self.templates.n_kinds
        self.windows = {label: window for label, window, _ in (*self.templates.words, *self.templates.vectors)}

    def window(self, name: str) -> range:
        return self.windows.get(split_name(name)[0], range(1))

    def kinds(self, X: Sequence[Any]) -> np.ndarray:
        return np.fromiter(chain.from_iterable(self.templates.step(list(x)) for x in X), np.int16)

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        own = Gathered()
        X = self._parted(X, own)
        distinct = dict.fromkeys(chain.from_iterable(X))
        by_word = _Names.of([self._word_names(token) for token in distinct], look)
        by_token = self._by_token(X, look)
        self._call(X, own)
        numbered = own.numbered(look)
        number = {token: i for i, token in enumerate(distinct)}
        seen = _Seen(np.array([len(x) for x in X]), np.fromiter((number[t] for x in X for t in x), np.int32))
        wide = [look.vector(f"{label}=dimension", v.width, label) for label, _, v in self.templates.vectors]
        place = rows()
        vectors = self._vectors(seen, list(distinct), [(v, int(place.first[v])) for v in wide])
        return Found(
            self._blocks(seen, by_word, by_token, place),
            numbered.entries(place.first),
            chain(numbered.dense(place.first), vectors),
        )

    def _by_token(self, X: list[list[Any]], look: Lookup) -> _Names:
        """The names of sequence templates, looked up a block at a time, as texts take much room."""
        sizes, numbers = Growing(np.int32), Growing(np.int32)
        for a in range(0, len(X), BLOCK):
            block = _Names.of([names for x in X[a : a + BLOCK] for names in self._sequence_names(x)], look)
            sizes.add(block.sizes)
            numbers.add(block.numbers)
        return _Names(sizes.whole(), numbers.whole())

    def _blocks(self, seen: _Seen, by_word: _Names, by_token: _Names, rows: Rows) -> Iterator[Block]:
        """The features of templates, a block at a time."""
        token = name = 0
        for a in range(0, len(seen.lengths), BLOCK):
            part = seen.part(token, seen.lengths[a : a + BLOCK])
            sizes = by_token.sizes[token : token + len(part.word)]
            numbers = by_token.numbers[name : name + int(sizes.sum())]
            owner, names = _Names(sizes, numbers).known()
            yield Block(len(part.word), [*self._laid_out(part, by_word, rows), (owner, rows.first[names])])
            token, name = token + len(sizes), name + len(numbers)

    def _parted(self, X: Sequence[Any], own: Gathered) -> list[list[Any]]:
        """The tokens without the features that stand beside them, which go to `own`."""
        out = [list(x) for x in X]
        number = 0
        for i, x in enumerate(out):
            for t, token in enumerate(x):
                if isinstance(token, tuple) and not isinstance(token[-1], str):
                    own.add(number + t, token[-1], f"sequence {i}, token {t}", BESIDE)
                    x[t] = token[:-1] if len(token) > 2 else token[0]
            number += len(x)
        return out

    def _call(self, X: list[list[Any]], own: Gathered) -> None:
        """Call the functions for every token."""
        for label, function in self.templates.functions:
            number = 0
            for i, x in enumerate(X):
                tokens = list(x)
                for t in range(len(x)):
                    own.add(number, called(function, tokens, i, t), f"sequence {i}, token {t}: {label}", f"{label}=")
                    number += 1

    def _laid_out(self, seen: _Seen, by_word: _Names, rows: Rows) -> Iterator[Pairs]:
        """(token, row) of the word templates, one offset at a time."""
        owner, names = by_word.known()
        for offset in sorted({o for _, window, _ in self.templates.words for o in window}):
            place = offset - rows.low[names]
            fits = (place >= 0) & (place < np.diff(rows.first)[names])
            row = rows.first[names[fits]] + place[fits]
            size = np.bincount(owner[fits], minlength=len(by_word.sizes))
            token, other = seen.beside(offset)
            yield np.repeat(token, size[other]), row[ranges(starts(size)[other], size[other])]

    def _vectors(self, seen: _Seen, distinct: list[Any], places: list[tuple[int, int]]) -> Iterator[Dense]:
        """The numbers of the vectors of words; places has the number and the first row of each set of vectors."""
        for (_, window, vectors), (number, first) in zip(self.templates.vectors, places, strict=True):
            where = np.fromiter(map(vectors.find, distinct), np.int64, len(distinct))
            for at, offset in enumerate(window if number >= 0 else ()):
                token, other = seen.beside(offset)
                there = where[other] >= 0
                yield Dense(token[there], first + at * vectors.width, vectors.matrix[where[other[there]]])

    def _word_names(self, token: Any) -> list[str]:
        return [f"{label}={value}" for label, _, values in self.templates.words for value in values(token)]

    def _sequence_names(self, x: list[Any]) -> list[list[str]]:
        out: list[list[str]] = [[] for _ in x]
        for label, template in self.templates.sequences:
            for names, values in zip(out, template(x), strict=True):
                if values:
                    names += [f"{label}={value}" for value in values]
        return out


@dataclass(frozen=True)
class _Names:
    """The names that words, or tokens, have, as numbers end to end; sizes says how many each has."""

    sizes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, names: list[list[str]], look: Lookup) -> _Names:
        sizes = np.fromiter(map(len, names), np.int32, len(names))
        return cls(sizes, look.numbers(chain.from_iterable(names)).astype(np.int32))

    def known(self) -> Pairs:
        """The (owner, number) of the names that have a number."""
        known = self.numbers >= 0
        return np.repeat(np.arange(len(self.sizes)), self.sizes)[known], self.numbers[known]


@dataclass(frozen=True)
class _Seen:
    """Sequences of these lengths, end to end; word[t] says which distinct token t is."""

    lengths: np.ndarray
    word: np.ndarray

    def part(self, first: int, lengths: np.ndarray) -> _Seen:
        """The sequences of these lengths from token `first` on."""
        return _Seen(lengths, self.word[first : first + int(lengths.sum())])

    def beside(self, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that have another one so far to their right, and the words of these."""
        before = ranges(np.zeros(len(self.lengths), np.int64), self.lengths)
        after = np.repeat(self.lengths, self.lengths) - before - 1
        token = np.flatnonzero((before >= -offset) & (after >= offset))
        return token, self.word[token + offset]


def split_name(name: str) -> tuple[str, str]:
    """The label of the template and the value: `suffix(2-4)=ing` is ("suffix(2-4)", "ing")."""
    match = LABEL.match(name)
    label = match.group() if match else ""
    return label, name[len(label) + 1 :]


def _owners(groups: Sequence[Any]) -> np.ndarray:
    """For the members of all groups end to end, the number of their group."""
    return np.repeat(np.arange(len(groups)), np.fromiter(map(len, groups), np.int64, len(groups)))
