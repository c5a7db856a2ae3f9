"""Exact probabilities of labels, blocks and labellings, compared with enumeration."""

from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose

from semistruct.chain.given import NOBODY, log_odds
from semistruct.chain.inference import ChainWeights
from strategies import batches, dense, seeds

Y = 3


def probabilities(batch, weights, i):
    """{labelling: its probability} of sequence i."""
    a, b = batch.offsets[i : i + 2]
    unary, step = dense(batch) @ weights.tokens, weights.step
    scores = {
        y: sum(unary[a + t, y[t]] for t in range(b - a))
        + sum(step[batch.kind[a + t], y[t - 1], y[t]] for t in range(1, b - a))
        for y in product(range(Y), repeat=b - a)
    }
    top = max(scores.values())
    total = sum(np.exp(s - top) for s in scores.values())
    return {y: np.exp(s - top) / total for y, s in scores.items()}


def cut(rng, T):
    """Some blocks, one after the other."""
    edges = sorted({0, T, *rng.integers(0, T + 1, 2).tolist()})
    return list(pairwise(edges))


@settings(deadline=None, max_examples=60)
@given(batches(), seeds)
def test_by_enumeration(batch, seed):
    rng = np.random.default_rng(seed)
    weights = ChainWeights(rng.normal(size=(batch.n_features, Y)), rng.normal(size=(batch.n_kinds, Y, Y)))
    path = rng.integers(0, Y, batch.n_tokens).astype(np.int16)
    beside = rng.integers(NOBODY, Y, (batch.n_tokens, 2)).astype(np.int16)
    blocks = [cut(rng, int(n)) for n in batch.lengths]
    token, block, sequence = log_odds(batch, weights, path, beside, blocks, n_jobs=1)
    for i, own in enumerate(blocks):
        a, b = batch.offsets[i : i + 2]
        chance, row, near = probabilities(batch, weights, i), path[a:b], beside[a:b]

        def share(holds, chance=chance):
            return sum(p for y, p in chance.items() if holds(y))

        wanted = [share(lambda y, t=t, row=row: y[t] == row[t]) for t in range(b - a)]
        assert_allclose(_p(token[a:b]), wanted, rtol=0, atol=1e-9)
        assert_allclose(_p(sequence[i]), share(lambda y, row=row: y == tuple(row)), rtol=0, atol=1e-9)
        for found, (start, end) in zip(block[i], own, strict=True):

            def there(y, s=start, e=end, row=row, near=near):
                longer = (s > 0 and y[s - 1] == near[s, 0]) or (e < len(y) and y[e] == near[e - 1, 1])
                return y[s:e] == tuple(row[s:e]) and not longer

            assert_allclose(_p(found), share(there), rtol=0, atol=1e-9)


def _p(odds):
    return 1 / (1 + np.exp(-odds))
