"""Random small inputs shared by the tests."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semistruct.core.batch import SequenceBatch, starts
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.solvers.sdm import Problem

FORBIDDEN = st.just(-np.inf)
REAL = st.floats(-20, 20, allow_subnormal=False)
REAL_OR_FORBIDDEN = st.one_of(*[REAL] * 5, FORBIDDEN)
SMALL_INTEGERS = st.integers(-1, 1).map(float)
INTEGERS_OR_FORBIDDEN = st.one_of(*[SMALL_INTEGERS] * 5, FORBIDDEN)

VALUES = [-2.1, -1.4, -0.7, 0.7, 1.4, 2.1]
"""Features that nearly cancel each other would make for flat, slowly solved problems; these do so exactly or not."""

seeds = st.integers(0, 2**32 - 1)


@st.composite
def chains(draw, scores=REAL_OR_FORBIDDEN, max_T=5, max_Y=3, max_K=3):
    """(unary, step, kind) as the kernels take them."""
    T, Y, K = (draw(st.integers(1, n)) for n in (max_T, max_Y, max_K))
    unary = draw(arrays(np.float64, (T, Y), elements=scores, fill=st.nothing()))
    step = draw(arrays(np.float64, (K, Y, Y), elements=scores, fill=st.nothing()))
    kind = draw(arrays(np.int16, T, elements=st.integers(0, K - 1), fill=st.nothing()))
    return unary, step, kind


def random_batch(rng, lengths, n_features, *, n_kinds=1, real=False, density=0.5):
    """Sequences of these lengths; about every second feature is on, with value 1 or one of VALUES."""
    on = rng.random((sum(lengths), n_features)) < density
    entries = int(on.sum())
    return SequenceBatch(
        indptr=starts(on.sum(axis=1)),
        indices=np.nonzero(on)[1].astype(np.int32),
        values=rng.choice(VALUES, entries) if real else np.ones(1),
        offsets=starts(np.array(lengths, np.int64)),
        kind=rng.integers(0, n_kinds, sum(lengths)).astype(np.int16),
        n_features=n_features,
        n_kinds=n_kinds,
    )


def dense(batch):
    """The features as a (n_tokens, n_features) matrix."""
    out = np.zeros((batch.n_tokens, batch.n_features))
    for t in range(batch.n_tokens):
        for j in range(batch.indptr[t], batch.indptr[t + 1]):
            out[t, batch.indices[j]] = batch.values[0 if len(batch.values) == 1 else j]
    return out


@st.composite
def batches(draw):
    rng = np.random.default_rng(draw(seeds))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    kinds, real = draw(st.integers(1, 3)), draw(st.booleans())
    return random_batch(rng, lengths, draw(st.integers(1, 5)), n_kinds=kinds, real=real)


def random_chain(rng, batch, Y, size=1.0):
    """Weights of about this size."""
    return ChainWeights(rng.normal(0, size, (batch.n_features, Y)), rng.normal(0, size, (batch.n_kinds, Y, Y)))


def chains_of(batch, weights):
    """The (unary, step, kind) of each sequence."""
    step = np.array([weights.trans[0] + (k > 0) * weights.trans[k] for k in range(batch.n_kinds)])
    parts = zip(batch.split(dense(batch) @ weights.tokens), batch.split(batch.kind), strict=True)
    return [(unary, step, kind) for unary, kind in parts]


@st.composite
def models(draw):
    """A batch, weights for it, and the (unary, step, kind) of each sequence."""
    batch, Y = draw(batches()), draw(st.integers(1, 3))
    weights = random_chain(np.random.default_rng(draw(seeds)), batch, Y)
    return batch, weights, chains_of(batch, weights)


def some_known(rng, n_tokens, Y, share=1 / 3):
    """About this share of the labels is known."""
    known = rng.integers(0, Y, n_tokens).astype(np.int16)
    known[rng.random(n_tokens) >= share] = -1
    return known


def random_problem(seed, *, n=3, max_T=4, Y=3, n_features=3, n_kinds=1, real=False):
    """A problem for the solver: one example has C = 0, and some tokens cost nothing."""
    rng = np.random.default_rng(seed)
    lengths = list(rng.integers(1, max_T + 1, n))
    batch = random_batch(rng, lengths, n_features, n_kinds=n_kinds, real=real)
    return Problem(batch, Y, **random_answers(rng, batch, Y))


def random_answers(rng, batch, Y):
    """Targets, C_i and costs; the longest sequence has a say, since P = 0 can be approached but not reached."""
    weight, longest = rng.uniform(0.1, 3.0, len(batch)), np.argmax(batch.lengths)
    weight[rng.choice(np.delete(np.arange(len(batch)), longest))] = 0.0
    cost = rng.choice([0.0, 1.0, 1.0, 0.3], batch.n_tokens) * rng.choice([1.0, 2.5])
    cost[batch.offsets[longest]] = 1.0
    return {"target": rng.integers(0, Y, batch.n_tokens).astype(np.int16), "weight": weight, "cost": cost}


@st.composite
def problems(draw):
    sizes = {"n": st.integers(2, 4), "Y": st.integers(1, 3), "n_features": st.integers(1, 4)}
    sizes |= {"n_kinds": st.integers(1, 2), "real": st.booleans()}
    return random_problem(draw(seeds), **{name: draw(size) for name, size in sizes.items()})


@st.composite
def problem_pairs(draw):
    """Two problems about the same sequences, with other targets, C_i and costs."""
    problem = draw(problems())
    rng = np.random.default_rng(draw(seeds))
    return problem, replace(problem, **random_answers(rng, problem.batch, problem.n_labels))
