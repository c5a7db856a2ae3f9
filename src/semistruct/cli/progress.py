"""The progress of a fit, of labelling or of a transfer, on a terminal; silent when standard error is not one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from semistruct.cli.output import status_line
from semistruct.progress import Place, Progress, Watch


@contextmanager
def watching(quiet: bool) -> Iterator[Watch | None]:
    """Gives a function that shows the progress of a fit on one line that is overwritten."""
    with status_line("reading the features", quiet) as update:
        dev = ""

        def show(progress: Progress) -> None:
            nonlocal dev
            if progress.step != "point":
                update(line(progress) + dev)
            elif progress.details["dev_score"] is not None:
                dev = f"  dev {progress.details['dev_score']:.1%}"

        yield show if update else None


@contextmanager
def counting(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Gives a function that is told how many sequences are done, and how many of them were done before."""
    with status_line("reading", quiet) as update:
        began = time.perf_counter()

        def show(done: int, before: int) -> None:
            if update:
                speed = (done - before) / max(time.perf_counter() - began, 1e-9)
                update(f"{done:,} sequences" + (f"  {speed:,.0f} per second" if done > before else "  read again"))

        yield show


@contextmanager
def fetching() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Gives a function that shows how much of a file was transferred."""
    with status_line("contacting the server") as update:

        def show(name: str, done: int, total: int | None) -> None:
            share = "" if total is None else f" of {total / 1024:,.0f}"
            update(f"{name}  {done / 1024:,.0f}{share} KiB")

        yield show if update else None


def line(progress: Progress) -> str:
    """The status line for a half-step of a path, or a step of a solver."""
    place, objective = progress.place, progress.objective or 0.0
    where = f"{progress.step} {progress.count}"
    if place is not None:
        where = f"{place.axis} {place.value:.2g} ({place.stage + 1}/{place.stages}) round {place.round + 1}"
    parts = [where, f"objective {objective:.5g}"]
    if progress.gap is not None:
        parts.append(f"gap {progress.gap / objective if objective else 0.0:.2%}")
    parts += [f"{name} {value:.4g}" for name, value in progress.details.items() if not isinstance(value, str)]
    left = "" if place is None else f", {_left(progress, place):.0f} left"
    return "  ".join([*parts, f"{progress.seconds:.1f} s{left}"])


def _left(progress: Progress, place: Place) -> float:
    """The seconds left, if all rounds take as long as those so far."""
    done = place.stage * place.rounds + place.round + (1.0 if progress.step == "learn" else 0.5)
    return progress.seconds / done * (place.stages * place.rounds - done)
