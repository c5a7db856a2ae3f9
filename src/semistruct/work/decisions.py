"""Decisions of the person about sequences: one line each in a file that only grows while the workbench is open.

A line is a record of the format `jsonl`, with the tokens, the labels (null where unknown) and, under "meta", when and
how the decision was made.  The last line about a sequence counts.  The file is tidied when it is opened and closed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from semistruct.corpus import Labels
from semistruct.errors import DataError
from semistruct.files import reason, replacing
from semistruct.work.pool import Cut, Offsets, Pool

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
        if path.exists():
            self._load()

    def add(self, made: Iterable[Decision]) -> None:
        """Keep decisions: on the disk when this returns, or not at all, with an error."""
        made = list(made)
        append(self.path, [one.record(self.pool) for one in made])
        for one in made:
            self._count(one)

    def tidy(self) -> None:
        """Have one line for each sequence in the file."""
        if self.path.exists():
            with replacing(self.path, "utf-8") as file:
                file.write("".join(line_of(one.record(self.pool)) for one in self.last.values()))

    def _count(self, one: Decision) -> None:
        self.versions[one.number] = self.versions.get(one.number, 0) + 1
        before = self.last.pop(one.number, None)  # the newest goes last
        if one.labels is not None or (before is not None and before.labels is not None):
            self.relabelled += 1
        if one.labels is not None or one.origin in ("skipped", "noted"):
            self.last[one.number] = one

    def _load(self) -> None:
        lines, torn = whole_lines(self.path)
        if torn:
            self.told.append(f"{self.path.name}: the last line was not complete, and is left out")
        for number, line in enumerate(lines, 1):
            try:
                self._count(Decision.of(json.loads(line), self.pool))
            except ValueError as err:
                problem = str(err) if isinstance(err, DataError) else "not JSON"
                raise DataError.at(self.path, number, problem) from None
        self.tidy()


def without_labels(one: Decision, origin: str) -> Decision:
    """The same sequence without labels."""
    return replace(one, labels=None, unknown=(), offsets=None, origin=origin, time=now(), model=None, actions=0)


def line_of(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def whole_lines(path: Path) -> tuple[list[str], bool]:
    """The lines of a file to which lines are appended, and whether the last one was cut short."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None
    *lines, rest = text.split("\n")
    return [line for line in lines if line.strip("\0 ")], bool(rest)


def append(path: Path, records: list[dict[str, Any]]) -> None:
    """Add lines to a file; they are on the disk when this returns, and if it fails the file is as before."""
    data = "".join(map(line_of, records)).encode()
    try:
        with open(path, "ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise
    except OSError as err:
        raise DataError.at(path, None, f"cannot write: {reason(err)}") from None
