"""Mean and deviation of a few runs, and whether one method is better than another.

Two paired tests, which answer different questions:

    sign_flip         would other draws of the labelled sequences say the same?  Exact over all changes of sign, but
                      with n draws no p value lies below 2 / 2^n: five draws cannot show more than p = 0.0625.
    paired_bootstrap  would other reported sequences say the same, for these draws?  Sequences are drawn again with
                      replacement; one that is reported in several draws is one sequence.  It sees smaller differences.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from math import nan

import numpy as np

RESAMPLES = 10_000
CLOSE = 1e-12  # sums that differ by no more are taken for equal
EXACT_UP_TO = 16  # differences, for which all changes of sign are listed


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else nan


def deviation(values: Sequence[float]) -> float:
    """The sample standard deviation; NaN for fewer than two runs."""
    return statistics.stdev(values) if len(values) > 1 else nan


def sign_flip(differences: Sequence[float]) -> float:
    """The p value, two-sided, of the mean difference of pairs when each might as well have the other sign."""
    if not differences:
        return nan
    values = np.asarray(differences, float)
    if len(values) > EXACT_UP_TO:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (2**EXACT_UP_TO, len(values)))
    else:
        signs = np.array(list(product([-1.0, 1.0], repeat=len(values))))
    return float(np.mean(np.abs(signs @ values) >= abs(values.sum()) - CLOSE))


def paired_bootstrap(ours: np.ndarray, theirs: np.ndarray, tokens: np.ndarray, *, seed: int = 0) -> float:
    """The p value, two-sided, of the difference of two token accuracies.

    ours, theirs, tokens  (n,) of each sequence: how many tokens each method labels right, and how many there are
    """
    if not len(tokens):
        return nan
    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    sums = _drawn_again(len(tokens), seed) @ difference
    below, above = ((side + 1) / (RESAMPLES + 1) for side in (np.sum(sums <= CLOSE), np.sum(sums >= -CLOSE)))
    return float(min(1.0, 2 * min(below, above)))


@lru_cache(maxsize=4)
def _drawn_again(n: int, seed: int) -> np.ndarray:
    """(RESAMPLES, n): how often each of n sequences is drawn; the same for all methods, and kept."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(float)


def pooled(runs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> dict[int, int]:
    """{sequence: sum of its numbers} over runs of (sequences, numbers)."""
    total: Counter[int] = Counter()
    for which, numbers in runs:
        total.update(dict(zip(which, numbers, strict=True)))
    return total
