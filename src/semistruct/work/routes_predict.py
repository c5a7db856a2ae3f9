"""`/api/predict`: a model as a service, the same in the workbench and in `semistruct serve`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from semistruct.corpus import Example
from semistruct.errors import DataError
from semistruct.formats import detect
from semistruct.tokens import tokenize
from semistruct.work.exporting import answer_format, content, file_name, labelled, spans_of
from semistruct.work.hearing import hearing
from semistruct.work.importing import decoded, found_in
from semistruct.work.requests import TextRoute, file_of

MOST = 10_000  # sequences of a request
Rows = list[dict[str, Any]]


class Labeller(Protocol):
    """A model that labels sequences of tokens."""

    @property
    def tokens(self) -> str:
        """How running text is cut for it."""

    def label(self, X: list[Any]) -> Rows: ...


class Texts(BaseModel):
    """Texts, or sequences of tokens, to label."""

    texts: list[str] | None = Field(None, max_length=MOST, examples=[["A. Turing. On computable numbers. 1936."]])
    tokens: list[list[str]] | None = Field(None, max_length=MOST)


def router(labeller: Callable[[], Labeller]) -> APIRouter:
    """The routes; `labeller` gives the model that is to be asked."""
    routes = APIRouter(tags=["predict"], route_class=TextRoute)

    @routes.post("/api/predict")
    def predict(body: Texts) -> dict[str, Any]:
        """Label texts, or sequences of tokens."""
        if (body.texts is None) == (body.tokens is None):
            raise DataError("expected either `texts` or `tokens`")
        model = labeller()
        examples = [Example([*row]) for row in body.tokens or ()]
        for text in body.texts or ():
            tokens, offsets = tokenize(text, model.tokens)
            if not tokens:
                raise DataError("a text has no tokens")
            examples.append(Example([*tokens], None, text, offsets))
        rows = model.label([example.tokens for example in examples])
        out = []
        for example, row in zip(labelled(examples, rows), rows, strict=True):
            spans = {} if example.text is None else {"text": example.text, "spans": spans_of(example)}
            out.append({"tokens": example.tokens, **row, **spans})
        return {"sequences": out}

    @routes.post("/api/predict/file")
    async def predict_file(request: Request, name: str = "file.txt", to: str = "") -> Response:
        """Label a file of any format, sent as the body or in a form; the answer has its format, or that of `to`."""
        name, data = await file_of(request, name)
        return await run_in_threadpool(_labelled_file, labeller(), data, name, to)

    return routes


def _labelled_file(model: Labeller, data: bytes, name: str, to: str) -> Response:
    found = found_in(data, name, model.tokens)
    own = "spacy" if name.endswith(".spacy") else detect(decoded(data)[0][:100_000])
    rows = model.label([example.tokens for example in found.examples])
    target = to or answer_format(own)
    with hearing() as said:
        body = content(labelled(found.examples, rows), target)
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name.rpartition(".")[0] or name)
    return download(body, file_name(f"{stem}-labelled", target), [*found.told, *said])


def download(body: bytes, name: str, told: Sequence[str] = ()) -> Response:
    """An answer that the browser saves as a file; the header `semistruct-told` says, in JSON, what was left out."""
    ascii_name = name.encode("ascii", "replace").decode().replace('"', "_")
    headers = {"content-disposition": f'attachment; filename="{ascii_name}"', "semistruct-told": json.dumps(told)}
    return Response(body, media_type="application/octet-stream", headers=headers)
