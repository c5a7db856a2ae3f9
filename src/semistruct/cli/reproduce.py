"""`semistruct reproduce`: the experiments of the literature, with tables, figures and a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from semistruct.cli.ending import INTERRUPTED
from semistruct.cli.options import AsJson, Jobs
from semistruct.cli.output import print_result, status_line, time_left
from semistruct.errors import ParameterError, meant, quoted
from semistruct.files import make_folder

if TYPE_CHECKING:
    from semistruct.experiments.material import Material
    from semistruct.experiments.plan import Config
    from semistruct.experiments.records import Results

EPILOG = """Example: semistruct data get citations -o refs && semistruct reproduce citations --data refs -o out

The folder of --data has train.tsv, dev.tsv, unlabeled.txt (the pool) and perhaps test.tsv. Without a test part, the
methods are scored on the rest of the training part, and "all" learns from two thirds of it. Without --data, synthetic
and apartments use synthetic data, and the report says so. To continue an interrupted run, or to add sizes, draws or
methods, use --resume."""


def reproduce(
    corpus: Annotated[str, Argument(help="citations, headers, names, apartments or synthetic")],
    output: Annotated[
        Path, Option("--output", "-o", metavar="DIR", help="folder for results, tables, figures and report.html")
    ],
    data: Annotated[
        Path | None, Option(metavar="DIR", help="folder with train.tsv, dev.tsv, unlabeled.txt and test.tsv")
    ] = None,
    sizes: Annotated[
        str | None, Option(metavar="NUMBERS", help="numbers of labelled sequences; default: 5,20,all")
    ] = None,
    draws: Annotated[int | None, Option(min=1, help="draws of the labelled sequences; default: 5")] = None,
    methods: Annotated[str | None, Option(metavar="NAMES", help="for example ssvm,annealed,pr; default: all")] = None,
    features: Annotated[
        str,
        Option(
            metavar="NAME",
            help="paper, with the rules each method was published with; or default, with one rules file for all",
        ),
    ] = "paper",
    setting: Annotated[
        str,
        Option(metavar="NAME", help="inductive, or transductive: the test sequences are in the pool, without labels"),
    ] = "inductive",
    decode: Annotated[
        str, Option(metavar="NAME", help="predictions in the tables: plain, rules (obeying the rules) or both")
    ] = "both",
    select: Annotated[
        str,
        Option(
            metavar="NAME",
            help="how the point of a path is chosen: dev, labels-free, or best-test (peeks, as the paper does)",
        ),
    ] = "dev",
    jobs: Jobs = None,
    quick: Annotated[bool, Option("--quick", metavar="", help="a small comparison in about a minute")] = False,
    resume: Annotated[bool, Option("--resume", metavar="", help="continue with the results in the folder")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the methods on one corpus, as the literature does: few labels, several draws, tables and a report."""
    from semistruct.experiments.lineup import CORPORA, FEATURES
    from semistruct.experiments.plan import QUICK_DRAWS, SETTINGS, Frame, chosen_methods, chosen_sizes, planned
    from semistruct.experiments.records import Results
    from semistruct.experiments.runner import run_all
    from semistruct.experiments.view import CHOICES

    _one_of("corpus", corpus, CORPORA)
    _one_of("--features", features, FEATURES)
    _one_of("--setting", setting, SETTINGS)
    _one_of("--decode", decode, ("plain", "rules", "both"))
    _one_of("--select", select, tuple(CHOICES))
    material = _material(corpus, data, quick)
    frame = Frame(corpus, features, setting, quick)
    lines = chosen_methods(frame, methods)
    configs = planned(
        material, lines, chosen_sizes(material, sizes, quick), draws or (QUICK_DRAWS if quick else 5), quick=quick
    )  # fmt: skip
    make_folder(output)
    results = Results.open(output / "results.jsonl", frame, material.digest, resume=resume)
    stopped = False
    try:
        with _progress(len(configs)) as show:
            run_all(material, configs, results, n_jobs=jobs, show=show)
    except KeyboardInterrupt:
        stopped = True
    missing = sum(results.find(config) is None for config in configs)
    runs = {"corpus": material.title, "folder": str(output), "runs": len(results.records), "missing": missing}
    print_result({**runs, **_written(results, output, select, decode)}, as_json, _report)
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{what} is {quoted(value)}; {meant(value, allowed)}")


def _material(corpus: str, folder: Path | None, quick: bool) -> Material:
    from semistruct.experiments.material import from_folder, synthetic_material

    if corpus == "synthetic" and folder is not None:
        raise ParameterError("--data cannot be used with synthetic, whose data is made by a generator")
    if folder is not None:
        found = from_folder(corpus, folder)
        return found.small() if quick else found
    if corpus not in ("synthetic", "apartments"):
        fetched = f"; `semistruct data get {corpus} -o {corpus}` fetches them" if corpus != "names" else ""
        raise ParameterError(f"give the folder of the {corpus} with --data{fetched}")
    return synthetic_material(corpus, few=quick)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, Config, float | None], None]]:
    """Shows which run it is and how long all will take: in place on a terminal, otherwise a line for each run."""

    def line(number: int, config: Config, left: float | None) -> str:
        pool = "" if config.pool is None else f", a pool of {config.pool}"
        place = f"{config.method}, {config.size} labelled, draw {config.seed}{pool}"
        return f"run {number + 1} of {total}: {place}{time_left(left)}"

    with status_line("reading") as update:
        show = update or (lambda text: print(text, file=sys.stderr, flush=True))
        yield lambda *run: show(line(*run))


def _written(results: Results, folder: Path, select: str, decode: str) -> dict[str, Any]:
    """Write the reports; returns their files and what they say in short."""
    from semistruct.experiments.summary import summary, warnings_of
    from semistruct.experiments.view import View
    from semistruct.report.folder import write_reports

    if not any(record["config"]["pool"] is None for record in results.records):
        return {"files": [], "warnings": [], "answers": []}
    view = View(results.records, select, decode)
    command = shlex.join(["semistruct", *(word for word in sys.argv[1:] if word != "--resume")])
    files = [str(path) for path in write_reports(view, folder, command)]
    answers = [{"question": question, "answer": answer} for question, answer in summary(view)]
    return {"files": files, "warnings": warnings_of(view), "answers": answers}


def _report(result: dict[str, Any]) -> Iterator[Any]:
    for warning in result["warnings"]:
        yield f"note: {warning}"
    for row in result["answers"]:
        yield f"{row['question']}\n  {row['answer']}"
    if result["missing"]:
        yield f"{result['missing']} runs are missing; continue with --resume"
    if result["files"]:
        yield f"{result['runs']} runs; read {result['folder']}/report.html or {result['folder']}/tables.md"
    else:
        yield "no run is complete yet"
