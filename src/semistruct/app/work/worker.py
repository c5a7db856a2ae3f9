"""A process that does tasks one after the other; tasks and answers go through pipes, pickled.

    to the process    (number, task, given), or the number of a task that is no longer wanted
    from the process  (number, "progress", (step, share)), or (number, "answer" or "error", value)

It ends when nobody writes to it any longer.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import RLock, Thread
from typing import IO, Any, Literal, NamedTuple, Protocol, TypeVar

from semistruct.base.errors import SemistructError

START = "import sys; sys.path[:] = sys.argv[1:]; from semistruct.app.work.worker import serve; serve()"
CLOSED = "the workbench was closed"
Given = TypeVar("Given")
Answer = TypeVar("Answer")


class Tell(Protocol):
    """Hears how far a task has come: the step, and the share of the work that is done, from 0 to 1."""

    def __call__(self, step: str, share: float | None = None) -> None: ...


Task = Callable[[Given, Tell], Answer]


class WorkError(SemistructError):
    """A task failed, or was given up."""


class CancelledTask(WorkError):
    """A task that was no longer wanted."""


class Asked(NamedTuple):
    """A task that is open: the answer to come, who hears of its progress, and the process that has it."""

    future: Future[Any]
    tell: Tell | None
    process: subprocess.Popen[bytes] | None


class Worker:
    """The process, seen from the server; it is started when there is something to do."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: Thread | None = None
        self._open: dict[int, Asked] = {}
        self._count = 0
        self._closed = False

    def ask(self, task: Task[Given, Answer], given: Given, tell: Tell | None = None) -> Future[Answer]:
        """The answer to come; `tell` hears of the progress."""
        future: Future[Answer] = Future()
        with self._lock:
            if self._closed:
                future.set_exception(CancelledTask(CLOSED))
                return future
            self._count += 1
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._open[self._count] = Asked(future, tell, self._process)
            self._send((self._count, task, given))
        return future

    def answer(self, task: Task[Given, Answer], given: Given, timeout: float | None = None) -> Answer:
        """The answer, if it comes in time."""
        future = self.ask(task, given)
        try:
            return future.result(timeout)
        except TimeoutError:
            self.cancel(future)
            raise WorkError(f"no answer within {timeout:g} s") from None

    def cancel(self, future: Future[Any]) -> None:
        """The task is no longer wanted; it ends as soon as it tells of its progress."""
        with self._lock:
            number = next((n for n, asked in self._open.items() if asked.future is future), None)
            if number is not None and self._process is not None:
                self._send(number)

    def stop(self) -> None:
        """End the process, whatever it does; it does nothing more."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            if self._reader is not None:
                self._reader.join(5)  # it closes the pipes
        self._fail(process, CLOSED)

    def _send(self, message: Any) -> None:
        try:
            assert self._process is not None
            assert self._process.stdin is not None
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            self._fail(self._process, "the process that learns could not be reached")

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._reader = Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while (message := _received(process.stdout)) is not None:
            self._take(*message)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not yet sent
                pipe.close()
        if not self._closed:
            self._fail(process, "the process that learns ended unexpectedly; perhaps there was not enough memory")

    def _take(self, number: int, kind: str, value: Any) -> None:
        asked = self._open.get(number)
        if asked is None:
            return
        if kind == "progress":
            if asked.tell is not None:
                asked.tell(*value)
            return
        future = asked.future
        self._open.pop(number, None)
        if kind == "answer":
            future.set_result(value)
        else:
            future.set_exception(value)

    def _fail(self, process: subprocess.Popen[bytes] | None, problem: str) -> None:
        """Tell those who wait for this process."""
        with self._lock:
            waiting = [number for number, asked in self._open.items() if asked.process is process]
            futures = [self._open.pop(number).future for number in waiting]
        for future in futures:
            future.set_exception(WorkError(problem))


def _received(pipe: IO[bytes]) -> Any:
    """The next message, None if there is none: the other side has ended, perhaps while it wrote."""
    try:
        return pickle.load(pipe)
    except Exception as err:
        if not isinstance(err, EOFError):
            traceback.print_exc()
        return None


# ---- in the process


def serve() -> None:
    """What the process does: listen in one thread, work in another."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed does not get among the answers
    if hasattr(os, "nice"):
        os.nice(10)  # the page goes first
    asked, unwanted = SimpleQueue[tuple[int, Task[Any, Any], Any]](), set[int]()
    Thread(target=_listen, args=(asked, unwanted), daemon=True).start()
    while True:
        number, task, given = asked.get()
        pickle.dump((number, *_result(number, task, given, unwanted, answers)), answers)
        answers.flush()


def _listen(asked: SimpleQueue[Any], unwanted: set[int]) -> None:
    while (message := _received(sys.stdin.buffer)) is not None:
        if isinstance(message, int):
            unwanted.add(message)
        else:
            asked.put(message)
    os._exit(0)


def _result(
    number: int, task: Task[Any, Any], given: Any, unwanted: set[int], answers: IO[bytes]
) -> tuple[Literal["answer", "error"], Any]:
    def tell(step: str, share: float | None = None) -> None:
        if number in unwanted:
            raise CancelledTask("cancelled")
        pickle.dump((number, "progress", (step, share)), answers)
        answers.flush()

    try:
        tell("starting")
        return "answer", task(given, tell)
    except SemistructError as err:
        return "error", err if isinstance(err, CancelledTask) else WorkError(str(err))
    except Exception as err:
        traceback.print_exc()
        return "error", WorkError(f"an error in semistruct itself: {type(err).__name__}: {err}")
