"""How many labels do you need?  Accuracy against the number of labelled sequences, by cross-validation.

Each part of the labelled data is held out once; from the rest, growing numbers of sequences are drawn, the larger draws
containing the smaller ones.  The supervised and the annealed method learn from the same draws.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, log, sqrt
from typing import Any

from semistruct.corpus import Corpus
from semistruct.errors import DataError, ParameterError
from semistruct.experiments import statistics
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.ssvm import SSVM
from semistruct.metrics import METRICS, scorer
from semistruct.rules import Rules

FIRST, MOST = 5, 6  # the smallest size, and the number of sizes
LITTLE = 0.005  # a gain that is not worth labelling for
METHODS = ("supervised", "annealed")


@dataclass(frozen=True)
class Curve:
    """scores[method][k] holds the scores of the parts, by the metric, for sizes[k] labelled sequences."""

    sizes: list[int]
    scores: dict[str, list[list[float]]]
    rules: bool
    unlabelled: int
    metric: str = "token"

    def mean(self, method: str, k: int) -> float:
        return statistics.mean(self.scores[method][k])

    def rows(self) -> list[dict[str, Any]]:
        """Plain numbers, one row per size."""
        return [
            {
                "labelled": n,
                **{
                    method: {
                        "mean": self.mean(method, k),
                        "spread": statistics.deviation(self.scores[method][k]),
                        "scores": self.scores[method][k],
                    }
                    for method in METHODS
                },
            }
            for k, n in enumerate(self.sizes)
        ]


def sensible_sizes(most: int) -> list[int]:
    """Up to six numbers of sequences from 5 to `most`, by doubling, or faster if that would be more than six."""
    first = min(FIRST, max(1, most // 2))
    steps = min(MOST - 1, max(1, round(log(most / first, 2)))) if most > first else 0
    sizes = [round(first * (most / first) ** (k / steps)) for k in range(steps + 1)] if steps else [most]
    return sorted(set(sizes))


def learning_curve(
    labelled: Corpus,
    pool: Sequence[Any] | None,
    rules: Rules | None,
    *,
    folds: int = 5,
    sizes: Sequence[int] | None = None,
    seed: int = 0,
    metric: str = "token",
    show: Callable[[int, int], None] | None = None,
    **params: Any,
) -> Curve:
    """The curve; without a pool, the sequences that were not drawn are used as one.

    show    is called with the number of fits done and the number of all fits
    metric  of the curve, which C is chosen by too
    params  of both methods, such as features and n_jobs
    """
    known = [i for i, row in enumerate(labelled.labels) if row is not None and None not in row]
    if len(known) < folds:
        problem = f"{len(known)} sequences are fully labelled, too few for {folds} parts"
        raise DataError.at(labelled.source, None, problem)
    random.Random(seed).shuffle(known)
    most = len(known) - -(-len(known) // folds)
    chosen = sensible_sizes(most) if sizes is None else sorted(set(sizes))
    if chosen[0] < 1 or chosen[-1] > most:
        why = f"a part of the {len(known)} labelled sequences is held out"
        raise ParameterError(f"sizes must be from 1 to {most}: {why}")
    scores: dict[str, list[list[float]]] = {method: [[] for _ in chosen] for method in METHODS}
    total, done = folds * len(chosen) * len(METHODS), 0
    for fold in range(folds):
        held, rest = known[fold::folds], [i for k, i in enumerate(known) if k % folds != fold]
        test = [labelled.tokens[i] for i in held], [labelled.labels[i] for i in held]
        for k, n in enumerate(chosen):
            learn = [labelled.tokens[i] for i in rest[:n]], [labelled.labels[i] for i in rest[:n]]
            unlabelled = [labelled.tokens[i] for i in rest[n:]] if pool is None else pool
            given = {"C": "auto", "rules": rules, "metric": metric, **params}
            for method in METHODS:
                if show:
                    show(done, total)
                scores[method][k].append(_score(method, given, learn, unlabelled, test))
                done += 1
    return Curve(chosen, scores, rules is not None, 0 if pool is None else len(pool), metric)


def _score(method: str, given: dict[str, Any], learn: Any, unlabelled: Sequence[Any], test: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one fit among many; stop_ shows an interruption
        if method == "supervised":
            model: Any = SSVM(**given).fit(*learn)
        else:
            model = AnnealedSSVM(**given).fit(*learn, pool=unlabelled)
    if model.stop_ == "interrupted":
        raise KeyboardInterrupt
    return scorer(given["metric"], rules=given["rules"] is not None)(model, *test)


def advice(curve: Curve) -> list[str]:
    """Whether it pays to label more, in sentences."""
    last = len(curve.sizes) - 1
    n, (supervised, annealed) = curve.sizes[last], (curve.mean(method, last) for method in METHODS)
    better = "annealed" if annealed >= supervised else "supervised"
    words = METRICS[curve.metric].words
    out = [f"With {n} labelled sequences the {words} is {annealed:.1%} (annealed) and {supervised:.1%} (supervised)."]
    few, many = (
        next((m for k, m in enumerate(curve.sizes) if curve.mean(method, k) >= supervised), n)
        for method in ("annealed", "supervised")
    )
    if few < many:
        out.append(f"The annealed method needs {few} labelled sequences where supervised learning needs {many}.")
    if last == 0:
        return [*out, "A single size does not show what more labels would bring."]
    before = curve.sizes[last - 1]
    gains = [b - a for a, b in zip(curve.scores[better][last - 1], curve.scores[better][last], strict=True)]
    gain, deviation = statistics.mean(gains), statistics.deviation(gains)
    error = 0.0 if isnan(deviation) else deviation / sqrt(len(gains))
    step = (
        f"Going from {before} to {n} labelled sequences brought {100 * gain:+.1f} ± {100 * error:.1f} points ({better})"
    )
    if gain <= LITTLE:
        return [*out, f"{step}: better rules or features or a larger pool may help more than further labels."]
    if gain <= 2 * error:
        return [*out, f"{step}, which may be chance: more labels may help; more parts (--folds) would show it."]
    more = expected_gain(before, 1 - curve.mean(better, last - 1), n, 1 - curve.mean(better, last))
    return [*out, f"{step}: it pays to label more; {2 * n} should bring about {100 * more:.1f} points more."]


def expected_gain(n1: int, error1: float, n2: int, error2: float) -> float:
    """The gain to expect from twice n2 labels if the error keeps falling as a power of their number."""
    power = log(error1 / error2) / log(n2 / n1) if 0 < error2 < error1 else 0.0
    return error2 * (1 - 2**-power)
