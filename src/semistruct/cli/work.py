"""`semistruct work` and `semistruct serve`: the workbench in the browser, and a model as a service."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from semistruct.cli.options import Jobs, ModelFile, Trust
from semistruct.errors import DataError, ParameterError
from semistruct.files import reason

if TYPE_CHECKING:
    from semistruct.work.bench import Bench

EPILOG = "Example: semistruct work references --pool pool.txt -r citations"
SERVE_EPILOG = "Example: semistruct serve refs.model --port 8000"
WORK_HINT = "Open the address that semistruct printed in the terminal: it ends in a token."
SERVE_HINT = "Send the token that `semistruct serve` printed: `Authorization: Bearer TOKEN`."

Host = Annotated[str, Option(metavar="ADDRESS", help="address to listen at; by default only this machine can reach it")]
Port = Annotated[int, Option(min=0, max=65535, help="port to listen at; the next free one if it is in use")]


def work(
    folder: Annotated[Path, Argument(help="folder of the workbench; made if there is none")],
    pool: Annotated[
        Path | None, Option("--pool", "-u", metavar="FILE", help="the pool: sequences to label, in any format")
    ] = None,
    labelled: Annotated[
        Path | None, Option("--labelled", "-l", metavar="FILE", help="sequences that are labelled already")
    ] = None,
    rules: Annotated[
        str | None,
        Option(
            "--rules",
            "-r",
            metavar="RULES",
            help="rules to begin with: a file, or the name of rules that come with semistruct",
        ),
    ] = None,
    demo: Annotated[bool, Option("--demo", metavar="", help="begin with synthetic references")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    no_open: Annotated[bool, Option("--no-open", metavar="", help="do not open the page in a browser")] = False,
    jobs: Jobs = None,
) -> None:
    """Label, write rules, train and look, in the browser."""
    _check_extra("work")
    from semistruct.work.app import bench_app
    from semistruct.work.bench import open_bench
    from semistruct.work.serving import place, run
    from semistruct.work.token import token_of

    bench = open_bench(folder, jobs=jobs)
    try:
        _fill(bench, pool, labelled, rules, demo)
        where = place(host, port, _say, token_of(bench.folder.path))
        bench.folder.say_where(where.site)
        bench.start()
        for words in bench.told:
            _say(words)
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
    from semistruct.work.app import model_app
    from semistruct.work.serving import place, run

    app = model_app(model, trust)
    where = place(host, port, _say, token)
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
    from semistruct.work.importing import found_in
    from semistruct.work.starting import start_demo, take_rules

    had = len(bench.pool)
    if demo and not start_demo(bench):
        _say(f"the folder has a pool of {had} sequences already, so --demo adds none")
    if pool is not None and len(bench.pool):
        what = "the pool is that of the demo" if not had else f"the folder has a pool of {had} sequences already"
        _say(f"{what}, so {pool} is not read; add it on the page, under Pool")
        pool = None
    for path, with_labels in ((pool, False), (labelled, True)):
        if path is None:
            continue
        found = found_in(_read(path), str(path), bench.settings.tokens)
        added: dict[str, Any] = bench.add_pool(found, with_labels=with_labels)
        for words in added["told"]:
            _say(words)
    if rules is not None and not take_rules(bench, rules):
        _say(f"the folder has rules already, so {rules} is not read; the page shows them under Rules")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as err:
        raise DataError.at(path, None, f"cannot read: {reason(err)}") from None


def _say(words: str) -> None:
    print(f"semistruct: {words}", file=sys.stderr)
