"""Conditional random fields: the objective by enumeration, the optimum by other solvers, and the estimator."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import brute
from annealed_cases import LABELLED, POOL, X, Y, same_weights
from semistruct import CRF
from semistruct.core.batch import SequenceBatch
from semistruct.core.lbfgs import minimise
from semistruct.learning.learners import LikelihoodLearner
from semistruct.learning.solvers.crf import PERIOD, Columns, Expected, Objective, merged, solve
from semistruct.rules import Rules, StartsWith
from strategies import batches, chains_of, dense, random_batch, random_chain, seeds, some_known

light = settings(deadline=None, max_examples=40)
ROUNDING = 1e-9
EXACT = {"tol": 1e-13, "max_iterations": 5000}
SMALL = {"features": ["word", "shape"]}


def soft_goal(rng, batch, Y, weight):
    """A random distribution over the labellings of every sequence: as Expected, and as shares."""
    shares, tokens, steps = [], [], np.zeros((batch.n_kinds, Y, Y))
    for c, n, kind in zip(weight, batch.lengths, batch.split(batch.kind), strict=True):
        paths = brute.labellings(n, Y)
        share = rng.dirichlet(np.full(len(paths), 0.5))
        own = np.zeros((n, Y))
        for path, p in zip(paths, share, strict=True):
            for t, y in enumerate(path):
                own[t, y] += p
                if t > 0:
                    steps[kind[t], path[t - 1], y] += c * p
        tokens.append(own)
        shares.append(dict(zip(paths, share.tolist(), strict=True)))
    return Expected(np.concatenate(tokens), steps), shares


def examples_of(batch, weight, goals):
    parts = zip(batch.split(dense(batch)), batch.split(batch.kind), weight, goals, strict=True)
    return [brute.Learned(*part) for part in parts]


def problem(batch, Y, seed, what):
    """(Objective, the same by enumeration)."""
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.3, 1.0, 4.0], len(batch))
    if what == "soft":
        goal, goals = soft_goal(rng, batch, Y, weight)
    else:
        share = {"full": 1.0, "partial": 0.5, "unknown": 0.0}[what]
        goal = some_known(rng, batch.n_tokens, Y, share)
        goals = [tuple(row.tolist()) for row in batch.split(goal)]
    return Objective(batch, Y, weight, goal, merge=False), brute.random_field(
        examples_of(batch, weight, goals), Y, batch.n_kinds
    )


KINDS = ["full", "partial", "unknown", "soft"]


# ---- the objective


@pytest.mark.parametrize("what", KINDS)
@light
@given(batches(), st.integers(1, 3), seeds)
def test_value_and_gradient(what, batch, Y, seed):
    objective, enumerated = problem(batch, Y, seed, what)
    w = np.random.default_rng(seed).normal(0, 1.5, objective.size)
    value, gradient = objective(w)
    assert_allclose(value, enumerated(w)[0], rtol=ROUNDING, atol=ROUNDING)
    small = 1e-5
    for j in range(len(w)):
        there, back = w.copy(), w.copy()
        there[j], back[j] = w[j] + small, w[j] - small
        slope = (enumerated(there)[0] - enumerated(back)[0]) / (2 * small)
        assert_allclose(gradient[j], slope, rtol=1e-6, atol=1e-6)


@light
@given(batches(), seeds)
def test_columns_are_the_transposed_features(batch, seed):
    of = np.random.default_rng(seed).normal(size=(batch.n_tokens, 2))
    assert_allclose(Columns(batch).gather(of), dense(batch).T @ of, rtol=0, atol=ROUNDING)


# ---- the solver


@pytest.mark.parametrize("what", ["full", "soft"])
@settings(deadline=None, max_examples=12)
@given(batches(), st.integers(1, 3), seeds)
def test_the_optimum_of_another_solver(what, batch, Y, seed):
    objective, enumerated = problem(batch, Y, seed, what)
    other = minimize(enumerated, np.zeros(objective.size), jac=True, method="BFGS", options={"gtol": 1e-9})
    found = solve(objective, **EXACT)
    w = objective.pack(found.chain)
    assert found.history[-1].objective <= other.fun + ROUNDING * (1 + abs(other.fun))
    assert_allclose(w, other.x, rtol=0, atol=1e-4)
    assert_allclose(found.history[0].objective, enumerated(np.zeros_like(w))[0], rtol=ROUNDING, atol=ROUNDING)
    assert found.stop == "converged"


@pytest.mark.parametrize("what", KINDS)
@settings(deadline=None, max_examples=12)
@given(batches(), seeds, st.sampled_from([0.03, 0.3, 3.0]))
def test_absolute_weights_obey_their_optimality_conditions(what, batch, seed, l1):
    objective, enumerated = problem(batch, 2, seed, what)
    found = solve(objective, l1=l1, **EXACT)
    w = objective.pack(found.chain)
    value, slope = enumerated(w)
    assert_allclose(found.history[-1].objective, value + l1 * np.abs(w).sum(), rtol=1e-8, atol=1e-8)
    assert (np.abs(slope) <= l1 + 1e-4).all()
    assert_allclose(slope[w != 0], -l1 * np.sign(w[w != 0]), rtol=0, atol=1e-4)


def fixed_problem(n=6, Y=3, seed=0):
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, rng.integers(1, 5, n).tolist(), 4, n_kinds=2, real=True)
    return batch, Objective(
        batch, Y, rng.uniform(0.5, 3, n), rng.integers(0, Y, batch.n_tokens).astype(np.int16), merge=False
    )


def test_the_objective_falls_and_the_start_does_not_matter():
    batch, objective = fixed_problem()
    seen = []
    found = solve(objective, tol=1e-10, watch=seen.append)
    values = [row.objective for row in found.history]
    assert values == sorted(values, reverse=True)
    assert [row.count for row in found.history] == list(range(len(values)))
    assert seen == found.history
    start = random_chain(np.random.default_rng(1), batch, 3, 3.0)
    other = solve(objective, tol=1e-10, start=start)
    assert_allclose(other.history[0].objective, objective(objective.pack(start))[0], rtol=ROUNDING)
    assert_allclose(other.history[-1].objective, values[-1], rtol=1e-7, atol=0)


def test_tol_is_the_fall_in_some_iterations():
    found = solve(fixed_problem()[1], tol=0.01)
    values = [row.objective for row in found.history]
    falls = [a - b for a, b in zip(values, values[PERIOD:], strict=False)]
    assert falls[-1] <= 0.01 * values[-1]
    assert all(fall > 0.01 * value for fall, value in zip(falls[:-1], values[PERIOD:], strict=False))


def test_reaching_the_limit_is_told():
    _, objective = fixed_problem()
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        assert solve(objective, max_iterations=2).stop == "max_iterations"
    assert solve(objective, max_iterations=2, warn=False).stop == "max_iterations"


class Misled:
    """An objective with a gradient that leads upwards once the value is low."""

    def __init__(self, objective, low):
        self.objective, self.low = objective, low

    def __getattr__(self, name):
        return getattr(self.objective, name)

    def __call__(self, w):
        f, gradient = self.objective(w)
        return f, gradient if f > self.low else -gradient


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_a_line_search_that_fails_is_told(l1):
    _, objective = fixed_problem()
    values = [row.objective for row in solve(objective, tol=1e-10, l1=l1).history]
    misled = Misled(objective, (values[0] + values[-1]) / 2)
    with pytest.warns(ConvergenceWarning, match="no further step lowers it"):
        found = solve(misled, tol=1e-6, l1=l1)
    assert found.stop == "line_search"
    assert found.history[-1].objective > values[-1] + 1e-3
    assert solve(misled, warn=False, l1=l1).stop == "line_search"


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_no_step_from_the_minimum_itself_is_no_failure(l1):
    _, objective = fixed_problem()
    best = solve(objective, tol=1e-15, l1=l1)
    assert best.stop == "converged"  # though rounding ends it
    assert solve(objective, tol=1e-9, l1=l1, start=best.chain).stop == "converged"


def test_why_a_minimisation_ends():
    def bowl(x):
        return float(x @ (scale * x)), 2 * scale * x

    scale, start = np.array([1.0, 100.0]), np.array([3.0, 1.0])
    assert minimise(bowl, start, max_iterations=100).stop == "converged"
    assert minimise(bowl, start, max_iterations=1).stop == "max_iterations"
    assert minimise(bowl, start, max_iterations=2, done=lambda f: f < bowl(start)[0]).stop == "converged"
    failed = minimise(lambda x: (bowl(x)[0], -bowl(x)[1]), start, max_iterations=100)
    assert (failed.stop, failed.x.tolist()) == ("line_search", start.tolist())
    bounded = minimise(bowl, start, max_iterations=100, bounds=np.array([[1.0, 4.0], [-1.0, 4.0]]))
    assert_allclose(bounded.x, [1.0, 0.0], atol=1e-6)


def test_a_mixture_is_learned_as_copies_would_be():
    rng = np.random.default_rng(4)
    batch, k = random_batch(rng, [3, 1, 4], 4, n_kinds=2), 3
    labellings, share = rng.integers(0, 3, (k, 8)).astype(np.int16), rng.dirichlet(np.ones(k), 3)
    weight, learner = np.array([1.0, 2.0, 0.5]), LikelihoodLearner(3, 1e-13, 5000)
    mixture = learner.learn_mixture(batch, labellings, share, weight)
    copies = batch.take(np.tile(np.arange(3), k))
    apart = learner.learn(copies, labellings.ravel(), (weight[:, None] * share).T.ravel())
    assert_allclose(mixture.chain.tokens, apart.chain.tokens, rtol=0, atol=1e-6)
    assert_allclose(mixture.chain.trans, apart.chain.trans, rtol=0, atol=1e-6)
    assert_allclose(mixture.history[-1].objective, apart.history[-1].objective, rtol=ROUNDING, atol=0)


# ---- the estimator


@pytest.fixture(scope="module")
def fitted():
    return CRF(**SMALL, rules=Rules([StartsWith(["author", "date"])])).fit(X, Y)


def chains(model, sequences):
    return chains_of(model.model_.encoder.transform(sequences), model.model_.weights)


def test_single_tokens_are_logistic_regression():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    dicts = [[{f"f{j}": float(v) for j, v in enumerate(row)}] for row in rows]
    weight = rng.uniform(0.2, 2, 60)
    model = CRF(C=0.7, **EXACT).fit(dicts, [[str(k)] for k in y], sample_weight=weight)
    other = LogisticRegression(C=0.7, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(rows, y, weight)
    assert_allclose(np.concatenate(model.predict_marginals(dicts)), other.predict_proba(rows), rtol=0, atol=1e-6)
    assert_array_equal(model.model_.weights.trans, 0.0)


def test_the_history_tells_the_objective_of_the_weights():
    labels = [Y[0], ["author", None, None, "date"], None, Y[3]]
    model = CRF(C=0.7, **SMALL).fit(X, labels, sample_weight=[1, 2, 1, 0.5])
    batch = model.model_.encoder.transform([X[0], X[1], X[3]])
    number = {None: -1, "author": 0, "date": 1}
    goals = [tuple(number[label] for label in row) for row in labels if row]
    enumerated = brute.random_field(examples_of(batch, [0.7, 1.4, 0.35], goals), 2, 1)
    weights = model.model_.weights
    value = enumerated(np.concatenate([weights.tokens.ravel(), weights.trans.ravel()]))[0]
    assert_allclose(model.history_[-1]["objective"], value, rtol=ROUNDING, atol=0)
    assert model.history_[-1].keys() == {"step", "count", "objective", "gap", "gradient", "seconds"}


def test_probabilities(fitted):
    sequences = [*X, *POOL]
    found, predicted = fitted.predict_marginals(sequences), fitted.predict(sequences)
    dates = [["date"] * len(x) for x in sequences]
    odds = (fitted.model_.sureness(sequences, labels, exact=True) for labels in (predicted, dates))
    sure, of_dates = ([1 / (1 + np.exp(-one.token)) for one in rows] for rows in odds)
    for i, chain in enumerate(chains(fitted, sequences)):
        wanted = brute.distribution(*chain)[1]
        assert_allclose(found[i], wanted, rtol=0, atol=ROUNDING)
        assert_allclose(of_dates[i], wanted[:, 1], rtol=0, atol=ROUNDING)
        columns = [fitted.classes_.index(label) for label in predicted[i]]
        assert_allclose(sure[i], wanted[np.arange(len(wanted)), columns], rtol=0, atol=ROUNDING)
        assert tuple(columns) == brute.best_path(*chain)
    assert fitted.predict_marginals([]) == fitted.confidence([]) == []


def test_weights_of_sequences_are_copies():
    twice = CRF(**SMALL, **EXACT).fit(X, Y, sample_weight=[2, 1, 1, 0])
    copied = CRF(**SMALL, **EXACT).fit([X[0], *X[:3]], [Y[0], *Y[:3]])
    for a, b in zip(twice.predict_marginals(POOL), copied.predict_marginals(POOL), strict=True):
        assert_allclose(a, b, rtol=0, atol=1e-6)


def test_unknown_labels_are_summed_over_and_unlabelled_sequences_ignored():
    partial = [Y[0], [None, "author", None, "date"], *Y[2:]]
    model = CRF(**SMALL).fit(X, partial)
    assert model.predict(X) == Y
    same_weights(CRF(**SMALL).fit([*X, *POOL], [*partial, *[None] * 4]), model)


def test_many_absolute_weights_are_zero():
    dense_model, sparse = (CRF(l1=l1, **SMALL).fit(*LABELLED) for l1 in (0.0, 0.3))
    assert np.mean(sparse.model_.weights.tokens == 0) > 0.5 > np.mean(dense_model.model_.weights.tokens == 0)
    assert len(sparse.model_.encoder.vocabulary) < len(dense_model.model_.encoder.vocabulary)


def test_a_sequence_of_two_thousand_tokens():
    long = [X[1][t % 4] for t in range(2000)], [Y[1][t % 4] for t in range(2000)]
    model = CRF(C=100.0, **SMALL).fit([long[0]], [long[1]])
    assert model.predict([long[0]]) == [long[1]]
    assert_allclose(model.predict_marginals([long[0]])[0].sum(axis=1), 1.0, rtol=0, atol=ROUNDING)


def test_a_fit_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="raise max_iterations or tol"):
        model = CRF(max_iterations=1, **SMALL).fit(X, Y)
    assert model.stop_ == "max_iterations"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CRF(**SMALL).fit(X, Y).stop_ == "converged"


# ---- merged features


@light
@given(batches(), seeds, st.integers(2, 3))
def test_merged_features_have_the_same_scores_and_length(batch, seed, Y):
    small = merged(batch)
    tokens = np.random.default_rng(seed).normal(size=(small.batch.n_features, Y))
    large = small.expand(tokens)
    used = np.unique(batch.indices)
    assert_allclose(dense(small.batch) @ tokens, dense(batch) @ large, rtol=0, atol=1e-9)
    assert_array_equal(large[np.setdiff1d(np.arange(batch.n_features), used)], 0.0)
    if len(used):
        assert_allclose((large**2).sum(), (tokens**2).sum(), rtol=1e-9)
        assert_allclose(small.shrink(large), tokens, rtol=0, atol=1e-9)


def test_merging_leaves_the_optimum_where_it_is():
    indices = np.array([0, 1, 3, 0, 1, 2, 3, 4, 2], np.int32)  # 0 and 1 always together, 5 never
    batch = SequenceBatch(
        np.array([0, 3, 6, 8, 9]), indices, np.ones(1), np.array([0, 2, 4]), np.zeros(4, np.int16), 6, 1
    )
    known, weight = np.array([0, 1, 1, 0], np.int16), np.array([1.0, 2.0])
    assert merged(batch).batch.n_features == 4
    plain, small = (Objective(batch, 2, weight, known, merge=merge) for merge in (False, True))
    a, b = (solve(objective, tol=1e-12).chain for objective in (plain, small))
    assert_allclose(b.tokens, a.tokens, rtol=0, atol=1e-5)
    assert_allclose(b.trans, a.trans, rtol=0, atol=1e-5)
    assert_allclose(small(small.pack(a))[0], plain(plain.pack(a))[0], rtol=1e-9)
