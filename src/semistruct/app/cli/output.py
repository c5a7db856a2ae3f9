"""What commands print: results as a report or as JSON on standard output, progress and messages on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO, cast

from semistruct.base.progress import Place, Progress, Watch

if TYPE_CHECKING:
    from rich.table import Table


def print_result(result: Any, as_json: bool, report: Iterable[Any] | None = None) -> None:
    """Print a dataclass: its fields as JSON (or its `record`), or in words: its `report`, unless another is given."""
    if as_json:
        record = result.record() if hasattr(result, "record") else asdict(result)
        text = json.dumps(record, ensure_ascii=False)
        print(text if _printable(text) == text else json.dumps(record))
        return
    from rich.text import Text

    console = results()
    for part in result.report() if report is None else report:
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


def counted(n: int, noun: str) -> str:
    """A number with its noun: "1 rule", "2 rules"."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


# ---- progress, on a terminal only


@contextmanager
def status_line(text: str, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Gives a function that overwrites one line; None if standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield status.update


@contextmanager
def show_fit(quiet: bool) -> Iterator[Watch | None]:
    """Gives a function that shows the progress of a fit."""
    with status_line("reading the features", quiet) as update:
        dev = ""

        def show(progress: Progress) -> None:
            nonlocal dev
            if progress.step == "point":
                score = progress.details["dev_score"]
                dev = dev if score is None else f"  dev {score:.1%}"
            elif update:
                update(fit_line(progress) + dev)

        yield show if update else None


@contextmanager
def show_count(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Gives a function that shows how many sequences are done, and how many of them were done before."""
    with status_line("reading", quiet) as update:
        began = time.perf_counter()

        def show(done: int, before: int = 0) -> None:
            if update:
                speed = (done - before) / max(time.perf_counter() - began, 1e-9)
                update(f"{done:,} sequences" + (f"  {speed:,.0f} per second" if done > before else "  read again"))

        yield show


HIDDEN = ("spent", "sequences")  # details that say nothing new on a terminal


def fit_line(progress: Progress) -> str:
    """The status line for a step of a solver or of a path."""
    place, objective = progress.place, progress.objective or 0.0
    where = f"{progress.step} {progress.count}"
    if place is not None:
        where = f"{place.axis} {place.value:.2g} ({place.stage + 1}/{place.stages}) round {place.round + 1}"
    parts = [where, f"objective {objective:.5g}"]
    if progress.gap is not None:
        parts.append(f"gap {progress.gap / objective if objective else 0.0:.2%}")
    numbers = {name: value for name, value in progress.details.items() if name not in HIDDEN}
    parts += [f"{name} {value:.4g}" for name, value in numbers.items() if not isinstance(value, str)]
    left = "" if place is None else f", {_left(progress, place):.0f} left"
    return "  ".join([*parts, f"{progress.seconds:.1f} s{left}"])


def _left(progress: Progress, place: Place) -> float:
    """The seconds left, if all rounds take as long as those so far."""
    done = place.stage * place.rounds + place.round + (1.0 if progress.step == "learn" else 0.5)
    return progress.seconds / done * (place.stages * place.rounds - done)


def time_left(seconds: float | None) -> str:
    """The end of a status line: roughly how long it will take."""
    if seconds is None:
        return ""
    return f"  about {seconds:.0f} s left" if seconds < 90 else f"  about {seconds / 60:.0f} min left"
