"""What a rule counts, and where the count should lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from semistruct.rules.events import Event


@dataclass(frozen=True)
class Term:
    """A number that a rule is about, and the range [low, high] in which it should lie.

    event  what is counted
    per    what the count is divided by: nothing; "tokens", "sequences" or the places of another event
    unit   100 if distances from the range are measured in percent
    joint  the joint terms of a rule have one penalty, on the number of those that are out of range
    needs  an event without which the term does not matter in a sequence
    bars   an event with which it does not matter
    """

    text: str
    event: Event
    low: float = -inf
    high: float = inf
    per: Event | Literal["tokens", "sequences"] | None = None
    unit: float = 1.0
    joint: bool = False
    needs: Event | None = None
    bars: Event | None = None

    def matters(self, tokens: Sequence[Any], labels: Sequence[str]) -> bool:
        """Whether the value of the term matters in a sequence."""
        needed = self.needs is None or bool(self.needs.places(tokens, labels))
        return needed and (self.bars is None or not self.bars.places(tokens, labels))

    def distance(self, value: float) -> float:
        """How far a value lies outside the range."""
        return self.unit * max(self.low - value, value - self.high, 0.0)
