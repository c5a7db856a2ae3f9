"""The sequential dual method against explicit feature vectors and a general solver of quadratic programs."""

import warnings
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import brute
from semistruct.core.chain.inference import effective_steps
from semistruct.learning.solvers import sdm, sdm_arrays
from semistruct.learning.solvers.sdm import DualState, solve
from semistruct.learning.solvers.sdm_arrays import sequences_of
from strategies import dense, problem_pairs, problems, random_problem, seeds

# the same problems every time: about one in ten thousand is so flat that 1,000 passes do not get to TOL
light = settings(deadline=None, max_examples=40, derandomize=True, database=None)
TOL = 1e-6
ROUNDING = 1e-9  # relative to the objective, or to entries of w of size 1

SHAPES = [
    {"n_kinds": kinds, "real": real, "Y": Y, "n_features": 2 + Y}
    for kinds, real, Y in [(1, False, 2), (1, True, 3), (2, False, 3), (2, True, 2)]
]


def cases(problem):
    """The examples as brute.Case."""
    b, rows = problem.batch, dense(problem.batch)
    out = []
    for i in range(len(b)):
        here = slice(b.offsets[i], b.offsets[i + 1])
        target = tuple(problem.target[here].tolist())
        out.append(brute.Case(rows[here], b.kind[here], target, problem.weight[i], problem.cost[here]))
    return out


def working_set(state, i):
    """The labellings (k, T), their dual variables (k,) and losses (k,) of example i; the first is the target."""
    s, k = state.sets, int(state.sets.used[i])
    slots = slice(s.slot_start[i], s.slot_start[i] + k)
    labels = s.labels[s.label_start[i] : s.label_start[i + 1]].reshape(s.room[i], -1)
    return labels[:k], s.alpha[slots], s.loss[slots]


def working_sets(problem, state):
    """[(labelling, alpha)] of every example."""
    found = (working_set(state, i) for i in range(len(problem.batch)))
    return [list(zip(map(tuple, labels.tolist()), alpha, strict=True)) for labels, alpha, _ in found]


def flat(found):
    """w of a state or a solution as one vector, laid out as by brute.joint_features."""
    return found.chain.flat


def rebased(state, problem):
    return state.rebased(problem, sequences_of(problem.batch, n_jobs=1))


def true_primal(problem, w):
    return brute.primal(cases(problem), problem.n_labels, problem.batch.n_kinds, w)


def slot_gram(sets, i):
    """The stored products of the labellings of example i."""
    return sets.gram[sets.gram_start[i] : sets.gram_start[i + 1]].reshape(sets.room[i], -1)


def check_feasible(problem, state):
    """alpha is one distribution per example; losses, products and w are those of the labellings in the sets."""
    examples, sets = cases(problem), working_sets(problem, state)
    for i, (case, pairs) in enumerate(zip(examples, sets, strict=True)):
        paths, alpha = zip(*pairs, strict=True)
        assert paths[0] == case.target
        assert len(set(paths)) == len(paths)
        assert min(alpha) >= 0
        assert_allclose(sum(alpha), 1.0, rtol=0, atol=ROUNDING)
        losses = [brute.loss(case, path) for path in paths]
        assert_allclose(working_set(state, i)[2], losses, rtol=0, atol=ROUNDING)
        truth, *others = (brute.joint_features(case, p, problem.n_labels, problem.batch.n_kinds) for p in paths)
        psi = truth - np.array([truth, *others])
        stored = slot_gram(state.sets, i)[: len(paths), : len(paths)]
        assert_allclose(stored, psi @ psi.T, rtol=0, atol=ROUNDING)
    assert_array_equal(state.weight, problem.weight)
    w, dual = brute.dual_point(examples, sets, problem.n_labels, problem.batch.n_kinds)
    assert_allclose(flat(state), w, rtol=0, atol=ROUNDING)
    return dual


def check_record(problem, state, record):
    """The certificate is true of this state, and of its weights as they are scaled."""
    primal, dual = true_primal(problem, record.details["scale"] * flat(state)), check_feasible(problem, state)
    size = ROUNDING * (1 + primal)
    assert_allclose(record.objective, primal, rtol=0, atol=size)
    assert_allclose(record.details["dual"], dual, rtol=0, atol=size)
    assert_allclose(record.gap, primal - dual, rtol=0, atol=size)


def check_same_optimum(problem, *solutions):
    """P is strongly convex: two points within a gap of the optimum are within 2 sqrt(2 gap) of each other."""
    first, *rest = (flat(solution) for solution in solutions)
    primal = true_primal(problem, first)
    for w in rest:
        assert np.linalg.norm(w - first) <= 2 * np.sqrt(2 * TOL * primal * (1 + TOL)) + ROUNDING
        assert_allclose(true_primal(problem, w), primal, rtol=2 * TOL, atol=ROUNDING)


@light
@given(problems())
def test_every_record_is_true_at_the_time(problem):
    state = DualState.zero(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DualState, "zero", lambda _: state)  # so that watch can see it
        found = solve(problem, tol=TOL, watch=lambda record: check_record(problem, state, record))
    assert found.state is state


