"""The HTTP interface: the workbench, or a single model as a service."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from semistruct._version import __version__
from semistruct.errors import SemistructError, WriteError
from semistruct.files import reason
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.methods import load
from semistruct.work import routes_label, routes_rules
from semistruct.work.bench import Bench
from semistruct.work.crew import WorkError
from semistruct.work.hearing import hearing
from semistruct.work.routes_predict import Rows, router

PATIENCE = 120.0  # seconds for the labels of a request


def _bare(title: str) -> FastAPI:
    """An application without pages that would fetch things from elsewhere; errors are one sentence."""
    app = FastAPI(
        title=title, version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json"
    )  # fmt: skip

    @app.exception_handler(SemistructError)
    def refused(request: Request, err: SemistructError) -> Response:
        return JSONResponse({"problem": str(err)}, 507 if isinstance(err, WriteError) else 422)

    @app.exception_handler(OSError)
    def no_room(request: Request, err: OSError) -> Response:
        """A file beside the folder, such as one for a while, could not be used."""
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


class OfBench:
    """The newest model of a workbench, asked in its own process."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @property
    def tokens(self) -> str:
        return self.bench.settings.tokens

    def label(self, X: list[Any]) -> Rows:
        model = self.bench.model
        if model is None:
            raise WorkError("there is no model yet: label some sequences first")
        given = {"model": str(model.path), "X": X}
        answer: Rows = self.bench.trainer.labeller.answer("label", given, PATIENCE)
        return answer


class OfFile:
    """The model of a file, asked here."""

    def __init__(self, estimator: SequenceLabeller) -> None:
        self.estimator, self._lock = estimator, Lock()

    @property
    def tokens(self) -> str:
        return self.estimator.tokens_

    def label(self, X: list[Any]) -> Rows:
        from semistruct.work.tasks import labels_of

        with self._lock:
            return labels_of(self.estimator, X)


def bench_app(bench: Bench) -> FastAPI:
    """The workbench, with its page."""
    app, labeller = _bare("semistruct work"), OfBench(bench)
    app.include_router(routes_label.router(bench))
    app.include_router(routes_rules.router(bench))
    app.include_router(router(lambda: labeller))
    with as_file(files("semistruct.work") / "page") as folder:
        page = Path(folder)

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return FileResponse(page / "index.html")

    app.mount("/page", StaticFiles(directory=page))
    return app


def model_app(path: Path, trust: list[str] | None = None) -> FastAPI:
    """One model as a service."""
    with hearing():
        estimator = load(path, trust=trust or ())
    app, labeller = _bare("semistruct serve"), OfFile(estimator)
    app.include_router(router(lambda: labeller))

    @app.get("/api/status", tags=["status"])
    def status() -> dict[str, Any]:
        """Which model this is."""
        return {"model": str(path), "labels": estimator.classes_, "tokens": estimator.tokens_, "card": estimator.card_}

    @app.get("/", include_in_schema=False)
    def index() -> dict[str, str]:
        return {"service": "semistruct", "interface": "/api/openapi.json", "predict": "/api/predict"}

    return app
