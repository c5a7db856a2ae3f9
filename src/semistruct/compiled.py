"""The decorators of kernels: plain loops over arrays, compiled when they are first called and kept in a cache.

Kernels trust their input; whoever calls them checks it.  They release the GIL, so that threads can share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

from semistruct.progress import compile_watchers


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; kept in memory only where no folder for the cache can be written."""
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that becomes a part of those that call it: for what is done in inner loops, or in one place only."""
    return njit(nogil=True, inline="always", error_model="numpy")(function)


class _Listener(event.Listener):
    """Passes on when numba compiles."""

    def on_start(self, event: Any) -> None:
        for watch in compile_watchers:
            watch(True)

    def on_end(self, event: Any) -> None:
        for watch in compile_watchers:
            watch(False)


event.register("numba:compile", _Listener())
