"""How commands print their results: as a report for people or as one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from semistruct.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table

live: list[Any] = []
"""The status line that is on the screen, if there is one."""


def print_result(result: dict[str, Any], as_json: bool, report: Any) -> None:
    """Print a record: as JSON, or the parts of `report(result)`."""
    if as_json:
        text = json.dumps(result, ensure_ascii=False)
        print(text if _printable(text) == text else json.dumps(result))
        return
    from rich.text import Text

    console = results()
    for part in report(result):
        console.print(part, markup=False, soft_wrap=isinstance(part, str | Text))


def tell(text: str) -> None:
    """Print a line on standard error, beside the result."""
    print(f"semistruct: {text}", file=sys.stderr)


def results() -> Any:
    """The console of results, on standard output."""
    from rich.console import Console

    return Console(file=cast(TextIO, _Printable()), highlight=False)


class _Printable:
    """Standard output, with escapes for characters that its encoding does not have, such as half a character."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        return sys.stdout.write(_printable(text))


def _printable(text: str) -> str:
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Table:
    """A table whose first columns, `left` of them, are texts, and whose other columns are numbers."""
    from rich.table import Column, Table
    from rich.text import Text

    columns = [Column(title, justify="left" if i < left else "right") for i, title in enumerate(titles)]
    out = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        out.add_row(*map(Text, row))
    return out


def check_writable(path: Path | None, *, plot: bool = False) -> None:
    """Refuse a file that cannot be written, before the work for it is done."""
    if path is None:
        return
    if plot and path.suffix not in (".png", ".svg"):
        raise DataError.at(path, None, "a plot must be a .png or .svg file")
    if path.is_dir():
        raise DataError.at(path, None, "is a folder, name a file")
    if not path.resolve().parent.is_dir():
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


def time_left(seconds: float | None) -> str:
    """The end of a status line: roughly how long it will take."""
    if seconds is None:
        return ""
    return f"  about {seconds:.0f} s left" if seconds < 90 else f"  about {seconds / 60:.0f} min left"
