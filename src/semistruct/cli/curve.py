"""`semistruct curve`: how many labels do I need?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from semistruct.cli.options import (
    AsJson,
    Features,
    Jobs,
    Labelled,
    MayRead,
    MetricName,
    Quiet,
    Reading,
    RulesFile,
    files_of,
    rules_of,
    searching_here,
)
from semistruct.cli.output import check_writable, print_result, status_line, table, time_left
from semistruct.errors import ParameterError, quoted
from semistruct.files import refuse_overwriting

EPILOG = "Example: semistruct curve refs.tsv -u pool.txt -r citations -o curve.png"


def curve(
    labelled: Labelled,
    pool: Annotated[
        list[Path] | None,
        Option(
            "--pool",
            "-u",
            metavar="FILE",
            help="the pool: sequences without labels; may be given several times; "
            "default: the labelled sequences that are not in use",
        ),
    ] = None,
    rules: RulesFile = None,
    rules_may_read: MayRead = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="plot of the curve to write, a .png or .svg file")
    ] = None,
    sizes: Annotated[
        str | None,
        Option(
            metavar="NUMBERS", help="numbers of labelled sequences, for example 5,10,20; default: chosen by the data"
        ),
    ] = None,
    folds: Annotated[int, Option(min=2, help="number of parts of the labelled data; each is held out once")] = 5,
    threshold: Annotated[
        float,
        Option(min=0, max=100, help="points that ten more labels must bring to be worthwhile"),
    ] = 0.5,
    features: Features = None,
    metric: MetricName = None,
    seed: Annotated[int, Option(help="seed of the draws")] = 0,
    jobs: Jobs = None,
    *,
    reading: Reading,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show how accuracy grows with the number of labelled sequences, and whether it pays to label more."""
    from semistruct.experiments.curve import advice, learning_curve
    from semistruct.metrics import METRICS

    check_writable(output, plot=True)
    refuse_overwriting(output, [labelled, *(pool or []), rules, reading.label_names, *files_of(features)])
    corpus = reading.corpus(labelled)
    reading = reading.like(corpus)
    given = [x for path in pool or [] for x in reading.corpus(path).tokens] if pool else None
    with searching_here(features), _progress(quiet) as show:
        found = learning_curve(
            corpus, given, rules_of(rules, rules_may_read),
            folds=folds, sizes=_numbers(sizes), features=features or "default", seed=seed, metric=metric or "token",
            show=show, n_jobs=jobs,
        )  # fmt: skip
    words = METRICS[found.metric].words
    if output is not None:
        from semistruct.report.plots import learning_curve as draw

        title, also = "Labels" + " + rules" * found.rules + " + pool (annealed)", found.scores["supervised"]
        draw(output, found.sizes, found.scores["annealed"], title=title, also={"supervised": also}, metric=words)
    result = {
        "data": str(labelled), "folds": folds, "rules": found.rules, "unlabelled": found.unlabelled, "metric": words,
        "curve": found.rows(), "next": found.outlook and found.outlook.row(threshold / 100),
        "advice": advice(found, threshold / 100), "plot": None if output is None else str(output),
    }  # fmt: skip
    print_result(result, as_json, _report)


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--sizes is {quoted(text)}, expected numbers such as 5,10,20") from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    began = time.perf_counter()
    with status_line("reading the features", quiet) as update:

        def show(done: int, total: int) -> None:
            left = (time.perf_counter() - began) / done * (total - done) if done else None
            update(f"fit {done + 1} of {total}{time_left(left)}")

        yield show if update else None


def _report(result: dict[str, Any]) -> Iterator[Any]:
    under = "under the rules" if result["rules"] else "without rules"
    yield f"{result['metric']} {under}, mean ± spread over {result['folds']} held-out parts:"
    rows = [(str(row["labelled"]), _cell(row["supervised"]), _cell(row["annealed"])) for row in result["curve"]]
    yield table(("labelled", "supervised", "annealed"), rows, left=0)
    yield from result["advice"]
    if result["plot"] is not None:
        yield f"plot written to {result['plot']}"


def _cell(scores: dict[str, Any]) -> str:
    return f"{scores['mean']:.1%} ± {100 * scores['spread']:.1f}"
