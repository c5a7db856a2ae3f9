"""`semistruct suggest`: which rules does the labelled data suggest?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from semistruct.cli.options import AsJson, Labelled, MayRead, Quiet, Reading, Trust, load_trusting, rules_of
from semistruct.cli.output import check_writable, print_result, status_line, table
from semistruct.errors import DataError
from semistruct.files import refuse_overwriting, replacing

EPILOG = "Example: semistruct suggest refs.tsv -u pool.txt -o suggested.yaml"


def suggest(
    labelled: Labelled,
    pool: Annotated[
        list[Path] | None,
        Option("--pool", "-u", metavar="FILE", help="the pool: sequences without labels; may be given several times"),
    ] = None,
    model: Annotated[
        Path | None,
        Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="the model that labels the pool; default: one trained on the labelled sequences",
        ),
    ] = None,
    rules: Annotated[
        str | None,
        Option(
            "--rules",
            "-r",
            metavar="RULES",
            help="rules (a file or a name) that are known already, and not suggested again",
        ),
    ] = None,
    rules_may_read: MayRead = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="the rules file to write; default: standard output")
    ] = None,
    trust: Trust = None,
    *,
    reading: Reading,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Suggest rules that the labelled data and the pool speak for, as a rules file to look through."""
    from semistruct.advising import suggest as suggestions

    check_writable(output)
    refuse_overwriting(output, [labelled, *(pool or []), model, rules, reading.label_names])
    given = rules_of(rules, rules_may_read)
    corpus = reading.corpus(labelled)
    reading = reading.like(corpus)
    pools = [x for path in pool or [] for x in reading.corpus(path).tokens]
    estimator = None if model is None else load_trusting(model, trust)
    with status_line("reading the features", quiet) as update:
        try:
            found = suggestions(corpus.tokens, corpus.labels, pool=pools, model=estimator, rules=given, show=update)
        except DataError as err:
            raise DataError.at(corpus.source, None, str(err)) from None
    text = found.to_yaml()
    if output is not None:
        with replacing(output, "utf-8") as file:
            file.write(text)
    result = {"data": corpus.source, "output": None if output is None else str(output), **found.to_dict()}
    print_result(result, as_json, _report if output is not None else lambda _: _file(text))


def _file(text: str) -> Iterator[Any]:
    from rich.text import Text

    yield Text(text.removesuffix("\n"))


def _report(result: dict[str, Any]) -> Iterator[Any]:
    if result["trained"] and result["pool"]:
        yield "the pool was labelled by a model trained on the labelled sequences"
    certain = [row for row in result["suggestions"] if row["certain"]]
    if certain:
        yield table(("rule", "holds", "of", "at least", "pool", "broken", "gain"), map(_row, certain))
    doubtful = len(result["suggestions"]) - len(certain)
    yield f"{_rules(len(certain))} and {_rules(doubtful, 'doubtful ')}, as comments, written to {result['output']}"


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (str(row["holds"]), str(row["applies"]), f"{row['bound']:.0%}", str(row["coverage"]), str(row["broken"]))
    return (row["text"], *counts, f"{row['gain']:.1f}")


def _rules(n: int, kind: str = "") -> str:
    return f"{n} {kind}rule{'' if n == 1 else 's'}"
