"""Routes of the pool, the fields and the labels."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from semistruct.errors import DataError, ParameterError
from semistruct.labels import OUTSIDE
from semistruct.tokens import checked_tokens
from semistruct.work import bulk, views
from semistruct.work.bench import Bench
from semistruct.work.decisions import Decision
from semistruct.work.importing import found_in
from semistruct.work.pool import Pool
from semistruct.work.requests import TextRoute, file_of
from semistruct.work.starting import start_demo

Name = Annotated[str, Field(max_length=200)]


class Pasted(BaseModel):
    """Text with one sequence per line."""

    text: str


class Fields(BaseModel):
    """The names of all fields; how running text is cut into tokens."""

    names: list[Name]
    tokens: str | None = None


class Renamed(BaseModel):
    """Another name for a field: an existing one merges the two, none makes its labels unknown."""

    old: Name
    new: Name | None = None


class Given(BaseModel):
    """Labels for a sequence: null where a token is not labelled; `unknown` are tokens that nobody can label."""

    number: int
    labels: list[str | None] | None = None
    unknown: list[int] = []
    offsets: list[tuple[int, int]] | None = None
    origin: str = "typed"
    note: str = Field("", max_length=10_000)
    model: str | None = None
    actions: int = Field(0, ge=0, le=1_000_000)
    seen: int | None = None
    window: str = Field("", max_length=100)


class Run(BaseModel):
    """A run of tokens of a sequence."""

    number: int
    start: int
    end: int


class Applied(BaseModel):
    """The label for all of these runs."""

    places: list[Run] = Field(max_length=10_000)
    label: str


def router(bench: Bench) -> APIRouter:
    routes = APIRouter(route_class=TextRoute)

    @routes.get("/api/status", tags=["status"])
    def status() -> dict[str, Any]:
        """What there is, and what is being done."""
        return views.status(bench)

    @routes.get("/api/changes", tags=["status"])
    def changes(since: int = 0) -> dict[str, Any]:
        """What has happened since a change, and the state now."""
        bench.notice_rules()
        return {"changes": bench.changes.since(since), "status": views.status(bench)}

    @routes.post("/api/pool", tags=["pool"])
    async def add_file(request: Request, name: str = "pool.txt", labels: bool = False) -> dict[str, Any]:
        """Add the sequences of a file of any format, sent as the body or in a form; with its labels if `labels`."""
        name, data = await file_of(request, name)

        def added() -> dict[str, Any]:
            return bench.add_pool(found_in(data, name, bench.settings.tokens), with_labels=labels)

        return await run_in_threadpool(added)

    @routes.post("/api/pool/text", tags=["pool"])
    def add_text(body: Pasted) -> dict[str, Any]:
        """Add pasted text, one sequence per line."""
        found = found_in(body.text.encode("utf-8", "replace"), "pasted text", bench.settings.tokens, "text")
        return bench.add_pool(found, with_labels=False)

    @routes.post("/api/demo", tags=["pool"])
    def demo() -> dict[str, Any]:
        """Begin with synthetic references, if there is nothing yet."""
        start_demo(bench)
        return views.status(bench)

    @routes.get("/api/sequences", tags=["pool"])
    def sequences(
        words: str = "", field: str = "", state: str = "all", offset: int = 0, limit: int = Query(50, le=500)
    ) -> dict[str, Any]:
        """Search the pool."""
        return views.listing(bench, words=words, field=field, state=state, offset=max(0, offset), limit=limit)

    @routes.get("/api/sequences/{number}", tags=["pool"])
    def sequence(number: int) -> dict[str, Any]:
        """One sequence, with its labels or those proposed."""
        _check(bench, number)
        if bench.is_open(number):
            bench.trainer.sweep.one(number)
        return views.sequence(bench, number)

    @routes.get("/api/next", tags=["labels"])
    def next_one(window: str = "", shown: str = "") -> dict[str, Any]:
        """The sequence that is most worth labelling next."""
        on_page = {int(part) for part in shown.split(",") if part.isdecimal() and len(part) < 10}
        found = bench.next(window, on_page)
        return {"sequence": None if found is None else views.sequence(bench, **found)}

    @routes.get("/api/labels", tags=["labels"])
    def labels() -> dict[str, Any]:
        """All decisions, as they stand in the file."""
        with bench.lock:
            return {"labels": [one.record(bench.pool) for one in bench.decisions.last.values()]}

    @routes.post("/api/labels", tags=["labels"])
    def decide(body: Given) -> dict[str, Any]:
        """Keep the labels of a sequence: they are on the disk when this answers."""
        _check(bench, body.number)
        if body.origin not in ("typed", "accepted", "changed", "skipped", "noted"):
            raise ParameterError("origin: expected typed, accepted, changed, skipped or noted")
        if body.labels is not None and all(label is None for label in body.labels) and not body.unknown:
            raise DataError("no token has a label; skip the sequence, or say that there is nothing here")
        made = Decision(
            body.number, None if body.labels is None else tuple(body.labels), body.origin, unknown=tuple(body.unknown),
            offsets=None if body.offsets is None else tuple(body.offsets), note=body.note, model=body.model,
            actions=body.actions,
        )  # fmt: skip
        return bench.decide(made, window=body.window, seen=body.seen)

    @routes.post("/api/undo", tags=["labels"])
    def undo() -> dict[str, Any]:
        """Take back the last step, whatever it was."""
        return bench.undo()

    @routes.put("/api/fields", tags=["fields"])
    def fields(body: Fields) -> dict[str, Any]:
        """Name the fields."""
        bench.set_fields(body.names, None if body.tokens is None else checked_tokens(body.tokens))
        return views.status(bench)

    @routes.get("/api/cut", tags=["fields"])
    def cut(tokens: str) -> dict[str, Any]:
        """How the first sequence would be cut into tokens."""
        _check(bench, 0)
        return {"words": Pool([bench.pool.rows[0]], checked_tokens(tokens)).cut(0).words[:30]}

    @routes.get("/api/fields/use", tags=["fields"])
    def use(name: str) -> dict[str, int]:
        """How much would change with a field."""
        return bench.field_use(name)

    @routes.post("/api/fields/rename", tags=["fields"])
    def rename(body: Renamed) -> dict[str, int]:
        """Rename, merge or remove a field wherever it is used."""
        return bench.rename_field(body.old, body.new)

    @routes.post("/api/like", tags=["labels"])
    def like(body: Run) -> dict[str, Any]:
        """All places that read like a run of tokens."""
        _check(bench, body.number)
        return bulk.places(bench, body.number, body.start, body.end)

    @routes.post("/api/like/apply", tags=["labels"])
    def apply(body: Applied) -> dict[str, int]:
        """Give one label to many places, in one step."""
        if body.label not in [*bench.settings.names, OUTSIDE]:
            raise ParameterError(f"there is no field {body.label}")
        for place in body.places:
            _check(bench, place.number)
        return {"places": bulk.apply(bench, [(one.number, one.start, one.end) for one in body.places], body.label)}

    return routes


def _check(bench: Bench, number: int) -> None:
    if not 0 <= number < len(bench.pool):
        raise DataError(f"the pool has no sequence {number}; it has {len(bench.pool)}")
