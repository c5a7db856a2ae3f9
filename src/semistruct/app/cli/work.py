"""`semistruct work` and `semistruct serve`: the workbench in the browser, and a model as a service."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from semistruct.app.cli.options import Jobs, ModelFile, RulesFile, Trust, flag
from semistruct.app.cli.output import tell
from semistruct.base.errors import DataError, ParameterError
from semistruct.base.files import reason

if TYPE_CHECKING:
    from semistruct.app.work.bench import Bench

EPILOG = "Example: semistruct work references --pool pool.txt -r citations"
SERVE_EPILOG = "Example: semistruct serve refs.model --port 8000"
WORK_HINT = "Open the address that semistruct printed in the terminal: it ends in a token."
SERVE_HINT = "Send the token that `semistruct serve` printed: `Authorization: Bearer TOKEN`."

Host = Annotated[str, Option(metavar="ADDRESS", help="address to listen at; by default only this machine can reach it")]
Port = Annotated[int, Option(min=0, max=65535, help="port to listen at; the next free one if it is in use")]


def work(
    folder: Annotated[Path, Argument(help="folder of the workbench; made if there is none")],
    pool: Annotated[Path | None, Option("--pool", "-u", help="the pool: sequences to label, in any format")] = None,
    labelled: Annotated[Path | None, Option("--labelled", "-l", help="sequences that are labelled already")] = None,
    rules: RulesFile = None,
    demo: Annotated[bool, flag("--demo", help="begin with synthetic references")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    no_open: Annotated[bool, flag("--no-open", help="do not open the page in a browser")] = False,
    jobs: Jobs = None,
) -> None:
    """Label, write rules, train and look, in the browser."""
    _check_extra("work")
    from semistruct.app.work.app import bench_app
    from semistruct.app.work.bench import open_bench
    from semistruct.app.work.server import find_place, run

    bench = open_bench(folder, jobs=jobs)
    try:
        _fill(bench, pool, labelled, rules, demo)
        where = find_place(host, port, tell, bench.folder.token())
        bench.folder.write_address(where.site)
        bench.trainer.resume()
        for words in bench.notices:
            tell(words)
        print(f"the workbench on {folder} is at\n\n    {where.address}\n\nCtrl+C ends it; nothing is lost", flush=True)
        run(bench_app(bench), where, WORK_HINT, open_page=not no_open)
    except KeyboardInterrupt:
        pass
    finally:
        bench.close()
    print(f"closed; everything is in {folder}")


def serve(
    model: ModelFile,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Annotated[
        str | None,
        Option(metavar="TOKEN", help="what clients send as `Authorization: Bearer TOKEN`; default: a random one"),
    ] = None,
    trust: Trust = None,
) -> None:
    """Serve a model over HTTP."""
    _check_extra("serve")
    from semistruct.app.work.app import model_app
    from semistruct.app.work.server import find_place, run

    app = model_app(model, trust)
    where = find_place(host, port, tell, token)
    print(f"{model} is served at {where.site}api/predict\ntoken: {where.token}\nCtrl+C ends it", flush=True)
    with suppress(KeyboardInterrupt):
        run(app, where, SERVE_HINT, open_page=False)
    print("closed")


def _check_extra(command: str) -> None:
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ParameterError(f"`{command}` needs {missing[0]}: pip install 'semistruct[work]'")


def _fill(bench: Bench, pool: Path | None, labelled: Path | None, rules: str | None, demo: bool) -> None:
    """Put what was named on the command line into the folder; what it has already stays, and that is said."""
    from semistruct.app.cli.files import check_data
    from semistruct.app.work.bench import start_demo, take_rules
    from semistruct.app.work.pool import read_upload

    had = len(bench.pool)
    if demo and not start_demo(bench):
        tell(f"the folder has a pool of {had} sequences already, so --demo adds none")
    if pool is not None and len(bench.pool):
        what = "the pool is that of the demo" if not had else f"the folder has a pool of {had} sequences already"
        tell(f"{what}, so {pool} is not read; add it on the page, under Pool")
        pool = None
    for path, with_labels in ((pool, False), (labelled, True)):
        if path is None:
            continue
        check_data(path)
        upload = read_upload(_read(path), str(path), bench.settings.tokens)
        for words in bench.add_pool(upload, with_labels=with_labels).told:
            tell(words)
    if rules is not None and not take_rules(bench, rules):
        tell(f"the folder has rules already, so {rules} is not read; the page shows them under Rules")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None
