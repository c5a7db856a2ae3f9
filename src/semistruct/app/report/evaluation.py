"""How good the labels of a model are: scores, broken rules, probabilities, and the sequences with the worst labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from semistruct.base.errors import DataError
from semistruct.data import metrics
from semistruct.data.corpus import Corpus, Labels
from semistruct.data.labels import scheme_of
from semistruct.features.words import word_of
from semistruct.learning.data import label_codes
from semistruct.model.answers import LEVELS, cases
from semistruct.model.calibration import by_chance, calibration_error, coverage, reliability
from semistruct.rules import Rules

ASKED = 500  # sequences whose probabilities are looked at

Predicted = Sequence[Labels | None]


@dataclass(frozen=True)
class BrokenRules:
    """How many of some sequences break any rule, and each of the rules."""

    sequences: int
    any: int
    rules: dict[str, int]


@dataclass(frozen=True)
class Reliability:
    """How far the probabilities of `n` answers agree with what is right.

    error      the calibration error; `by_chance` is what perfect probabilities would show
    bins       answers of similar probability
    coverage   how right the surest answers are
    """

    n: int
    error: float
    by_chance: float
    bins: list[dict[str, float]]
    coverage: list[dict[str, Any]]


@dataclass(frozen=True)
class Mistake:
    """A sequence with wrong labels.

    margin  the score of the predicted labels minus that of the gold ones; None if the model does not know a gold label
    broken  the rules that the predicted labels break
    """

    where: str
    wrong: int
    margin: float | None
    broken: list[str]
    tokens: list[str]
    gold: Labels
    predicted: Labels


@dataclass(frozen=True)
class Mistakes:
    """How many sequences have a mistake, and the worst of them."""

    sequences: int
    worst: list[Mistake]


@dataclass(frozen=True)
class Evaluation:
    """All scores of a model on labelled data; those of `metrics.evaluate` come first."""

    token_accuracy: float
    sequence_accuracy: float
    span_precision: float | None
    span_recall: float | None
    span_f1: float | None
    macro_f1: float
    per_label: dict[str, dict[str, Any]]
    n_sequences: int
    n_tokens: int
    model: str
    data: str
    seconds: float
    rules: bool
    broken: dict[str, BrokenRules] | None
    calibration: dict[str, Reliability] | None
    mistakes: Mistakes | None


def evaluation(
    estimator: Any, gold: Corpus, predicted: Predicted, rules: Rules | None, n_worst: int | None, **about: Any
) -> Evaluation:
    """Compare predicted labels, which obey `rules`, with gold ones; `about` names the model, and the seconds taken."""
    try:
        scores = metrics.evaluate(gold.labels, predicted)
    except DataError as err:
        raise DataError.at(gold.source, None, str(err)) from None
    counted = estimator.model_.rules if rules is None else rules
    broken = None if counted is None else broken_rules(counted, gold, predicted, estimator.model_.labels)
    return Evaluation(
        **scores,
        **about,
        data=gold.source,
        rules=rules is not None,
        broken=None if broken is None else broken.counts,
        calibration=_calibration(estimator, gold, predicted, rules),
        mistakes=None if n_worst is None else _mistakes(estimator, gold, predicted, broken, n_worst),
    )


class Broken(NamedTuple):
    """Broken rules: counts for the predicted and the gold labels, and (n, R) which rules predicted labels break."""

    counts: dict[str, BrokenRules]
    rules: list[str]
    table: np.ndarray


def broken_rules(rules: Rules, gold: Corpus, predicted: Predicted, labels: Sequence[str]) -> Broken:
    """Which rules are broken, as predicted and as gold; gold labels count if all of them are known."""
    known, lengths = set(labels), [len(x) for x in gold.tokens]
    complete = [row is not None and known.issuperset(row) for row in gold.labels]
    truth = [row if whole else other for row, other, whole in zip(gold.labels, predicted, complete, strict=True)]
    tables = rules.compile(gold.tokens, labels)
    texts = [rule.text for rule in tables.rules]
    ours, theirs = (tables.broken(label_codes(rows, lengths, labels)) for rows in (predicted, truth))
    counts = {}
    for name, broken in (("predicted", ours), ("gold", theirs[complete])):
        each = dict(zip(texts, broken.sum(axis=0).tolist(), strict=True))
        counts[name] = BrokenRules(len(broken), int(broken.any(axis=1).sum()), each)
    return Broken(counts, texts, ours)


def _calibration(
    estimator: Any, gold: Corpus, predicted: Predicted, rules: Rules | None
) -> dict[str, Reliability] | None:
    """How well the probabilities of a model agree with what is right, by level; None if it has none."""
    if estimator.model_.calibration is None:
        return None
    known = [i for i, row in enumerate(gold.labels) if row is not None and any(y is not None for y in row)]
    asked = [known[k] for k in np.unique(np.linspace(0, len(known) - 1, min(len(known), ASKED)).astype(int))]
    X, rows = [gold.tokens[i] for i in asked], [predicted[i] or [] for i in asked]
    sure = estimator.sureness(X, rows, rules=False if rules is None else rules)
    answers = cases(sure, rows, [gold.labels[i] for i in asked], scheme_of(estimator.classes_))
    out = {}
    for level in LEVELS:
        p, right = answers[level].score, answers[level].right
        if len(p):
            bins = reliability(p, right)
            out[level] = Reliability(len(p), calibration_error(bins), by_chance(p), bins, coverage(p, right))
    return out


def _mistakes(estimator: Any, gold: Corpus, predicted: Predicted, broken: Broken | None, most: int) -> Mistakes:
    """The worst sequences: those with the most wrong labels, and among these the ones with the largest margin."""
    wrong = [
        sum(y is not None and y != z for y, z in zip(truth or (), row or (), strict=False))
        for truth, row in zip(gold.labels, predicted, strict=True)
    ]
    margin = _margins(estimator, gold, predicted, [i for i, n in enumerate(wrong) if n])
    order = sorted(margin, key=lambda i: (-wrong[i], -(margin[i] or 0.0), i))[:most]
    worst = [
        Mistake(
            gold.where(i), wrong[i], margin[i],
            [] if broken is None else [broken.rules[r] for r in np.flatnonzero(broken.table[i])],
            list(map(word_of, gold.tokens[i])), gold.labels[i] or [], predicted[i] or [],
        )
        for i in order
    ]  # fmt: skip
    return Mistakes(len(margin), worst)


def _margins(estimator: Any, gold: Corpus, predicted: Predicted, which: list[int]) -> dict[int, float | None]:
    """The margins of some sequences, by their numbers."""
    model, labels = estimator.model_, {*estimator.model_.labels, None}
    known = [i for i in which if labels.issuperset(gold.labels[i] or ())]
    X = [gold.tokens[i] for i in known]
    ours, truth = (
        model.scores(X, [rows[i] or [] for i in known], estimator.n_jobs) for rows in (predicted, gold.labels)
    )
    margins: dict[int, float | None] = dict.fromkeys(which)
    return margins | dict(zip(known, (ours - truth).tolist(), strict=True))


@dataclass(frozen=True)
class Block:
    """Neighbouring tokens with the same true (None: unknown) and the same predicted label."""

    tokens: list[str]
    gold: str | None
    found: str | None

    @property
    def wrong(self) -> bool:
        return self.gold is not None and self.gold != self.found


def blocks(tokens: Sequence[str], gold: Labels, found: Labels) -> list[Block]:
    """A sequence as blocks, from left to right."""
    triples = zip(tokens, gold, found, strict=True)
    groups = groupby(triples, key=lambda triple: triple[1:])
    return [Block([token for token, *_ in group], *pair) for pair, group in groups]
