"""How a command ends when it is interrupted, or when its output cannot be written or nobody reads it any longer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from threading import current_thread
from typing import Any, TextIO, cast

import typer
from typer.core import TyperGroup

from semistruct.cli.leaving import INTERRUPTED
from semistruct.errors import DataError
from semistruct.files import reason


class Commands(TyperGroup):
    """Commands: an interrupted one says so in one line.

    A command that has already written something raises KeyboardInterrupt with a text that says what.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            print(f"semistruct: interrupted, {str(err) or 'nothing was written'}", file=sys.stderr)
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
def watched_output() -> Iterator[None]:
    """All that is printed goes through `_Output`, and is written when this ends."""
    with redirect_stdout(cast(TextIO, _Output(sys.stdout))):
        try:
            yield
        finally:
            sys.stdout.flush()
