"""Labels for examples under class counts: of each class there must be a given number.

With losses L (m, K) of each example for each class this is a transportation problem.  Instead of its simplex method,
pairs of examples swap labels (after Keerthi, Sundararajan and Shevade, 2012): j with c and k with c' swap if

    L_j(c') + L_k(c) < L_j(c) + L_k(c')

For a pair of classes the best swaps are found by sorting; the pairs are scanned until none has a swap that improves.
For two classes that is the optimum; for more it may miss moves in which three or more labels go round.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

ROUNDING = 1e-12


def whole_counts(shares: np.ndarray, m: int) -> np.ndarray:
    """m things in these shares, as whole numbers (those with the largest remainders are rounded up)."""
    exact = m * shares / shares.sum()
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: m - counts.sum()]] += 1
    return counts


def first_labels(losses: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Labels with these counts: the cheapest classes first, measured from the cheapest of each example."""
    regret = losses - losses.min(axis=1, keepdims=True)
    labels, room = np.full(len(losses), -1, np.int64), counts.copy()
    for place in np.argsort(regret, axis=None, kind="stable"):
        j, c = divmod(int(place), losses.shape[1])
        if labels[j] < 0 and room[c] > 0:
            labels[j], room[c] = c, room[c] - 1
    return labels


def swapped(losses: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Labels with the same counts that no swap of two improves."""
    labels, small = labels.copy(), ROUNDING * (1.0 + np.abs(losses).max(initial=0.0))
    improving = True
    while improving:
        improving = False
        for c, d in combinations(range(losses.shape[1]), 2):
            ours, theirs = np.flatnonzero(labels == c), np.flatnonzero(labels == d)
            there, back = losses[ours, d] - losses[ours, c], losses[theirs, c] - losses[theirs, d]
            ours, theirs = ours[np.argsort(there, kind="stable")], theirs[np.argsort(back, kind="stable")]
            n = min(len(ours), len(theirs))
            gain = np.sort(there)[:n] + np.sort(back)[:n]
            better = int(np.searchsorted(gain, -small))  # the sums of two growing lists grow
            if better:
                labels[ours[:better]], labels[theirs[:better]] = d, c
                improving = True
    return labels
