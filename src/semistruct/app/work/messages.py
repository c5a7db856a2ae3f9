"""What goes over HTTP: the requests and the answers of the workbench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, NonNegativeInt

from semistruct.app.work.folder import Field
from semistruct.app.work.labels import PersonOrigin

Labels = list[str | None]
Filter = Literal["all", "open", "labelled", "skipped", "noted", "unsure", "breaks", "differs"]
SequenceKind = Literal["open", "labelled", "skipped"]
ChangeKind = Literal[
    "told", "pool", "fields", "decided", "bulk", "rules", "model", "failed", "queue", "swept",
    "suggest", "effects", "look", "curve",
]  # fmt: skip

# ---- requests


class LabelRequest(BaseModel):
    """Labels for a sequence: null where a token is not labelled; `unknown` are tokens that nobody can label."""

    number: int
    labels: tuple[str | None, ...] | None = None
    unknown: tuple[int, ...] = ()
    offsets: tuple[tuple[int, int], ...] | None = None
    origin: PersonOrigin = "typed"
    note: str = ""
    model: str | None = None
    actions: NonNegativeInt = 0
    seen: int | None = None
    window: str = ""


class TokenRun(BaseModel):
    number: int
    start: int
    end: int


# ---- the state of everything


class TaskStatus(BaseModel):
    """What is being done in the background: the task and its step, and since when (seconds since 1970)."""

    state: Literal["idle", "running", "failed"] = "idle"
    task: str | None = None
    step: str | None = None
    share: float | None = None
    began: float | None = None
    labelled: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class FieldStatus(Field):
    """A field, and in how many sequences it is."""

    n: int


class ModelStatus(BaseModel):
    name: str
    labelled: int
    time: str
    seconds: float
    said: list[str]


class Status(BaseModel):
    """Everything that the frame of the page shows."""

    id: str
    folder: str
    ready: bool
    pool: int
    labelled: int
    skipped: int
    blind: int
    actions: int
    acted: int
    fields: list[FieldStatus]
    tokens: str
    train_every: int
    model: ModelStatus | None
    training: TaskStatus
    insights: TaskStatus
    swept: int
    rules_version: int
    undo: str | None
    doubtful: float
    sure: float
    change: int
    told: list[str]


class Change(BaseModel):
    """Something that has happened, counted from 1."""

    n: int
    kind: ChangeKind
    number: int | None = None
    numbers: list[int] | None = None
    window: str | None = None
    words: str | None = None


class Changes(BaseModel):
    """What has happened since a change, and the state now."""

    changes: list[Change]
    status: Status


# ---- pool and labels


class Added(BaseModel):
    added: int
    labelled: int
    told: list[str]


class SequenceView(BaseModel):
    """One sequence with its labels: those that were decided, and proposed ones for the rest.

    joined    for each token, whether it touches the one before it
    state     of each label
    proposed  with confidence, model and broken rules: what the newest model says, unless the sequence is shown blind
    """

    number: int
    text: str
    words: list[str]
    offsets: list[tuple[int, int]]
    joined: list[bool]
    labels: Labels
    state: list[Literal["blank", "confirmed", "unknown", "guessed"]]
    proposed: list[str] | None = None
    confidence: list[float] | None = None
    model: str | None = None
    broken: list[str] = []
    kind: SequenceKind
    note: str
    reason: str
    blind: bool
    version: int
    can_split: bool


class SequenceRow(BaseModel):
    """A sequence in a list; `differs` counts labels of the person that the model would give otherwise."""

    number: int
    text: str
    kind: SequenceKind
    sure: float | None
    note: str
    differs: int


class Listing(BaseModel):
    """Some of `n` sequences that pass the filters, `of` all; the model has looked at `looked_at`."""

    rows: list[SequenceRow]
    n: int
    of: int
    looked_at: int


class Decided(BaseModel):
    """How often the sequence was decided about, and whether a newer state was replaced than the window had seen."""

    version: int
    overwrote: bool


class Undone(BaseModel):
    """What was taken back, of which sequences, and how many more steps can be."""

    words: str
    numbers: list[int]
    left: int


class FieldUse(BaseModel):
    sequences: int
    tokens: int
    rules: int


class LikePlace(TokenRun):
    """A place with its context; `confirmed` if a person has labelled it."""

    before: list[str]
    words: list[str]
    after: list[str]
    labels: Labels
    confirmed: bool


class Like(BaseModel):
    """Places that read the same; `more` if there are further ones."""

    words: list[str]
    n: int
    more: bool
    places: list[LikePlace]
