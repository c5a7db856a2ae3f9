"""Features that users have themselves: lists of names, dictionaries of texts, numbers and arrays, and functions.

    {"pos": "DT"}               the feature `pos:DT`
    {"cap": True, "len": 2.5}   `cap` with value 1, `len` with value 2.5
    {"near": ["the", "cat"]}    `near:the` and `near:cat`
    {"next": {"pos": "NN"}}     what is inside, each name after `next:`
    {"bert": array}             one feature, which has a weight for each number of the array

Up to arrays, names are those that python-crfsuite makes of the same dictionaries.

The template `python(my_features:shape)` calls shape(tokens, t) of the module my_features, which gives such a list or
dictionary.  A function is known by its module and its name, and has to be found under them.  A feature set that a user
writes may import the module; a model file may not, see `trusted_function`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from math import isfinite
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from semistruct.base.errors import DataError, ModelError, ParameterError, quoted, shortened
from semistruct.data.corpus import Token, word_of
from semistruct.features.vocabulary import Lookup

LARGEST = 1e30
"""The largest value of a feature: sums of products with weights stay far from infinity."""

LISTS = (list, tuple, set, frozenset)
Own = dict[str, Any] | list[str] | tuple[str, ...] | set[str] | frozenset[str]

TokenFunction = Callable[[list[Token], int], Own]

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(token, row, value), one of each per feature of a token."""


class Dense(NamedTuple):
    """Vectors: token tokens[i] has the values matrix[i] in the rows from `first` on; tokens are in order."""

    tokens: np.ndarray
    first: int
    matrix: np.ndarray


class Gathered:
    """The features of many tokens: names with values end to end, and arrays by name."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._names: list[str] = []
        self._values: list[float] = []
        self._vectors: dict[str, list[tuple[int, np.ndarray]]] = {}  # (token, array) by name
        self._where: dict[str, str] = {}  # the first token with an array of that name

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
        self._where.setdefault(name, where)
        known = self._vectors.setdefault(name, [])
        if known and len(array) != len(known[0][1]):
            problem = f"feature {quoted(name)} has {len(array)} numbers, expected {len(known[0][1])} as before it"
            raise DataError(f"{where}: {problem}")
        known.append((token, array))

    def look_up(self, look: Lookup) -> None:
        """Give the names their numbers."""
        self._numbers = look.numbers(self._names)
        self._places = {
            look.vector(name, len(found[0][1]), self._where[name]): found for name, found in self._vectors.items()
        }

    def entries(self, first: np.ndarray) -> Entries:
        """The known names with their values, if the rows of name v begin at first[v]."""
        known = np.flatnonzero(self._numbers >= 0)
        tokens, values = np.array(self._tokens, np.int64)[known], np.array(self._values, float)[known]
        return tokens, first[self._numbers[known]], values

    def dense(self, first: np.ndarray) -> Iterator[Dense]:
        """The known arrays, likewise."""
        for number, found in self._places.items():
            if number >= 0:
                tokens, arrays = zip(*found, strict=True)
                yield Dense(np.array(tokens), int(first[number]), np.stack(arrays))


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


def text_of(function: Callable[..., Any]) -> str:
    """The template that stands for a function: `python(module:name)`."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(function, FunctionType) or _member(sys.modules.get(str(module)), str(name)) is not function:
        problem = "expected a function that can be found by its name; define it with `def` at the top of a module"
        raise ParameterError(f"features: {quoted(function)}: {problem}")
    return f"python({module}:{name})"


def find_function(text: str) -> TokenFunction:
    """The function `module:name`, whose module is imported."""
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ParameterError(f"features: python({text}): expected module:function, as in python(my_features:shape)")
    try:
        function = _member(import_module(module), name)
    except Exception as err:
        why = shortened(f"{type(err).__name__}: {err}")
        raise ParameterError(f"features: python({text}): cannot import {quoted(module)} ({why})") from err
    if not isinstance(function, FunctionType):
        what = "has no" if function is None else f"has a {type(function).__name__}, not a function,"
        place = shortened(str(getattr(sys.modules[module], "__file__", "built in")))
        raise ParameterError(f"features: python({text}): the module {quoted(module)} ({place}) {what} {quoted(name)}")
    if (function.__module__, function.__qualname__) != (module, name):
        home = f"{function.__module__}:{function.__qualname__}"
        raise ParameterError(f"features: python({text}): this function is {quoted(home)}; name it so")
    return function


def trusted_function(text: str, trust: Collection[str], path: object) -> TokenFunction:
    """The function of a model file, if its user trusts the module.

    Nothing is imported or called because a file says so, not even what is already imported: that has functions which
    start other programs.
    """
    module = text.partition(":")[0]
    if module not in trust:
        how = f"if you trust that module, say so: trust=[{quoted(module)}], or --trust {shortened(module)}"
        raise ModelError(f"{path}: the model calls the function {quoted(text)}, which it does not contain; {how}")
    try:
        return find_function(text)
    except ParameterError as err:
        raise ModelError(f"{path}: {err}") from err


def call(function: TokenFunction, tokens: list[Token], i: int, t: int) -> Own:
    """What the function says of token t of sequence i."""
    try:
        features = function(tokens, t)
    except Exception as err:
        problem, cause = f"failed with {shortened(f'{type(err).__name__}: {err}')}", err
    else:
        if isinstance(features, (dict, *LISTS)):
            return features
        problem, cause = f"returned {quoted(features)}, expected a list or a dictionary of features", None
    place = f"sequence {i}, token {t} ({quoted(word_of(tokens[t]))})"
    raise DataError(f"{place}: the function {text_of(function)} {problem}") from cause


def _member(module: Any, name: str) -> Any:
    """What the module has under a name with dots, None if nothing."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
