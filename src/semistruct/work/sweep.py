"""The labels of the newest model for the whole pool, found in small parts in the background."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from semistruct.errors import SemistructError
from semistruct.work.crew import CancelledTask, Worker
from semistruct.work.stock import Stock

PART = 40  # sequences at a time, so that a single one does not wait long
PATIENCE = 5.0  # seconds


class Sweep:
    """Goes through the pool once for each model: what is labelled first, then in order."""

    def __init__(self, stock: Stock, worker: Worker) -> None:
        self.stock, self.worker = stock, worker
        self.done = 0
        self._model: str | None = None
        self._at = 0
        self._runs = False

    def start(self) -> None:
        """Begin again, with the newest model."""
        with self.stock.lock:
            model = self.stock.model
            self._model, self._at, self.done = None if model is None else model.name, 0, 0
            self.resume(first=[*self.stock.decisions.last])

    def resume(self, first: list[int] | None = None) -> None:
        """Go on where it was; while a model is learned, that goes first."""
        with self.stock.lock:
            if not self._runs and self._model is not None and not self.stock.is_learning:
                self._runs = True
                self._go_on(first)

    def one(self, number: int) -> None:
        """Have the labels of one sequence now, if the model can give them soon."""
        model = self.stock.model
        if model is None or self.stock.proposals.is_from(number, model.name):
            return
        given = {"model": str(model.path), "X": [self.stock.pool.cut(number).tokens]}
        try:
            rows = self.worker.answer("label", given, PATIENCE)
        except SemistructError:
            return  # without proposals, then
        self.stock.proposals.put(number, rows[0], model.name, model.names)

    def _go_on(self, first: list[int] | None = None) -> None:
        stock, model = self.stock, self.stock.model
        if model is None:
            self._runs = False
            return
        numbers = first if first is not None else self._next_part(model.name)
        if not numbers and first is None:
            self._runs = False
            stock.changes.add("swept")
            return
        given = {"model": str(model.path), "X": [stock.pool.cut(n).tokens for n in numbers]}
        _, future = self.worker.ask("label", given)
        future.add_done_callback(lambda done: self._take(numbers, model.name, model.names, done))

    def _next_part(self, name: str) -> list[int]:
        out: list[int] = []
        while self._at < len(self.stock.pool) and len(out) < PART:
            if not self.stock.proposals.is_from(self._at, name):
                out.append(self._at)
            self._at += 1
        return out

    def _take(self, numbers: list[int], model: str, names: tuple[str, ...], done: Future[Any]) -> None:
        with self.stock.lock:
            if (problem := done.exception()) is not None:
                self._runs = False
                if not isinstance(problem, CancelledTask):
                    self.stock.tell(f"model {int(model)} cannot label the pool: {problem}")
                return
            for number, row in zip(numbers, done.result(), strict=True):
                self.stock.proposals.put(number, row, model, names)
            self.done += len(numbers)
            if self.stock.is_learning:
                self._runs = False
            else:
                self._go_on()
