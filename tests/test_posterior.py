"""What is expected of many sequences, and exact probabilities of labels and blocks, against listing every labelling."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

import brute
from semistruct.core.chain.inference import ChainWeights
from semistruct.core.chain.posterior import NOBODY, PIECES, log_odds, posterior, summed_steps
from strategies import batches, chains_of, dense, models, random_batch, random_chain, seeds, some_known

light = settings(deadline=None, max_examples=60)
ATOL = 1e-9


def expected(chains, weight):
    """(log Z, marginals, weighted steps) by enumeration."""
    parts = [brute.distribution(*chain) for chain in chains]
    log_z, marginal = np.array([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    return log_z, marginal, sum(c * part[2] for c, part in zip(weight, parts, strict=True))


def agrees(found, wanted):
    for a, b in zip((found.log_z, found.marginal, found.steps), wanted, strict=True):
        assert_allclose(a, b, rtol=0, atol=ATOL)


@light
@given(models())
def test_every_sequence_counts_once_if_nothing_is_said(model):
    batch, weights, chain_of = model
    agrees(posterior(batch, weights), expected(chain_of, np.ones(len(batch))))


@light
@given(models(), seeds)
def test_weights_multiply_the_steps_and_known_labels_restrict(model, seed):
    batch, weights, chain_of = model
    rng = np.random.default_rng(seed)
    weight, known = rng.choice([0.0, 0.3, 1.0, 2.5], len(batch)), some_known(rng, batch.n_tokens, weights.n_labels)
    fixed = [
        (brute.allowed_only(unary, own), step, kind)
        for (unary, step, kind), own in zip(chain_of, batch.split(known), strict=True)
    ]
    found = posterior(batch, weights, weight=weight, known=known)
    agrees(found, expected(fixed, weight))
    assert_allclose(found.marginal.sum(axis=1), 1.0, rtol=0, atol=ATOL)
    given_labels = known >= 0
    assert_allclose(found.marginal[given_labels, known[given_labels]], 1.0, rtol=0, atol=ATOL)


@light
@given(models())
def test_the_first_table_of_steps_is_in_force_at_every_step(model):
    """`trans` is the derivative of the sum of all log Z by the weights of steps."""
    batch, weights, _ = model
    found, small = posterior(batch, weights), 1e-5
    for place in np.ndindex(weights.trans.shape):
        sides = []
        for sign in (1, -1):
            trans = weights.trans.copy()
            trans[place] += sign * small
            sides.append(posterior(batch, ChainWeights(weights.tokens, trans)).log_z.sum())
        assert_allclose(found.trans[place], (sides[0] - sides[1]) / (2 * small), rtol=0, atol=1e-6)


def test_summing_steps_leaves_its_argument():
    steps = np.arange(12.0).reshape(3, 2, 2)
    out = summed_steps(steps)
    assert_array_equal(out, [[[12, 15], [18, 21]], *steps[1:]])
    assert_array_equal(steps, np.arange(12.0).reshape(3, 2, 2))


@pytest.mark.parametrize("n", [1, PIECES - 1, PIECES + 1, 300])
def test_threads_do_not_change_a_bit(n):
    rng = np.random.default_rng(n)
    batch = random_batch(rng, rng.integers(1, 6, n).tolist(), 4, n_kinds=2, real=True)
    weights, weight = random_chain(rng, batch, 3), rng.random(n)
    one, *others = (posterior(batch, weights, weight=weight, n_jobs=jobs) for jobs in (1, 2, 3, None))
    for other in others:
        for name in ("log_z", "marginal", "steps"):
            assert_array_equal(getattr(one, name), getattr(other, name))
    agrees(one, expected(chains_of(batch, weights), weight))


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
