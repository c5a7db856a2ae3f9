"""Rules for the parameters of estimators, declared beside the class and checked when it is fitted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from semistruct.constraints import Constraints
from semistruct.errors import ParameterError


class Rule:
    """What a parameter must be, as a test and in words."""

    def __init__(self, words: str, test: Callable[[Any], bool]) -> None:
        self.words, self.test = words, test

    def __or__(self, other: Rule) -> Rule:
        return Rule(f"{self.words} or {other.words}", lambda value: self.test(value) or other.test(value))


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _growing(value: Any) -> bool:
    listed = isinstance(value, list | tuple) and len(value) > 0 and all(_number(v) and v > 0 for v in value)
    return listed and all(a < b for a, b in pairwise(value))


positive = Rule("a number > 0", lambda value: _number(value) and value > 0)
at_least_one = Rule("a whole number >= 1", lambda value: _whole(value, 1))
boolean = Rule("True or False", lambda value: isinstance(value, bool))
none = Rule("None", lambda value: value is None)
seed = Rule(
    "None, a whole number >= 0 or a numpy RandomState",
    lambda value: value is None or _whole(value, 0) or isinstance(value, np.random.RandomState),
)
features = Rule(
    "the name of a feature set or a list of templates",
    lambda v: isinstance(v, str) or (isinstance(v, list | tuple) and all(isinstance(s, str) for s in v)),
)
growing = Rule("a growing list of numbers > 0", lambda value: _growing(value))
constraints = Rule("Constraints", lambda value: isinstance(value, Constraints))


def the_word(word: str) -> Rule:
    return Rule(repr(word), lambda value: isinstance(value, str) and value == word)


def check_params(estimator: Any) -> None:
    """Raise ParameterError for the first parameter that breaks its rule."""
    for name, rule in estimator.rules.items():
        value = getattr(estimator, name)
        if not rule.test(value):
            raise ParameterError(f"{type(estimator).__name__}({name}={value!r}): {name} must be {rule.words}")
