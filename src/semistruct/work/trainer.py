"""Learning in the background: when a model is learned, from what, and what follows from it."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

from semistruct.errors import SemistructError, WriteError
from semistruct.files import replacing
from semistruct.methods import load
from semistruct.work.crew import CancelledTask, Worker
from semistruct.work.folder import LABELS, MODELS
from semistruct.work.hearing import hearing
from semistruct.work.insights import Insights
from semistruct.work.stock import Learned, Stock
from semistruct.work.sweep import Sweep

POOL, CANDIDATES, PICKED = 200, 400, 40  # sequences to learn from, to choose from, and chosen at a time
KEPT = 5  # model files
AGAIN = 2.0  # how much larger the labelled part must be before C is chosen anew
EARLY = 0.5  # the share of the usual time in which a run is given up for newer data

ABOUT = (
    "C", "chosen_at", "history", "labelled", "labels", "path", "picks", "said", "seconds", "time", "trust",
)  # fmt: skip
"""What is known about each model."""


class Trainer:
    """Learns after every few labels and after each change of the rules; newer data goes first."""

    def __init__(self, stock: Stock, jobs: int | None) -> None:
        self.stock, self.jobs = stock, jobs
        self.learner, self.labeller = Worker("learner"), Worker("labeller")
        self.insights, self.sweep = Insights(stock), Sweep(stock, self.labeller)
        self.status: dict[str, Any] = {"state": "idle"}
        self._task: int | None = None
        self._began = self._usual = 0.0
        self._seen = self._cancels = 0
        self._wanted = self._first = self._closed = False

    # ---- wishes

    def resume(self) -> None:
        """Take the newest model of the folder that is whole; learn if there is none, or a newer one is damaged."""
        is_newest = self._adopt_newest()
        self.learner.ask("warm", {})
        if not is_newest and self._can_learn():
            self.train()
        else:
            self.look_for_first()
        self.sweep.start()

    def wish(self, *, rules: bool = False) -> None:
        """There are new labels, or other rules: learn if that is enough."""
        with self.stock.lock:
            few = 1 if self.stock.model is None else self.stock.settings.train_every
            if rules or self._changed() >= few:
                self.train(soon=rules)

    def train(self, *, soon: bool = True) -> None:
        """Learn, now or after what runs; `soon` gives up what runs."""
        with self.stock.lock:
            if self._closed or not self._can_learn():
                return
            if self._task is None:
                self._begin()
                return
            self._wanted = True
            early = time.monotonic() - self._began < EARLY * self._usual
            if (soon or early) and self._cancels < 2:
                self._cancels += 1
                self.learner.cancel(self._task)

    def cancel(self) -> None:
        """Give up what runs, and start nothing new."""
        with self.stock.lock:
            self._wanted = False
            if self._task is not None:
                self.learner.cancel(self._task)

    def stop(self) -> None:
        self._closed = True
        for worker in (self.learner, self.labeller, self.insights.worker):
            worker.stop()

    def _changed(self) -> int:
        """How many changes of labels are newer than the model."""
        return self.stock.decisions.relabelled - self._seen

    def _can_learn(self) -> bool:
        labels = {y for one in self.stock.decisions.last.values() for y in one.labels or () if y is not None}
        return len(labels) > 1 and sum(one.is_labelled for one in self.stock.decisions.last.values()) > 1

    # ---- learning

    def _choices(self, seed: int) -> dict[str, Any]:
        """Sequences to choose the next ones from."""
        numbers = self.stock.some_open(CANDIDATES, seed)
        return {"candidates": [self.stock.pool.cut(i).tokens for i in numbers], "numbers": numbers, "n": PICKED}

    def _begin(self) -> None:
        stock = self.stock
        self._wanted, self._began = False, time.monotonic()
        self._seen = stock.decisions.relabelled
        name = f"{1 + self._last():04d}"
        output = stock.folder.path / MODELS / f"{name}.model"
        C = self._kept_C()
        given = {**stock.given(POOL), **self._choices(int(name)), "C": C, "output": str(output), "jobs": self.jobs}
        labelled = len(given["X"])
        self.status = {"state": "running", "step": "starting", "labelled": labelled, "began": time.time()}
        self.insights.cancel()
        stock.changes.add("training")
        self.stock.is_learning = True
        self._task, future = self.learner.ask("learn", given, self._hear)
        chosen_at = labelled if C is None or stock.model is None else stock.model.about["chosen_at"]
        about = {"labelled": labelled, "chosen_at": chosen_at}
        future.add_done_callback(lambda done: self._ended(name, output, about, done))

    def _last(self) -> int:
        """The highest number of a model so far: none is given twice, whatever was deleted."""
        return max([self.stock.settings.models, *(int(path.stem) for path in self.stock.folder.models())])

    def _kept_C(self) -> float | None:
        """The C of the last model, unless there are many more labels now: choosing it takes longer than learning."""
        if self.stock.model is None:
            return None
        labelled = sum(one.is_labelled for one in self.stock.decisions.last.values())
        C, chosen_at = self.stock.model.about.get("C"), self.stock.model.about.get("chosen_at", 0)
        return None if C is None or labelled >= AGAIN * max(chosen_at, 3) else C

    def _hear(self, progress: dict[str, Any]) -> None:
        self.status = {**self.status, **progress}

    def _ended(self, name: str, output: Path, about: dict[str, Any], done: Future[Any]) -> None:
        """A run has ended: with a model, an error, or nothing."""
        with self.stock.lock:
            self._task, self.stock.is_learning = None, False
            if self._closed:
                return
            try:
                about = {**done.result(), **about, "time": datetime.now(UTC).isoformat(timespec="seconds")}
            except CancelledTask:
                self._seen, self.status = 0, {"state": "idle"}
            except SemistructError as err:
                self.status = {"state": "failed", "problem": str(err)}
            else:
                self._usual, self._cancels = time.monotonic() - self._began, 0
                self._keep(Learned(name, output, about))
                self.status = {"state": "idle"}
            self.stock.changes.add("model" if self.status["state"] == "idle" else "failed")
            if self._wanted:
                self._begin()
            self.sweep.resume()

    def _keep(self, learned: Learned) -> None:
        """The model is there: write what is known about it, and use it."""
        with suppress(WriteError):
            with replacing(learned.path.with_suffix(".json"), "utf-8") as file:
                json.dump(learned.about, file)
            self.stock.folder.save_settings(replace(self.stock.settings, models=int(learned.name)))
        for old in self.stock.folder.models()[:-KEPT]:
            old.unlink(missing_ok=True)
            old.with_suffix(".json").unlink(missing_ok=True)
        self._adopt(learned)
        self.sweep.start()
        self.insights.start(learned)

    def _adopt(self, learned: Learned) -> None:
        stock = self.stock
        stock.model = learned
        stock.queue = [{"number": one["number"], "reason": one["reason"]} for one in learned.about["picks"]]
        for one in learned.about["picks"]:
            if stock.pool_fits(one["number"], len(one["labels"])):
                stock.proposals.put(one["number"], one, learned.name, learned.names)

    def _adopt_newest(self) -> bool:
        """Take the newest model that is whole; gives whether there is none newer than that."""
        damaged = []
        for path in reversed(self.stock.folder.models()):
            try:
                learned = _read(path)
                self._adopt(learned)
                self._compare(learned)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                self.stock.model = None
                damaged.append(path.name)
                continue
            labelled = sum(one.is_labelled for one in self.stock.decisions.last.values())
            since = max(0, labelled - learned.about.get("labelled", labelled))  # labels that the model does not know
            self._seen = self.stock.decisions.relabelled - since
            self.insights.start(learned)
            break
        if damaged:
            model = self.stock.model
            instead = "there is none before it" if model is None else f"model {int(model.name)} is used"
            again = ", and a new one is learned" if self._can_learn() else ""
            self.stock.tell(f"{MODELS}/{damaged[0]} cannot be used: {instead}{again}")
        return self.stock.model is not None and not damaged

    def _compare(self, learned: Learned) -> None:
        """Say so if labels are gone that a model has learned from; a few may have been taken back."""
        there = sum(one.is_labelled for one in self.stock.decisions.last.values())
        before = learned.about["labelled"]
        if there < before - (self.stock.settings.train_every if there else 0):
            name = f"model {int(learned.name)} learned from {before}"
            self.stock.tell(f"{LABELS} has {there} labelled sequences, but {name}: is the file the right one?")

    # ---- the first ones

    def look_for_first(self) -> None:
        """Have something to label next: by a model if there is one, otherwise by what is frequent."""
        with self.stock.lock:
            if self._first or self._closed or not self.stock.is_ready:
                return
            if self.stock.model is not None:
                self._first = True
                Thread(target=self._refill, daemon=True).start()
                return
            if self.stock.queue:
                return
            self._first = True
            given = {**self.stock.given(0), **self._choices(0)}
            _, future = self.labeller.ask("first", given)
            future.add_done_callback(self._found_first)

    def _found_first(self, done: Future[Any]) -> None:
        with self.stock.lock:
            self._first = False
            if done.exception() is None and self.stock.model is None:
                self.stock.queue = done.result()
                self.stock.changes.add("queue")

    def _refill(self) -> None:
        """The least sure of what the model has labelled, when the picked ones are used up."""
        time.sleep(0.2)
        with self.stock.lock:
            self._first = False
            stock, known = self.stock, {one["number"] for one in self.stock.queue}
            some = [
                (proposal.least, n)
                for n, proposal in list(stock.proposals.found.items())
                if n not in known and stock.is_open(n)
            ]
            stock.queue += [{"number": n, "reason": "the model is least sure of it"} for _, n in sorted(some)[:PICKED]]


def _read(path: Path) -> Learned:
    """A model that was learned before; an error if a part of it is missing or damaged."""
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    missing = {*ABOUT} - about.keys()
    if missing:
        raise KeyError(*missing)
    with hearing():
        load(path)
    return Learned(path.stem, path, about)
