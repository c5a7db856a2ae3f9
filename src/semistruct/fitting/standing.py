"""What a method declares for comparisons of methods and for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
