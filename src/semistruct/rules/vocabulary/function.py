"""Rules that measure a whole labelled sequence: nothing is known of them but their value.  Your own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from semistruct.errors import ParameterError, quoted
from semistruct.rules.base import Level, Rule, Term
from semistruct.rules.events import FunctionEvent


class Measured(Rule):
    """A rule about a number that should lie in a range; see `search.functions`."""

    @property
    def range(self) -> tuple[float, float]:
        """Where the number should lie."""
        return -inf, 0.0

    def mentioned(self) -> set[str]:
        return set()

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        """What is measured."""
        raise NotImplementedError

    def terms(self, labels: Sequence[str]) -> list[Term]:
        per: Literal["sequences"] | None = "sequences" if self.level == "corpus" else None
        return [Term(self.says, FunctionEvent(self.number), *self.range, per)]

    def excess(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """How far what is measured lies outside the range; 0 where the condition does not hold."""
        if self.if_ is not None and not self.if_.holds(tokens, labels):
            return 0.0
        low, high = self.range
        value = self.measure(tokens, labels, where)
        return max(low - value, value - high, 0.0)

    def measure(self, tokens: Sequence[Any], labels: Sequence[str], where: str) -> float:
        """What is measured, if it is a number."""
        try:
            value = self.number(tokens, labels)
        except Exception as err:
            raise ParameterError(f"rule {quoted(self.text)} fails on {where}: {type(err).__name__}: {err}") from err
        if isinstance(value, Real | np.bool_) and isfinite(value):
            return float(value)
        raise ParameterError(f"rule {quoted(self.text)} returns {quoted(value)} on {where}, expected a finite number")


class Function(Measured):
    """Your own rule: function(tokens, labels) returns a number that should lie in [low, high].

    The default [-inf, 0] fits a function that counts mistakes.  On the corpus level the mean over the sequences should
    lie there.  It exists in Python only, and is not saved with a model.
    """

    key: ClassVar = "function"
    in_files: ClassVar = False
    levels: ClassVar[tuple[Level, ...]] = ("instance", "corpus")
    function: Callable[[Sequence[Any], Sequence[str]], float]
    low: float = -inf
    high: float = 0.0

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.low <= self.high:
            raise ValueError(f"the range [{self.low:g}, {self.high:g}] is empty")
        return self

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def says(self) -> str:
        return getattr(self.function, "__name__", "function")

    def number(self, tokens: Sequence[Any], labels: Sequence[str]) -> float:
        return self.function(tokens, labels)
