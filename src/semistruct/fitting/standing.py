"""What a method says of itself for comparisons of methods and for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """A line of a method in the tables of experiments.

    order         lines stand in this order, and then by name
    suffix        what the line is called after the name of its method, if it has several
    rules         the list it learns with, of those that a corpus has: "predict", "expect", "project" or "ours"
    tries         settings of which the one that labels dev data best is taken
    published     settings that were published for a corpus, by its name
    quick         settings for a quick look
    own_features  those of the method, whatever the others have
    """

    title: str
    order: int = 100
    suffix: str = ""
    rules: str = "predict"
    tries: tuple[Mapping[str, Any], ...] = ({},)
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
