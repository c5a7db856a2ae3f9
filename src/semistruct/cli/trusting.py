"""How far probabilities can be trusted (`evaluate`), and answers split by a promise (`predict --accept`)."""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np

from semistruct.calibration.cases import LEVELS, blocks_of, cases
from semistruct.calibration.reliability import by_chance, calibration_error, coverage, reliability
from semistruct.corpus import Corpus, Example, Labels
from semistruct.formats import write
from semistruct.labels import scheme_of
from semistruct.rules import Rules

MOST = 500  # sequences that are asked about in `evaluate`
WORDS = {"token": "tokens", "block": "fields", "sequence": "sequences"}
RIGHT_ENOUGH = (0.99, 0.98, 0.95, 0.9, 0.8, 0.0)


def measured(
    estimator: Any, gold: Corpus, predicted: Sequence[Labels | None], rules: Rules | None
) -> dict[str, Any] | None:
    """How well the probabilities of a model agree with what is right, by level; None if it has none."""
    if estimator.model_.calibration is None:
        return None
    known = [i for i, row in enumerate(gold.labels) if row is not None and any(y is not None for y in row)]
    asked = [known[k] for k in np.unique(np.linspace(0, len(known) - 1, min(len(known), MOST)).astype(int))]
    X, found = [gold.tokens[i] for i in asked], [predicted[i] or [] for i in asked]
    sure = estimator.sureness(X, found, rules=False if rules is None else rules)
    seen = cases(sure, found, [gold.labels[i] for i in asked], scheme_of(estimator.classes_))
    return {level: _measured(seen[level].score, seen[level].right) for level in LEVELS if len(seen[level])}


def _measured(p: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    bins = reliability(p, right)
    return {
        "n": len(p),
        "error": calibration_error(bins),
        "by_chance": by_chance(p),
        "bins": bins,
        "coverage": coverage(p, right),
    }


def measured_report(found: dict[str, Any]) -> Iterator[str]:
    errors = ", ".join(f"{100 * one['error']:.1f} for {WORDS[level]}" for level, one in found.items())
    chance = ", ".join(f"{100 * one['by_chance']:.1f}" for one in found.values())
    yield f"calibration error in points: {errors} (by chance alone: {chance})"
    for level in ("sequence", "block"):
        if level in found:
            rows = found[level]["coverage"]
            best = next(row for least in RIGHT_ENOUGH for row in reversed(rows) if row["right"] >= least)
            yield f"the surest {best['share']:.0%} of {WORDS[level]} are {best['right']:.1%} right"


class Split:
    """Answers on their way to two files: sequences that are sure, and those with something to check."""

    def __init__(self, by: str, scheme: str) -> None:
        self.by, self.scheme, self.accepted, self.all = by, scheme, 0, 0

    def sure_ones(self, examples: Iterator[tuple[Example, Any]], path: str, **how: Any) -> Iterator[Example]:
        """The examples to accept, which come with what is sure; then, before the last is done, writes the others."""
        with tempfile.TemporaryFile() as rest:
            for example, sure in examples:
                self._count(sure)
                if not is_sure(sure):
                    pickle.dump(example, rest)
                kept = only_sure(example, sure, self.scheme)
                if kept is not None:
                    yield kept
            rest.seek(0)
            write(_pickled(rest), path, **how)

    def marked(self, examples: Iterator[tuple[Example, Any]]) -> Iterator[Example]:
        """All examples, each of which says what is sure."""
        for example, sure in examples:
            self._count(sure)
            yield replace(example, about={**(example.about or {}), "sure": sure})

    def _count(self, sure: Any) -> None:
        one = sure if isinstance(sure, list) else [sure]
        self.accepted, self.all = self.accepted + sum(one), self.all + len(one)

    def tell(self, promise: str) -> None:
        print(f"accepted {self.accepted} of {self.all} {self.by}s; {promise}", file=sys.stderr)


def _pickled(file: IO[bytes]) -> Iterator[Example]:
    """The examples in a file of this process."""
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


def is_sure(sure: Any) -> bool:
    """Whether nothing is to be checked; where no field was found, no promise says that there is none."""
    return bool(sure) and all(sure) if isinstance(sure, list) else sure


def only_sure(example: Example, sure: Any, scheme: str) -> Example | None:
    """The example if it is sure; with the labels of its sure fields if it has some; else None."""
    if is_sure(sure):
        return example
    if not isinstance(sure, list):
        return None
    labels: Labels = [None] * len(example)
    for span, ok in zip(blocks_of(example.labels or [], scheme), sure, strict=True):
        if ok:
            labels[span.start : span.end] = (example.labels or [])[span.start : span.end]
    return replace(example, labels=labels) if any(sure) else None
