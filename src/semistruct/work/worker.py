"""A process that learns and labels: tasks come in as lines of JSON, progress and answers go out as such.

    in   {"id": 1, "task": "learn", "given": {...}}     {"cancel": 1}
    out  {"id": 1, "progress": {...}}                   {"id": 1, "answer": ...} or "problem" or "cancelled"

It ends when nobody writes to it any longer.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

NICE = 10  # the page goes first


class Cancelled(Exception):
    """The task that runs is no longer wanted."""


class Desk:
    """What is to be done, what is no longer wanted, and where answers go."""

    def __init__(self, out: IO[str]) -> None:
        self.out, self.inbox, self.unwanted = out, SimpleQueue[dict[str, Any]](), set[int]()

    def listen(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "cancel" in message:
                self.unwanted.add(message["cancel"])
            else:
                self.inbox.put(message)
        os._exit(0)

    def send(self, **message: Any) -> None:
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()

    def work(self) -> None:
        while True:
            job = self.inbox.get()
            number = job["id"]

            def tell(number: int = number, **progress: Any) -> None:
                if number in self.unwanted:
                    raise Cancelled
                self.send(id=number, progress=progress)

            try:
                tell(step="starting")
                self.send(id=number, answer=_done(job["task"], job["given"], tell))
            except Cancelled:
                self.send(id=number, cancelled=True)
            except Exception as err:
                self.send(id=number, problem=_sentence(err))


def _done(task: str, given: dict[str, Any], tell: Any) -> Any:
    from semistruct.work.tasks import TASKS

    return TASKS[task](given, tell)


def _sentence(err: Exception) -> str:
    from semistruct.errors import SemistructError

    if isinstance(err, SemistructError):
        return str(err)
    traceback.print_exc()
    return f"an error in semistruct itself: {type(err).__name__}: {err}"


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed does not get among the answers
    if hasattr(os, "nice"):
        os.nice(NICE)
    desk = Desk(out)
    Thread(target=desk.listen, daemon=True).start()
    desk.work()


if __name__ == "__main__":
    main()
