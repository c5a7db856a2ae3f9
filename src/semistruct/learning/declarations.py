"""What a method declares: the checks of its parameters, its line in tables of experiments, its tables in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semistruct.base import parameters as params
from semistruct.base.errors import ParameterError, quoted
from semistruct.rules import Rules

rules = params.Check("Rules (those of a file: Rules.from_file(path))", lambda value: isinstance(value, Rules))

SHARED: params.Checks = {
    "C": params.positive | params.the_word("auto"),
    "features": params.features,
    "rules": params.none | rules,
    "rounds": params.at_least_one,
    "tol": params.positive,
    "select": params.the_word("auto")
    | params.the_word("dev")
    | params.the_word("labels-free")
    | params.the_word("last"),
    "metric": params.the_word("token") | params.the_word("sequence") | params.the_word("span"),
    "n_jobs": params.none | params.at_least_one,
    "random_state": params.seed,
}
"""The checks of parameters that mean the same everywhere; others are declared in `checks` of their estimator."""


def check_params(estimator: Any) -> None:
    """Raise ParameterError for the first parameter that fails its check, also in estimators inside of this one."""
    for name, value in estimator.get_params(deep=False).items():
        check = estimator.checks.get(name) or SHARED.get(name)
        if check and not check.test(value):
            raise ParameterError(f"{type(estimator).__name__}({name}={quoted(value)}): {name} must be {check.words}")
        if isinstance(value, params.Estimator):
            check_params(value)


@dataclass(frozen=True)
class Line:
    """A line of a method in the tables of experiments.

    order         lines are sorted by this number, then by name
    suffix        added to the name of the method, if it has several lines
    rules         which of the lists of rules of a corpus it learns with: "predict", "expect", "project" or "ours"
    published     published settings, by the name of the corpus
    quick         settings for a quick look
    own_features  the method always uses its own feature set
    """

    title: str
    order: int = 100
    suffix: str = ""
    rules: str = "predict"
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    own_features: bool = False


@dataclass(frozen=True)
class RuleReport:
    """A table in the report of a fit, a row per rule: two columns of a learned list of dicts (`attribute`).

    title          says what the numbers are
    largest_first  rows are sorted by the first column
    """

    attribute: str
    title: str
    before: str
    after: str
    digits: int
    largest_first: bool = False
