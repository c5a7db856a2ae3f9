"""The loop of the multi-class dual method; rows are the arrays (indptr, indices, data) of the examples."""

import numpy as np

from semistruct.compiled import kernel

MOVES = 10  # of mass per visit of an example


@kernel
def visit(order, rows, norm2, y, C, cost, W, alpha):
    """Improve the dual variables of each example in turn, and W with them."""
    K, (indptr, indices, data) = W.shape[1], rows
    h, change = np.empty(K), np.empty(K)
    for i in order:
        if C[i] <= 0 or norm2[i] == 0:
            continue
        for c in range(K):
            h[c], change[c] = cost[y[i], c], 0.0
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(K):
                h[c] += data[j] * W[indices[j], c]
        for _ in range(MOVES):
            up, low = 0, -1
            for c in range(K):
                if h[c] > h[up]:
                    up = c
                if alpha[i, c] > 0 and (low < 0 or h[c] < h[low]):
                    low = c
            size = min(alpha[i, low], (h[up] - h[low]) / (2 * C[i] * norm2[i]))
            if low == up or size <= 1e-12:
                break
            alpha[i, low] = 0.0 if size == alpha[i, low] else alpha[i, low] - size
            alpha[i, up] += size
            change[low] += C[i] * size
            change[up] -= C[i] * size
            h[low] += C[i] * size * norm2[i]
            h[up] -= C[i] * size * norm2[i]
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(K):
                W[indices[j], c] += data[j] * change[c]
