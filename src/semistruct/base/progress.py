"""One record of progress for all solvers and methods: what `watch` receives, and rows of `history_` are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a method is on its path: `value` of `axis` at one of its stages, and the round there, all from 0."""

    axis: str
    value: float
    stage: int
    stages: int
    round: int = 0
    rounds: int = 1


@dataclass(frozen=True)
class Progress:
    """How far the work has come.

    step       what was done: "pass", "iteration", "match", "learn", ...; "point" when a path has one more model
    count      how many steps there have been
    objective  None at a point
    gap        the duality gap, if there is one
    place      where on its path a semi-supervised method is
    details    further numbers by name
    """

    step: str
    count: int
    objective: float | None
    seconds: float
    gap: float | None = None
    place: Place | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """A row of a history: plain numbers by name."""
        where = {} if self.place is None else asdict(self.place)
        axis = {where.pop("axis"): where.pop("value")} if where else {}
        own = {"step": self.step, "count": self.count, "objective": self.objective, "gap": self.gap}
        return {**axis, **where, **own, **self.details, "seconds": self.seconds}


Watch = Callable[[Progress], None]
