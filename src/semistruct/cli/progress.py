"""Progress of a fit on the terminal; silent when standard error is not one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from semistruct.solvers.sdm import Record


@contextmanager
def watching(quiet: bool) -> Iterator[Callable[[Record], None] | None]:
    """Gives a function that shows each record of the solver on one line that is overwritten."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the features") as status:

        def show(record: Record) -> None:
            gap = record.gap / record.primal if record.primal else 0.0
            status.update(
                f"pass {record.passes}  objective {record.primal:.4g}  gap {gap:.2%}  "
                f"{record.viterbi} Viterbi calls  {record.seconds:.1f} s"
            )

        yield show
