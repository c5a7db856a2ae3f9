"""How a command ends when it is interrupted, or when its output cannot be written or nobody reads it any longer."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from threading import Thread, current_thread, main_thread
from typing import Any, TextIO, cast

import typer
from typer.core import TyperGroup

from semistruct.cli.leaving import INTERRUPTED, answered, leave
from semistruct.errors import DataError
from semistruct.files import reason

GRACE = 0.3  # seconds in which a command should end by itself


class Commands(TyperGroup):
    """Commands: an interrupted one says so in one line.

    A command that has already written something raises KeyboardInterrupt with a text that says what.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            print(f"semistruct: interrupted, {str(err) or 'nothing was written'}", file=sys.stderr)
            answered.set()
            raise typer.Exit(INTERRUPTED) from None


class _Output:
    """Standard output: one sentence if it cannot be written, and a quiet end if nobody reads it any longer."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        if current_thread().name.startswith("ray_"):  # Ray tells of lost processes here; we do so in our own words
            return len(text)
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
            raise DataError.at("<stdout>", None, f"cannot write: {reason(err)}") from None


@contextmanager
def prompt_end(is_compiling: Callable[[], bool]) -> Iterator[None]:
    """End soon after an interruption even while functions are compiled, which takes seconds and cannot be stopped.

    Python acts on a signal only when LLVM is done, but has it written to a pipe at once.
    """
    if current_thread() is not main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    Thread(target=_watch, args=(reader, is_compiling), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)


def _watch(reader: int, is_compiling: Callable[[], bool]) -> None:
    while got := os.read(reader, 1):
        if got[0] != signal.SIGINT:
            continue
        time.sleep(GRACE)
        if is_compiling():
            leave("interrupted while compiling")
    os.close(reader)


@contextmanager
def watched_output() -> Iterator[None]:
    """All that is printed goes through `_Output`, and is written when this ends."""
    with redirect_stdout(cast(TextIO, _Output(sys.stdout))):
        try:
            yield
        finally:
            sys.stdout.flush()
