"""How good is the model?  Estimated on what is labelled, by learning from a part and looking at the rest."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

from semistruct.corpus import Corpus, complete
from semistruct.experiments.curve import LITTLE, learning_curve, sensible_sizes
from semistruct.fitting.effects import effects_of
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.metrics import evaluate
from semistruct.rules import Rules

Tell = Callable[..., None]
FOLDS, CURVE_FOLDS, CURVE_SIZES = 5, 3, 3
ENOUGH = 10  # sequences, from which on it can be said that such ones are right
LEAST = 4  # sequences, below which nothing can be estimated
QUICK: dict[str, Any] = {"schedule": [1.0, 10.0], "rounds": 1}


def look(X: list[Any], y: list[Any], pool: list[Any], rules: Rules, C: float | None, tell: Tell) -> dict[str, Any]:
    """What models say of sequences that they have not learned from, and what each rule gains there.

    labels, sure  of each sequence by the model that has not seen it, and the least confidence of its labels
    """
    order = random.Random(0).sample(range(len(X)), len(X))
    folds = min(FOLDS, len(X))
    found: list[list[str]] = [[] for _ in X]
    sure, gains = [0.0] * len(X), dict[str, list[int]]()
    for fold in range(folds):
        tell(step="measuring", share=fold / folds)
        held = order[fold::folds]
        rest = [i for k, i in enumerate(order) if k % folds != fold]
        model = _fitted([X[i] for i in rest], [y[i] for i in rest], pool, rules, C, tell)
        held_X, held_y = [X[i] for i in held], [y[i] for i in held]
        labels = model.predict(held_X)
        for i, row, values in zip(held, labels, model.confidence(held_X, labels), strict=True):
            found[i], sure[i] = row, float(values.min())
        usable = Rules([rule for rule in rules if rule.all_mentioned() <= set(model.classes_)], model.classes_)
        for one in effects_of(model.model_, usable, held_X, held_y, len(rest)):
            assert one.beside is not None
            gain = gains.setdefault(one.rule, [0, 0])
            gain[0] += one.beside.tokens
            gain[1] += one.beside.sequences
    return {"labels": found, "sure": sure, "gains": gains}


def _fitted(X: list[Any], y: list[Any], pool: list[Any], rules: Rules, C: float | None, tell: Tell) -> AnnealedSSVM:
    model = AnnealedSSVM(rules=rules, C=1.0 if C is None else C, **QUICK)
    return model.fit(X, y, pool=pool, watch=lambda progress: tell(step="measuring")).leave_uncalibrated()


def curve(
    X: list[Any], y: list[Any], pool: list[Any], rules: Rules, C: float | None, tell: Tell
) -> dict[str, Any] | None:
    """Accuracy against the number of labels, None if there are too few."""
    whole = complete(y)
    if len(whole) < 2 * LEAST:
        return None
    corpus = Corpus.of([X[i] for i in whole], [y[i] for i in whole])
    most = len(whole) - -(-len(whole) // CURVE_FOLDS)
    sizes = sensible_sizes(most)[-CURVE_SIZES:]
    found = learning_curve(
        corpus, pool, rules, folds=CURVE_FOLDS, sizes=sizes, C=1.0 if C is None else C,
        show=lambda done, total: tell(step="drawing the learning curve", share=done / total),
    )  # fmt: skip
    outlook = found.outlook
    return {
        "rows": found.rows(), "better": found.better,
        "outlook": None if outlook is None else {**outlook.row(LITTLE), "words": outlook.words(LITTLE)},
    }  # fmt: skip


def estimate(y: Sequence[Sequence[str | None]], found: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Token accuracy with its standard error: tokens of one sequence resemble each other, so sequences are counted."""
    pairs = [
        (sum(a == b for a, b in zip(gold, row, strict=True) if a is not None), sum(a is not None for a in gold))
        for gold, row in zip(y, found, strict=True)
    ]
    tokens, n = sum(size for _, size in pairs), len(pairs)
    share = sum(right for right, _ in pairs) / max(tokens, 1)
    spread = sum((right - share * size) ** 2 for right, size in pairs)
    error = sqrt(n / (n - 1) * spread) / tokens if n > 1 and tokens else None
    whole = sum(right == size for right, size in pairs)
    return {"accuracy": share, "error": error, "sequences": n, "tokens": tokens, "whole": whole}


def scores(y: Sequence[Sequence[str | None]], found: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The table of fields, and how often which label was given for which."""
    confusion = Counter(
        (a, b) for gold, row in zip(y, found, strict=True) for a, b in zip(gold, row, strict=True) if a is not None
    )
    every = evaluate(y, found)
    cells = [{"gold": a, "found": b, "n": n} for (a, b), n in sorted(confusion.items())]
    return {"fields": every["per_label"], "span_f1": every["span_f1"], "confusion": cells}


def acceptable(right: Sequence[bool], sure: Sequence[float], wanted: float = 0.95) -> dict[str, Any] | None:
    """The least confidence from which on at least the wanted share of sequences was right, ENOUGH of them or more.

    None if there is no such confidence.
    """
    order = sorted(range(len(right)), key=lambda i: -sure[i])
    best, hits = None, 0
    for k, i in enumerate(order, 1):
        hits += right[i]
        if k >= ENOUGH and hits >= wanted * k and (k == len(order) or sure[order[k]] < sure[i]):
            best = {"confidence": sure[i], "right": hits, "of": k}
    return best
