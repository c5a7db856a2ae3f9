"""Where feature names come from: templates applied to tokens, or features that the user already has.

A source says which token has which row of weights with which value (`entries`).  It asks the encoder twice:
`look` for the numbers of the names it found, then, when all of them are known, `rows` for where their rows are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from semistruct.batch import ranges, starts
from semistruct.errors import DataError, quoted
from semistruct.features.templates import Features

LARGEST = 1e30
"""The largest value of a feature: sums of products with weights stay far from infinity."""

LABEL = re.compile(r"[a-z]+(?:\([^)]*\))?(?==)")

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(token, row, value), one of each per feature of a token."""

Look = Callable[[Iterable[str]], np.ndarray]
"""Turns names into numbers, -1 for an unknown name."""


@dataclass(frozen=True)
class Rows:
    """Name v owns the rows first[v] .. first[v + 1] - 1, one for each offset from low[v] on."""

    first: np.ndarray
    low: np.ndarray


class Given:
    """Sequences whose tokens are lists or dictionaries of features."""

    n_kinds = 1

    def window(self, name: str) -> range:
        return range(1)

    def kinds(self, X: Sequence[Any]) -> np.ndarray:
        return np.zeros(sum(map(len, X)), np.int16)

    def entries(self, X: Sequence[Any], look: Look, rows: Callable[[], Rows]) -> Entries:
        tokens = list(chain.from_iterable(X))
        values: np.ndarray | None = None
        if any(issubclass(kind, dict) for kind in set(map(type, tokens))):
            tokens, values = _from_dictionaries(X)
        sizes = np.fromiter(map(len, tokens), np.int64, len(tokens))
        names = look(chain.from_iterable(tokens))
        known = np.flatnonzero(names >= 0)
        owner = np.repeat(np.arange(len(tokens)), sizes)
        return owner[known], rows().first[names[known]], np.ones(len(known)) if values is None else values[known]


def _from_dictionaries(X: Sequence[Any]) -> tuple[list[list[str]], np.ndarray]:
    """The names of every token, and the values of all of them end to end."""
    names: list[list[str]] = []
    values: list[float] = []
    for i, x in enumerate(X):
        for t, features in enumerate(x):
            pairs = features.items() if isinstance(features, dict) else ((name, True) for name in features)
            read = [_name_and_value(key, value, i, t) for key, value in pairs]
            names.append([name for name, value in read if value])
            values.extend(value for _, value in read if value)
    return names, np.array(values)


def _name_and_value(key: str, value: Any, i: int, t: int) -> tuple[str, float]:
    """A text makes a binary feature `key:text`, a number or truth value the feature `key` with that value."""
    if isinstance(value, str):
        return f"{key}:{value}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise DataError(
            f"sequence {i}, token {t}: feature {quoted(key)} is {quoted(value)}, expected a string or a finite number"
        )
    if abs(number) > LARGEST:
        raise DataError(f"sequence {i}, token {t}: feature {quoted(key)} is {number:g}, expected at most {LARGEST:g}")
    return key, number


class Templated:
    """Sequences of tokens, to which the templates of a feature set are applied.

    Word templates are called once per distinct token; their names are then laid out at every offset of their window.
    """

    def __init__(self, features: Features) -> None:
        self.templates = features.compile()
        self.n_kinds = self.templates.n_kinds
        self.windows = {label: window for label, window, _ in self.templates.words}

    def window(self, name: str) -> range:
        return self.windows.get(split_name(name)[0], range(1))

    def kinds(self, X: Sequence[Any]) -> np.ndarray:
        return np.fromiter(chain.from_iterable(self.templates.step(list(x)) for x in X), np.int16)

    def entries(self, X: Sequence[Any], look: Look, rows: Callable[[], Rows]) -> Entries:
        distinct = dict.fromkeys(chain.from_iterable(X))
        by_word = [self._word_names(token) for token in distinct]
        by_token = [names for x in X for names in self._sequence_names(list(x))]
        word_names, token_names = look(chain.from_iterable(by_word)), look(chain.from_iterable(by_token))
        number = {token: i for i, token in enumerate(distinct)}
        word = np.fromiter((number[token] for token in chain.from_iterable(X)), np.int64)
        place = rows()
        parts = list(self._laid_out(X, word, by_word, word_names, place))
        known = token_names >= 0
        parts.append((_owners(by_token)[known], place.first[token_names[known]]))
        tokens = np.concatenate([tokens for tokens, _ in parts])
        return tokens, np.concatenate([found for _, found in parts]), np.ones(len(tokens))

    def _laid_out(
        self, X: Sequence[Any], word: np.ndarray, by_word: list[list[str]], names: np.ndarray, rows: Rows
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(token, row) of the word templates, one offset at a time; word[t] says which distinct token t is."""
        owner = _owners(by_word)
        owner, names = owner[names >= 0], names[names >= 0]
        lengths = np.array([len(x) for x in X])
        before = ranges(np.zeros(len(X), np.int64), lengths)
        after = np.repeat(lengths, lengths) - before - 1
        for offset in sorted({o for window in self.windows.values() for o in window}):
            place = offset - rows.low[names]
            fits = (place >= 0) & (place < np.diff(rows.first)[names])
            row = rows.first[names[fits]] + place[fits]
            size = np.bincount(owner[fits], minlength=len(by_word))
            token = np.flatnonzero((before >= -offset) & (after >= offset))
            seen = word[token + offset]
            yield np.repeat(token, size[seen]), row[ranges(starts(size)[seen], size[seen])]

    def _word_names(self, token: Any) -> list[str]:
        return [f"{label}={value}" for label, _, values in self.templates.words for value in values(token)]

    def _sequence_names(self, x: list[Any]) -> list[list[str]]:
        out: list[list[str]] = [[] for _ in x]
        for label, template in self.templates.sequences:
            for names, values in zip(out, template(x), strict=True):
                names.extend(f"{label}={value}" for value in values)
        return out


def split_name(name: str) -> tuple[str, str]:
    """The label of the template and the value: `suffix(2-4)=ing` is ("suffix(2-4)", "ing")."""
    match = LABEL.match(name)
    label = match.group() if match else ""
    return label, name[len(label) + 1 :]


def _owners(groups: list[list[str]]) -> np.ndarray:
    """For the members of all groups end to end, the number of their group."""
    return np.repeat(np.arange(len(groups)), np.fromiter(map(len, groups), np.int64, len(groups)))
