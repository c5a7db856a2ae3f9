"""The loops of the sequential dual method against explicit feature vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import brute
from semistruct.core.kernels import kernels
from semistruct.features import Encoder
from semistruct.learning.solvers import sdm
from strategies import problems, seeds
from test_sdm import ROUNDING, cases, check_feasible, flat, light, working_sets


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


def filled_bench(problem, rng, n):
    """A Workbench with up to n random labellings of each example in its working sets, and random weights."""
    work, b = sdm.Workbench(problem, None, 1), problem.batch
    work.singly = False
    for _ in range(3):
        work.state.grow(np.ones(len(b), bool))
    full = np.zeros(len(b), bool)
    for _ in range(n):
        other = rng.integers(problem.n_labels, size=b.n_tokens)
        work.found[:] = np.where(rng.random(b.n_tokens) < 0.5, other, problem.target)
        work.state.sets.alpha[:] = 1.0  # so that nothing is forgotten
        work._insert(np.arange(len(b)), full)
    assert not full.any()
    for weights in work.state.chain.tokens, work.state.chain.trans:
        weights[:] = rng.normal(size=weights.shape)
    work.refresh()
    return work


def psi_of(problem, case, paths):
    return brute.joint_features(case, case.target, problem.n_labels, problem.batch.n_kinds) - np.array(
        [brute.joint_features(case, path, problem.n_labels, problem.batch.n_kinds) for path in paths]
    )


@light
@given(problems(), st.integers(1, 6), seeds)
def test_values_and_moves_are_those_of_explicit_features(problem, n, seed):
    work = filled_bench(problem, np.random.default_rng(seed), n)
    sets, everyone = work.state.sets, np.arange(len(problem.batch))
    for i, case in enumerate(cases(problem)):
        paths, size = [path for path, _ in working_sets(problem, work.state)[i]], ROUNDING * (1 + case.C)
        psi, loss = psi_of(problem, case, paths), np.array([brute.loss(case, path) for path in paths])
        alpha = sets.alpha[sets.slot_start[i] :][: len(paths)]
        for start in np.eye(len(paths)):  # all mass on one of them: `apart` tells how far it is from the largest value
            alpha[:], before = start, flat(work.state)
            h = loss - psi @ before
            work.sweep(everyone[i : i + 1])
            assert_allclose(work.apart[i], case.C * (h.max() - start @ h), rtol=0, atol=size)
            assert_allclose(flat(work.state), before + case.C * (alpha - start) @ psi, rtol=0, atol=size)
            assert_allclose(work.w.step, work.state.chain.step, rtol=0, atol=size)


@light
@given(problems(), seeds)
def test_a_pair_of_labellings_is_balanced_by_one_step(problem, seed):
    rng = np.random.default_rng(seed)
    work = filled_bench(problem, rng, 1)
    sets, everyone = work.state.sets, np.arange(len(problem.batch))
    for i, case in enumerate(cases(problem)):
        paths = [path for path, _ in working_sets(problem, work.state)[i]]
        if len(paths) < 2 or case.C == 0:
            continue
        psi, loss = psi_of(problem, case, paths), np.array([brute.loss(case, path) for path in paths])
        mass, alpha = rng.dirichlet([1.0, 1.0]), sets.alpha[sets.slot_start[i] :][:2]
        alpha[:], before, size = mass, loss - psi @ flat(work.state), ROUNDING * (1 + case.C)
        kernels.improve(everyone[i : i + 1], work.rows, work.goal, sets, work.w, 0.0, 1, work.apart)
        h, low = loss - psi @ flat(work.state), np.argmin(before)
        assert_allclose(work.apart[i], case.C * np.ptp(before), rtol=0, atol=size)
        assert_allclose(alpha.sum(), 1.0, rtol=0, atol=ROUNDING)
        if alpha[low] > 0:  # the best of the line: the two values have met
            assert_allclose(h[0], h[1], rtol=0, atol=size)
        else:  # or all that there was has moved
            assert h[low] <= h[1 - low] + size


@pytest.mark.parametrize("T", [101, 5001])
def test_products_of_long_labellings_are_exact(T):
    """All tokens are alike, and all have the wrong label: then the product is as large as it can be."""
    encoder = Encoder.for_data([["a"] * T], ("lower", "shape"))
    problem = sdm.Problem(encoder.fit([["a"] * T]), 2, np.zeros(T, np.int16), np.ones(1), np.ones(T))
    sets = sdm.solve(problem, tol=0.5).state.sets
    assert int(sets.gram.max()) == 2 * 2 * T**2 + 2 * (T - 1) ** 2
