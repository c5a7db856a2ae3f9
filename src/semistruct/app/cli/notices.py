"""What looks wrong with data, in one line each, before it costs an hour."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from semistruct.base.errors import DataWarning, quoted, some_of
from semistruct.data.corpus import Corpus, Example
from semistruct.features.text_style import Look
from semistruct.learning.data import is_known
from semistruct.rules import Rules

CHANCE = 0.01  # the share of sequences that two sets of data may have in common by chance


def warn(problems: Iterable[str]) -> None:
    for problem in problems:
        warnings.warn(problem, DataWarning, stacklevel=2)


def of_training(labelled: Corpus, pools: Sequence[Corpus], dev: Corpus | None, rules: Rules | None) -> Iterator[str]:
    """About data to learn from, perhaps with rules."""
    yield from alike({*labelled.label_set, *(() if dev is None else dev.label_set)})
    look = Look.of([e.tokens for e in labelled if is_known(e.labels)])
    for pool in pools:
        yield from _shared(look, pool, "pool sequences are also in the training data")
    if dev is None:
        return
    if dev.digest == labelled.digest:
        yield f"{dev.source}: the dev data is the training data, so what is chosen on it is chosen too well"
        return
    yield from _shared(look, dev, "dev sequences are also in the training data")
    known = (Rules([]) if rules is None else rules).all_labels(labelled.label_set)
    unseen = [f"{quoted(label)} ({where})" for label, where in dev.unseen(known).items()]
    if unseen:
        yield f"labels that no labelled sequence has, and that are errors on dev data: {some_of(unseen)}"


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
    same = [" and ".join(map(quoted, group)) for group in groups.values() if len(group) > 1]
    if same:
        yield f"labels that differ only in case or outer blanks: {some_of(same)}; are they meant to be the same?"


def _shared(look: Look, other: Corpus, words: str) -> Iterator[str]:
    """About sequences of the training data that are in other data too, more of them than chance explains."""
    n = look.seen(other.tokens)
    if n > CHANCE * min(len(look.texts), len(other)):
        yield f"{other.source}: {n} of {len(other)} {words}"


def of_columns(source: str, examples: Sequence[Example], labels: Sequence[str]) -> Iterator[str]:
    """About the columns of a table to label that the answer does not have."""
    columns = {y for example in examples for y in example.labels or () if y is not None}
    if lost := sorted(columns - {*labels, "O"}):
        which = f"the column {quoted(lost[0])} is" if len(lost) == 1 else f"the columns {some_of(lost)} are"
        yield f"{source}: {which} not in the answer, as the model has no such fields"
