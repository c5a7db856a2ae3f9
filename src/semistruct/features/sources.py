"""Where feature names come from: templates applied to tokens, or features that the user already has.

A source says which token has which row of weights with which value (`entries`).  It asks the encoder twice: for the
numbers of the names it found, then, when all of them are known, `rows` for where their rows are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from semistruct.batch import ranges, starts
from semistruct.features.functions import called
from semistruct.features.memory import Memory
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

    def forget(self) -> None:
        """Nothing is remembered."""

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
        self.forget()
        self.windows = {label: window for label, window, _ in (*self.templates.words, *self.templates.vectors)}

    def forget(self) -> None:
        """Names will have other numbers."""
        self._words = Memory[Any, tuple[int, ...]]()
        self._values = {label: Memory[str, int]() for label, _ in self.templates.sequences}

    def window(self, name: str) -> range:
        return self.windows.get(split_name(name)[0], range(1))

    def kinds(self, X: Sequence[Any]) -> np.ndarray:
        return np.fromiter(chain.from_iterable(self.templates.step(list(x)) for x in X), np.int16)

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        own = Gathered()
        X = self._parted(X, own)
        distinct = dict.fromkeys(chain.from_iterable(X))
        self._call(X, own)
        by_word = (self._new_words if look.grow else self._known_words)(distinct, look)
        named = self._new_names if look.grow else self._known_names
        by_block = [named(X[a : a + BLOCK], look) for a in range(0, len(X), BLOCK)]
        numbered = own.numbered(look)
        number = {token: i for i, token in enumerate(distinct)}
        seen = _Seen(np.array([len(x) for x in X]), np.fromiter((number[t] for x in X for t in x), np.int32))
        wide = [look.vector(f"{label}=dimension", v.width, label) for label, _, v in self.templates.vectors]
        place = rows()
        vectors = self._vectors(seen, list(distinct), [(v, int(place.first[v])) for v in wide])
        return Found(
            self._blocks(seen, by_word, by_block, place),
            numbered.entries(place.first),
            chain(numbered.dense(place.first), vectors),
        )

    def _blocks(self, seen: _Seen, by_word: _Names, by_block: list[list[_Names]], rows: Rows) -> Iterator[Block]:
        """The features of templates, a block at a time."""
        token = 0
        for k, found in enumerate(by_block):
            part = seen.part(token, seen.lengths[k * BLOCK : (k + 1) * BLOCK])
            token += len(part.word)
            once = [*self._laid_out(part, by_word, rows)]
            for owner, names in (one.known() for one in found):
                once.append((owner, rows.first[names]))
            yield Block(len(part.word), once)

    def _new_words(self, distinct: Iterable[Any], look: Lookup) -> _Names:
        """The names of the word templates of each distinct token, which get numbers as they are met."""
        names = [self._word_names(token) for token in distinct]
        return _Names.of(names, look.numbers(chain.from_iterable(names)))

    def _known_words(self, distinct: Collection[Any], look: Lookup) -> _Names:
        """The same for names that have their numbers: each is made and looked up once."""

        def of_words(tokens: Collection[Any]) -> Iterator[tuple[int, ...]]:
            names = [self._word_names(token) for token in tokens]
            numbers = iter(look.numbers(chain.from_iterable(names)).tolist())
            return (tuple(n for n in islice(numbers, len(own)) if n >= 0) for own in names)

        words = self._words.of(distinct, of_words)
        by_word = [words[token] for token in distinct]
        return _Names.of(by_word, np.fromiter(chain.from_iterable(by_word), np.int32))

    def _new_names(self, X: list[list[Any]], look: Lookup) -> list[_Names]:
        """The names of the other templates of each token, which get numbers as they are met."""
        names = [own for x in X for own in self._sequence_names(x)]
        return [_Names.of(names, look.numbers(chain.from_iterable(names)))]

    def _known_names(self, X: list[list[Any]], look: Lookup) -> list[_Names]:
        """The same for names that have their numbers, one template at a time: each is made and looked up once."""
        out = []
        for label, template in self.templates.sequences:
            sizes, values = list[int](), list[str]()
            for x in X:
                found = template(x)  # not kept: many small lists keep the garbage collector busy
                sizes.extend(map(len, found))
                values.extend(chain.from_iterable(found))
            numbers = self._values[label].of({*values}, partial(_numbers_of, look, label))
            known = np.fromiter(map(numbers.__getitem__, values), np.int32, len(values))
            out.append(_Names(np.array(sizes, np.int32), known))
        return out

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
    """The names that words, or tokens, have, as numbers end to end, -1 for unknown ones; sizes: how many each has."""

    sizes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, groups: Sequence[Any], numbers: np.ndarray) -> _Names:
        return cls(np.fromiter(map(len, groups), np.int32, len(groups)), numbers.astype(np.int32))

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


def _numbers_of(look: Lookup, label: str, values: Iterable[str]) -> list[int]:
    return look.numbers(f"{label}={value}" for value in values).tolist()


def _owners(groups: Sequence[Any]) -> np.ndarray:
    """For the members of all groups end to end, the number of their group."""
    return np.repeat(np.arange(len(groups)), np.fromiter(map(len, groups), np.int64, len(groups)))
