"""What warnings say.  Python has one list of filters for all threads, so only one thread at a time listens."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

SAID = 3  # warnings that are passed on
_listening = RLock()


@contextmanager
def hearing() -> Iterator[list[str]]:
    """The first few warnings of this thread, each once, when the block has ended; those of others go their way."""
    said, heard, own = list[str](), dict[str, None](), get_ident()
    with _listening, warnings.catch_warnings():
        show = warnings.showwarning

        def hear(message: Warning | str, *about: Any, **more: Any) -> None:
            if get_ident() == own:
                heard[str(message)] = None
            else:
                show(message, *about, **more)

        warnings.simplefilter("always")
        warnings.showwarning = hear
        yield said
    said += list(heard)[:SAID]
