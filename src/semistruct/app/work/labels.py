"""What the person decided about sequences, and the steps that can be undone: two files to which lines are added.

A line of `labels.jsonl` is a record of the format `jsonl`, with the tokens, the labels (null where unknown) and, under
"meta", when and how the decision was made.  The last line about a sequence counts; the file is tidied when it is opened
and closed.  A line of `history.jsonl` is a step with what there was before it, or says that the last step was undone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from semistruct.app.work.folder import Field, Record, line_of, read_journal
from semistruct.app.work.pool import Cut, Pool
from semistruct.base.errors import DataError, WriteError
from semistruct.base.files import replacing

PersonOrigin = Literal["typed", "accepted", "changed", "skipped", "noted"]
Origin = PersonOrigin | Literal["applied", "given", "renamed", "undone"]
"""How a decision came about; the latter four are bulk changes, files with labels, renamed fields, and undoing."""
UNDONE = {"undone": True}
"""The line that takes the last step back."""


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
    origin: Origin
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
    def is_open(self) -> bool:
        """Whether the sequence is still to be labelled: a note, or a few labels by a bulk change, do not close it."""
        return self.origin == "noted" or (self.origin == "applied" and None in (self.labels or [None]))

    def repeats(self, other: Decision | None) -> bool:
        """Whether it says the same, at another time: what was sent twice because no answer came back."""
        return other is not None and replace(self, time=other.time, blind=other.blind) == other

    def without_labels(self, origin: Origin) -> Decision:
        """The same sequence without labels, as of now."""
        return Decision(self.number, None, origin, note=self.note, blind=self.blind)

    def cut(self, pool: Pool) -> Cut:
        """The sequence in the tokens that the labels belong to."""
        own = pool.cut(self.number)
        return own if self.offsets is None else own.along([*self.offsets])

    def check(self, pool: Pool) -> None:
        """Refuse a decision that does not fit its sequence."""
        n, labels = len(self.cut(pool).tokens), self.labels
        if labels is not None and len(labels) != n:
            raise DataError(f"{n} tokens but {len(labels)} labels")
        if any(label is not None and not label.strip() for label in labels or ()):
            raise DataError("a label is empty, expected a text or null")
        if any(not 0 <= t < n or (labels or [None] * n)[t] is not None for t in self.unknown):
            raise DataError("a token is said to be unknown that is not there, or has a label")

    def record(self, pool: Pool) -> Record:
        """The line in the file."""
        cut, about = self.cut(pool), asdict(self)
        number, labels = about.pop("number"), about.pop("labels")
        labels = None if labels is None else list(labels)
        meta = {"time": about.pop("time"), "origin": about.pop("origin")}
        meta |= {key: value for key, value in about.items() if value}
        return {"id": number, "text": cut.text, "tokens": cut.tokens, "labels": labels, "meta": meta}

    @classmethod
    def of(cls, record: Record, pool: Pool) -> Decision:
        """The decision of a line; a DataError if it does not fit the pool."""
        try:
            content = {"number": record["id"], "labels": record["labels"], **record["meta"]}
            decision = DECISION.validate_python(content)
        except (KeyError, TypeError, ValidationError):
            raise DataError("not a decision of a workbench") from None
        pool.check_number(decision.number)
        if record.get("text") != pool.text(decision.number):
            raise DataError(f"the text is not that of sequence {decision.number} of the pool")
        decision.check(pool)
        return decision


DECISION = TypeAdapter(Decision)


class Decisions:
    """The last decision about each sequence, and the file of all.

    versions    how often each sequence was decided about
    relabelled  how often labels were given, changed or taken back
    """

    def __init__(self, path: Path, pool: Pool) -> None:
        self.path, self.pool = path, pool
        self.last: dict[int, Decision] = {}
        self.versions: dict[int, int] = {}
        self.relabelled = 0
        lines, self.notices = read_journal(path)
        for number, line in enumerate(lines, 1):
            try:
                self.add(Decision.of(json.loads(line), pool))
            except (ValueError, RecursionError) as err:
                problem = str(err) if isinstance(err, DataError) else "not JSON"
                raise DataError.at(path, number, problem) from None
        self.tidy()

    def add(self, decision: Decision) -> None:
        """Remember a decision that is on the disk."""
        number = decision.number
        self.versions[number] = self.versions.get(number, 0) + 1
        before = self.last.pop(number, None)  # the newest goes last
        if decision.labels is not None or (before is not None and before.labels is not None):
            self.relabelled += 1
        if decision.labels is not None or decision.origin in ("skipped", "noted"):
            self.last[number] = decision

    def is_open(self, number: int) -> bool:
        """Whether a sequence is still to be labelled."""
        return number not in self.last or self.last[number].is_open

    def cut(self, number: int) -> Cut:
        """A sequence, in the tokens that its labels belong to."""
        decision = self.last.get(number)
        return self.pool.cut(number) if decision is None else decision.cut(self.pool)

    def labelled(self) -> list[Decision]:
        """Those that gave labels."""
        return [decision for decision in self.last.values() if decision.is_labelled]

    def tidy(self) -> None:
        """Have one line for each sequence in the file, if there is room to write it anew."""
        if self.path.exists():
            with suppress(WriteError), replacing(self.path, "utf-8") as file:
                file.write("".join(line_of(decision.record(self.pool)) for decision in self.last.values()))


@dataclass(frozen=True)
class Step:
    """One thing that was done.

    words     what it was, for the person
    before    the records of the decisions that it changed, as they were; only the id of a sequence without one
    rules     the text of the rules before, if they were changed
    fields    the fields before, if they were changed
    """

    words: str
    before: tuple[Record, ...] = ()
    rules: str | None = None
    fields: tuple[Field, ...] | None = None

    def line(self) -> Record:
        return {key: value for key, value in asdict(self).items() if value is not None}


STEP = TypeAdapter(Step)


def read_steps(path: Path) -> tuple[list[Step], list[str]]:
    """The steps that can be undone, the last one first to go, and notices about the file."""
    steps = list[Step]()
    lines, notices = read_journal(path)
    for line in lines:
        try:
            record = json.loads(line)
            if record == UNDONE:
                steps.pop()
            else:
                steps.append(STEP.validate_python(record))
        except (ValueError, IndexError, RecursionError):
            steps.clear()  # what is before a damaged line cannot be undone
    return steps, notices
