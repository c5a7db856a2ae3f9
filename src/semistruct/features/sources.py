"""Where feature names come from: templates applied to tokens, or features that the user already has.

A source says which token has which row of weights with which value (`entries`).  It asks the encoder twice: for the
numbers of the names it found, then, when all of them are known, `rows` for where their rows are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from semistruct.batch import starts
from semistruct.core import kernels
from semistruct.features.functions import called
from semistruct.features.memory import Memory
from semistruct.features.names import Block
from semistruct.features.own import Dense, Entries, Gathered, Lookup
from semistruct.features.sequences import SequenceTemplate
from semistruct.features.templates import Features
from semistruct.features.texts import Template, Text, values_of

LABEL = re.compile(r"[a-z]+(?:\([^)]*\))?(?==)")
BLOCK = 2000  # sequences whose features of templates are made at once
BESIDE = "given="  # before the names of features that stand beside a token
NOTHING: Entries = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
Pairs = tuple[np.ndarray, np.ndarray]
"""(token, row), one of each per feature of a token."""


@dataclass(frozen=True)
class Found:
    """The features of all tokens.

    once    features of templates, which a token has or not, however often they are found, and those of users if no
            token has one twice; in blocks, which take less room than all at once
    valued  (token, row, value): other features of users, which add up
    dense   vectors, which also add up
    kinds   (n_tokens,) of the steps into the tokens
    """

    once: Iterable[Block]
    valued: Entries
    dense: Iterable[Dense]
    kinds: np.ndarray


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

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        tokens = list(chain.from_iterable(X))
        kinds = np.zeros(len(tokens), np.int16)
        if not any(issubclass(kind, dict) for kind in set(map(type, tokens))):
            blocks = look.blocks(tokens)
            if blocks is not None:
                return Found(blocks, NOTHING, [], kinds)
            names = look.numbers(chain.from_iterable(tokens))
            known = np.flatnonzero(names >= 0)
            entries = _owners(tokens)[known], rows().first[names[known]], np.ones(len(known))
            return Found([], entries, [], kinds)
        own = Gathered()
        places = ((i, t) for i, x in enumerate(X) for t in range(len(x)))
        for number, (token, (i, t)) in enumerate(zip(tokens, places, strict=True)):
            own.add(number, token, f"sequence {i}, token {t}")
        numbered, first = own.numbered(look), rows().first
        return Found([], numbered.entries(first), numbered.dense(first), kinds)


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

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        own = Gathered()
        X = self._parted(X, own)
        self._call(X, own)
        text = Text.of(X)
        by_word = (self._new_words if look.grow else self._known_words)(text.words.distinct, look)
        by_template = [self._names(label, template, text, look) for label, template in self.templates.sequences]
        numbered = own.numbered(look)
        wide = [look.vector(f"{label}=dimension", v.width, label) for label, _, v in self.templates.vectors]
        place = rows()
        vectors = self._vectors(text, [(v, int(place.first[v])) for v in wide])
        return Found(
            self._blocks(text, by_word, by_template, place),
            numbered.entries(place.first),
            chain(numbered.dense(place.first), vectors),
            self._kinds(text),
        )

    def _blocks(self, text: Text, by_word: _Names, by_template: list[list[_Names]], rows: Rows) -> Iterator[Block]:
        """The features of templates, a block at a time."""
        words = [_Rows.at(offset, by_word, rows) for offset in self._offsets]
        offsets = np.array(self._offsets, np.int64)
        firsts = np.array([at.first for at in words], np.int64).reshape(len(words), len(by_word.sizes) + 1)
        firsts += starts(firsts[:, -1])[:-1, None]
        own = np.concatenate([np.empty(0, np.int32), *(at.rows for at in words)], dtype=np.int32, casting="same_kind")
        most_words = sum(int(at.sizes.max(initial=0)) for at in words)
        for block, *found in zip(text.blocks(BLOCK), *by_template, strict=True):
            sizes = np.array([one.sizes for one in found], np.int32).reshape(len(found), len(block.word))
            numbers = np.concatenate([np.empty(0, np.int32), *(one.numbers for one in found)])
            known = np.where(numbers < 0, -1, rows.first[numbers]).astype(np.int32)
            most = most_words + int(sizes.sum(axis=0).max(initial=0))
            total = sum(int(at.sizes[block.word].sum()) for at in words) + len(numbers)
            counts, out = np.empty(len(block.word), np.int32), np.empty(total, np.int32)
            places = block.word, block.before, block.behind
            n = kernels.gather_features(places, (offsets, firsts, own), (sizes, known), most, counts, out)
            yield Block(counts, out[:n])

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

    def _names(self, label: str, template: SequenceTemplate, text: Text, look: Lookup) -> list[_Names]:
        """The names of a template of sequences, by blocks."""

        def numbers(values: Iterable[str]) -> list[int]:
            return look.numbers(f"{label}={value}" for value in values).tolist()

        out = []
        for block in text.blocks(BLOCK):
            sizes, which, texts = values_of(label, template, block)
            if not look.grow:  # each is made and looked up once
                known = self._values[label].of(texts, numbers)
                found = [known[value] for value in texts]
            else:
                found = numbers(texts)
            out.append(_Names(sizes, np.array(found, np.int32)[which]))
        return out

    def _kinds(self, text: Text) -> np.ndarray:
        step = self.templates.step
        if isinstance(step, Template):
            return np.concatenate([step.all(block) for block in text.blocks(BLOCK)])
        return np.fromiter(chain.from_iterable(step(list(x)) for x in text.X), np.int16)

    def _parted(self, X: Sequence[Any], own: Gathered) -> Sequence[Sequence[Any]]:
        """The tokens without the features that stand beside them, which go to `own`."""
        if not any(issubclass(kind, tuple) for kind in set(map(type, chain.from_iterable(X)))):
            return X
        out = [list(x) for x in X]
        number = 0
        for i, x in enumerate(out):
            for t, token in enumerate(x):
                if isinstance(token, tuple) and not isinstance(token[-1], str):
                    own.add(number + t, token[-1], f"sequence {i}, token {t}", BESIDE)
                    x[t] = token[:-1] if len(token) > 2 else token[0]
            number += len(x)
        return out

    def _call(self, X: Sequence[Sequence[Any]], own: Gathered) -> None:
        """Call the functions for every token."""
        for label, function in self.templates.functions:
            number = 0
            for i, x in enumerate(X):
                tokens = list(x)
                for t in range(len(x)):
                    own.add(number, called(function, tokens, i, t), f"sequence {i}, token {t}: {label}", f"{label}=")
                    number += 1

    @property
    def _offsets(self) -> list[int]:
        """Where word templates look."""
        return sorted({o for _, window, _ in self.templates.words for o in window})

    def _vectors(self, text: Text, places: list[tuple[int, int]]) -> Iterator[Dense]:
        """The numbers of the vectors of words; places has the number and the first row of each set of vectors."""
        distinct = text.words.distinct
        for (_, window, vectors), (number, first) in zip(self.templates.vectors, places, strict=True):
            where = np.fromiter(map(vectors.find, distinct), np.int64, len(distinct))
            for at, offset in enumerate(window if number >= 0 else ()):
                token, other = text.beside(offset)
                there = where[other] >= 0
                yield Dense(token[there], first + at * vectors.width, vectors.matrix[where[other[there]]])

    def _word_names(self, token: Any) -> list[str]:
        return [f"{label}={value}" for label, _, values in self.templates.words for value in values(token)]


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
class _Rows:
    """The rows of the word templates for the words at one offset: word w has sizes[w] of them, from first[w] on."""

    first: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray

    @classmethod
    def at(cls, offset: int, by_word: _Names, rows: Rows) -> _Rows:
        owner, names = by_word.known()
        place = offset - rows.low[names]
        fits = (place >= 0) & (place < np.diff(rows.first)[names])
        sizes = np.bincount(owner[fits], minlength=len(by_word.sizes))
        return cls(starts(sizes), sizes, rows.first[names[fits]] + place[fits])


def split_name(name: str) -> tuple[str, str]:
    """The label of the template and the value: `suffix(2-4)=ing` is ("suffix(2-4)", "ing")."""
    match = LABEL.match(name)
    label = match.group() if match else ""
    return label, name[len(label) + 1 :]


def _owners(groups: Sequence[Any]) -> np.ndarray:
    """For the members of all groups end to end, the number of their group."""
    return np.repeat(np.arange(len(groups)), np.fromiter(map(len, groups), np.int64, len(groups)))
