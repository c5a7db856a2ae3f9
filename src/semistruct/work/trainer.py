"""Learning in the background: when a model is learned, from what, and what follows from it."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from semistruct.errors import DataError, SemistructError
from semistruct.files import replacing
from semistruct.work.crew import CancelledTask, Worker
from semistruct.work.folder import MODELS
from semistruct.work.insights import Insights
from semistruct.work.sweep import Sweep

if TYPE_CHECKING:
    from semistruct.work.bench import Bench

POOL, CANDIDATES, PICKED = 300, 600, 40  # sequences to learn from, to choose from, and chosen at a time
KEPT = 5  # model files
AGAIN = 2.0  # how much larger the labelled part must be before C is chosen anew
EARLY = 0.5  # the share of the usual time in which a run is given up for newer data


@dataclass
class Learned:
    """A model in a file, and what is known about it."""

    name: str
    path: Path
    about: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.about["labels"])


class Trainer:
    """Learns after every few labels and after each change of the rules; newer data goes first."""

    def __init__(self, bench: Bench, jobs: int | None) -> None:
        self.bench, self.jobs = bench, jobs
        self.learner, self.labeller = Worker("learner"), Worker("labeller")
        self.insights, self.sweep = Insights(bench), Sweep(bench, self.labeller)
        self.model: Learned | None = None
        self.status: dict[str, Any] = {"state": "idle"}
        self._task: int | None = None
        self._began = self._usual = 0.0
        self._seen = self._cancels = 0
        self._wanted = self._first = self._closed = False

    # ---- wishes

    def resume(self) -> None:
        """Take the newest model of the folder, and learn if there is none though there are labels."""
        self._adopt_newest()
        self.learner.ask("warm", {})
        if self.model is None and self._changed():
            self.train()
        else:
            self.look_for_first()
            self.sweep.start()

    def wish(self, *, rules: bool = False) -> None:
        """There are new labels, or other rules: learn if that is enough."""
        with self.bench.lock:
            enough = self._changed() >= self.bench.settings.train_every or self.model is None
            if rules or enough:
                self.train(soon=rules)

    def train(self, *, soon: bool = True) -> None:
        """Learn, now or after what runs; `soon` gives up what runs."""
        with self.bench.lock:
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
        with self.bench.lock:
            self._wanted = False
            if self._task is not None:
                self.learner.cancel(self._task)

    def stop(self) -> None:
        self._closed = True
        for worker in (self.learner, self.labeller, self.insights.worker):
            worker.stop()

    def _changed(self) -> int:
        """How many decisions are newer than the model."""
        return sum(self.bench.decisions.versions.values()) - self._seen

    def _can_learn(self) -> bool:
        labels = {y for one in self.bench.decisions.last.values() for y in one.labels or () if y is not None}
        return len(labels) > 1 and sum(one.is_labelled for one in self.bench.decisions.last.values()) > 1

    # ---- learning

    def given(self, pool: int = POOL, seed: int = 0) -> dict[str, Any]:
        """What all tasks are given: labels, a sample of the pool, and the rules."""
        bench = self.bench
        X, y, _ = bench.labelled()
        numbers = bench.pool.sample(pool, {n for n in bench.decisions.last if not bench.is_open(n)}, seed)
        return {
            "X": X, "y": y, "pool": [bench.pool.cut(i).tokens for i in numbers], "numbers": numbers,
            "rules": bench.usable_rules(), "folder": str(bench.folder.path), "fields": bench.settings.names,
            "tokens": bench.settings.tokens if bench.pool.rows and isinstance(bench.pool.rows[0], str) else None,
            "jobs": self.jobs,
        }  # fmt: skip

    def _choices(self, seed: int) -> dict[str, Any]:
        """Sequences to choose the next ones from."""
        bench = self.bench
        numbers = bench.pool.sample(CANDIDATES, {n for n in bench.decisions.last if not bench.is_open(n)}, seed)
        return {"candidates": [bench.pool.cut(i).tokens for i in numbers], "numbers": numbers, "n": PICKED}

    def _begin(self) -> None:
        bench = self.bench
        self._wanted, self._began = False, time.monotonic()
        self._seen = sum(bench.decisions.versions.values())
        name = f"{int(self.model.name) + 1 if self.model else 1:04d}"
        output = bench.folder.path / MODELS / f"{name}.model"
        given = {**self.given(), **self._choices(int(name)), "C": self._kept_C(), "output": str(output)}
        labelled = len(given["X"])
        self.status = {"state": "running", "step": "starting", "labelled": labelled, "began": time.time()}
        self.insights.cancel()
        bench.changes.add("training")
        self._task, future = self.learner.ask("learn", given, self._hear)
        future.add_done_callback(lambda done: self._ended(name, output, labelled, done))

    def _kept_C(self) -> float | None:
        """The C of the last model, unless there are many more labels now: choosing it takes longer than learning."""
        if self.model is None:
            return None
        labelled = sum(one.is_labelled for one in self.bench.decisions.last.values())
        C, chosen_at = self.model.about.get("C"), self.model.about.get("chosen_at", 0)
        return None if C is None or labelled >= AGAIN * max(chosen_at, 3) else C

    def _hear(self, progress: dict[str, Any]) -> None:
        self.status = {**self.status, **progress}

    def _ended(self, name: str, output: Path, labelled: int, done: Future[Any]) -> None:
        """A run has ended: with a model, an error, or nothing."""
        with self.bench.lock:
            self._task = None
            if self._closed:
                return
            try:
                about = done.result()
            except CancelledTask:
                self._seen, self.status = 0, {"state": "idle"}
            except SemistructError as err:
                self.status = {"state": "failed", "problem": str(err)}
            else:
                self._usual, self._cancels = time.monotonic() - self._began, 0
                kept = self._kept_C() is not None and self.model is not None
                about["chosen_at"] = self.model.about["chosen_at"] if kept and self.model is not None else labelled
                about |= {"labelled": labelled, "time": datetime.now(UTC).isoformat(timespec="seconds")}
                self._keep(Learned(name, output, about))
                self.status = {"state": "idle"}
            self.bench.changes.add("model" if self.status["state"] == "idle" else "failed")
            if self._wanted:
                self._begin()
            self.sweep.resume()

    @property
    def is_learning(self) -> bool:
        return self._task is not None

    def _keep(self, learned: Learned) -> None:
        """The model is there: write what is known about it, and use it."""
        with suppress(DataError), replacing(learned.path.with_suffix(".json"), "utf-8") as file:
            json.dump(learned.about, file)
        for old in self.bench.folder.models()[:-KEPT]:
            old.unlink(missing_ok=True)
            old.with_suffix(".json").unlink(missing_ok=True)
        self._adopt(learned)
        self.sweep.start()
        self.insights.start(learned)

    def _adopt(self, learned: Learned) -> None:
        bench, self.model = self.bench, learned
        bench.queue = [{"number": one["number"], "reason": one["reason"]} for one in learned.about["picks"]]
        for one in learned.about["picks"]:
            if bench.pool_fits(one["number"], len(one["labels"])):
                bench.proposals.put(one["number"], one, learned.name, learned.names)

    def _adopt_newest(self) -> None:
        for path in reversed(self.bench.folder.models()):
            try:
                about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                learned = Learned(path.stem, path, about)
                int(learned.name)
                self._adopt(learned)
                self._seen = sum(self.bench.decisions.versions.values())
                self.insights.start(learned)
                return
            except (OSError, ValueError, KeyError, TypeError):
                self.model = None

    # ---- the first ones

    def look_for_first(self) -> None:
        """Have something to label next: by a model if there is one, otherwise by what is frequent."""
        with self.bench.lock:
            if self._first or self._closed or not self.bench.is_ready:
                return
            if self.model is not None:
                self._first = True
                Thread(target=self._refill, daemon=True).start()
                return
            if self.bench.queue:
                return
            self._first = True
            given = {**self.given(0), **self._choices(0)}
            _, future = self.labeller.ask("first", given)
            future.add_done_callback(self._found_first)

    def _found_first(self, done: Future[Any]) -> None:
        with self.bench.lock:
            self._first = False
            if done.exception() is None and self.model is None:
                self.bench.queue = done.result()
                self.bench.changes.add("queue")

    def _refill(self) -> None:
        """The least sure of what the model has labelled, when the picked ones are used up."""
        time.sleep(0.2)
        with self.bench.lock:
            self._first = False
            bench, known = self.bench, {one["number"] for one in self.bench.queue}
            some = [
                (proposal.least, n)
                for n, proposal in list(bench.proposals.found.items())
                if n not in known and bench.is_open(n)
            ]
            bench.queue += [{"number": n, "reason": "the model is least sure of it"} for _, n in sorted(some)[:PICKED]]
