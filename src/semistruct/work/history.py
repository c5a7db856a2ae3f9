"""What was done, so that it can be undone: one line for each step, with what there was before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semistruct.work.writing import whole_lines

UNDONE = {"undone": True}
"""The line that takes the last step back."""


@dataclass(frozen=True)
class Step:
    """One thing that was done.

    words     what it was, for the person
    before    the records of the decisions that it changed, as they were; only the id of a sequence without one
    rules     the text of the rules before, if they were changed
    fields    the fields before, if they were changed
    """

    words: str
    before: tuple[dict[str, Any], ...] = ()
    rules: str | None = None
    fields: tuple[dict[str, Any], ...] | None = None

    def line(self) -> dict[str, Any]:
        found = {"words": self.words, "before": list(self.before), "rules": self.rules, "fields": self.fields}
        return {key: value for key, value in found.items() if value is not None}


class History:
    """The steps that can be undone, the last one first to go; they outlive the server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[Step] = []
        lines, self.told = whole_lines(path)
        for line in lines:
            try:
                self._replay(json.loads(line))
            except (ValueError, KeyError, TypeError, IndexError, RecursionError):
                self.steps.clear()  # what is before a damaged line cannot be undone

    def _replay(self, line: dict[str, Any]) -> None:
        if line == UNDONE:
            self.steps.pop()
            return
        fields = line.get("fields")
        self.steps.append(
            Step(line["words"], tuple(line["before"]), line.get("rules"), None if fields is None else tuple(fields))
        )
