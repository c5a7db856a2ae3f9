"""What warnings say.  Python has one list of filters for all threads, so only one thread at a time collects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_collecting = RLock()


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """The first three warnings of a block, each once, when the block has ended."""
    texts: list[str] = []
    with _collecting, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += list(dict.fromkeys(str(warning.message) for warning in caught))[:3]
