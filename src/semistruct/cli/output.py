"""How commands print their results: as a report for people or as one JSON object."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

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


def duration(seconds: float) -> str:
    """A time left, roughly."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
