"""Ending at once, where an exception would come too late or get lost."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import NoReturn

from semistruct import files

INTERRUPTED = 130
IMPORTING = "<frozen importlib"  # where the code of imports is


def leave(words: str) -> NoReturn:
    """End this process with a sentence; nothing half-written stays behind."""
    files.abandon()
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")  # clears what shows progress, and shows the cursor
    print(f"semistruct: {words}", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


@contextmanager
def safe_imports() -> Iterator[None]:
    """An interruption in the middle of an import ends the process: modules do not expect exceptions there.

    Where interruptions are ignored, or somebody else answers them, this stays so.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTING):
            leave("interrupted")
        frame = frame.f_back
    raise KeyboardInterrupt
