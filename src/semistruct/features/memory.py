"""What was found out before, so that it need not be found out again for every part of a large file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, TypeVar

LIMIT = 100_000  # answers that are remembered

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
    """Answers by what was asked.  Several threads may ask."""

    def __init__(self) -> None:
        self._known: dict[Key, Value] = {}

    def of(self, keys: Collection[Key], find: Callable[[Collection[Key]], Iterable[Value]]) -> Mapping[Key, Value]:
        """The answers to all of these distinct keys, and perhaps others; `find` gives those to new ones, in order."""
        known = self._known
        new: Collection[Key] = [key for key in keys if key not in known]
        if known and len(known) + len(new) > LIMIT:
            self._known = known = {}  # another one, as somebody may still read the former
            new = keys
        known.update(zip(new, find(new), strict=True))
        return known
