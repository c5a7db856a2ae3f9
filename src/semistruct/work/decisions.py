"""Decisions of the person about sequences: one line each in a file that only grows while the workbench is open.

A line is a record of the format `jsonl`, with the tokens, the labels (null where unknown) and, under "meta", when and
how the decision was made.  The last line about a sequence counts.  The file is tidied when it is opened and closed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semistruct.corpus import Labels
from semistruct.errors import DataError, WriteError
from semistruct.files import replacing
from semistruct.work.pool import Cut, Offsets, Pool
from semistruct.work.writing import line_of, whole_lines

ORIGINS = ("typed", "accepted", "changed", "applied", "given", "skipped", "noted", "renamed", "undone")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Decision:
    """What was decided about a sequence.

    labels   None if there are none (skipped, or taken back); None for tokens that are guessed or unknown
    unknown  the tokens of which the person says that the label cannot be known
    offsets  of the tokens, if some were split
    blind    whether the sequence was drawn at random and shown without proposals
    model    that made the proposals
    """

    number: int
    labels: tuple[str | None, ...] | None
    origin: str
    time: str = field(default_factory=now)
    unknown: tuple[int, ...] = ()
    offsets: tuple[tuple[int, int], ...] | None = None
    note: str = ""
    blind: bool = False
    model: str | None = None
    actions: int = 0

    @property
    def is_labelled(self) -> bool:
        return self.labels is not None and any(label is not None for label in self.labels)

    @property
    def is_whole(self) -> bool:
        return self.labels is not None and None not in self.labels

    def repeats(self, other: Decision | None) -> bool:
        """Whether it says the same, at another time: what was sent twice because no answer came back."""
        return other is not None and replace(self, time=other.time, blind=other.blind) == other

    def cut(self, pool: Pool) -> Cut:
        """The sequence in the tokens that the labels belong to."""
        own = pool.cut(self.number)
        return own if self.offsets is None else own.along([*self.offsets])

    def record(self, pool: Pool) -> dict[str, Any]:
        """The line in the file."""
        cut = self.cut(pool)
        meta: dict[str, Any] = {"time": self.time, "origin": self.origin}
        extra = {
            "unknown": list(self.unknown), "offsets": self.offsets, "note": self.note, "blind": self.blind,
            "model": self.model, "actions": self.actions,
        }  # fmt: skip
        meta |= {key: value for key, value in extra.items() if value}
        labels: Labels | None = None if self.labels is None else list(self.labels)
        return {"id": self.number, "text": cut.text, "tokens": cut.tokens, "labels": labels, "meta": meta}

    @classmethod
    def of(cls, record: dict[str, Any], pool: Pool) -> Decision:
        """The decision of a line; a DataError if it does not fit the pool."""
        try:
            number, meta, labels = record["id"], record["meta"], record["labels"]
            offsets: Offsets | None = [(int(a), int(b)) for a, b in meta["offsets"]] if "offsets" in meta else None
            made = cls(
                int(number), None if labels is None else tuple(labels), str(meta["origin"]), str(meta["time"]),
                tuple(map(int, meta.get("unknown", ()))), None if offsets is None else tuple(offsets),
                str(meta.get("note", "")), bool(meta.get("blind")), meta.get("model"), int(meta.get("actions", 0)),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("not a decision of a workbench") from None
        if not 0 <= made.number < len(pool):
            raise DataError(f"the pool has no sequence {made.number}")
        cut = made.cut(pool)
        if record.get("text") != cut.text:
            raise DataError(f"the text is not that of sequence {made.number} of the pool")
        made.check(len(cut.tokens))
        return made

    def check(self, n: int) -> None:
        """Refuse labels that do not fit n tokens."""
        if self.labels is not None and len(self.labels) != n:
            raise DataError(f"{n} tokens but {len(self.labels)} labels")
        if any(label is not None and (not isinstance(label, str) or not label.strip()) for label in self.labels or ()):
            raise DataError("a label is empty, expected a text or null")
        if any(not 0 <= t < n or (self.labels or [None] * n)[t] is not None for t in self.unknown):
            raise DataError("a token is said to be unknown that is not there, or has a label")


class Decisions:
    """The last decision about each sequence, and the file of all.

    versions  how often each sequence was decided about
    relabelled  how often labels were given, changed or taken back
    """

    def __init__(self, path: Path, pool: Pool) -> None:
        self.path, self.pool = path, pool
        self.last: dict[int, Decision] = {}
        self.versions: dict[int, int] = {}
        self.relabelled = 0
        self.told: list[str] = []
        self._load()

    def tidy(self) -> None:
        """Have one line for each sequence in the file, if there is room to write it anew."""
        if self.path.exists():
            with suppress(WriteError), replacing(self.path, "utf-8") as file:
                file.write("".join(line_of(one.record(self.pool)) for one in self.last.values()))

    def count(self, one: Decision) -> None:
        """Remember a decision that is on the disk."""
        self.versions[one.number] = self.versions.get(one.number, 0) + 1
        before = self.last.pop(one.number, None)  # the newest goes last
        if one.labels is not None or (before is not None and before.labels is not None):
            self.relabelled += 1
        if one.labels is not None or one.origin in ("skipped", "noted"):
            self.last[one.number] = one

    def _load(self) -> None:
        lines, self.told = whole_lines(self.path)
        for number, line in enumerate(lines, 1):
            try:
                self.count(Decision.of(json.loads(line), self.pool))
            except (ValueError, RecursionError) as err:
                problem = str(err) if isinstance(err, DataError) else "not JSON"
                raise DataError.at(self.path, number, problem) from None
        self.tidy()


def without_labels(one: Decision, origin: str) -> Decision:
    """The same sequence without labels."""
    return replace(one, labels=None, unknown=(), offsets=None, origin=origin, time=now(), model=None, actions=0)
