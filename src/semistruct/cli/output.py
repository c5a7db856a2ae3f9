"""How commands print their results: as a report for people or as one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from semistruct.errors import DataError

live: list[Any] = []
"""The status line that is on the screen, if there is one."""

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


def print_result(result: dict[str, Any], as_json: bool, report: Any) -> None:
    """`report(result)` gives the parts of the report."""
    if as_json:
        print(json.dumps(result, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.text import Text

    class Report(Console):
        def on_broken_pipe(self) -> None:  # would exit with 1
            raise BrokenPipeError

    console = Report(file=sys.stdout, highlight=False)
    for part in report(result):
        console.print(part, markup=False, soft_wrap=isinstance(part, str | Text))


def check_plot(path: Path | None) -> None:
    """Refuse a plot that cannot be written, before there is one."""
    if path is not None and path.suffix not in (".png", ".svg"):
        raise DataError.at(path, None, "a plot is written as .png or .svg")
    if path is not None and not path.resolve().parent.is_dir():
        raise DataError.at(path, None, "cannot write: no such folder")


def terminal() -> Any:
    """The console of all that is not a result."""
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def status_line(text: str, quiet: bool = False) -> Iterator[Any]:
    """Gives a function that overwrites one line; None when standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with terminal().status(text) as status:
        live.append(status)
        try:
            yield status.update
        finally:
            live.remove(status)


def duration(seconds: float) -> str:
    """A time left, roughly."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
