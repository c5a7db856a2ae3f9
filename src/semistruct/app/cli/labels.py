"""`semistruct pick` and `semistruct curve`: which sequences to label next, and whether it pays to label more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semistruct.app.cli.files import Reader, feature_functions, load_model, natural_format, own_modules, read_rules
from semistruct.app.cli.options import CurveOptions, PickOptions
from semistruct.app.cli.output import status_line, table, time_left
from semistruct.app.experiments.curve import LITTLE, advice, learning_curve
from semistruct.app.picking import pick as choose
from semistruct.base.errors import DataError, ParameterError, quoted
from semistruct.data.corpus import Labels
from semistruct.data.formats import write
from semistruct.data.metrics import METRICS


@dataclass(frozen=True)
class Picks:
    """The result of `pick`; `chosen` has the numbers of the sequences in the pool, from 0."""

    pool: str
    sequences: int
    labelled: int
    chosen: list[int]
    reasons: list[str]
    labels: list[Labels | None]
    where: list[str]
    output: str | None

    def report(self) -> Iterator[str]:
        yield f"{len(self.chosen)} of {self.sequences} sequences, the most worthwhile first:"
        for where, reason in zip(self.where, self.reasons, strict=True):
            yield f"{where}: {reason}"
        if self.output is not None:
            labels = "with proposed labels " if any(self.labels) else ""
            yield f"written {labels}to {self.output}"


def pick(path: Path, n: int, options: PickOptions, reader: Reader, quiet: bool) -> Picks:
    """Choose sequences of the pool at `path`; write them in its order, with the proposed labels."""
    rules, estimator, labelled = read_rules(options.rules), None, None
    if options.model is not None:
        estimator = load_model(options.model, options.trust, options.jobs)
        reader = reader.cutting(estimator.tokens_)
    if options.labelled is not None:
        labelled = reader.corpus(options.labelled)
        reader = reader.like(labelled)
    pool = reader.corpus(path)
    if labelled is not None and not labelled.label_set:
        raise DataError.at(options.labelled, None, "no sequence has a label")
    pairs = None if labelled is None else (labelled.tokens, labelled.labels)
    try:
        with status_line("choosing", quiet):
            picked = choose(pool.tokens, n, labelled=pairs, rules=rules, model=estimator, n_jobs=options.jobs)
    except DataError as err:
        raise DataError(str(err).replace("pool data", str(path), 1)) from None
    if options.output is not None:
        format = options.to or natural_format(pool.format or "text", str(options.output))
        proposed = {one.number: one.labels for one in picked}
        write([replace(pool.examples[i], labels=proposed[i]) for i in sorted(proposed)], options.output, format)
    return Picks(
        pool=str(path),
        sequences=len(pool),
        labelled=0 if labelled is None else sum(row is not None for row in labelled.labels),
        chosen=[one.number for one in picked],
        reasons=[one.reason for one in picked],
        labels=[one.labels for one in picked],
        where=[pool.where(one.number) for one in picked],
        output=None if options.output is None else str(options.output),
    )


@dataclass(frozen=True)
class CurveReport:
    """The result of `curve`: scores by the number of labelled sequences, and what more labels should bring (`next`)."""

    data: str
    folds: int
    rules: bool
    unlabelled: int
    metric: str
    curve: list[dict[str, Any]]
    next: dict[str, Any] | None
    advice: list[str]
    plot: str | None

    def report(self) -> Iterator[Any]:
        under = "under the rules" if self.rules else "without rules"
        yield f"{self.metric} {under}, mean ± spread over {self.folds} held-out parts:"
        rows = [(str(row["labelled"]), _cell(row["supervised"]), _cell(row["annealed"])) for row in self.curve]
        yield table(("labelled", "supervised", "annealed"), rows, left=0)
        yield from self.advice
        if self.plot is not None:
            yield f"plot written to {self.plot}"


def _cell(scores: dict[str, Any]) -> str:
    return f"{scores['mean']:.1%} ± {100 * scores['spread']:.1f}"


def curve(path: Path, options: CurveOptions, reader: Reader, quiet: bool) -> CurveReport:
    """Cross-validate with growing parts of the labelled data at `path`."""
    labelled = reader.corpus(path)
    reader = reader.like(labelled)
    pool = [x for part in options.pool for x in reader.corpus(part).tokens] if options.pool else None
    with own_modules(feature_functions(options.features)), _progress(quiet) as show:
        found = learning_curve(
            labelled, pool, read_rules(options.rules), folds=options.folds, sizes=_numbers(options.sizes),
            features=options.features or "default", seed=options.seed, metric=options.metric or "token", show=show,
            n_jobs=options.jobs,
        )  # fmt: skip
    words, output = METRICS[found.metric].words, options.output
    if output is not None:
        from semistruct.app.report.plots import learning_curve as draw

        title, also = "Labels" + " + rules" * found.rules + " + pool (annealed)", found.scores["supervised"]
        draw(output, found.sizes, found.scores["annealed"], title=title, also={"supervised": also}, metric=words)
    return CurveReport(
        data=str(path), folds=options.folds, rules=found.rules, unlabelled=found.unlabelled, metric=words,
        curve=found.rows(), next=None if found.outlook is None else found.outlook.row(LITTLE), advice=advice(found),
        plot=None if output is None else str(output),
    )  # fmt: skip


def _numbers(text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--sizes is {quoted(text)}, expected numbers such as 5,10,20") from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    began = time.perf_counter()
    with status_line("reading the features", quiet) as update:

        def show(done: int, total: int) -> None:
            left = (time.perf_counter() - began) / done * (total - done) if done else None
            if update:
                update(f"fit {done + 1} of {total}{time_left(left)}")

        yield show if update else None
