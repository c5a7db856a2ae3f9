"""Spreading kernels over threads: they release the GIL, and each sequence writes only its own slots."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from functools import cache
from numbers import Integral
from threading import Event
from typing import TypeVar

import numpy as np

from semistruct.base.errors import ParameterError, quoted

PIECES_PER_THREAD = 4  # smaller pieces even out sequences of unequal cost
SERIAL_BELOW = 32  # sequences per thread below which waking one costs more than it saves

Answer = TypeVar("Answer")


def available() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores(n_jobs: int | None) -> int:
    """How many threads `n_jobs` stands for: None for all."""
    if n_jobs is None:
        return available()
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise ParameterError(f"n_jobs={quoted(n_jobs)}: must be None or a whole number >= 1")
    return int(n_jobs)


@cache
def pool(n: int) -> ThreadPoolExecutor:
    """The pool of threads, kept because starting them takes as long as labelling a few sequences."""
    return ThreadPoolExecutor(n, thread_name_prefix="semistruct")


# a forked child inherits the executor but not its threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)


def spread(
    kernel: Callable[..., object],
    which: np.ndarray,
    *args: object,
    n_jobs: int | None = None,
    piece: int | None = None,
) -> None:
    """Call kernel(part, *args) for parts that together make up `which`, on n_jobs threads (None: all).

    piece  the size of a part, for kernels that take long for each sequence

    A kernel looks for signals while it runs in the main thread; those in other threads are told by a flag to stop.
    """
    n = cores(n_jobs)
    count = 1
    if n > 1 and piece is not None:
        count = -(-len(which) // piece)
    elif n > 1 and len(which) >= SERIAL_BELOW * n:
        count = min(n * PIECES_PER_THREAD, len(which) // SERIAL_BELOW)
    if count <= 1:
        kernel(which, *args)
        return
    stop = np.zeros(1, np.bool_)
    calls = [pool(n).submit(kernel, (part, stop), *args) for part in np.array_split(which, count)]
    try:
        for call in calls:
            call.result()
    except BaseException:
        stop[0] = True
        for call in calls:
            call.cancel()
        wait(calls)
        raise


def at_once(calls: Sequence[Callable[[], Answer]], stop: Event) -> list[Answer]:
    """The answers to a few long calls, each in a thread of its own.

    stop  is set if one of them fails or if this thread is interrupted, so that the others can end
    """
    with ThreadPoolExecutor(len(calls), thread_name_prefix="semistruct") as threads:
        try:
            asked = [threads.submit(call) for call in calls]
            for one in as_completed(asked):
                one.result()
            return [one.result() for one in asked]
        except BaseException:
            stop.set()
            raise
