"""`semistruct reproduce`: the experiments of the literature, with tables, figures and a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semistruct.cli.ending import INTERRUPTED
from semistruct.cli.options import Jobs
from semistruct.cli.output import AsJson, duration, print_result, status_line
from semistruct.errors import ParameterError, meant
from semistruct.files import make_folder

if TYPE_CHECKING:
    from semistruct.experiments.material import Material
    from semistruct.experiments.plan import Config
    from semistruct.experiments.records import Results

EPILOG = """Example: semistruct data get citations -o refs && semistruct reproduce citations --data refs -o out

The folder of --data has train.tsv, dev.tsv, unlabeled.txt and perhaps test.tsv; without a test part, the rest of the
training part is reported on, and "all" learns from two thirds of it. Synthetic data is made where there is none to be
had (synthetic, apartments), and marked as such. A run that was stopped goes on with --resume; more sizes, draws or
methods may be added in the same way."""


def reproduce(
    corpus: Annotated[str, typer.Argument(help="citations, headers, apartments or synthetic")],
    output: Annotated[Path, typer.Option("--output", "-o", help="folder for results, tables, figures and report.html")],
    data: Annotated[Path | None, typer.Option(help="folder with train.tsv, dev.tsv, unlabeled.txt, test.tsv")] = None,
    sizes: Annotated[str | None, typer.Option(help="labelled sequences; 5,20,all if not given")] = None,
    draws: Annotated[int | None, typer.Option(min=1, help="of the labelled sequences; 5 if not given")] = None,
    methods: Annotated[str | None, typer.Option(help="such as ssvm,annealed,pr; all if not given")] = None,
    features: Annotated[str, typer.Option(help="paper or default")] = "paper",
    setting: Annotated[
        str, typer.Option(help="inductive, or transductive: the reported sequences are in the pool, without labels")
    ] = "inductive",
    decode: Annotated[str, typer.Option(help="what tables show: plain, rules (obeyed at prediction) or both")] = "both",
    select: Annotated[
        str, typer.Option(help="the point of a path: dev, labels-free, or best-test (peeks, as the paper does)")
    ] = "dev",
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="a look in about a minute")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="go on with the results in the folder")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the methods on one corpus, as the literature does: few labels, several draws, tables and a report."""
    from semistruct.experiments.lineup import RULES
    from semistruct.experiments.plan import QUICK_DRAWS, SETTINGS, Frame, chosen_methods, chosen_sizes, planned
    from semistruct.experiments.records import Results
    from semistruct.experiments.runner import run_all
    from semistruct.experiments.view import CHOICES

    _one_of("corpus", corpus, tuple(RULES))
    _one_of("--features", features, ("paper", "default"))
    _one_of("--setting", setting, SETTINGS)
    _one_of("--decode", decode, ("plain", "rules", "both"))
    _one_of("--select", select, tuple(CHOICES))
    material = _material(corpus, data, quick)
    lines = chosen_methods(corpus, methods, quick)
    configs = planned(
        material, lines, chosen_sizes(material, sizes, quick), draws or (QUICK_DRAWS if quick else 5), quick=quick
    )  # fmt: skip
    make_folder(output)
    results = Results.open(
        output / "results.jsonl", Frame(corpus, features, setting, quick), material.digest, resume=resume
    )
    stopped = False
    try:
        with _progress(len(configs)) as show:
            run_all(material, configs, results, n_jobs=jobs, show=show)
    except KeyboardInterrupt:
        stopped = True
    written = _write(results, output, select, decode)
    missing = sum(results.find(config) is None for config in configs)
    runs = {"corpus": material.title, "folder": str(output), "runs": len(results.records), "missing": missing}
    files = [str(path) for path in written]
    print_result({**runs, "files": files, **_answers(results, select, decode)}, as_json, _report)
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{what} is {value!r}; {meant(value, allowed)}")


def _material(corpus: str, folder: Path | None, quick: bool) -> Material:
    from semistruct.experiments.material import from_folder, synthetic_material

    if corpus == "synthetic" and folder is not None:
        raise ParameterError("--data is not for synthetic, which is made by a generator")
    if folder is not None:
        found = from_folder(corpus, folder)
        return found.small() if quick else found
    if corpus not in ("synthetic", "apartments"):
        hint = f"semistruct data get {corpus} -o {corpus}"
        raise ParameterError(f"name the folder with the {corpus} (--data); `{hint}` fetches them")
    return synthetic_material(corpus, few=quick)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, Config, float | None], None]]:
    """Tells which run it is and how long all will take: in place on a terminal, else a line for each run."""

    def line(number: int, config: Config, left: float | None) -> str:
        rest = "" if left is None else f"  about {duration(left)} left"
        pool = "" if config.pool is None else f", {config.pool} unlabelled"
        place = f"{config.method}, {config.size} labelled, draw {config.seed}{pool}"
        return f"run {number + 1} of {total}: {place}{rest}"

    with status_line("reading") as update:
        show = update or (lambda text: print(text, file=sys.stderr, flush=True))
        yield lambda *run: show(line(*run))


def _write(results: Results, folder: Path, select: str, decode: str) -> list[Path]:
    from semistruct.experiments.view import View
    from semistruct.report.folder import write_reports

    if not any(record["config"]["pool"] is None for record in results.records):
        return []
    command = shlex.join(["semistruct", *(word for word in sys.argv[1:] if word != "--resume")])
    return write_reports(View(results.records, select, decode), folder, command)


def _answers(results: Results, select: str, decode: str) -> dict[str, Any]:
    from semistruct.experiments.summary import summary, warnings_of
    from semistruct.experiments.view import View

    if not any(record["config"]["pool"] is None for record in results.records):
        return {"warnings": [], "answers": []}
    view = View(results.records, select, decode)
    answers = [{"question": question, "answer": answer} for question, answer in summary(view)]
    return {"warnings": warnings_of(view), "answers": answers}


def _report(result: dict[str, Any]) -> Iterator[Any]:
    for warning in result["warnings"]:
        yield f"note: {warning}"
    for row in result["answers"]:
        yield f"{row['question']}\n  {row['answer']}"
    if result["missing"]:
        yield f"{result['missing']} runs are missing; go on with --resume"
    if result["files"]:
        yield f"{result['runs']} runs; read {result['folder']}/report.html or {result['folder']}/tables.md"
    else:
        yield "no run is complete"
