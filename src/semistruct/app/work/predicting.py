"""`/api/predict`: a model as a service, the same in the workbench and in `semistruct serve`; and files to download."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from semistruct.app.work.pool import Upload, read_upload
from semistruct.app.work.tasks import Prediction, Rows
from semistruct.app.work.warned import collected_warnings
from semistruct.base.errors import DataError
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, write
from semistruct.data.formats.marked import words_of
from semistruct.data.labels import spans
from semistruct.data.tokens import tokenize

ENDINGS = {
    "tsv": "tsv", "conll": "conll", "csv": "csv", "csv-texts": "csv", "json": "json", "text": "txt", "inline": "txt",
    "transposed": "txt", "spacy": "spacy", "label-studio": "json",
}  # fmt: skip


class Texts(BaseModel):
    """Texts, or sequences of tokens, to label."""

    texts: list[str] | None = Field(None, examples=[["A. Turing. On computable numbers. 1936."]])
    tokens: list[list[str]] | None = None


class LabelledSpan(BaseModel):
    """A labelled stretch of a text."""

    start: int
    end: int
    label: str
    text: str


class LabelledSequence(BaseModel):
    """A sequence as the model labels it: how likely each label is right, and the rules that they break."""

    tokens: list[str]
    labels: list[str]
    confidence: list[float]
    broken: list[str]
    text: str | None = None
    spans: list[LabelledSpan] | None = None


@dataclass(frozen=True)
class Labeller:
    """A model that labels sequences of tokens, and how running text is cut for it."""

    label: Callable[[Rows], list[Prediction]]
    tokens: Callable[[], str]


def predict_router(labeller: Labeller) -> APIRouter:
    routes = APIRouter(tags=["predict"])

    @routes.post("/api/predict", response_model_exclude_none=True)
    def predict(body: Texts) -> dict[str, list[LabelledSequence]]:
        """Label texts, or sequences of tokens."""
        if (body.texts is None) == (body.tokens is None):
            raise DataError("expected either `texts` or `tokens`")
        examples = [Example([*row]) for row in body.tokens or ()]
        for text in body.texts or ():
            tokens, offsets = tokenize(text, labeller.tokens())
            if not tokens:
                raise DataError("a text has no tokens")
            examples.append(Example([*tokens], None, text, offsets))
        predictions = labeller.label([example.tokens for example in examples])
        return {"sequences": [_labelled(*pair) for pair in zip(examples, predictions, strict=True)]}

    @routes.post("/api/predict/file")
    async def predict_file(request: Request, name: str = "file.txt", to: str = "") -> Response:
        """Label a file of any format, sent as the body or in a form; the answer has its format, or that of `to`."""
        name, data = await sent_file(request, name)

        def labelled() -> Response:
            upload = read_upload(data, name, labeller.tokens())
            return _labelled_file(upload, labeller.label([example.tokens for example in upload.examples]), name, to)

        return await run_in_threadpool(labelled)

    return routes


def _labelled(example: Example, prediction: Prediction) -> LabelledSequence:
    out = LabelledSequence(tokens=words_of(example), **vars(prediction))
    if example.text is not None and example.offsets is not None:
        out.text, out.spans = example.text, []
        for span in spans(prediction.labels, "plain"):
            start, end = example.offsets[span.start][0], example.offsets[span.end - 1][1]
            out.spans.append(LabelledSpan(start=start, end=end, label=span.label, text=example.text[start:end]))
    return out


def _labelled_file(upload: Upload, predictions: list[Prediction], name: str, to: str) -> Response:
    pairs = zip(upload.examples, predictions, strict=True)
    format = to or FORMATS[upload.format].answer or upload.format
    with collected_warnings() as warned:
        body = content((replace(example, labels=[*found.labels]) for example, found in pairs), format)
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name.rpartition(".")[0] or name)
    return download(body, file_name(f"{stem}-labelled", format), [*upload.notices, *warned])


async def sent_file(request: Request, name: str) -> tuple[str, bytes]:
    """A file and its name: the body of a request, called `name`; or that of a form, as `curl -F file=@x.txt` sends."""
    body, kind = await request.body(), Message()
    kind["content-type"] = request.headers.get("content-type", "")
    boundary = kind.get_boundary()
    if kind.get_content_type() != "multipart/form-data" or boundary is None:
        return name, body
    for part in (b"\r\n" + body).split(f"\r\n--{boundary}".encode("latin-1"))[1:]:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if own := HeaderParser().parsestr(head.decode("utf-8", "replace")).get_filename():
            return name if "name" in request.query_params else own, data
    raise DataError("the form has no file; send one with `curl -F file=@FILE`")


def content(examples: Iterable[Example], format: str, scheme: str | None = None) -> bytes:
    """A file with these sequences."""
    rows = list(examples)
    if not rows:
        raise DataError("nothing is labelled yet, so there is nothing to export")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        write(rows, path, format, scheme=scheme or None)
        return path.read_bytes()


def file_name(stem: str, format: str) -> str:
    return f"{stem}.{ENDINGS.get(format, 'jsonl')}"


def download(body: bytes, name: str, notices: Sequence[str] = ()) -> Response:
    """An answer that the browser saves as a file; the header `semistruct-told` says, in JSON, what was left out."""
    ascii_name = name.encode("ascii", "replace").decode().replace('"', "_")
    headers = {"content-disposition": f'attachment; filename="{ascii_name}"', "semistruct-told": json.dumps(notices)}
    return Response(body, media_type="application/octet-stream", headers=headers)
