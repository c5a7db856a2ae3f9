"""`semistruct pick`: which sequences to label next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from semistruct.cli.options import (
    AsJson,
    Features,
    Jobs,
    MayRead,
    Quiet,
    Reading,
    RulesFile,
    Trust,
    files_of,
    load_trusting,
    rules_of,
    searching_here,
)
from semistruct.cli.output import check_writable, print_result, status_line
from semistruct.errors import DataError
from semistruct.files import refuse_overwriting

if TYPE_CHECKING:
    from semistruct.corpus import Corpus
    from semistruct.picking import Picked

EPILOG = "Example: semistruct pick pool.txt -n 10 --labelled refs.tsv -r citations -o next.jsonl"


def pick(
    pool: Annotated[Path, Argument(help="the pool: sequences to choose from, in any format; their labels are ignored")],
    n: Annotated[int, Option("-n", min=1, help="number of sequences to pick")] = 10,
    labelled: Annotated[
        Path | None,
        Option("--labelled", "-l", metavar="FILE", help="what is labelled so far; default: nothing"),
    ] = None,
    rules: RulesFile = None,
    rules_may_read: MayRead = None,
    model: Annotated[
        Path | None,
        Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="a model that proposes labels; default: one is learned from what is labelled",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output", "-o", metavar="FILE", help="file to write the sequences to, with proposed labels to correct"
        ),
    ] = None,
    to: Annotated[
        str | None, Option(metavar="NAME", help="output format; default: that of the pool, inline for plain text")
    ] = None,
    cost: Annotated[
        str, Option(metavar="NAME", help="what you pay for: sequence or token; token prefers short sequences")
    ] = "sequence",
    features: Features = None,
    trust: Trust = None,
    jobs: Jobs = None,
    *,
    reading: Reading,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Pick the sequences of a pool that are most worth labelling next."""
    from semistruct.picking import pick as choose

    check_writable(output)
    refuse_overwriting(output, [pool, labelled, model, rules, reading.label_names, *files_of(features)])
    obeyed, estimator = rules_of(rules, rules_may_read), None
    if model is not None:
        estimator = load_trusting(model, trust)
        estimator.n_jobs = jobs
        reading = reading.cutting(estimator.tokens_)
    known = None if labelled is None else reading.corpus(labelled)
    reading = reading if known is None else reading.like(known)
    found = reading.corpus(pool)
    if known is not None and not known.label_set:
        raise DataError.at(labelled, None, "no sequence has a label")
    with searching_here(features), status_line("choosing", quiet), _naming(pool):
        picked = choose(
            found.tokens, n, labelled=None if known is None else (known.tokens, known.labels), rules=obeyed,
            model=estimator, cost=cost, features=features or "default", n_jobs=jobs,
        )  # fmt: skip
    if output is not None:
        _write(found, picked, output, to, reading)
    result = {
        "pool": str(pool), "sequences": len(found),
        "labelled": 0 if known is None else sum(row is not None for row in known.labels),
        "chosen": [one.number for one in picked], "reasons": [one.reason for one in picked],
        "labels": [one.labels for one in picked], "where": [found.where(one.number) for one in picked],
        "output": None if output is None else str(output),
    }  # fmt: skip
    print_result(result, as_json, _report)


@contextmanager
def _naming(pool: Path) -> Iterator[None]:
    """Errors about the pool name its file."""
    try:
        yield
    except DataError as err:
        raise DataError(str(err).replace("pool data", str(pool), 1)) from None


def _write(found: Corpus, picked: Sequence[Picked], output: Path, to: str | None, reading: Reading) -> None:
    """The sequences with the proposed labels, in the order of the pool."""
    from semistruct.cli.labelling import natural_format
    from semistruct.formats import stream, write

    given = stream(found.source, **reading.options()).format
    proposed = {one.number: one.labels for one in picked}
    examples = [replace(found.examples[i], labels=proposed[i]) for i in sorted(proposed)]
    write(examples, output, to or natural_format(given, str(output)))


def _report(result: dict[str, Any]) -> Iterator[Any]:
    n = len(result["chosen"])
    yield f"{n} of {result['sequences']} sequences, the most worthwhile first:"
    for where, reason in zip(result["where"], result["reasons"], strict=True):
        yield f"{where}: {reason}"
    if result["output"] is not None:
        labels = "with proposed labels " if any(result["labels"]) else ""
        yield f"written {labels}to {result['output']}"
