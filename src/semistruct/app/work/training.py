"""Learning in the background: when a model is learned, from what, and what follows from it."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, replace
from heapq import nsmallest
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from semistruct.app.work import tasks
from semistruct.app.work.background import Insights, Sweep
from semistruct.app.work.folder import LABELS, MODELS
from semistruct.app.work.limits import CANDIDATES, CHOOSE_C_AGAIN, KEPT_MODELS, LEARN_POOL, PICKED
from semistruct.app.work.messages import TaskStatus
from semistruct.app.work.proposals import Proposal, Turn
from semistruct.app.work.state import State
from semistruct.app.work.tasks import Lesson, Model, ModelRecord, Pick
from semistruct.app.work.warned import collected_warnings
from semistruct.app.work.worker import CancelledTask, Worker
from semistruct.base.errors import SemistructError, WriteError
from semistruct.base.files import replacing
from semistruct.methods import load


class Trainer:
    """Learns after every few labels and after each change of the rules; newer data goes first."""

    def __init__(self, state: State, jobs: int | None = None) -> None:
        self.state, self.jobs = state, jobs
        self.learner, self.labeller = Worker(), Worker()
        self.insights, self.sweep = Insights(state), Sweep(state, self.labeller)
        self.status = TaskStatus()
        self._running: Future[ModelRecord] | None = None
        self._known = self._cancels = 0
        self._wanted = self._picking = self._closed = False

    # ---- when to learn

    def resume(self) -> None:
        """Take the newest model of the folder that is whole; learn if there is none, or a newer one is damaged."""
        is_newest = self._adopt_newest()
        self.learner.ask(tasks.warm_up, None)
        if not is_newest and self._can_learn():
            self.train()
        else:
            self.pick_more()
        self.sweep.start()

    def train_if_due(self, *, rules: bool = False) -> None:
        """There are new labels, or other rules: learn if that is enough."""
        with self.state.lock:
            few = 1 if self.state.model is None else self.state.settings.train_every
            if rules or self.state.decisions.relabelled - self._known >= few:
                self.train(soon=rules)

    def train(self, *, soon: bool = True) -> None:
        """Learn, now or after what runs; `soon` gives up what runs."""
        with self.state.lock:
            if self._closed or not self._can_learn():
                return
            if self._running is None:
                self._begin()
                return
            self._wanted = True
            if soon and self._cancels < 2:  # or else nothing would ever be learned
                self._cancels += 1
                self.learner.cancel(self._running)

    def cancel(self) -> None:
        """Give up what runs, and start nothing new."""
        with self.state.lock:
            self._wanted = False
            if self._running is not None:
                self.learner.cancel(self._running)

    def stop(self) -> None:
        self._closed = True
        for worker in (self.learner, self.labeller, self.insights.worker):
            worker.stop()

    def _can_learn(self) -> bool:
        decisions = self.state.decisions.labelled()
        labels = {label for one in decisions for label in one.labels or () if label is not None}
        return len(labels) > 1 and len(decisions) > 1

    # ---- learning

    def _begin(self) -> None:
        state = self.state
        self._wanted = False
        self._known = state.decisions.relabelled  # how many changes of labels the next model knows
        number = 1 + max([state.settings.models, *(int(path.stem) for path in state.folder.models())])  # never twice
        material = state.material(LEARN_POOL)
        C, chosen_at = self._kept_C(len(material.X))
        has_text = isinstance(state.pool.rows[0], str)
        output = state.folder.path / MODELS / f"{number:04d}.model"
        lesson = Lesson(
            material, state.sample(CANDIDATES, number), state.settings.tokens if has_text else None, C, chosen_at,
            output, self.jobs,
        )  # fmt: skip
        self.status = TaskStatus(state="running", step="starting", labelled=len(material.X), began=time.time())
        self.insights.cancel()
        state.is_learning = True
        self._running = self.learner.ask(tasks.learn, lesson, self._hear)
        self._running.add_done_callback(lambda done: self._end(output, done))

    def _kept_C(self, labelled: int) -> tuple[float | None, int]:
        """The C of the last model and when it was chosen, unless there are many more labels now."""
        if self.state.model is None:
            return None, 0
        record = self.state.model.record
        again = labelled >= CHOOSE_C_AGAIN * max(record.chosen_at, 3)
        return None if again else record.C, record.chosen_at

    def _hear(self, step: str, share: float | None = None) -> None:
        self.status = self.status.model_copy(update={"step": step, "share": share})

    def _end(self, output: Path, done: Future[ModelRecord]) -> None:
        """A run has ended: with a model, an error, or nothing."""
        with self.state.lock:
            self._running, self.state.is_learning = None, False
            if self._closed:
                return
            self.status = TaskStatus()
            try:
                model = Model(output, done.result())
            except CancelledTask:
                self._known = 0
            except SemistructError as err:
                self.status = TaskStatus(state="failed", problem=str(err))
            else:
                self._cancels = 0
                self._keep(model)
            self.state.changes.add("failed" if self.status.state == "failed" else "model")
            if self._wanted:
                self._begin()
            self.sweep.resume()

    def _keep(self, model: Model) -> None:
        """The model is there: write what is known about it, and use it."""
        folder = self.state.folder
        with suppress(WriteError):
            with replacing(model.path.with_suffix(".json"), "utf-8") as file:
                json.dump(asdict(model.record), file)
            folder.save_settings(replace(self.state.settings, models=int(model.name)))
        for old in folder.models()[:-KEPT_MODELS]:
            old.unlink(missing_ok=True)
            old.with_suffix(".json").unlink(missing_ok=True)
        self._adopt(model)
        self.sweep.start()
        self.insights.start(model)

    # ---- the newest model

    def _adopt(self, model: Model) -> None:
        """Use a model, and what it picked."""
        state, names = self.state, tuple(model.record.labels)
        state.model = model
        state.queue.waiting = [Turn(pick.number, pick.reason) for pick in model.record.picks]
        for pick in model.record.picks:
            if 0 <= pick.number < len(state.pool) and len(state.pool.cut(pick.number).tokens) == len(pick.labels):
                state.proposals[pick.number] = Proposal.of(pick, model.name, names)

    def _adopt_newest(self) -> bool:
        """Take the newest model that is whole; gives whether there is none newer than that."""
        state, damaged = self.state, list[str]()
        for path in reversed(state.folder.models()):
            try:
                model = _read(path)
                self._adopt(model)
            except (OSError, ValueError, KeyError):
                state.model = None
                damaged.append(path.name)
                continue
            self._compare(model)
            self.insights.start(model)
            break
        if damaged:
            instead = "there is none before it" if state.model is None else f"model {int(state.model.name)} is used"
            again = ", and a new one is learned" if self._can_learn() else ""
            state.notify(f"{MODELS}/{damaged[0]} cannot be used: {instead}{again}")
        return state.model is not None and not damaged

    def _compare(self, model: Model) -> None:
        """Count the labels that the model does not know; if many are gone that it has learned from, say so."""
        state = self.state
        there, before = len(state.decisions.labelled()), model.record.labelled
        self._known = state.decisions.relabelled - max(0, there - before)
        if there < before - (state.settings.train_every if there else 0):
            name = f"model {int(model.name)} learned from {before}"
            state.notify(f"{LABELS} has {there} labelled sequences, but {name}: is the file the right one?")

    # ---- what to label next

    def pick_more(self) -> None:
        """Have something to label next: what the model is least sure of, or what is frequent if there is no model."""
        with self.state.lock:
            state = self.state
            if self._picking or self._closed or not state.is_ready or (state.queue.waiting and state.model is None):
                return
            if state.model is not None:
                known, is_open = {turn.number for turn in state.queue.waiting}, state.decisions.is_open
                unsure = [(one.least, n) for n, one in state.proposals.items() if n not in known and is_open(n)]
                reason = "the model is least sure of it"
                state.queue.waiting += [Turn(n, reason) for _, n in nsmallest(PICKED, unsure)]
                return
            self._picking = True
            given = state.material(0), state.sample(CANDIDATES, 0)
            self.labeller.ask(tasks.pick_first, given).add_done_callback(self._take_first)

    def _take_first(self, done: Future[list[Pick]]) -> None:
        with self.state.lock:
            self._picking = False
            if done.exception() is None and self.state.model is None:
                self.state.queue.waiting = [Turn(pick.number, pick.reason) for pick in done.result()]
                self.state.changes.add("queue")


def _read(path: Path) -> Model:
    """A model that was learned before; an error if a part of it is missing or damaged."""
    record: Any = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    with collected_warnings():
        load(path)
    return Model(path, TypeAdapter(ModelRecord).validate_python(record))
