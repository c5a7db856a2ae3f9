"""Sequential dual method for the multi-class SVM with costs.

    minimise over W    P(W) = 1/2 ||W||^2 + sum_i C_i max_c [ cost(y_i, c) + w_c.x_i - w_{y_i}.x_i ]

The dual has one distribution alpha_i over classes per example:  W = sum_i C_i x_i (e_{y_i} - alpha_i).  An example is
visited by moving mass from the class with the smallest value to that with the largest, by exact line search; the
duality gap  sum_i C_i (max_c h_ic - sum_c alpha_ic h_ic)  with  h_ic = cost(y_i, c) + w_c.x_i  is the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semistruct.core import kernels
from semistruct.solvers.convergence import warn_unconverged

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHECK_EVERY = 5  # passes


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
