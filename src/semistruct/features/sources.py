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

from semistruct.core.batch import starts
from semistruct.core.kernels import kernels
from semistruct.features.sequences import SequenceFunction, Text
from semistruct.features.templates import Features
from semistruct.features.user_features import Dense, Entries, Gathered, call
from semistruct.features.vocabulary import Block, Lookup, Memory

LABEL = re.compile(r"[a-z]+(?:\([^)]*\))?(?==)")
BLOCK = 2000  # sequences whose features of templates are made at once
BESIDE = "given="  # before the names of features that stand beside a token
NOTHING: Entries = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)

Names = tuple[np.ndarray, np.ndarray]
"""(sizes, numbers): word, or token, i has sizes[i] names; their numbers lie end to end, -1 for unknown ones."""


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
        if any(issubclass(kind, dict) for kind in set(map(type, tokens))):
            own = Gathered()
            places = ((i, t) for i, x in enumerate(X) for t in range(len(x)))
            for number, (token, (i, t)) in enumerate(zip(tokens, places, strict=True)):
                own.add(number, token, f"sequence {i}, token {t}")
            own.look_up(look)
            first = rows().first
            return Found([], own.entries(first), own.dense(first), kinds)
        blocks = look.blocks(tokens)
        if blocks is not None:
            return Found(blocks, NOTHING, [], kinds)
        names = look.numbers(chain.from_iterable(tokens))
        known = np.flatnonzero(names >= 0)
        owner = np.repeat(np.arange(len(tokens)), np.fromiter(map(len, tokens), np.int64, len(tokens)))
        return Found([], (owner[known], rows().first[names[known]], np.ones(len(known))), [], kinds)


