"""The rounds of a method along its path: its state, what is recorded of it, and the one loop over stages and rounds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from semistruct.base.progress import Place, Progress, Watch
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.choice import Point


@dataclass
class State:
    """How far a method has come: the content of a checkpoint.

    stage, round  the next ones to do
    settled       this stage needs no further rounds
    labels        of the open sequences, None before the first round
    models        those whose mean the chain is (see `methods.annealed`), if it is one
    extra         what else the method needs to continue: dual variables, multipliers, ...
    """

    chain: ChainWeights
    labels: np.ndarray | None = None
    stage: int = 0
    round: int = 0
    settled: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    models: list[ChainWeights] = field(default_factory=list)


@dataclass
class Run:
    """One run along a path: records what happens, and saves the state if there is a checkpoint.

    axis, stages  what changes along the path, and its values
    most_rounds   per stage, whatever the method would do
    rounds        per stage
    """

    state: State
    axis: str
    stages: list[float]
    watch: Watch | None = None
    save: Callable[[State], None] | None = None
    most_rounds: int = sys.maxsize
    rounds: int = 1
    began: float = field(default_factory=time.perf_counter)
    noted: float = 0.0  # seconds after that

    def note(self, step: str, objective: float, *, gap: float | None = None, **details: Any) -> None:
        """Add a half-step of a round to the history; details are broken, switched and others.

        `spent` are the seconds of this half-step; judging a point is in none.
        """
        count, seconds = len(self.state.history) + 1, time.perf_counter() - self.began
        spent, self.noted = seconds - self.noted, seconds
        record = Progress(step, count, objective, seconds, gap, self._place(self.rounds), {**details, "spent": spent})
        self.state.history.append(record.row())
        if self.watch:
            self.watch(record)

    def note_point(self, point: Point, count: int) -> None:
        """Report one more point of the path to `watch`."""
        self.pass_over()
        if self.watch:
            self.watch(Progress("point", count, None, self.noted, place=self._place(1), details=point.measured))

    def pass_over(self) -> None:
        """What was done since the last record belongs to no half-step."""
        self.noted = time.perf_counter() - self.began

    def again(self, chain: ChainWeights, n_stages: int, rounds: int) -> Run:
        """A run that continues from a model with the last of the first stages, for so many rounds."""
        state = State(chain, stage=n_stages - 1, history=self.state.history)
        return replace(self, state=state, stages=self.stages[:n_stages], save=None, most_rounds=rounds)

    def _place(self, rounds: int) -> Place:
        stage = self.state.stage
        return Place(self.axis, self.stages[stage], stage, len(self.stages), self.state.round, rounds)


Round = Callable[[float], bool]
"""Does one round at a stage, and says whether a further one would change nothing."""


def walk(run: Run, one_round: Round, rounds: int, *, settles_all: bool) -> Iterator[State]:
    """Go through the stages of a run, with so many rounds at each; yields the state at the end of each.

    settles_all  the path ends, not only the stage, when a round says that nothing changes any more
    """
    state, run.rounds = run.state, min(rounds, run.most_rounds)
    while state.stage < len(run.stages):
        while state.round < run.rounds and not state.settled:
            state.settled = one_round(run.stages[state.stage])
            state.round += 1
            if run.save:
                run.save(state)
        yield state
        if state.settled and settles_all:
            return
        state.stage, state.round, state.settled = state.stage + 1, 0, False
