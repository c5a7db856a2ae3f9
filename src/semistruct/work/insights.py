"""What the workbench finds out besides: suggested rules, effects of rules, the estimate of the accuracy, the curve."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from semistruct.corpus import complete
from semistruct.errors import SemistructError
from semistruct.work.crew import CancelledTask, Worker
from semistruct.work.measuring import LEAST
from semistruct.work.stock import Learned, Stock

SAMPLE = {"suggest": 200, "effects": 100, "look": 80, "curve": 60}
"""How many sequences of the pool each looks at, in the order in which they are found out."""


class Insights:
    """Answers about the newest model, by name; each says of which model it is."""

    def __init__(self, stock: Stock) -> None:
        self.stock, self.worker = stock, Worker("insights")
        self.found: dict[str, dict[str, Any]] = {}
        self.status: dict[str, Any] = {"state": "idle"}
        self._task: int | None = None
        self._left: list[str] = []
        self._learned: Learned | None = None
        self._stopped = False

    def start(self, learned: Learned) -> None:
        """Find out everything about a model."""
        self._learned, self._left = learned, list(SAMPLE)
        if self._task is None:
            self._next()

    def cancel(self) -> None:
        """Newer data is there."""
        self._left = []
        if self._task is not None:
            self.worker.cancel(self._task)

    def _next(self) -> None:
        learned = self._learned
        if not self._left or learned is None:
            self.status = {"state": "idle"}
            return
        task = self._left.pop(0)
        given = self._given(task, learned)
        if len(given["X"]) < LEAST and task != "effects":
            self._next()
            return
        self.status = {"state": "running", "task": task}
        self._task, future = self.worker.ask(task, given, self._hear)
        future.add_done_callback(lambda done: self._take(task, learned, given, done))

    def _given(self, task: str, learned: Learned) -> dict[str, Any]:
        given = self.stock.given(SAMPLE[task], seed=len(task))
        if task in ("look", "curve", "suggest"):  # only what is known whole can be measured
            whole = complete(given["y"])
            _, _, decisions = self.stock.labelled()
            given["measured"] = [decisions[i].number for i in whole]
            given["X"], given["y"] = [given["X"][i] for i in whole], [given["y"][i] for i in whole]
        return {
            **given, "model": str(learned.path), "C": learned.about.get("C"),
            "n_labelled": learned.about.get("labelled", 1),
        }  # fmt: skip

    def _hear(self, progress: dict[str, Any]) -> None:
        self.status = {**self.status, **progress}

    def _take(self, task: str, learned: Learned, given: dict[str, Any], done: Future[Any]) -> None:
        with self.stock.lock:
            self._task = None
            try:
                answer = done.result()
            except CancelledTask:
                pass
            except SemistructError as err:
                self.found[task] = {"model": learned.name, "problem": str(err)}
            else:
                about = {"model": learned.name, "numbers": given.get("measured"), "y": given["y"]}
                self.found[task] = {**about, "answer": answer}
                self.stock.changes.add(task)
            self._next()
