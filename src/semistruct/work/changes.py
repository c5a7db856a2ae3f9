"""What has happened lately, so that every window hears of it."""

from __future__ import annotations

from collections import deque
from typing import Any

KEPT = 500


class Changes:
    """The last changes, counted from 1."""

    def __init__(self) -> None:
        self.now = 0
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)

    def add(self, kind: str, **about: Any) -> None:
        self.now += 1
        self._kept.append({"n": self.now, "kind": kind, **about})

    def since(self, n: int) -> list[dict[str, Any]]:
        return [change for change in self._kept if change["n"] > n]
