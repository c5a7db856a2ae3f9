"""Routes of rules, training and looking."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from semistruct.errors import DataError
from semistruct.files import reason
from semistruct.formats import FORMATS
from semistruct.rules.files import shipped
from semistruct.work import exporting, looking, rulings, views
from semistruct.work.bench import Bench
from semistruct.work.crew import WorkError
from semistruct.work.requests import TextRoute
from semistruct.work.routes_predict import download
from semistruct.work.rulebook import added, read_text, switched


class Text(BaseModel):
    """The text of a rules file; `before` is the text that it was made from."""

    text: str = Field(max_length=1_000_000)
    before: str | None = None


class Switch(BaseModel):
    """The rule that begins in a line, on or off; `before` is the text whose line it is."""

    line: int
    on: bool
    before: str | None = None


class Entry(BaseModel):
    """One rule, as it would stand in a rules file."""

    rule: dict[str, Any]
    comment: str = Field("", max_length=200)


def router(bench: Bench) -> APIRouter:
    routes = APIRouter(route_class=TextRoute)

    @routes.get("/api/rules", tags=["rules"])
    def rules() -> dict[str, Any]:
        """The rules, what is wrong with their text, and how each fares."""
        bench.notice_rules()
        return rulings.state(bench)

    @routes.put("/api/rules", tags=["rules"])
    def save(body: Text, response: Response) -> dict[str, Any]:
        """Keep the text of the rules; a model is learned with them if they have no error.

        Answers 409, with the rules that are kept, if they are no longer those that the text was made from.
        """
        with bench.lock:
            if _has_changed(bench, body.before) and body.text != bench.rules_text:
                return _changed(bench, response)
            bench.set_rules(body.text)
        return rulings.state(bench)

    @routes.post("/api/rules/check", tags=["rules"])
    def check(body: Text) -> dict[str, Any]:
        """The same for a text that is not kept."""
        return rulings.state(bench, body.text)

    @routes.post("/api/rules/switch", tags=["rules"])
    def switch(body: Switch, response: Response) -> dict[str, Any]:
        """Switch a rule on or off; 409 as above."""
        with bench.lock:
            if _has_changed(bench, body.before):
                return _changed(bench, response)
            line = rulings.line_at(read_text(bench.rules_text, bench.folder.path), body.line)
            words = f"rule switched {'on' if body.on else 'off'}: {line.rule.text}"
            bench.set_rules(switched(bench.rules_text, line, body.on), words)
        return rulings.state(bench)

    @routes.post("/api/rules/add", tags=["rules"])
    def add(body: Entry) -> dict[str, Any]:
        """Add a rule at the end."""
        with bench.lock:
            bench.look_at_rules()
            text = added(bench.rules_text, body.rule, bench.folder.path, " ".join(body.comment.split()))
            read_text(text, bench.folder.path)
            bench.set_rules(text, "rule added")
        return rulings.state(bench)

    @routes.get("/api/rules/cases", tags=["rules"])
    def cases(line: int) -> dict[str, Any]:
        """Where the rule of a line holds, where it does not, and what it changes."""
        return rulings.cases(bench, line)

    @routes.get("/api/rules/words", tags=["rules"])
    def words() -> dict[str, Any]:
        """The names of rules and their entries."""
        return {"rules": rulings.words_for_completion(), "shipped": shipped()}

    @routes.get("/api/rules/suggestions", tags=["rules"])
    def suggestions() -> dict[str, Any]:
        """Rules that labels and pool speak for."""
        found = bench.trainer.insights.found.get("suggest", {})
        return {"suggestions": found.get("answer", []), "model": found.get("model"), "problem": found.get("problem")}

    @routes.post("/api/train", tags=["train"])
    def train() -> dict[str, Any]:
        """Learn a model now."""
        bench.trainer.train()
        return views.status(bench)

    @routes.post("/api/train/cancel", tags=["train"])
    def cancel() -> dict[str, Any]:
        """Give up what is being learned."""
        bench.trainer.cancel()
        return views.status(bench)

    @routes.get("/api/look", tags=["look"])
    def look() -> dict[str, Any]:
        """How good the model is, as far as can be told."""
        return looking.state(bench)

    @routes.get("/api/formats", tags=["use"])
    def formats() -> dict[str, Any]:
        """The formats that labels can be exported in."""
        return {"formats": list(FORMATS)}

    @routes.get("/api/export", tags=["use"])
    def export(format: str = "jsonl", what: str = "labels", scheme: str = "") -> Response:
        """Labels as a file: what was decided, or the whole `pool` with proposals for the rest."""
        body = exporting.content(exporting.examples(bench, what), format, scheme)
        return download(body, exporting.file_name(what, format))

    @routes.get("/api/model", tags=["use"])
    def model() -> Response:
        """The newest model file."""
        learned = bench.model
        if learned is None:
            raise WorkError("there is no model yet")
        try:
            content = learned.path.read_bytes()
        except OSError as err:
            raise DataError.at(learned.path, None, f"cannot read: {reason(err)}") from None
        return download(content, f"{bench.folder.path.name}-{learned.name}.model")

    @routes.get("/api/rules.yaml", tags=["use"])
    def rules_file() -> Response:
        """The rules file."""
        return download(bench.rules_text.encode(), "rules.yaml")

    return routes


def _has_changed(bench: Bench, before: str | None) -> bool:
    bench.look_at_rules()
    return before is not None and before != bench.rules_text


def _changed(bench: Bench, response: Response) -> dict[str, Any]:
    response.status_code = 409
    return {**rulings.state(bench), "problem": "The rules were changed elsewhere, in another window or in their file."}
