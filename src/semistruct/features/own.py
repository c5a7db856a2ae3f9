"""Features that users have themselves: lists of names, and dictionaries of texts, numbers and arrays.

    {"pos": "DT"}               the feature `pos:DT`
    {"cap": True, "len": 2.5}   `cap` with value 1, `len` with value 2.5
    {"near": ["the", "cat"]}    `near:the` and `near:cat`
    {"next": {"pos": "NN"}}     what is inside, each name after `next:`
    {"bert": array}             one feature, which has a weight for each number of the array

Up to arrays, names are those that python-crfsuite makes of the same dictionaries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np

from semistruct.errors import DataError, quoted
from semistruct.features.names import Block

LARGEST = 1e30
"""The largest value of a feature: sums of products with weights stay far from infinity."""

LISTS = (list, tuple, set, frozenset)
Own = dict[str, Any] | list[str] | tuple[str, ...] | set[str] | frozenset[str]

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(token, row, value), one of each per feature of a token."""


class Dense(NamedTuple):
    """Vectors: token tokens[i] has the values matrix[i] in the rows from `first` on; tokens are in order."""

    tokens: np.ndarray
    first: int
    matrix: np.ndarray


class Lookup(Protocol):
    """Where names get their numbers; -1 stands for a name that is not known; if `grow`, all become known."""

    @property
    def grow(self) -> bool: ...

    def numbers(self, names: Iterable[str]) -> np.ndarray: ...

    def blocks(self, tokens: Sequence[Collection[str]]) -> list[Block] | None:
        """The known names of all tokens at once; None where only `numbers` can tell them."""
        ...

    def vector(self, name: str, width: int, where: str) -> int:
        """The number of a feature with `width` numbers, first seen at `where`."""
        ...


@dataclass
class Vectors:
    """The arrays that one feature has, and the tokens that have them."""

    first: str
    tokens: list[int] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)


class Gathered:
    """The features of many tokens: names with values end to end, and arrays by name."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._names: list[str] = []
        self._values: list[float] = []
        self._vectors: dict[str, Vectors] = {}

    def add(self, token: int, features: Own, where: str, prefix: str = "") -> None:
        """The features of one token, which messages call `where`."""
        given = features.items() if isinstance(features, dict) else ((name, True) for name in features)
        try:
            found = [pair for key, value in given for pair in _flat(key, value, where)]
        except RecursionError:
            raise DataError(f"{where}: the features are nested too deeply") from None
        for name, value in found:
            if isinstance(value, np.ndarray):
                self._add_vector(token, prefix + name, value, where)
            elif value:
                self._tokens.append(token)
                self._names.append(prefix + name)
                self._values.append(value)

    def _add_vector(self, token: int, name: str, array: np.ndarray, where: str) -> None:
        known = self._vectors.setdefault(name, Vectors(where))
        if known.arrays and len(array) != len(known.arrays[0]):
            problem = f"feature {quoted(name)} has {len(array)} numbers, expected {len(known.arrays[0])} as before it"
            raise DataError(f"{where}: {problem}")
        known.tokens.append(token)
        known.arrays.append(array)

    def numbered(self, look: Lookup) -> Numbered:
        numbers = look.numbers(self._names)
        places = {look.vector(name, len(v.arrays[0]), v.first): v for name, v in self._vectors.items()}
        places.pop(-1, None)
        known = np.flatnonzero(numbers >= 0)
        tokens, values = np.array(self._tokens, np.int64)[known], np.array(self._values, float)[known]
        return Numbered(tokens, numbers[known], values, places)


@dataclass(frozen=True)
class Numbered:
    """Gathered features whose names have numbers; `vectors` by number."""

    tokens: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    vectors: dict[int, Vectors]

    def entries(self, first: np.ndarray) -> Entries:
        """The names with their values, if the rows of name v begin at first[v]."""
        return self.tokens, first[self.numbers], self.values

    def dense(self, first: np.ndarray) -> Iterator[Dense]:
        for number, found in self.vectors.items():
            yield Dense(np.array(found.tokens), int(first[number]), np.stack(found.arrays))


def _flat(key: Any, value: Any, where: str) -> Iterator[tuple[str, float | np.ndarray]]:
    """The names and numbers, or arrays, that one entry of a dictionary stands for."""
    if not isinstance(key, str):
        raise DataError(f"{where}: a feature is {quoted(key)}, expected a string")
    if isinstance(value, str):
        yield f"{key}:{value}", 1.0
    elif isinstance(value, dict):
        for inner, part in value.items():
            yield from _flat(f"{key}:{inner}" if isinstance(inner, str) else inner, part, where)
    elif isinstance(value, LISTS) and all(isinstance(text, str) for text in value):
        yield from ((f"{key}:{text}", 1.0) for text in value)
    elif getattr(value, "ndim", 0):
        yield key, _vector(key, value, where)
    else:
        yield key, _number(key, value, where)


def _number(key: str, value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        wanted = "a string, a finite number, a list of strings, an array or a dictionary"
        raise DataError(f"{where}: feature {quoted(key)} is {quoted(value)}, expected {wanted}")
    if abs(number) > LARGEST:
        raise DataError(f"{where}: feature {quoted(key)} is {number:g}, expected at most {LARGEST:g}")
    return number


def _vector(key: str, value: Any, where: str) -> np.ndarray:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"{where}: feature {quoted(key)} is {quoted(value)}, expected an array of numbers") from None
    if array.ndim != 1 or not array.size:
        raise DataError(f"{where}: feature {quoted(key)} is an array of shape {array.shape}, expected (n,)")
    bad = np.flatnonzero(~(np.abs(array) <= LARGEST))
    if len(bad):
        found = f"holds {array[bad[0]]:g} at place {bad[0]}"
        raise DataError(f"{where}: feature {quoted(key)} {found}, expected finite numbers up to {LARGEST:g}")
    return array
