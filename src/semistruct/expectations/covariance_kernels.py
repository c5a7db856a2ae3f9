"""Covariances of counts with the features of a chain model."""

import numpy as np

from semistruct.chain.kernels import sum_product
from semistruct.compiled import kernel
from semistruct.expectations.projection_kernels import lattice_of


@kernel
def covary(pieces, bounds, field, costs, marginal, steps):
    """The covariances of a count c(y), the sum of `costs` over a labelling, with labels and steps under the model.

    marginal (n_tokens, Y): Cov(c, 1[y_t = z]); steps (pieces, K, Y, Y): summed over the steps of each kind.  With the
    chain as a Markov chain, E[c | y_t] is the sum of what is expected of it before and after t, each by one recursion.
    """
    Y, scorer = field.scorer.tokens.shape[1], field.scorer
    for p in pieces:
        for i in range(bounds[p], bounds[p + 1]):
            a, b = scorer.offsets[i], scorer.offsets[i + 1]
            T = b - a
            lattice = lattice_of(field, i)
            own, pair, place = marginal[a:b], np.zeros((T, Y, Y)), np.arange(T)
            sum_product(lattice.unary, lattice.step, lattice.factors, lattice.group, place, own, pair)
            before, after = np.zeros((T, Y)), np.zeros((T, Y))
            for z in range(Y):
                before[0, z] = costs.token[costs.token_class[a], z] + costs.step[costs.step_class[a], Y, z]
            for t in range(1, T):
                cls = costs.step_class[a + t]
                for z in range(Y):
                    for y in range(Y):
                        if pair[t, y, z] > 0.0 and own[t, z] > 0.0:  # either may underflow
                            before[t, z] += pair[t, y, z] / own[t, z] * (before[t - 1, y] + costs.step[cls, y, z])
                    before[t, z] += costs.token[costs.token_class[a + t], z]
            for t in range(T - 2, -1, -1):
                cls = costs.step_class[a + t + 1]
                for y in range(Y):
                    for z in range(Y):
                        if pair[t + 1, y, z] > 0.0 and own[t, y] > 0.0:
                            here = costs.step[cls, y, z] + costs.token[costs.token_class[a + t + 1], z]
                            after[t, y] += pair[t + 1, y, z] / own[t, y] * (here + after[t + 1, z])
            mean = 0.0
            for z in range(Y):
                mean += own[T - 1, z] * before[T - 1, z]
            for t in range(T - 1, -1, -1):
                for z in range(Y):
                    if t > 0:
                        ahead = costs.token[costs.token_class[a + t], z] + after[t, z] - mean
                        for y in range(Y):
                            here = before[t - 1, y] + costs.step[costs.step_class[a + t], y, z] + ahead
                            steps[p, lattice.kind[lattice.group[t]], y, z] += pair[t, y, z] * here
                    own[t, z] *= before[t, z] + after[t, z] - mean
