"""How a command ends early: interrupted, or when its output cannot be written or nobody reads it any longer.

An interruption is a KeyboardInterrupt whose text says what was written, if anything was; `Commands` in `app` prints it.
In the middle of an import it ends the process instead: modules do not expect exceptions there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TextIO, cast

from semistruct.base import files
from semistruct.base.errors import DataError

INTERRUPTED = 130  # the exit code


@contextmanager
def safe_imports() -> Iterator[None]:
    """End the process if an import is interrupted; not where interruptions are ignored or answered elsewhere."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            files.abandon()
            if sys.stderr.isatty():
                sys.stderr.write("\r\x1b[2K\x1b[?25h")  # clears what shows progress, and shows the cursor
            print("semistruct: interrupted", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


class _Output:
    """Standard output: one sentence if it cannot be written, and a quiet end if nobody reads it any longer."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self._try(lambda: self.stream.write(text))

    def flush(self) -> None:
        self._try(self.stream.flush)

    def _try(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except OSError as err:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())  # for what is still to be flushed
            if isinstance(err, BrokenPipeError):
                raise SystemExit(0) from None
            raise DataError.at("<stdout>", None, f"cannot write: {files.reason(err)}") from None


@contextmanager
def watched_output() -> Iterator[None]:
    """All that is printed goes through `_Output`, and is written when this ends."""
    with redirect_stdout(cast(TextIO, _Output(sys.stdout))):
        try:
            yield
        finally:
            sys.stdout.flush()
