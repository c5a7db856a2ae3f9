"""How a command ends when it is interrupted, or when nobody reads its output any longer."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130


class Commands(TyperGroup):
    """Commands: an interrupted one says so in one line, and one whose output is no longer read ends quietly.

    A command that has already written something raises KeyboardInterrupt with a text that says what.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
            raise typer.Exit from None
        except KeyboardInterrupt as err:
            print(f"semistruct: interrupted, {str(err) or 'nothing was written'}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
