"""`semistruct curve`: how many labels do I need?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from semistruct.cli.options import (
    Encoding,
    Format,
    Jobs,
    LabelColumn,
    Outside,
    Quiet,
    Scheme,
    read_data,
    reading_of,
    rules_of,
)
from semistruct.cli.output import AsJson, check_plot, duration, print_result, status_line
from semistruct.errors import ParameterError
from semistruct.files import refuse_overwriting

EPILOG = "Example: semistruct curve refs.tsv -u pool.txt -r citations -o curve.png"


def curve(
    labelled: Annotated[Path, typer.Argument(help="labelled sequences, in any format")],
    pool: Annotated[
        list[Path] | None,
        typer.Option("--pool", "-u", help="sequences without labels; if not given, labelled ones not in use"),
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", "-r", help="rules: a file, or one that comes with semistruct by its name")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="draw the curve, as .png or .svg")] = None,
    sizes: Annotated[str | None, typer.Option(help="labelled sequences, as 5,10,20; else chosen by the data")] = None,
    folds: Annotated[int, typer.Option(min=2, help="parts of the labelled data, each held out once")] = 5,
    features: Annotated[
        list[str] | None, typer.Option("--features", "-f", help="a feature set or a template; several times")
    ] = None,
    seed: Annotated[int, typer.Option(help="of the draws")] = 0,
    jobs: Jobs = None,
    format: Format = None,
    label_column: LabelColumn = None,
    scheme: Scheme = None,
    outside: Outside = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show how accuracy grows with the number of labelled sequences, and whether it pays to label more."""
    from semistruct.experiments.curve import advice, learning_curve

    check_plot(output)
    refuse_overwriting(output, [labelled, *(pool or []), rules])
    reading = reading_of(format, label_column, scheme, outside, encoding)
    corpus = read_data(labelled, reading)
    pools = [read_data(path, reading).tokens for path in pool or []]
    with _progress(quiet) as show:
        found = learning_curve(
            corpus, [x for pool in pools for x in pool] if pools else None,
            rules_of(rules),
            folds=folds, sizes=_numbers(sizes), features=features or "default", seed=seed, show=show, n_jobs=jobs,
        )  # fmt: skip
    if output is not None:
        from semistruct.report.plots import learning_curve as draw

        title = "Labels" + " + rules" * found.rules + " + unlabelled sequences (annealed)"
        draw(
            output, found.sizes, found.scores["annealed"], title=title, also={"supervised": found.scores["supervised"]}
        )
    result = {
        "data": str(labelled), "folds": folds, "rules": found.rules, "unlabelled": found.unlabelled,
        "curve": found.rows(), "advice": advice(found), "plot": None if output is None else str(output),
    }  # fmt: skip
    print_result(result, as_json, _report)


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--sizes is {text!r}, expected numbers such as 5,10,20") from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    began = time.perf_counter()
    with status_line("reading the features", quiet) as update:

        def show(done: int, total: int) -> None:
            left = (time.perf_counter() - began) / done * (total - done) if done else 0.0
            update(f"fit {done + 1} of {total}" + (f"  about {duration(left)} left" if done else ""))

        yield show if update else None


def _report(result: dict[str, Any]) -> Iterator[Any]:
    from rich.table import Table

    under = "under the rules" if result["rules"] else "without rules"
    yield f"token accuracy {under}, mean ± spread over {result['folds']} parts held out:"
    table = Table(box=None, pad_edge=False)
    for title in ("labelled", "supervised", "annealed"):
        table.add_column(title, justify="right")
    for row in result["curve"]:
        table.add_row(str(row["labelled"]), *(_cell(row[method]) for method in ("supervised", "annealed")))
    yield table
    yield from result["advice"]
    if result["plot"] is not None:
        yield f"plot written to {result['plot']}"


def _cell(scores: dict[str, Any]) -> str:
    return f"{scores['mean']:.1%} ± {100 * scores['spread']:.1f}"
