"""The command line: `semistruct --help`."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from semistruct.app.cli.ending import INTERRUPTED, safe_imports, watched_output
from semistruct.base.errors import ParameterError, SemistructError


def main(argv: list[str] | None = None) -> None:
    """Run one command.

    Exit codes: 0 success, 2 wrong usage or bad input (one sentence), 130 interrupted, 1 an error in semistruct itself.
    """
    try:
        with safe_imports():
            _run(argv)
    except SemistructError as err:
        print(f"semistruct: {err}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # before or after the command itself
        print("semistruct: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _run(argv: list[str] | None) -> None:
    from typer.exceptions import TyperException

    from semistruct.app.cli.app import app

    with warnings.catch_warnings(), few_collections():
        warnings.showwarning = _tell
        with watched_output():
            try:
                code = app(argv, prog_name="semistruct", standalone_mode=False)
            except TyperException as err:
                raise ParameterError(_usage(err)) from None
        sys.exit(code or 0)


def _usage(err: Any) -> str:
    """What is wrong with the words of a command, in one sentence, and where its help is."""
    command = err.ctx.command_path if getattr(err, "ctx", None) else "semistruct"
    message = err.format_message().replace("Value error, ", "").rstrip(".")
    see = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:]}{see} `{command} --help`"


@contextmanager
def few_collections() -> Iterator[None]:
    """Looking for cycles among very many tokens takes long and finds nothing."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _tell(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in one line, without the line of code that gave it."""
    print(f"semistruct: warning: {message}", file=sys.stderr)
