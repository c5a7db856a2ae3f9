"""Parameters of estimators, after the conventions of scikit-learn, and their checks.

Checks are declared with the class and made when it is fitted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from math import inf
from numbers import Integral, Real
from typing import Any, Self

import numpy as np


class Estimator:
    """The conventions of scikit-learn, which takes long to import and is imported only where it takes part itself."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters and their defaults, in the order of their names."""
        given = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in sorted(given, key=lambda p: p.name) if p.kind is not p.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, also those of estimators among them, as `base__C`."""
        found = {}
        for name in self._defaults():
            value = found[name] = getattr(self, name)
            if deep and isinstance(value, Estimator):
                found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    def set_params(self, **given: Any) -> Self:
        """Set parameters by their names; `base__C` is C of the estimator `base`."""
        known = self.get_params(deep=False)
        for key, value in given.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {[*known]}.")
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def unfitted(self) -> Self:
        """A new estimator with the same parameters, as `sklearn.base.clone` makes it."""
        given = self.get_params(deep=False)
        return type(self)(**{k: v.unfitted() if isinstance(v, Estimator) else deepcopy(v) for k, v in given.items()})

    def __repr__(self) -> str:
        values, defaults = self.get_params(deep=False), self._defaults()
        changed = [f"{key}={value!r}" for key, value in values.items() if repr(value) != repr(defaults[key])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)


def check_is_fitted(estimator: Estimator, attribute: str = "model_") -> None:
    """Raise scikit-learn's NotFittedError if `fit` has not set the attribute."""
    if not hasattr(estimator, attribute):
        from sklearn.exceptions import NotFittedError

        problem = f"This {type(estimator).__name__} instance is not fitted yet."
        raise NotFittedError(f"{problem} Call 'fit' with appropriate arguments before using this estimator.")


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


def whole(least: int, most: int) -> Check:
    return Check(f"a whole number from {least} to {most}", lambda value: _whole(value, least) and int(value) <= most)


seed = none | whole(0, 2**32 - 1) | Check("a numpy RandomState", lambda v: isinstance(v, np.random.RandomState))


def the_word(word: str) -> Check:
    return Check(repr(word), lambda value: isinstance(value, str) and value == word)


def seed_from(random_state: Any) -> int:
    """The seed that a `random_state` stands for."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int((np.random if random_state is None else np.random.RandomState(random_state)).randint(2**31))
