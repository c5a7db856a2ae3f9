"""`semistruct reproduce`: the experiments of the literature, with tables, figures and a report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from semistruct.app.cli.ending import INTERRUPTED
from semistruct.app.cli.options import AsJson, flag
from semistruct.app.cli.output import print_result, status_line, time_left
from semistruct.base.errors import DataError, ParameterError, quoted
from semistruct.base.files import make_folder

if TYPE_CHECKING:
    from semistruct.app.experiments.cells import Records
    from semistruct.app.experiments.corpora import Material

EPILOG = """Example: semistruct data get citations -o refs && semistruct reproduce citations --data refs -o out

The folder of --data has train.tsv, dev.tsv, unlabeled.txt (the pool) and perhaps test.tsv. Without a test part, the
methods are scored on the rest of the training part, and "all" learns from two thirds of it. Without --data, synthetic
and apartments use synthetic data, and the report says so. For data of your own, give it a name, and a rules file with
--rules. To continue an interrupted run, or to add sizes, draws or methods, use --resume."""


@dataclass(frozen=True)
class Reproduced:
    """The result of `reproduce`: how many runs there are and how many are missing, and what the reports say."""

    corpus: str
    folder: str
    runs: int
    missing: int
    files: list[str]
    warnings: list[str]
    answers: list[dict[str, str]]

    def report(self) -> Iterator[str]:
        for warning in self.warnings:
            yield f"note: {warning}"
        for row in self.answers:
            yield f"{row['question']}\n  {row['answer']}"
        if self.missing:
            yield f"{self.missing} runs are missing; continue with --resume"
        if self.files:
            yield f"{self.runs} runs; read {self.folder}/report.html or {self.folder}/tables.md"
        else:
            yield "no run is complete yet"


def reproduce(
    corpus: Annotated[
        str, Argument(metavar="CORPUS", help="citations, headers, names, apartments, synthetic, or a name of your own")
    ],
    output: Annotated[Path, Option("--output", "-o", help="folder for results, tables, figures and report.html")],
    data: Annotated[Path | None, Option(help="folder with train.tsv, dev.tsv, unlabeled.txt and test.tsv")] = None,
    rules: Annotated[
        str | None, Option("--rules", "-r", metavar="FILE", help="rules file for all methods; for data of your own")
    ] = None,
    sizes: Annotated[
        str | None, Option(metavar="NUMBERS", help="numbers of labelled sequences; default: 5,20,all")
    ] = None,
    draws: Annotated[int | None, Option(min=1, help="draws of the labelled sequences; default: 5")] = None,
    methods: Annotated[str | None, Option(metavar="NAMES", help="for example ssvm,annealed,pr; default: all")] = None,
    features: Annotated[
        Literal["paper", "default"] | None,
        Option(help="paper, with the rules each method was published with; or default, with one rules file for all"),
    ] = None,
    jobs: Annotated[int | None, Option(min=1, help="runs side by side; default: one per core")] = None,
    quick: Annotated[bool, flag("--quick", help="a small comparison in about a minute")] = False,
    resume: Annotated[bool, flag("--resume", help="continue with the results in the folder")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the methods on one corpus, as the literature does: few labels, several draws, tables and a report."""
    from semistruct.app.experiments import runner
    from semistruct.app.experiments.cells import run_cells
    from semistruct.app.experiments.lineup import lists_of

    material = _material(corpus, data, rules, quick)
    features = features or ("paper" if rules is None else "default")
    lines = runner.chosen_methods(lists_of(corpus, features, rules), methods, quick)
    numbers = runner.chosen_sizes(material, sizes, quick)
    common = {"features": features, "rules": rules, "quick": quick}
    cells = runner.planned(material, lines, numbers, draws or (runner.QUICK_DRAWS if quick else 5), **common)
    records = _opened(make_folder(output) / "results.jsonl", runner.digest_of(material, rules), resume)
    stopped = False
    try:
        with _progress() as show:
            run = partial(runner.run, folders={corpus: None if data is None else str(data)})
            run_cells(cells, run, records, jobs=jobs, show=show)
    except KeyboardInterrupt:
        stopped = True
    found = [record for record in records if {key: record["cell"][key] for key in common} == common]
    missing = sum(records.find(cell) is None for cell in cells)
    print_result(Reproduced(material.title, str(output), len(found), missing, *_write(found, output)), as_json)
    if stopped:
        raise typer.Exit(INTERRUPTED)


def _material(corpus: str, folder: Path | None, rules: str | None, quick: bool) -> Material:
    from semistruct.app.experiments.lineup import CORPORA
    from semistruct.app.experiments.runner import material_of

    if corpus == "synthetic" and folder is not None:
        raise ParameterError("--data cannot be used with synthetic, whose data is made by a generator")
    if corpus not in CORPORA and (folder is None or rules is None):
        known = ", ".join(CORPORA)
        raise ParameterError(f"{quoted(corpus)} is none of {known}; for data of your own, give --data and --rules")
    if folder is None and corpus not in ("synthetic", "apartments"):
        fetched = f"; `semistruct data get {corpus} -o {corpus}` fetches them" if corpus != "names" else ""
        raise ParameterError(f"give the folder of the {corpus} with --data{fetched}")
    material_of.cache_clear()  # of an earlier call in this process, whose files may have changed
    return material_of(corpus, None if folder is None else str(folder), quick)


def _opened(path: Path, digest: str, resume: bool) -> Records:
    """The records of a file, which must be new without `resume`, and of the same data."""
    from semistruct.app.experiments.cells import Records

    if path.exists() and not resume:
        problem = "there are already results; continue with --resume, or choose another folder"
        raise DataError.at(path, None, problem)
    records = Records(path)
    for number, record in enumerate(records, 1):
        if record["digest"] != digest:
            raise DataError.at(path, number, "these are results on other data (its checksum differs)")
    return records


@contextmanager
def _progress() -> Iterator[Callable[[int, int, dict[str, Any] | None], None]]:
    """Shows how many runs are done and how long the others take: in place on a terminal, otherwise in lines."""
    began, first = time.perf_counter(), None
    with status_line("reading") as update:
        tell = update or (lambda text: print(text, file=sys.stderr, flush=True))

        def show(done: int, total: int, cell: dict[str, Any] | None) -> None:
            nonlocal first
            first = done if first is None else first
            spent = time.perf_counter() - began
            left = spent / (done - first) * (total - done) if done > first else None
            last = f": {cell['method']}, {cell['size']} labelled, draw {cell['seed']}" if cell else ""
            tell(f"{done} of {total} runs{last}{time_left(left)}")

        yield show


def _write(records: list[dict[str, Any]], folder: Path) -> tuple[list[str], list[str], list[dict[str, str]]]:
    """Write the reports: their files, their warnings, and the questions that they answer."""
    from semistruct.app.experiments.view import View, summary, warnings_of
    from semistruct.app.report.comparison import write_reports

    if not records:
        return [], [], []
    view = View(records)
    command = shlex.join(["semistruct", *(word for word in sys.argv[1:] if word != "--resume")])
    files = [str(path) for path in write_reports(view, folder, command)]
    answers = [{"question": question, "answer": answer} for question, answer in summary(view)]
    return files, warnings_of(view), answers