@light
@given(problems())
def test_history(problem):
    watched = []
    found = solve(problem, tol=TOL, watch=watched.append)
    last = found.history[-1]
    assert found.stop == "converged"
    assert last.gap <= TOL * last.objective
    assert_allclose(found.relative_gap, last.gap / last.objective if last.objective else 0.0, rtol=ROUNDING)
    assert watched == found.history
    assert found.history[0].count == 0
    assert_allclose(found.history[0].details["dual"], 0.0, rtol=0, atol=ROUNDING)  # all mass on the targets
    assert found.history[0].details["viterbi"] == np.sum(problem.weight > 0)
    for a, b in pairwise(found.history):
        assert b.details["dual"] >= a.details["dual"] - ROUNDING * (1 + b.objective)
        assert b.count > a.count
        assert b.details["viterbi"] >= a.details["viterbi"] + len(problem.batch)
        assert b.seconds >= a.seconds
    for record in found.history:
        assert record.gap >= -ROUNDING * (1 + record.objective)
        assert_allclose(
            record.gap, record.objective - record.details["dual"], rtol=0, atol=ROUNDING * (1 + record.objective)
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_optimum_is_that_of_a_quadratic_program(seed, shape):
    problem = random_problem(seed, n=2 + seed, **shape)
    found = solve(problem, tol=TOL)
    w = brute.svm_optimum(cases(problem), problem.n_labels, problem.batch.n_kinds)
    assert_allclose(found.history[-1].objective, true_primal(problem, w), rtol=1e-5)
    assert_allclose(flat(found.state), w, rtol=0, atol=0.01)
    assert np.abs(w).max() > 0.1  # there was something to learn


@light
@given(problems(), st.integers(0, 3))
def test_if_some_scale_closes_the_gap_one_is_found(problem, passes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        state = solve(problem, tol=1e-9, max_passes=passes).state
    work = sdm.Workbench(problem, state, 1)
    work.look(np.arange(len(problem.batch)))
    primal = {s: true_primal(problem, s * flat(work.state)) for s in np.linspace(*sdm.SCALES, 61)}
    lowest, tol = min(primal.values()), 0.01
    dual = (1 - tol) * 1.01 * lowest  # as if: any s within 1% of the best closes this gap
    scale, value = sdm.best_scale(work, dual, tol)
    assert_allclose(value, true_primal(problem, scale * flat(work.state)), rtol=ROUNDING, atol=ROUNDING)
    assert value <= 1.01 * lowest + ROUNDING
    assert sdm.best_scale(work, -np.inf, tol)[0] == 1.0  # beyond reach: nothing is tried


def test_weights_are_scaled_where_that_closes_the_gap():
    problem = random_problem(1, n=30, n_features=40)
    hard = replace(problem, weight=np.full(30, 100.0))
    found = solve(hard, tol=0.1)
    assert found.history[-1].details["scale"] > 1
    assert_allclose(flat(found), found.history[-1].details["scale"] * flat(found.state), rtol=ROUNDING)
    assert found.objective < true_primal(hard, flat(found.state))
    check_record(hard, found.state, found.history[-1])


@light
@given(problem_pairs())
def test_a_rebased_state_is_feasible(pair):
    before, after = pair
    state = solve(before, tol=0.01).state
    check_feasible(after, rebased(state, after))


@light
@given(problems(), seeds)
def test_rebasing_to_larger_C_keeps_w(problem, seed):
    state = solve(problem, tol=0.01).state
    grown = problem.weight + np.random.default_rng(seed).choice([0.0, 0.5, 20.0], len(problem.weight))
    larger = replace(problem, weight=grown)
    found = rebased(state, larger)
    check_feasible(larger, found)
    assert_allclose(flat(found), flat(state), rtol=0, atol=ROUNDING)


@light
@given(problem_pairs())
def test_a_warm_start_reaches_the_same_optimum(pair):
    before, after = pair
    state = solve(before, tol=0.01).state
    warm, cold = solve(after, tol=TOL, start=state), solve(after, tol=TOL)
    check_record(after, warm.state, warm.history[-1])
    check_same_optimum(after, cold, warm)


@light
@given(problem_pairs())
def test_a_start_near_some_weights_reaches_the_same_optimum(pair):
    before, after = pair
    state = solve(before, tol=0.01).state
    near = state.chain
    there, cold = solve(after, tol=TOL, start=near), solve(after, tol=TOL)
    check_record(after, there.state, there.history[-1])
    check_same_optimum(after, cold, there)
    work = sdm.Workbench(after, None, 1)
    work.approach(near)
    check_feasible(after, work.state)
    losses = true_primal(after, flat(state)) - near.norm2 / 2
    assert work.state.sets.used.max() > 1 or losses < ROUNDING


@light
@given(problem_pairs())
def test_a_start_is_left_as_it_was(pair):
    first, after = pair
    state = solve(first, tol=0.01).state
    before = deepcopy(state)
    solve(after, tol=TOL, start=state)
    assert_array_equal(flat(state), flat(before))
    assert_array_equal(state.weight, before.weight)
    for name, array in before.sets._asdict().items():
        assert_array_equal(getattr(state.sets, name), array, err_msg=name)


@light
@given(problems())
def test_starting_at_the_solution_there_is_nothing_to_do(problem):
    found = solve(problem, tol=TOL)
    again = solve(problem, tol=2 * TOL, start=found.state)
    assert len(again.history) == 1
    assert_allclose(flat(again.state), flat(found.state), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(("least", "most"), [(3, 1000), (5, 1000), (7, 7), (9, 4)])
def test_a_good_start_can_be_made_to_go_on(least, most):
    problem = random_problem(5, n=4)
    found = solve(problem, tol=TOL)
    again = solve(problem, tol=2 * TOL, start=found.state, min_passes=least, max_passes=most)
    assert (again.history[-1].count, again.stop) == (min(least, most), "converged")
    check_record(problem, again.state, again.history[-1])


@pytest.mark.parametrize("max_passes", [0, 1, 3])
def test_too_few_passes_warn_and_the_record_describes_what_is_returned(max_passes):
    problem = random_problem(5, n=4, n_kinds=2, real=True)
    with pytest.warns(ConvergenceWarning, match=f"stopped after {max_passes} passes"):
        found = solve(problem, tol=1e-12, max_passes=max_passes)
    assert found.stop == "max_passes"
    assert found.history[-1].count == max_passes
    assert found.relative_gap > 1e-12
    check_record(problem, found.state, found.history[-1])


@pytest.mark.parametrize("real", [False, True])
def test_threads_do_not_change_the_result(real):
    problem = random_problem(1, n=150, n_features=12, n_kinds=2, real=real)  # several blocks, each on threads
    one, two = (solve(problem, tol=1e-3, n_jobs=n) for n in (1, 2))
    assert len(one.history) > 1
    assert_array_equal(flat(one.state), flat(two.state))
    assert [r.gap for r in one.history] == [r.gap for r in two.history]
    check_record(problem, two.state, two.history[-1])


def test_the_seed_changes_the_way_but_not_the_optimum():
    problem = random_problem(2, n=6)
    one, same, other = (solve(problem, tol=TOL, seed=seed) for seed in (0, 0, 1))
    assert_array_equal(flat(one.state), flat(same.state))
    assert not np.array_equal(flat(one.state), flat(other.state))
    check_same_optimum(problem, one, other)


@pytest.mark.parametrize("first", [1, 2])
def test_working_sets_that_outgrow_their_room(monkeypatch, first):
    problem = random_problem(4, n=8, max_T=5, n_features=6, n_kinds=2, real=True)
    usual = solve(problem, tol=TOL)
    monkeypatch.setattr(sdm, "LEAN_ROOM", first)
    monkeypatch.setattr(sdm, "MANY", 8)
    tight = solve(problem, tol=TOL)
    assert tight.state.sets.used.max() > 2 * first  # grew at least twice
    check_record(problem, tight.state, tight.history[-1])
    check_same_optimum(problem, usual, tight)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_without_the_cached_token_products(monkeypatch, shape):
    problem = random_problem(3, n=4, **shape)
    cached = solve(problem, tol=TOL)
    with monkeypatch.context() as patch:
        patch.setattr(sdm_arrays, "PRODUCT_LIMIT", 0)
        patch.setattr(sdm.kernels, "token_products", None)  # would fail if it were called
        direct = solve(problem, tol=TOL)
    check_record(problem, direct.state, direct.history[-1])
    check_same_optimum(problem, cached, direct)
    if not shape["real"]:  # small counts are exact in float32
        assert_array_equal(flat(direct.state), flat(cached.state))


def test_nothing_to_lose_is_solved_at_once():
    problem = random_problem(7)
    for change in ({"cost": np.zeros_like(problem.cost)}, {"weight": np.zeros_like(problem.weight)}):
        found = solve(replace(problem, **change))
        assert (found.stop, len(found.history), found.relative_gap) == ("converged", 1, 0.0)
        assert_array_equal(flat(found.state), 0.0)


@given(st.integers(1, 3), st.integers(1, 3), seeds)
def test_effective_steps_add_the_common_table(K, Y, seed):
    trans = np.random.default_rng(seed).normal(size=(K, Y, Y))
    kept = trans.copy()
    found = effective_steps(trans)
    for k in range(K):
        assert_array_equal(found[k], kept[0] if k == 0 else kept[0] + kept[k])
    assert_array_equal(trans, kept)


def test_one_shared_value_that_is_not_one():
    """Products of 0.7 with itself are no whole numbers: 32 bits would round them."""
    problem = random_problem(0)
    problem = replace(problem, batch=replace(problem.batch, values=np.array([0.7])))
    check_feasible(problem, solve(problem, tol=0.1).state)
