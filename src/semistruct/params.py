"""Checks of the parameters of estimators: declared with the class, made when it is fitted."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from semistruct.errors import ParameterError, quoted
from semistruct.rules import Rules


class Check:
    """What a parameter must be, as a test and in words."""

    def __init__(self, words: str, test: Callable[[Any], bool]) -> None:
        self.words, self.test = words, test

    def __or__(self, other: Check) -> Check:
        return Check(f"{self.words} or {other.words}", lambda value: self.test(value) or other.test(value))


Checks = dict[str, Check]
"""Of the parameters of an estimator, by name."""


LARGEST = 1e10
"""The largest weight, tolerance and so on: far beyond all that is of use, and harmless when it is squared."""


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and -inf < value < inf  # type: ignore[operator]


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _positive(value: Any) -> bool:
    return _number(value) and 0 < value <= LARGEST


def _growing(value: Any) -> bool:
    listed = isinstance(value, list | tuple) and len(value) > 0 and all(map(_positive, value))
    return listed and all(a < b for a, b in pairwise(value))


def _falling(value: Any) -> bool:
    return isinstance(value, list | tuple) and _growing(value[::-1])


def _engine(value: Any) -> bool:
    found = re.fullmatch(r"ray(?:://[^:/\s]+:(\d{1,5}))?", value) if isinstance(value, str) else None
    return found is not None and 0 < int(found[1] or 1) < 2**16


positive = Check(f"a number > 0 and at most {LARGEST:g}", _positive)
not_negative = Check(f"a number from 0 to {LARGEST:g}", lambda value: _number(value) and 0 <= value <= LARGEST)
share = Check("a number from 0 to 1", lambda value: _number(value) and 0 <= value <= 1)
yes_or_no = Check("True or False", lambda value: isinstance(value, bool))
at_least_one = Check("a whole number >= 1", lambda value: _whole(value, 1))
none = Check("None", lambda value: value is None)
features = Check(
    "the name of a feature set or a list of templates and functions",
    lambda v: isinstance(v, str) or (isinstance(v, list | tuple) and all(isinstance(s, str) or callable(s) for s in v)),
)
growing = Check(f"a growing list of numbers > 0 and at most {LARGEST:g}", _growing)
falling = Check(f"a falling list of numbers > 0 and at most {LARGEST:g}", _falling)
an_engine = Check("'ray' or the address of a Ray cluster, 'ray://HOST:PORT'", _engine)
rules = Check("Rules (those of a file: Rules.from_file(path))", lambda value: isinstance(value, Rules))


def whole(least: int, most: int) -> Check:
    return Check(f"a whole number from {least} to {most}", lambda value: _whole(value, least) and int(value) <= most)


seed = none | whole(0, 2**32 - 1) | Check("a numpy RandomState", lambda v: isinstance(v, np.random.RandomState))


def the_word(word: str) -> Check:
    return Check(repr(word), lambda value: isinstance(value, str) and value == word)


SHARED: Checks = {
    "C": positive | the_word("auto"),
    "features": features,
    "rules": none | rules,
    "rounds": at_least_one,
    "tol": positive,
    "select": the_word("auto") | the_word("dev") | the_word("labels-free") | the_word("last"),
    "metric": the_word("token") | the_word("sequence") | the_word("span"),
    "n_jobs": none | at_least_one,
    "random_state": seed,
}
"""The checks of parameters that mean the same in all estimators; others are declared in `checks` of the estimator."""


def check_params(estimator: Any) -> None:
    """Raise ParameterError for the first parameter that fails its check, also in estimators inside of this one."""
    for name, value in estimator.get_params(deep=False).items():
        check = estimator.checks.get(name) or SHARED.get(name)
        if check and not check.test(value):
            raise ParameterError(f"{type(estimator).__name__}({name}={quoted(value)}): {name} must be {check.words}")
        if isinstance(value, BaseEstimator):
            check_params(value)


def seed_from(random_state: Any) -> int:
    """The seed that a `random_state` stands for."""
    return int(check_random_state(random_state).randint(2**31))
