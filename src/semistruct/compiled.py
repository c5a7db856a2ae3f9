"""The decorators of kernels: plain loops over arrays, compiled when they are first called and kept in a cache.

Kernels trust their input; whoever calls them checks it.  They release the GIL, so that threads can share the work.
All files with kernels are called `...kernels.py`.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

from semistruct.files import take_lock
from semistruct.progress import compile_watchers

PATIENCE = 60.0  # seconds to wait for another process that compiles a kernel
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, or find what was compiled before."""
    compiled: Any = njit(**OPTIONS)(function)
    with suppress(RuntimeError):  # no folder for the cache can be written: every process compiles for itself
        compiled._cache = KernelCache(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that becomes a part of those that call it: for what is done in inner loops, or in one place only."""
    return njit(**OPTIONS, inline="always")(function)


def is_cached(compiled: Any) -> bool:
    """Whether a kernel has been compiled before, for whatever types."""
    found = getattr(compiled, "_cache", None)
    return isinstance(found, KernelCache) and found.has_entries()


@cache
def sources() -> str:
    """A digest of all kernels: what numba has cached of one is stale if another that it calls has changed."""
    files = sorted([*Path(__file__).parent.rglob("*kernels.py"), Path(__file__)])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class KernelCache(FunctionCache):
    """The cache of numba; a file in it that is stale, damaged or not ours is as good as none.

    What one process compiles others wait for, instead of compiling it too.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._lock: IO[bytes] | None = None  # from the moment that a kernel is not found until it is saved
        self._cache_file._version += f" {sources()} {os.environ.get('NUMBA_BOUNDSCHECK')}"

    def has_entries(self) -> bool:
        try:
            return bool(self._cache_file._load_index())
        except Exception:
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._find(sig, target_context)
        if found is None and self._lock is None:
            self._take_lock()
            found = self._find(sig, target_context)
            if found is not None:
                self.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self.disable()
        finally:
            self.release()

    def _find(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def _take_lock(self) -> None:
        """Take the lock of this kernel; if another process has it, wait."""
        with suppress(OSError):
            self._impl.locator.ensure_cache_path()
            self._lock = open(self._cache_file._index_path + ".lock", "ab")  # noqa: SIM115
            if not take_lock(self._lock):
                self._wait(self._lock)

    def _wait(self, lock: IO[bytes]) -> None:
        until = time.monotonic() + PATIENCE
        _tell(True)
        try:
            while not take_lock(lock) and time.monotonic() < until:
                time.sleep(0.02)
        except BaseException:  # such as Ctrl-C
            self.release()
            raise
        finally:
            _tell(False)

    def release(self) -> None:
        """Let other processes compile the kernel."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _tell(begins: bool) -> None:
    for watch in compile_watchers:
        watch(begins)


class _Listener(event.Listener):
    """Passes on when numba compiles, and meanwhile holds back Ctrl-C, which is lost if it is raised inside of LLVM."""

    depth, held = 0, False  # of what is compiled in the main thread

    def on_start(self, event: Any) -> None:
        _tell(True)
        if threading.current_thread() is threading.main_thread():
            self.depth += 1
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, self.hold)

    def on_end(self, event: Any) -> None:
        _tell(False)
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and signal.getsignal(signal.SIGINT) == self.hold:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.depth == 0 and self.held:
                self.held = False
                unsaved = getattr((event.data or {}).get("dispatcher"), "_cache", None)
                if isinstance(unsaved, KernelCache):
                    unsaved.release()
                raise KeyboardInterrupt

    def hold(self, *_: Any) -> None:
        self.held = True


event.register("numba:compile", _Listener())
