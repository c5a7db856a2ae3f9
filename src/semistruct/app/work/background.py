"""What is found out about the newest model in the background: labels for the pool, effects of rules, estimates."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from semistruct.app.work import tasks
from semistruct.app.work.limits import LEAST_TO_MEASURE, PROPOSAL_PATIENCE, SAMPLES, SWEEP_PART
from semistruct.app.work.messages import ChangeKind, TaskStatus
from semistruct.app.work.proposals import Proposal
from semistruct.app.work.state import State
from semistruct.app.work.tasks import Look, Material, Model, Prediction, Study
from semistruct.app.work.worker import CancelledTask, Worker
from semistruct.base.errors import SemistructError
from semistruct.learning.effects import Effect

Answer = TypeVar("Answer")


class Sweep:
    """Labels the whole pool once with each model: what a person has decided about first, then in order.

    done  how many sequences the newest model has labelled
    """

    def __init__(self, state: State, worker: Worker) -> None:
        self.state, self.worker = state, worker
        self.done = 0
        self._at = 0
        self._runs = False

    def start(self) -> None:
        """Begin again, with the newest model."""
        with self.state.lock:
            self._at = self.done = 0
            self.resume(first=[*self.state.decisions.last])

    def resume(self, first: list[int] | None = None) -> None:
        """Go on; while a model is learned, that goes first."""
        with self.state.lock:
            if not self._runs and self.state.model is not None and not self.state.is_learning:
                self._label_part(self.state.model, first)

    def label(self, number: int) -> None:
        """Have the labels of one sequence now, if the model can give them soon."""
        state, model = self.state, self.state.model
        if model is None or self._is_labelled(number, model):
            return
        try:
            given = model.path, [state.pool.cut(number).tokens]
            predictions = self.worker.answer(tasks.label, given, PROPOSAL_PATIENCE)
        except SemistructError:
            return  # without proposals, then
        self._keep([number], predictions, model)

    def _is_labelled(self, number: int, model: Model) -> bool:
        proposal = self.state.proposals.get(number)
        return proposal is not None and proposal.model == model.name

    def _label_part(self, model: Model, first: list[int] | None = None) -> None:
        numbers = list(first or ())
        while not first and self._at < len(self.state.pool) and len(numbers) < SWEEP_PART:
            if not self._is_labelled(self._at, model):
                numbers.append(self._at)
            self._at += 1
        self._runs = bool(numbers)
        if not self._runs:
            self.state.changes.add("swept")
            return
        future = self.worker.ask(tasks.label, (model.path, [self.state.pool.cut(n).tokens for n in numbers]))
        future.add_done_callback(lambda done: self._take(numbers, model, done))

    def _take(self, numbers: list[int], model: Model, done: Future[list[Prediction]]) -> None:
        with self.state.lock:
            self._runs = False
            if (problem := done.exception()) is not None:
                if not isinstance(problem, CancelledTask):
                    self.state.notify(f"model {int(model.name)} cannot label the pool: {problem}")
                return
            self._keep(numbers, done.result(), model)
            self.done += len(numbers)
            self.resume()

    def _keep(self, numbers: list[int], predictions: list[Prediction], model: Model) -> None:
        names = tuple(model.record.labels)
        with self.state.lock:
            for number, prediction in zip(numbers, predictions, strict=True):
                self.state.proposals[number] = Proposal.of(prediction, model.name, names)


@dataclass(frozen=True)
class Finding(Generic[Answer]):
    """What a task found out about a model: the answer or a problem; and the material at that time."""

    answer: Answer
    model: str | None = None
    problem: str | None = None
    material: Material | None = None


@dataclass(frozen=True)
class Findings:
    """What is known by now, each of the newest model of which it was found out."""

    suggest: Finding[list[dict[str, Any]]] = Finding([])
    effects: Finding[dict[str, Effect]] = Finding({})
    look: Finding[Look | None] = Finding(None)
    curve: Finding[dict[str, Any] | None] = Finding(None)


TASKS: dict[ChangeKind, Callable[..., Any]] = {
    "suggest": tasks.suggest, "effects": tasks.effects, "look": tasks.look, "curve": tasks.curve
}  # fmt: skip


class Insights:
    """Finds out everything about the newest model, one task after the other."""

    def __init__(self, state: State) -> None:
        self.state, self.worker = state, Worker()
        self.findings, self.status = Findings(), TaskStatus()
        self._running: Future[Any] | None = None
        self._left: list[ChangeKind] = []
        self._model: Model | None = None

    def start(self, model: Model) -> None:
        self._model, self._left = model, list(TASKS)
        if self._running is None:
            self._next()

    def cancel(self) -> None:
        """Newer data is there."""
        self._left = []
        if self._running is not None:
            self.worker.cancel(self._running)

    def _next(self) -> None:
        model = self._model
        if not self._left or model is None:
            self.status = TaskStatus()
            return
        name = self._left.pop(0)
        material = self.state.material(SAMPLES[name], seed=len(name), whole=name != "effects")
        if len(material.X) < LEAST_TO_MEASURE and name != "effects":
            self._next()
            return
        self.status = TaskStatus(state="running", task=name)
        self._running = self.worker.ask(TASKS[name], Study(material, model), self._hear)
        self._running.add_done_callback(lambda done: self._take(name, Finding(None, model.name, None, material), done))

    def _hear(self, step: str, share: float | None = None) -> None:
        self.status = self.status.model_copy(update={"step": step, "share": share})

    def _take(self, name: ChangeKind, finding: Finding[Any], done: Future[Any]) -> None:
        with self.state.lock:
            self._running = None
            try:
                finding = replace(finding, answer=done.result())
                self.state.changes.add(name)
            except CancelledTask:
                finding = getattr(self.findings, name)
            except SemistructError as err:
                finding = replace(finding, answer=getattr(Findings(), name).answer, problem=str(err))
            self.findings = replace(self.findings, **{name: finding})
            self._next()
