"""Progress on the terminal, of a fit or a transfer; silent when standard error is not one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from semistruct.solvers.sdm import Record


@contextmanager
def watching(quiet: bool, axis: str = "C_u") -> Iterator[Callable[[Any], None] | None]:
    """Gives a function that shows each record of a fit on one line that is overwritten.

    axis  what changes along the path of a semi-supervised fit
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the features") as status:
        shown: list[str] = [""]

        def show(record: Record | dict[str, Any]) -> None:
            if isinstance(record, Record):
                status.update(_of_solver(record))
            elif record["step"] == "point":
                accuracy = record["dev_accuracy"]
                shown[0] = "" if accuracy is None else f"  dev {accuracy:.1%}"
            else:
                status.update(_of_path(record, axis) + shown[0])

        yield show


@contextmanager
def fetching() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Gives a function that shows how far the transfer of a file is."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("asking the server") as status:

        def show(name: str, done: int, total: int | None) -> None:
            share = "" if total is None else f" of {total / 1024:,.0f}"
            status.update(f"{name}  {done / 1024:,.0f}{share} KiB")

        yield show


def _of_solver(record: Record) -> str:
    gap = record.gap / record.primal if record.primal else 0.0
    return (
        f"pass {record.passes}  objective {record.primal:.4g}  gap {gap:.2%}  "
        f"{record.viterbi} Viterbi calls  {record.seconds:.1f} s"
    )


def _of_path(row: dict[str, Any], axis: str) -> str:
    done = row["stage"] * row["rounds"] + row["round"] + (1.0 if row["step"] == "learn" else 0.5)
    left = row["seconds"] / done * (row["stages"] * row["rounds"] - done)
    return (
        f"{axis} {row[axis]:.2g} ({row['stage'] + 1}/{row['stages']}) round {row['round'] + 1}  "
        f"J {row['objective']:.5g}  {row['broken']} broken, {row['switched']} switched  "
        f"{row['seconds']:.0f} s, {left:.0f} left"
    )
