"""What looks wrong with data, told on standard error, in one line each, before it costs an hour."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from semistruct.corpus import Corpus, Example
from semistruct.errors import DataWarning, quoted, some_of
from semistruct.files import read_lines
from semistruct.fitting.data import is_known
from semistruct.formats import SAMPLE_LINES, beginning, detect, named_after
from semistruct.looks import Look
from semistruct.rules import Rules

CHANCE = 0.01  # the share of sequences that two sets of data may have in common by chance
FEW = 0.1  # the share of lines with tags below which a file may as well be plain text


def tell(problems: Iterable[str]) -> None:
    for problem in problems:
        warnings.warn(problem, DataWarning, stacklevel=2)


def of_training(labelled: Corpus, pools: Sequence[Corpus], dev: Corpus | None, rules: Rules | None) -> Iterator[str]:
    """About data to learn from, perhaps with rules."""
    yield from alike({*labelled.label_set, *(() if dev is None else dev.label_set)})
    look = Look.of([e.tokens for e in labelled if is_known(e.labels)])
    for pool in pools:
        yield from _shared(look, pool, "pool sequences are also in the training data")
    if dev is not None and dev.digest == labelled.digest:
        yield f"{dev.source}: the dev data is the training data, so what is chosen on it is chosen too well"
    elif dev is not None:
        yield from _shared(look, dev, "dev sequences are also in the training data")
        yield from _unseen((Rules([]) if rules is None else rules).all_labels(labelled.label_set), dev)


def of_evaluation(estimator: Any, gold: Corpus) -> Iterator[str]:
    """About data that a model is compared with."""
    yield from alike({*gold.label_set, *estimator.model_.labels})
    data, look = estimator.card_.get("data"), estimator.look_
    data = data if isinstance(data, Mapping) else {}
    if gold.digest == data.get("sha256"):
        yield f"{gold.source}: the model was trained on this data, so its scores tell little about other data"
    elif gold.digest == data.get("dev sha256") and data.get("refit"):
        yield f"{gold.source}: the model was also trained on this data, so its scores tell little about other data"
    elif gold.digest == data.get("dev sha256"):
        yield f"{gold.source}: parameters of the model were chosen on this data, so other data may score lower"
    elif look is not None:
        yield from _shared(look, gold, "sequences are also in the data that the model was trained on")


def alike(labels: Iterable[str]) -> Iterator[str]:
    """About labels that differ only in case or outer blanks."""
    groups: dict[str, list[str]] = {}
    for label in sorted(labels):
        groups.setdefault(label.strip().casefold(), []).append(label)
    found = [" and ".join(map(quoted, group)) for group in groups.values() if len(group) > 1]
    if found:
        yield f"labels that differ only in case or outer blanks: {some_of(found)}; are they meant to be the same?"


def _unseen(labels: Sequence[str], dev: Corpus) -> Iterator[str]:
    """About labels that only the dev data has: typing errors, or too few labelled sequences."""
    found = [f"{quoted(label)} ({where})" for label, where in dev.unseen(labels).items()]
    if found:
        yield f"labels that no labelled sequence has, and that are errors on dev data: {some_of(found)}"


def _shared(look: Look, other: Corpus, words: str) -> Iterator[str]:
    """About sequences of the training data that are in other data too, more of them than chance explains."""
    n = look.seen(other.tokens)
    if n > CHANCE * min(len(look.texts), len(other)):
        yield f"{other.source}: {n} of {len(other)} {words}"


def of_columns(source: str, examples: Sequence[Example], labels: Sequence[str]) -> Iterator[str]:
    """About the columns of a table to label that its answer does not have."""
    found = {y for example in examples for y in example.labels or () if y is not None}
    if lost := sorted(found - {*labels, "O"}):
        told = f"the column {quoted(lost[0])} is" if len(lost) == 1 else f"the columns {some_of(lost)} are"
        yield f"{source}: {told} not in the answer, as the model has no such fields"


def of_tags(path: str | Path, format: str | None, encoding: str) -> Iterator[str]:
    """About a file that is read as text with tags though few of its lines have any."""
    if format is not None or not Path(path).is_file() or named_after(path):
        return
    lines = list(islice(read_lines(path, encoding), SAMPLE_LINES))
    if detect(beginning(lines)) != "inline":
        return
    filled = [line for line in lines if line.strip()]
    tagged = sum(detect(line) == "inline" for line in filled)
    if tagged < FEW * len(filled):
        have = "has" if tagged == 1 else "have"
        yield f"{path}: read as text with tags, which {tagged} of {len(filled)} lines {have}; or is it --format text?"
