"""Shows that kernels are being compiled, which takes some seconds and happens once per installation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from semistruct.cli import output
from semistruct.progress import compile_watchers

TEXT = "compiling, once per installation"


class Teller:
    """On a terminal a line that counts the functions and disappears; elsewhere a single line."""

    def __init__(self) -> None:
        self.lock, self.depth, self.count = Lock(), 0, 0
        self.status: Any = None

    def __call__(self, begins: bool) -> None:
        with self.lock:
            self.depth += 1 if begins else -1
            self.count += begins
            if not sys.stderr.isatty():
                if begins and self.count == 1:
                    print(f"semistruct: {TEXT} (some seconds)", file=sys.stderr)
            elif not begins and self.depth == 0:
                self.close()
            elif begins:
                self.draw(f"{TEXT}: {self.count} function{'s' * (self.count > 1)}")

    def draw(self, text: str) -> None:
        if output.live:
            output.live[-1].update(text)
        elif self.status is None:
            self.status = output.terminal().status(text)
            self.status.start()
        else:
            self.status.update(text)

    def close(self) -> None:
        if self.status is not None:
            self.status.stop()
            self.status = None


@contextmanager
def telling() -> Iterator[Teller]:
    """Show whenever kernels are compiled."""
    teller = Teller()
    compile_watchers.append(teller)
    try:
        yield teller
    finally:
        compile_watchers.remove(teller)
        teller.close()