class Templated:
    """Sequences of tokens, to which the templates of a feature set are applied; with the features beside them, if any.

    Word templates are called once per distinct token; their names are then laid out at every offset of their window.
    """

    def __init__(self, features: Features) -> None:
        self.templates = features.compile()
        self.n_kinds = self.templates.steps.n_kinds
        self.windows = {label: window for label, window, _ in (*self.templates.words, *self.templates.vectors)}
        self.forget()

    def forget(self) -> None:
        """Names will have other numbers."""
        self._words = Memory[Any, tuple[int, ...]]()
        self._values = {label: Memory[str, int]() for label, _ in self.templates.sequences}

    def window(self, name: str) -> range:
        return self.windows.get(split_name(name)[0], range(1))

    def entries(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> Found:
        own = Gathered()
        X = _without_features(X, own)
        self._call(X, own)
        text = Text.of(X)
        by_word = self._word_names(text.distinct, look)
        by_template = [self._names(label, values, text, look) for label, values in self.templates.sequences]
        own.look_up(look)
        wide = [look.vector(f"{label}=dimension", v.width, label) for label, _, v in self.templates.vectors]
        place = rows()
        vectors = self._vectors(text, [(v, int(place.first[v])) for v in wide])
        return Found(
            self._blocks(text, by_word, by_template, place),
            own.entries(place.first),
            chain(own.dense(place.first), vectors),
            np.concatenate([self.templates.steps.kinds(block) for block in text.blocks(BLOCK)]),
        )

    def _blocks(self, text: Text, by_word: Names, by_template: list[list[Names]], rows: Rows) -> Iterator[Block]:
        """The features of templates, a block at a time."""
        offsets = np.array(sorted({o for _, window, _ in self.templates.words for o in window}), np.int64)
        firsts, own = _rows_of_words(offsets, by_word, rows)
        per_word = np.diff(firsts, axis=1)  # (n_offsets, n_words): how many features a word gives at an offset
        most_words, all_of_word = int(per_word.max(axis=1, initial=0).sum()), per_word.sum(axis=0)
        for block, *found in zip(text.blocks(BLOCK), *by_template, strict=True):
            sizes = np.array([size for size, _ in found], np.int32).reshape(len(found), len(block.word))
            numbers = np.concatenate([np.empty(0, np.int32), *(number for _, number in found)])
            known = np.where(numbers < 0, -1, rows.first[numbers]).astype(np.int32)
            most = most_words + int(sizes.sum(axis=0).max(initial=0))
            total = int(all_of_word[block.word].sum()) + len(numbers)
            counts, out = np.empty(len(block.word), np.int32), np.empty(total, np.int32)
            places = block.word, block.before, block.behind
            n = kernels.gather_features(places, (offsets, firsts, own), (sizes, known), most, counts, out)
            yield Block(counts, out[:n])

    def _word_names(self, distinct: Collection[Any], look: Lookup) -> Names:
        """The known names of the word templates of each distinct token."""

        def find(tokens: Collection[Any]) -> Iterator[tuple[int, ...]]:
            names = [[f"{label}={v}" for label, _, of in self.templates.words for v in of(token)] for token in tokens]
            numbers = iter(look.numbers(chain.from_iterable(names)).tolist())
            return (tuple(n for n in islice(numbers, len(own)) if n >= 0) for own in names)

        found = self._words.of(distinct, find)
        return np.fromiter(map(len, found), np.int32, len(found)), np.fromiter(chain.from_iterable(found), np.int32)

    def _names(self, label: str, values: SequenceFunction, text: Text, look: Lookup) -> list[Names]:
        """The names of a template of sequences, by blocks."""

        def find(texts: Iterable[str]) -> list[int]:
            return look.numbers(f"{label}={value}" for value in texts).tolist()

        out = []
        for block in text.blocks(BLOCK):
            sizes, which, texts = values(block)
            out.append((sizes, np.array(self._values[label].of(texts, find), np.int32)[which]))
        return out

    def _call(self, X: Sequence[Sequence[Any]], own: Gathered) -> None:
        """Call the functions for every token."""
        for label, function in self.templates.functions:
            number = 0
            for i, x in enumerate(X):
                tokens = list(x)
                for t in range(len(x)):
                    own.add(number, call(function, tokens, i, t), f"sequence {i}, token {t}: {label}", f"{label}=")
                    number += 1

    def _vectors(self, text: Text, places: list[tuple[int, int]]) -> Iterator[Dense]:
        """The vectors of all tokens; places has the number and the first row of each set of vectors."""
        for (_, window, vectors), (number, first) in zip(self.templates.vectors, places, strict=True):
            if number < 0:
                continue
            row, matrix = vectors.at(text)
            for k, offset in enumerate(window):
                token = np.flatnonzero((text.before >= -offset) & (text.behind >= offset))
                token = token[row[token + offset] >= 0]
                yield Dense(token, first + k * vectors.width, matrix[row[token + offset]])


def split_name(name: str) -> tuple[str, str]:
    """The label of the template and the value: `suffix(2-4)=ing` is ("suffix(2-4)", "ing")."""
    match = LABEL.match(name)
    label = match.group() if match else ""
    return label, name[len(label) + 1 :]


def _without_features(X: Sequence[Any], own: Gathered) -> Sequence[Sequence[Any]]:
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


def _rows_of_words(offsets: np.ndarray, by_word: Names, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(first, own): at offset o, word w has the rows own[first[o, w] : first[o, w + 1]]."""
    sizes, names = by_word
    owner = np.repeat(np.arange(len(sizes)), sizes)
    firsts = np.zeros((len(offsets), len(sizes) + 1), np.int64)
    own, total = [np.empty(0, np.int32)], 0
    for k, offset in enumerate(offsets):
        place = offset - rows.low[names]
        fits = (place >= 0) & (place < np.diff(rows.first)[names])
        firsts[k] = total + starts(np.bincount(owner[fits], minlength=len(sizes)))
        own.append((rows.first[names[fits]] + place[fits]).astype(np.int32))
        total = firsts[k, -1]
    return firsts, np.concatenate(own)
