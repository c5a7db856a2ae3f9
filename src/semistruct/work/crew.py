"""Processes that learn and label for the workbench, and tasks for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from semistruct.errors import SemistructError


class WorkError(SemistructError):
    """A task failed, or was given up."""


class CancelledTask(WorkError):
    """A task that was no longer wanted."""


Tell = Callable[[dict[str, Any]], None]


class Worker:
    """A process that does tasks one after the other; it is started when there is something to do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = RLock()
        self._process: subprocess.Popen[str] | None = None
        self._open: dict[int, tuple[Future[Any], Tell | None]] = {}
        self._count = 0
        self._closed = False
        self._reader: Thread | None = None

    def ask(self, task: str, given: dict[str, Any], tell: Tell | None = None) -> tuple[int, Future[Any]]:
        """The number of the task, and its answer to come; `tell` hears of its progress."""
        future: Future[Any] = Future()
        with self._lock:
            self._count += 1
            number = self._count
            if self._closed:
                future.set_exception(CancelledTask("the workbench was closed"))
                return number, future
            self._open[number] = future, tell
            try:
                self._send({"id": number, "task": task, "given": given})
            except OSError:
                self._failed("the process that learns could not be reached")
        return number, future

    def answer(self, task: str, given: dict[str, Any], timeout: float) -> Any:
        """The answer, if it comes in time."""
        number, future = self.ask(task, given)
        try:
            return future.result(timeout)
        except TimeoutError:
            self.cancel(number)
            raise WorkError(f"no answer within {timeout:g} s") from None

    @property
    def busy(self) -> bool:
        return bool(self._open)

    def cancel(self, number: int) -> None:
        """The task is no longer wanted; it ends as soon as it looks up."""
        with self._lock:
            if number in self._open and self._process is not None:
                try:
                    self._send({"cancel": number})
                except OSError:
                    self._failed("the process that learns could not be reached")

    def stop(self) -> None:
        """End the process, whatever it does; it does nothing more."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            if self._reader is not None:
                self._reader.join(5)  # it closes the pipes
        self._failed("the workbench was closed")

    def _send(self, message: dict[str, Any]) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _start(self) -> None:
        here = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "semistruct.work.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
        )  # fmt: skip
        self._reader = Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            future, tell = self._open.get(message["id"], (None, None))
            if future is None:
                continue
            if "progress" in message:
                if tell is not None:
                    tell(message["progress"])
                continue
            self._open.pop(message["id"], None)
            if "answer" in message:
                future.set_result(message["answer"])
            elif "cancelled" in message:
                future.set_exception(CancelledTask("cancelled"))
            else:
                future.set_exception(WorkError(message["problem"]))
        _close(process)
        if process is self._process:
            self._failed("the process that learns ended unexpectedly; perhaps there was not enough memory")

    def _failed(self, problem: str) -> None:
        with self._lock:
            waiting, self._open = self._open, {}
        for future, _ in waiting.values():
            future.set_exception(WorkError(problem))


def _close(process: subprocess.Popen[str]) -> None:
    """Let go of a process that has ended."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError, ValueError):  # what was not yet sent
                pipe.close()
