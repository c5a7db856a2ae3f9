"""The HTTP interface: the workbench, or a single model as a service; errors are one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from semistruct._version import __version__
from semistruct.app.work import messages
from semistruct.app.work.accuracy import Accuracy
from semistruct.app.work.bench import Bench, start_demo
from semistruct.app.work.labels import Decision
from semistruct.app.work.pool import read_upload
from semistruct.app.work.predicting import Labeller, content, download, file_name, predict_router, sent_file
from semistruct.app.work.rule_views import RuleViews
from semistruct.app.work.tasks import Prediction, Rows, label_sequences
from semistruct.app.work.views import Views
from semistruct.app.work.warned import collected_warnings
from semistruct.app.work.worker import WorkError
from semistruct.base.errors import DataError, SemistructError, WriteError
from semistruct.base.files import reason
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS
from semistruct.data.tokens import checked_tokens
from semistruct.methods import load


def _new_app(title: str) -> FastAPI:
    """An application without pages that would fetch things from elsewhere; errors are one sentence."""
    app = FastAPI(
        title=title, version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json"
    )  # fmt: skip

    @app.exception_handler(SemistructError)
    def refused(request: Request, err: SemistructError) -> Response:
        return JSONResponse({"problem": str(err)}, 507 if isinstance(err, WriteError) else 422)

    @app.exception_handler(OSError)
    def no_room(request: Request, err: OSError) -> Response:
        """A file beside the folder, such as a temporary one, could not be used."""
        return JSONResponse({"problem": f"a file cannot be used: {reason(err)}"}, 507)

    @app.exception_handler(HTTPException)
    def not_served(request: Request, err: HTTPException) -> Response:
        return JSONResponse({"problem": err.detail}, err.status_code, err.headers)

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, err: RequestValidationError) -> Response:
        first = err.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        return JSONResponse({"problem": f"{where}: {first['msg'].lower()}".removeprefix(": ")}, 422)

    return app


def bench_app(bench: Bench) -> FastAPI:
    """The workbench, with its page."""
    app = _new_app("semistruct work")
    app.include_router(bench_router(bench))
    app.include_router(predict_router(Labeller(bench.label, lambda: bench.settings.tokens)))
    with as_file(files("semistruct.app.work") / "page") as folder:
        page = Path(folder)

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return FileResponse(page / "index.html")

    app.mount("/page", StaticFiles(directory=page))
    return app


class ServiceStatus(BaseModel):
    """Which model is served."""

    model: str
    labels: list[str]
    tokens: str
    card: dict[str, Any]


def model_app(path: Path, trust: list[str] | None = None) -> FastAPI:
    """One model as a service."""
    with collected_warnings():
        estimator = load(path, trust=trust or ())
    app, lock = _new_app("semistruct serve"), Lock()

    def label(X: Rows) -> list[Prediction]:
        with lock:
            return label_sequences(estimator, X)

    app.include_router(predict_router(Labeller(label, lambda: estimator.tokens_)))

    @app.get("/api/status", tags=["status"])
    def status() -> ServiceStatus:
        """Which model this is."""
        return ServiceStatus(
            model=str(path), labels=estimator.classes_, tokens=estimator.tokens_, card=estimator.card_
        )  # fmt: skip

    @app.get("/", include_in_schema=False)
    def index() -> dict[str, str]:
        return {"service": "semistruct", "interface": "/api/openapi.json", "predict": "/api/predict"}

    return app


def bench_router(bench: Bench) -> APIRouter:
    """All routes: those that a method of the workbench or of its views answers, and those below."""
    routes, views, rules = APIRouter(), Views(bench), RuleViews(bench)
    for method, path, endpoint in (
        ("GET", "/api/status", views.status),
        ("GET", "/api/changes", views.changes),
        ("GET", "/api/sequences", views.listing),
        ("GET", "/api/sequences/{number}", views.sequence),
        ("GET", "/api/next", views.next_sequence),
        ("GET", "/api/labels", views.labels),
        ("POST", "/api/undo", bench.undo),
        ("POST", "/api/like", views.like),
        ("POST", "/api/like/apply", bench.label_places),
        ("GET", "/api/cut", views.cut),
        ("GET", "/api/fields/use", bench.field_use),
        ("POST", "/api/fields/rename", bench.rename_field),
        ("GET", "/api/rules", rules.current),
        ("PUT", "/api/rules", rules.save),
        ("POST", "/api/rules/check", rules.check),
        ("POST", "/api/rules/switch", rules.switch),
        ("POST", "/api/rules/add", rules.add),
        ("GET", "/api/rules/cases", rules.cases),
        ("GET", "/api/rules/words", rules.words),
        ("GET", "/api/rules/suggestions", rules.suggestions),
        ("GET", "/api/look", Accuracy(bench).state),
    ):
        routes.add_api_route(path, endpoint, methods=[method])
    _add_changes(routes, bench, views)
    _add_downloads(routes, bench)
    return routes


def _add_changes(routes: APIRouter, bench: Bench, views: Views) -> None:
    @routes.post("/api/pool")
    async def add_file(request: Request, name: str = "pool.txt", labels: bool = False) -> messages.Added:
        """Add the sequences of a file of any format, sent as the body or in a form; with its labels if `labels`."""
        name, data = await sent_file(request, name)

        def add() -> messages.Added:
            return bench.add_pool(read_upload(data, name, bench.settings.tokens), with_labels=labels)

        return await run_in_threadpool(add)

    @routes.post("/api/pool/text")
    def add_text(text: Annotated[str, Body(embed=True)]) -> messages.Added:
        """Add pasted text, one sequence per line."""
        upload = read_upload(text.encode(), "pasted text", bench.settings.tokens, "text")
        return bench.add_pool(upload, with_labels=False)

    @routes.post("/api/demo")
    def demo() -> messages.Status:
        """Begin with synthetic references, if there is nothing yet."""
        start_demo(bench)
        return views.status()

    @routes.post("/api/labels")
    def decide(body: messages.LabelRequest) -> messages.Decided:
        """Keep the labels of a sequence: they are on the disk when this answers."""
        if body.labels is not None and set(body.labels) <= {None} and not body.unknown:
            raise DataError("no token has a label; skip the sequence, or say that there is nothing here")
        decision = Decision(**body.model_dump(exclude={"seen", "window"}))
        return bench.decide(decision, window=body.window, seen=body.seen)

    @routes.put("/api/fields")
    def fields(names: Annotated[list[str], Body()], tokens: Annotated[str | None, Body()] = None) -> messages.Status:
        """Name the fields, and say how text is cut."""
        bench.set_fields(names, None if tokens is None else checked_tokens(tokens))
        return views.status()

    @routes.post("/api/train")
    def train() -> messages.Status:
        """Learn a model now."""
        bench.trainer.train()
        return views.status()

    @routes.post("/api/train/cancel")
    def cancel() -> messages.Status:
        """Give up what is being learned."""
        bench.trainer.cancel()
        return views.status()


def _add_downloads(routes: APIRouter, bench: Bench) -> None:
    @routes.get("/api/formats")
    def formats() -> dict[str, list[str]]:
        """The formats that labels can be exported in."""
        return {"formats": list(FORMATS)}

    @routes.get("/api/export")
    def export(format: str = "jsonl", what: Literal["labels", "pool"] = "labels", scheme: str = "") -> Response:
        """Labels as a file: what was decided, or the whole `pool` with proposals for the rest."""
        return download(content(_exported(bench, what), format, scheme), file_name(what, format))

    @routes.get("/api/rules.yaml")
    def rules_file() -> Response:
        """The rules file."""
        return download(bench.rules_text.encode(), "rules.yaml")

    @routes.get("/api/model")
    def model() -> Response:
        """The newest model file."""
        if bench.model is None:
            raise WorkError("there is no model yet")
        path = bench.model.path
        try:
            return download(path.read_bytes(), f"{bench.folder.path.name}-{path.name}")
        except OSError as err:
            raise DataError.at(path, None, f"cannot read: {reason(err)}") from None


def _exported(bench: Bench, what: Literal["labels", "pool"]) -> Iterator[Example]:
    """What was labelled; or all of the pool, with proposals where nobody has decided."""
    with bench.lock:
        labelled = {decision.number: decision for decision in bench.decisions.labelled()}
        for number in sorted(labelled) if what == "labels" else range(len(bench.pool)):
            decision, proposal = labelled.get(number), bench.proposals.get(number)
            cut = bench.pool.cut(number) if decision is None else decision.cut(bench.pool)
            labels: messages.Labels | None = None
            if decision is not None:
                labels = list(decision.labels or ())
            elif proposal is not None and len(proposal.codes) == len(cut.tokens):
                labels = [*proposal.labels]
            text, offsets = (cut.text, cut.offsets) if isinstance(cut.tokens[0], str) else (None, None)
            cut_by = bench.pool.tokens if isinstance(bench.pool.rows[number], str) else None
            yield Example(cut.tokens, labels, text, offsets, number + 1, cut_by=cut_by, about={"id": number})
