"""Python functions as features: `python(my_features:shape)` calls shape(tokens, t) of the module my_features.

A function is known by its module and its name, and has to be found under them.  A feature set that a user writes may
import the module; a model file may not, see `trusted_function`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from importlib import import_module
from types import FunctionType
from typing import Any

from semistruct.corpus import Token
from semistruct.errors import DataError, ModelError, ParameterError, quoted, shortened
from semistruct.features.own import LISTS, Own
from semistruct.features.words import word_of

TokenFunction = Callable[[list[Token], int], Own]


def text_of(function: Callable[..., Any]) -> str:
    """The template that stands for a function: `python(module:name)`."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(function, FunctionType) or _at(sys.modules.get(str(module)), str(name)) is not function:
        problem = "expected a function that can be found by its name; define it with `def` at the top of a module"
        raise ParameterError(f"features: {quoted(function)}: {problem}")
    return f"python({module}:{name})"


def found_function(text: str) -> TokenFunction:
    """The function `module:name`, whose module is imported."""
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ParameterError(f"features: python({text}): expected module:function, as in python(my_features:shape)")
    try:
        function = _at(import_module(module), name)
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
        return found_function(text)
    except ParameterError as err:
        raise ModelError(f"{path}: {err}") from err


def called(function: TokenFunction, tokens: list[Token], i: int, t: int) -> Own:
    """What the function says of token t of sequence i."""
    try:
        features = function(tokens, t)
    except Exception as err:
        why = shortened(f"{type(err).__name__}: {err}")
        raise DataError(f"{_place(function, tokens, i, t)} failed with {why}") from err
    if not isinstance(features, (dict, *LISTS)):
        wanted = "a list or a dictionary of features"
        raise DataError(f"{_place(function, tokens, i, t)} returned {quoted(features)}, expected {wanted}")
    return features


def _place(function: TokenFunction, tokens: list[Token], i: int, t: int) -> str:
    return f"sequence {i}, token {t} ({quoted(word_of(tokens[t]))}): the function {text_of(function)}"


def _at(module: Any, name: str) -> Any:
    """What the module has under a name with dots, None if nothing."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
