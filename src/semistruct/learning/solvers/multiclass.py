"""Sequential dual method for the multi-class SVM with costs.

    minimise over W    P(W) = 1/2 ||W||^2 + sum_i C_i max_c [ cost(y_i, c) + w_c.x_i - w_{y_i}.x_i ]

The dual has one distribution alpha_i over classes per example:  W = sum_i C_i x_i (e_{y_i} - alpha_i).  An example is
visited by moving mass from the class with the smallest value to that with the largest, by exact line search; the
duality gap  sum_i C_i (max_c h_ic - sum_c alpha_ic h_ic)  with  h_ic = cost(y_i, c) + w_c.x_i  is the certificate.

Class counts: labels of which each class must have a given number.  With losses L (m, K) of each example for each class
this is a transportation problem.  Instead of its simplex method, pairs of examples swap labels (after Keerthi,
Sundararajan and Shevade, 2012): j with c and k with c' swap if  L_j(c') + L_k(c) < L_j(c) + L_k(c').  For a pair of
classes the best swaps are found by sorting; the pairs are scanned until none has a swap that improves.  For two classes
that is the optimum; for more it may miss moves in which three or more labels go round.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from semistruct.core.kernels import kernels
from semistruct.learning.solvers import warn_unconverged

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHECK_EVERY = 5  # passes
ROUNDING = 1e-12


@dataclass(frozen=True)
class ClassWeights:
    """W (F, K), the dual variables alpha (n, K), and how good they are."""

    W: np.ndarray
    alpha: np.ndarray
    primal: float
    gap: float


def hinge(scores: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """(n, K): the loss of each example for each class it could have."""
    return np.stack([(scores + row).max(axis=1) for row in cost], axis=1) - scores


def solve_classes(
    X: csr_array,
    y: np.ndarray,
    C: np.ndarray,
    cost: np.ndarray,
    *,
    tol: float = 0.01,
    max_passes: int = 1000,
    alpha: np.ndarray | None = None,
    seed: int = 0,
) -> ClassWeights:
    """Minimise P until the gap is at most tol * P; warns when max_passes come first.  alpha: where to start."""
    n, K = X.shape[0], len(cost)
    C, cost = C.astype(float), np.ascontiguousarray(cost, float)
    own = np.eye(K)[y]
    alpha = own.copy() if alpha is None else alpha.copy()
    W = np.ascontiguousarray(X.T @ (C[:, None] * (own - alpha)))
    norm2, rng = np.asarray(X.multiply(X).sum(axis=1)).ravel(), np.random.default_rng(seed)
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(float)
    for passes in range(max_passes + 1):
        if passes % CHECK_EVERY == 0 or passes == max_passes:
            h = X @ W + cost[y]
            primal = 0.5 * float((W**2).sum()) + float(C @ (h.max(axis=1) - h[np.arange(n), y]))
            gap = float(C @ (h.max(axis=1) - (alpha * h).sum(axis=1)))
            if gap <= tol * primal:
                return ClassWeights(W, alpha, primal, gap)
        if passes < max_passes:
            kernels.visit_classes(rng.permutation(n), rows, norm2, y, C, cost, W, alpha)
    text = f"stopped after {max_passes} passes at a relative duality gap of {gap / primal:.2%}, above tol ({tol:.2%})"
    warn_unconverged(text)
    return ClassWeights(W, alpha, primal, gap)


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
