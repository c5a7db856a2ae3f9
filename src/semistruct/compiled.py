"""The decorator of kernels: plain loops over arrays, compiled when they are first called and kept in a cache.

Kernels trust their input; whoever calls them checks it.  They release the GIL, so that threads can share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; kept in memory only where no folder for the cache can be written."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that becomes a part of those that call it: for what is done for every candidate."""
    return njit(nogil=True, inline="always")(function)
