"""Work spread over processes, for Python code, which threads cannot share: parts go in, answers come out in order.

A process has the path of the one that starts it, gets a function once and then parts of the work, all pickled, through
pipes.  It ends when nobody writes to it any longer, or when the process that started it is gone.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self, TypeVar

from semistruct.base import threads
from semistruct.base.errors import SemistructError

PATIENCE = 5.0  # seconds of processor time in one process after which starting others pays
AHEAD = 2  # parts under way for each process
START = "import sys; sys.path[:] = sys.argv[1:]; from semistruct.base.processes import serve; serve()"

Kept = TypeVar("Kept")
Part = TypeVar("Part")
Answer = TypeVar("Answer")


class ProcessError(SemistructError):
    """A process that shared the work has ended."""


def in_order(
    function: Callable[[Part], Answer],
    parts: Iterable[tuple[Kept, Part]],
    n: int | None,
    elsewhere: Callable[[Part], Answer] | None = None,
) -> Iterator[tuple[Kept, Answer]]:
    """What is kept of each part, and the answer of `function` to the rest of it, in order.

    n          processes (None: one for each core) that share the work once it has taken `PATIENCE` seconds here; until
               they are ready, it goes on here
    elsewhere  what they call instead of `function`
    """
    under_way: deque[tuple[Kept, Future[Answer]]] = deque()
    n, workers, spent = n or threads.available(), None, 0.0
    with ExitStack() as stack:
        for kept, part in parts:
            if workers is None and n > 1 and spent >= PATIENCE:
                workers = stack.enter_context(Workers(elsewhere or function, n))
            if workers is None or not workers.ready:
                began = time.process_time()
                answer = function(part)
                spent += time.process_time() - began
                yield kept, answer
                continue
            under_way.append((kept, workers.submit(part)))
            while len(under_way) > AHEAD * n or (under_way and under_way[0][1].done()):
                kept, found = under_way.popleft()
                yield kept, found.result()
        while under_way:
            kept, found = under_way.popleft()
            yield kept, found.result()


class Workers:
    """Processes that all have one function."""

    def __init__(self, function: Callable[[Any], Any], n: int) -> None:
        self._workers = [_Worker() for _ in range(n)]
        self._idle = SimpleQueue[_Worker]()
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="semistruct-workers")
        given = pickle.dumps(function)
        self._starts = [self._threads.submit(self._start, worker, given) for worker in self._workers]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    @property
    def ready(self) -> bool:
        """Whether a process can begin to work; an error if one could not be started."""
        started = [start for start in self._starts if start.done()]
        for start in started:
            start.result()
        return bool(started)

    def submit(self, part: Any) -> Future[Any]:
        """The answer to come."""
        return self._threads.submit(self._ask, part)

    def _start(self, worker: _Worker, given: bytes) -> None:
        worker.ask(given)
        self._idle.put(worker)

    def _ask(self, part: Any) -> Any:
        worker = self._idle.get()
        try:
            return worker.ask(part)
        finally:
            self._idle.put(worker)


class _Worker:
    """A process, seen from the one that started it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def ask(self, what: Any) -> Any:
        try:
            pickle.dump(what, self._in)
            self._in.flush()
            answer, error = pickle.load(self._out)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            raise ProcessError(self._end()) from None
        if isinstance(error, str):
            raise RuntimeError(f"in another process:\n{error}")
        if error is not None:
            raise error
        return answer

    def _end(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        code = self.process.returncode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return f"a worker process {how}; if memory ran out, use fewer processes, for example --jobs 2"

    def close(self) -> None:
        self.process.wait()
        for pipe in (self._in, self._out):
            with suppress(OSError):  # what could not be sent
                pipe.close()


def serve() -> None:
    """What a process does: answer."""
    Thread(target=end_with_parent, daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed does not get among the answers
    function: Callable[[Any], Any] = pickle.loads
    with suppress(EOFError):
        while True:
            given = pickle.load(sys.stdin.buffer)
            answer: Any = None
            error: Exception | str | None = None
            try:
                answer = function(given)
            except SemistructError as err:
                error = err
            except Exception:
                error = traceback.format_exc()
            if function is pickle.loads and error is None:
                function, answer = answer, None
            with suppress(BrokenPipeError):
                pickle.dump((answer, error), answers)
                answers.flush()


def end_with_parent() -> None:
    """End this process when the one that started it is gone, however it ended."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
