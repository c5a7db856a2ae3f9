"""How many labels do you need?  Accuracy against the number of labelled sequences, by cross-validation.

Each part of the labelled data is held out once; from the rest, growing numbers of sequences are drawn, the larger draws
containing the smaller ones.  The supervised and the annealed method learn from the same draws.  At one of the sizes,
ten more sequences are drawn, and for comparison picked, from those that are left.

What the next labels bring:  the error of most learners falls as a power of the number of labels, error = a * n ** -b.
Such a law is fitted to the points of the curve, once for each held-out part; the spread of what the laws foretell says
how far to trust them.  What picked labels bring more than random ones shrinks as the law does.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, isnan, log, sqrt
from typing import Any

import numpy as np

from semistruct.app.experiments import statistics
from semistruct.app.picking import pick
from semistruct.base.errors import DataError, ParameterError
from semistruct.data.corpus import Corpus, complete
from semistruct.data.metrics import METRICS, scorer
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.ssvm import SSVM
from semistruct.rules import Rules

FIRST, MOST = 5, 6  # the smallest size, and the number of sizes
NEXT = 10  # labels whose gain is foretold
LITTLE = 0.005  # the gain from the next labels that is not worth labelling for
LEAST = 1e-6  # an error of 0 has no logarithm
METHODS = ("supervised", "annealed")


@dataclass(frozen=True)
class Law:
    """error = scale * n ** -power, with a power that is not negative."""

    scale: float
    power: float

    @classmethod
    def through(cls, sizes: Sequence[int], errors: Sequence[float]) -> Law:
        """The law with the least squares in logarithms."""
        x, y = np.log(sizes), np.log(np.maximum(errors, LEAST))
        away = x - x.mean()
        slope = away @ (y - y.mean()) / (away @ away) if len(sizes) > 1 else 0.0
        power = max(float(-slope), 0.0)
        return cls(exp(float(y.mean() + power * x.mean())), power)

    def error(self, n: float) -> float:
        return self.scale * n**-self.power

    def gain(self, n: int) -> float:
        """By how much the error falls from n labels to NEXT more."""
        return self.error(n) - self.error(n + NEXT)


@dataclass(frozen=True)
class Trial:
    """Scores of the parts with NEXT more labels than n: random ones and picked ones."""

    n: int
    random: list[float]
    picked: list[float]


@dataclass(frozen=True)
class Expected:
    """A gain, and its standard error over the parts."""

    gain: float
    error: float

    @classmethod
    def of(cls, gains: Sequence[float]) -> Expected:
        deviation = statistics.deviation(gains)
        return cls(statistics.mean(gains), 0.0 if isnan(deviation) else deviation / sqrt(len(gains)))

    def __str__(self) -> str:
        return f"{100 * self.gain:+.1f} ± {100 * self.error:.1f}"


@dataclass(frozen=True)
class Outlook:
    """What NEXT more labels should bring; picked is None if that could not be measured."""

    random: Expected
    picked: Expected | None

    @classmethod
    def of(cls, sizes: Sequence[int], scores: Sequence[Sequence[float]], trial: Trial | None) -> Outlook:
        """From scores[k] of the parts with sizes[k] labels."""
        laws = [Law.through(sizes, [1 - score for score in part]) for part in zip(*scores, strict=True)]
        last, by_chance = sizes[-1], [law.gain(sizes[-1]) for law in laws]
        if trial is None:
            return cls(Expected.of(by_chance), None)
        more = [b - a for a, b in zip(trial.random, trial.picked, strict=True)]
        shrunk = [
            gain + extra * (gain / law.gain(trial.n) if law.power else trial.n / last)
            for law, gain, extra in zip(laws, by_chance, more, strict=True)
        ]
        return cls(Expected.of(by_chance), Expected.of(shrunk))

    @property
    def most(self) -> float:
        return max(way.gain for way in (self.random, self.picked) if way is not None)

    def row(self, threshold: float) -> dict[str, Any]:
        """Plain numbers."""
        ways = {"random": vars(self.random), "picked": self.picked and vars(self.picked)}
        return {"labels": NEXT, **ways, "threshold": threshold, "worthwhile": self.most >= threshold}

    def words(self, threshold: float) -> list[str]:
        """The expectation, and what follows from it."""
        picked = "" if self.picked is None else f", and {self.picked} if `semistruct pick` chooses them"
        told = f"The next {NEXT} labels should bring {self.random} points at random{picked}."
        if self.most >= threshold:
            return [told, f"It pays to label more: that is at least {100 * threshold:.1f} points."]
        instead = "better rules or features or a larger pool may help more"
        return [told, f"That is less than {100 * threshold:.1f} points: labelling more is not worthwhile; {instead}."]


@dataclass(frozen=True)
class Curve:
    """scores[method][k] holds the scores of the parts, by the metric, for sizes[k] labelled sequences."""

    sizes: list[int]
    scores: dict[str, list[list[float]]]
    rules: bool
    unlabelled: int
    metric: str = "token"
    trial: Trial | None = None

    def mean(self, method: str, k: int) -> float:
        return statistics.mean(self.scores[method][k])

    @property
    def better(self) -> str:
        """The method that is better with most labels."""
        return max(METHODS, key=lambda method: (self.mean(method, -1), method == "annealed"))

    @property
    def outlook(self) -> Outlook | None:
        """What the next labels should bring; None if there is one size only."""
        return None if len(self.sizes) < 2 else Outlook.of(self.sizes, self.scores[self.better], self.trial)

    def rows(self) -> list[dict[str, Any]]:
        """Plain numbers, one row per size."""

        def cell(scores: list[float]) -> dict[str, Any]:
            return {"mean": statistics.mean(scores), "spread": statistics.deviation(scores), "scores": scores}

        return [
            {"labelled": n, **{method: cell(self.scores[method][k]) for method in METHODS}}
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
    known = complete(labelled.labels)
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
    tried = trial_size(chosen, most)
    trial = None if tried is None else Trial(tried, [], [])
    total, done = folds * (len(chosen) * len(METHODS) + 2 * (trial is not None)), 0
    given = {"C": "auto", "rules": rules, "metric": metric, **params}
    for fold in range(folds):
        held, rest = known[fold::folds], [i for k, i in enumerate(known) if k % folds != fold]
        part = _Part(labelled, held, rest, pool, given)
        for k, n in enumerate(chosen):
            for method in METHODS:
                if show:
                    show(done, total)
                model, score = part.fitted(method, rest[:n])
                scores[method][k].append(score)
                done += 1
            if trial is not None and n == trial.n:
                trial.random.append(part.fitted("annealed", rest[: n + NEXT])[1])
                trial.picked.append(part.fitted("annealed", [*rest[:n], *part.picked(rest[:n], model)])[1])
                done += 2
    return Curve(chosen, scores, rules is not None, 0 if pool is None else len(pool), metric, trial)


def trial_size(sizes: Sequence[int], most: int) -> int | None:
    """The largest size that leaves as many sequences again to pick from as are picked; None if there is none."""
    return max((n for n in sizes if n + 2 * NEXT <= most), default=None)


@dataclass(frozen=True)
class _Part:
    """What is held out once, and the rest, as numbers of labelled sequences."""

    labelled: Corpus
    held: list[int]
    rest: list[int]
    pool: Sequence[Any] | None
    given: dict[str, Any]

    def pairs(self, which: Sequence[int]) -> tuple[list[Any], list[Any]]:
        return [self.labelled.tokens[i] for i in which], [self.labelled.labels[i] for i in which]

    def left(self, which: Sequence[int]) -> list[int]:
        """The rest without these."""
        taken = set(which)
        return [i for i in self.rest if i not in taken]

    def fitted(self, method: str, which: Sequence[int]) -> tuple[Any, float]:
        """A model that has learned from these, and its score on what is held out."""
        unlabelled = self.pairs(self.left(which))[0] if self.pool is None else self.pool
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one fit among many; stop_ shows an interruption
            supervised = method == "supervised"
            model: Any = (SSVM if supervised else AnnealedSSVM)(**self.given)
            model.fit(*self.pairs(which), **({} if supervised else {"pool": unlabelled}))
        if model.stop_ == "interrupted":
            raise KeyboardInterrupt
        return model.leave_uncalibrated(), scorer(self.given["metric"])(model, *self.pairs(self.held))

    def picked(self, which: Sequence[int], model: Any) -> list[int]:
        """Those that `pick` would label next."""
        left = self.left(which)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of copies
            found = pick(self.pairs(left)[0], NEXT, labelled=self.pairs(which), model=model)
        return [left[choice.number] for choice in found]


def advice(curve: Curve, threshold: float = LITTLE) -> list[str]:
    """Whether it pays to label more, in sentences; not if ten labels should bring less than the threshold."""
    n, (supervised, annealed) = curve.sizes[-1], (curve.mean(method, -1) for method in METHODS)
    words = METRICS[curve.metric].words
    out = [f"With {n} labelled sequences the {words} is {annealed:.1%} (annealed) and {supervised:.1%} (supervised)."]
    few, many = (
        next((m for k, m in enumerate(curve.sizes) if curve.mean(method, k) >= supervised), n)
        for method in ("annealed", "supervised")
    )
    if few < many:
        out.append(f"The annealed method needs {few} labelled sequences where supervised learning needs {many}.")
    if curve.outlook is None:
        return [*out, "A single size does not show what more labels would bring."]
    scores = curve.scores[curve.better]
    gain = Expected.of([b - a for a, b in zip(scores[-2], scores[-1], strict=True)])
    step = f"Going from {curve.sizes[-2]} to {n} labelled sequences brought {gain} points ({curve.better})"
    chance = ", which may be chance; more parts (--folds) would show it" if 0 < gain.gain <= 2 * gain.error else ""
    return [*out, f"{step}{chance}.", *curve.outlook.words(threshold)]
