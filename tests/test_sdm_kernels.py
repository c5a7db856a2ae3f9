"""The loops of the sequential dual method against explicit feature vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import brute
from semistruct.chain.inference import ChainWeights
from semistruct.features import Encoder
from semistruct.solvers import sdm
from strategies import problems, seeds
from test_sdm import ROUNDING, cases, check_feasible, light, working_sets


@light
@given(problems(), seeds, st.sampled_from([0.2, 0.5, 1.0, np.inf]))
def test_mistakes_that_do_not_touch_are_inserted_alone(problem, seed, enough):
    work = sdm.Workbench(problem, None, 1)
    work.enough = enough
    work.state.grow(np.ones(len(problem.batch), bool))  # room for all
    rng, b = np.random.default_rng(seed), problem.batch
    work.found[:] = np.where(
        rng.random(b.n_tokens) < 0.5, rng.integers(problem.n_labels, size=b.n_tokens), problem.target
    )
    full = np.ones(len(b), bool)
    work._insert(np.arange(len(b)), full)
    assert not full.any()
    for i, (case, found) in enumerate(zip(cases(problem), b.split(work.found), strict=True)):
        wrong = found != np.array(case.target)
        runs = np.cumsum(np.diff(wrong.astype(int), prepend=0) > 0) * wrong
        alone = [tuple(np.where(runs == k, found, case.target).tolist()) for k in range(1, runs.max() + 1)]
        whole = [tuple(found.tolist())] if enough >= 1 else []  # the target has all the mass
        inserted = {path for path, _ in working_sets(problem, work.state)[i]}
        assert inserted == {case.target, *whole, *alone}
    check_feasible(problem, work.state)


@light
@given(problems(), st.integers(1, 6), seeds)
def test_values_and_moves_are_those_of_explicit_features(problem, n, seed):
    rng, b, K, Y = np.random.default_rng(seed), problem.batch, problem.batch.n_kinds, problem.n_labels
    chain = ChainWeights(rng.normal(size=(b.n_features, Y)), rng.normal(size=(K, Y, Y)))
    w, rows = sdm.set_kernels.W(chain.tokens, chain.trans, chain.step), sdm._rows(b, n_jobs=1)
    for i, case in enumerate(cases(problem)):
        T = len(case.target)
        others = np.where(rng.random((n, T)) < 0.5, rng.integers(Y, size=(n, T)), case.target)
        here = np.array([case.target, *others], np.int16)
        psi = brute.joint_features(case, case.target, Y, K) - [brute.joint_features(case, tuple(y), Y, K) for y in here]
        where, edges, spans = sdm.kernels.disagreement(here)
        assert_array_equal(where, np.flatnonzero((here != here[0]).any(axis=0)))
        loss, h, change = rng.normal(size=n + 1), np.empty(n + 1), rng.choice([0.0, -1.0, 0.5, 1.0], n + 1)
        sdm.kernels.slot_values(b.offsets[i], rows, w, here, loss, where, edges, spans, h)
        before = np.concatenate([chain.tokens.ravel(), chain.trans.ravel()])
        assert_allclose(h, loss - psi @ before, rtol=0, atol=ROUNDING)
        sdm.kernels.move_weights(b.offsets[i], rows, w, here, change, where, edges, spans)
        after = np.concatenate([chain.tokens.ravel(), chain.trans.ravel()])
        assert_allclose(after, before + change @ psi, rtol=0, atol=ROUNDING)
        assert_allclose(w.step, chain.step, rtol=0, atol=ROUNDING)


@settings(deadline=None, max_examples=60)
@given(seeds, st.sampled_from([0.1, 1.0, 10.0]))
def test_a_pair_of_labellings_is_balanced_by_one_step(seed, C):
    rng = np.random.default_rng(seed)
    psi, h, alpha = rng.normal(size=(2, 3)), rng.normal(size=2), rng.dirichlet([1.0, 1.0])
    before, mass = h.copy(), alpha.copy()
    apart = sdm.kernels.balance(h, alpha, psi @ psi.T, C, 0.0, 1)
    low = np.argmin(before)
    assert_allclose(apart, np.ptp(before), rtol=0, atol=ROUNDING)
    assert_allclose(alpha.sum(), 1.0, rtol=0, atol=ROUNDING)
    assert_allclose(h, before - C * psi @ psi.T @ (alpha - mass), rtol=0, atol=ROUNDING)
    if alpha[low] > 0:  # the best of the line: the two values have met
        assert_allclose(h[0], h[1], rtol=0, atol=ROUNDING)
    else:  # or all that there was has moved
        assert h[low] <= h[1 - low] + ROUNDING


@pytest.mark.parametrize("T", [101, 5001])
def test_products_of_long_labellings_are_exact(T):
    """All tokens are alike, and all have the wrong label: then the product is as large as it can be."""
    encoder = Encoder.for_data([["a"] * T], ("lower", "shape"))
    problem = sdm.Problem(encoder.fit([["a"] * T]), 2, np.zeros(T, np.int16), np.ones(1), np.ones(T))
    sets = sdm.solve(problem, tol=0.5).state.sets
    assert int(sets.gram.max()) == 2 * 2 * T**2 + 2 * (T - 1) ** 2
