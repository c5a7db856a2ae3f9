"""One run along a path: what happens is recorded, and its state is kept if it is to be resumed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.errors import DataError
from semistruct.fitting.checkpoints import NAME, START, Checkpoint
from semistruct.fitting.data import DevData
from semistruct.fitting.points import Point
from semistruct.fitting.sampling import ROUNDS
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.progress import Place, Progress, Watch


@dataclass
class Run:
    """One fit: records what happens, and saves the state if there is a checkpoint.

    axis, stages  what changes along the path, and its values
    most_rounds   per stage, whatever the method would do
    """

    state: State
    axis: str
    stages: list[float]
    watch: Watch | None = None
    keep: Callable[[State], None] | None = None
    most_rounds: int = sys.maxsize
    began: float = field(default_factory=time.perf_counter)
    noted: float = 0.0  # seconds after that

    def note(self, step: str, objective: float, rounds: int = 1, *, gap: float | None = None, **details: Any) -> None:
        """Add a half-step of a round, one of `rounds`, to the history; details are broken, switched and others.

        `spent` are the seconds of this half-step; judging a point is in none.
        """
        count, seconds = len(self.state.history) + 1, time.perf_counter() - self.began
        spent, self.noted = seconds - self.noted, seconds
        record = Progress(step, count, objective, seconds, gap, self._place(rounds), {**details, "spent": spent})
        self.state.history.append(record.row())
        if self.watch:
            self.watch(record)

    def note_point(self, point: Point, count: int) -> None:
        """Report one more point of the path to `watch`."""
        self.pass_over()
        if self.watch:
            self.watch(Progress("point", count, None, self.noted, place=self._place(), details=point.measured))

    def pass_over(self) -> None:
        """What was done since the last record belongs to no half-step."""
        self.noted = time.perf_counter() - self.began

    def on_all(self, chain: ChainWeights, n_stages: int) -> Run:
        """A run that continues from a model with the last of the first stages."""
        state = State(chain, stage=n_stages - 1, history=self.state.history)
        return replace(self, state=state, stages=self.stages[:n_stages], keep=None, most_rounds=ROUNDS)

    def _place(self, rounds: int = 1) -> Place:
        stage = self.state.stage
        return Place(self.axis, self.stages[stage], stage, len(self.stages), self.state.round, rounds)

    def save(self) -> None:
        """The state is complete: a process that is killed after this can continue from it."""
        if self.keep:
            self.keep(self.state)


@dataclass(frozen=True)
class Kept:
    """Where the states of a fit are kept, if anywhere, and whether it goes on from there."""

    folder: str | os.PathLike[str] | None
    resume: bool
    method: Any
    dev: DevData | None
    tell: Callable[[str], None] | None = None  # where it goes on

    def started(self, task: Task, learn: Callable[[], ChainWeights | None], part: str = "") -> State | None:
        """Where a path starts: what a part of the folder has, with the C of the method, or else what `learn` gives."""
        if self.folder is None:
            return _state(learn())
        keeper = Checkpoint.of(Path(self.folder) / part / START, self.method, task, (), self.dev)
        shape = (task.batch.n_features, len(task.labels)), (task.batch.n_kinds, len(task.labels), len(task.labels))
        nothing = State(ChainWeights(*map(np.zeros, shape)))
        found = keeper.load(nothing)[0] if self.resume else nothing
        if found is nothing:
            if (state := _state(learn())) is not None:
                chosen = {"C": np.array([self.method.C_])}
                keeper.save(replace(state, history=self.method.search_, extra=chosen), [])
            return state
        C = found.extra.get("C", np.empty(0))
        if C.shape != (1,) or not C[0] > 0:
            raise DataError.at(keeper.path, None, "not a checkpoint, or damaged (its C is no number above 0)")
        self.method.C_, self.method.search_ = float(C[0]), found.history
        if self.tell and not keeper.path.with_name(NAME).exists():
            self.tell(f"continuing from {keeper.path}: C and the first model are known")
        return State(found.chain)

    def attach(self, run: Run, task: Task, points: list[Point], part: str) -> None:
        """Save the state and the points of a run in a part of the folder; first go on from what is there."""
        if self.folder is None:
            return
        keeper = Checkpoint.of(Path(self.folder) / part / NAME, self.method, task, run.stages, self.dev)
        run.keep = lambda state: keeper.save(state, points)
        if self.resume:
            start = run.state
            run.state, found = keeper.load(start)
            points[:] = found or points
            if self.tell and run.state is not start:
                self.tell(f"continuing from {keeper.path}: {_progress(run)}")


def is_kept(folder: str | os.PathLike[str]) -> bool:
    """Whether there is something to go on from."""
    return (Path(folder) / START).exists()  # the first of all that are saved


def _state(chain: ChainWeights | None) -> State | None:
    return None if chain is None else State(chain)


def _progress(run: Run) -> str:
    """How far a run has come, in words."""
    rounds = "1 round" if run.state.round == 1 else f"{run.state.round} rounds"
    return f"stage {min(run.state.stage + 1, len(run.stages))} of {len(run.stages)}, {rounds} of it done"
