"""How well predicted labels agree with known ones.

Tokens whose gold label is None are not counted; a sequence without any known label is left out.
Ratios with a denominator of 0 are 0, as in conlleval and scikit-learn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from semistruct.base.errors import DataError, ParameterError, meant, quoted
from semistruct.data.corpus import check_labels, listed
from semistruct.data.labels import scheme_of, spans

Sequences = Sequence[Sequence[str | None] | None]
Pair = tuple[Sequence[str | None], Sequence[str | None]]


class Metric(NamedTuple):
    """A score that models are compared by: its name in the results of `evaluate`, and in words."""

    key: str
    words: str


METRICS = {
    "token": Metric("token_accuracy", "token accuracy"),
    "sequence": Metric("sequence_accuracy", "sequence accuracy"),
    "span": Metric("span_f1", "span F1"),
}


def evaluate(gold: Sequences, predicted: Sequences) -> dict[str, Any]:
    """All scores of `predicted` as plain numbers, ready for JSON.

    token_accuracy              over the tokens with a known label; there are n_tokens
    sequence_accuracy           sequences right in all their known tokens; there are n_sequences
    per_label, macro_f1         token level; the mean is over all labels that occur in gold or predicted
    span_precision, _recall, _f1   a span is right if label, start and end are; over the sequences whose
                                labels are all known, None if there is no such sequence
    """
    pairs = list(_scored(gold, predicted))
    tokens = _tokens(pairs)
    per_label = _per_label(tokens)
    return {
        "token_accuracy": _mean_equal(tokens),
        "sequence_accuracy": _share_right(pairs),
        **_span_scores(pairs),
        "macro_f1": sum(scores["f1"] for scores in per_label.values()) / len(per_label),
        "per_label": per_label,
        "n_sequences": len(pairs),
        "n_tokens": len(tokens),
    }


def token_accuracy(gold: Sequences, predicted: Sequences) -> float:
    """The share of tokens with a known label that are predicted right."""
    return _mean_equal(_tokens(_scored(gold, predicted)))


Standing = dict[str, float | None]
"""Token accuracy and perhaps a further metric, by their names in the results of `evaluate`."""


def standing(gold: Sequences, predicted: Sequences, metric: str) -> Standing:
    """What a choice by `metric`, a name in METRICS, looks at."""
    pairs = list(_scored(gold, predicted))
    found: Standing = {"token_accuracy": _mean_equal(_tokens(pairs))}
    if metric == "sequence":
        found["sequence_accuracy"] = _share_right(pairs)
    elif metric == "span":
        found["span_f1"] = _span_scores(pairs)["span_f1"]
    return found


def rank(found: Mapping[str, Any], metric: str) -> tuple[float, float]:
    """What is compared: the metric and, where that is equal, the token accuracy."""
    value = found[METRICS[metric].key]
    if value is None:
        raise DataError("nothing to choose by: span F1 needs a sequence whose labels are all known")
    return value, found["token_accuracy"]


@dataclass(frozen=True)
class Scorer:
    """A metric as scikit-learn calls it."""

    metric: str
    rules: bool

    def __call__(self, estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> float:
        return rank(standing(y, estimator.predict(X, rules=self.rules), self.metric), self.metric)[0]


def scorer(metric: str = "token", *, rules: bool = True) -> Scorer:
    """A scorer for `scoring=` of scikit-learn: "token" or "sequence" accuracy, or F1 of a "span".

    rules  label under the rules of the model, if it has any

    >>> from sklearn.model_selection import cross_val_score
    >>> from semistruct import SSVM, make_citations, scorer
    >>> data = make_citations(9)
    >>> len(cross_val_score(SSVM(tol=0.1), data.tokens, data.labels, cv=3, scoring=scorer("sequence")))
    3
    """
    if metric not in METRICS:
        raise ParameterError(f"there is no metric {quoted(metric)}; {meant(str(metric), METRICS)}")
    return Scorer(metric, rules)


def _scored(gold: Sequences, predicted: Sequences) -> Iterator[Pair]:
    """The pairs of sequences that can be scored: same length, at least one known label."""
    gold, predicted = listed(gold, "gold"), listed(predicted, "predicted")
    if len(gold) != len(predicted):
        raise DataError(f"{len(gold)} gold sequences but {len(predicted)} predicted")
    empty = True
    for i, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if g is None:
            continue
        n = len(g) if hasattr(g, "__len__") else 0
        check_labels(g, n, f"gold sequence {i} has ")
        check_labels(() if p is None else p, n, f"predicted sequence {i} has ")
        if any(y is not None for y in g):
            empty = False
            yield g, p
    if empty:
        raise DataError("nothing to score: no token has a gold label")


def _tokens(pairs: Iterable[Pair]) -> list[tuple[str, str | None]]:
    """The labels of all tokens whose gold label is known."""
    return [(y, z) for g, p in pairs for y, z in zip(g, p, strict=True) if y is not None]


def _share_right(pairs: list[Pair]) -> float:
    return sum(_agrees(pair) for pair in pairs) / len(pairs)


def _mean_equal(tokens: list[tuple[str, str | None]]) -> float:
    return sum(y == z for y, z in tokens) / len(tokens)


def _agrees(pair: Pair) -> bool:
    return all(y is None or y == z for y, z in zip(*pair, strict=True))


def _per_label(tokens: list[tuple[str, str | None]]) -> dict[str, dict[str, float]]:
    """{label: {precision, recall, f1, support}}, counting single tokens."""
    support = Counter(y for y, _ in tokens)
    claimed = Counter(z for _, z in tokens if z is not None)
    right = Counter(y for y, z in tokens if y == z)
    return {
        label: {**_prf(right[label], claimed[label], support[label]), "support": support[label]}
        for label in sorted(support | claimed)
    }


def _span_scores(pairs: list[Pair]) -> dict[str, float | None]:
    whole = [(g, p) for g, p in pairs if None not in g]
    if not whole:
        return dict.fromkeys(("span_precision", "span_recall", "span_f1"))
    scheme = scheme_of(y for pair in whole for side in pair for y in side)
    right = claimed = support = 0
    for g, p in whole:
        wanted, found = set(spans(g, scheme)), set(spans(p, scheme))
        right, claimed, support = right + len(wanted & found), claimed + len(found), support + len(wanted)
    return {f"span_{name}": value for name, value in _prf(right, claimed, support).items()}


def _prf(right: int, claimed: int, support: int) -> dict[str, float]:
    """Precision, recall and F1 from counts; F1 = 2 right / (claimed + support)."""
    return {
        "precision": right / max(claimed, 1),
        "recall": right / max(support, 1),
        "f1": 2 * right / max(claimed + support, 1),
    }
