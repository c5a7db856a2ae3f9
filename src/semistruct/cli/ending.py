"""How a command ends that was interrupted."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

INTERRUPTED = 130


class Commands(TyperGroup):
    """Commands of which one that is interrupted says so in one line.

    A command that has written something raises KeyboardInterrupt with words for what it leaves behind.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            print(f"semistruct: interrupted, {str(err) or 'nothing was written'}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
