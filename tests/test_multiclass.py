"""TransductiveSVM: its solver against the chain solver, swaps against the transportation problem; how it fits."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from semistruct import TransductiveSVM
from semistruct.base.errors import DataError, ParameterError
from semistruct.core.batch import SequenceBatch
from semistruct.learning.solvers.multiclass import first_labels, hinge, solve_classes, swapped, whole_counts
from semistruct.learning.solvers.sdm import Problem, solve

# ---- class counts


def best_total(losses, counts):
    """The optimum of the transportation problem: one column for each place in a class."""
    columns = losses[:, np.repeat(np.arange(len(counts)), counts)]
    rows, places = linear_sum_assignment(columns)
    return columns[rows, places].sum()


@pytest.mark.parametrize("K", [2, 3, 5])
def test_swapped_labels_are_nearly_the_best(K):
    equal = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        losses = rng.exponential(size=(int(rng.integers(K, 25)), K))
        counts = whole_counts(rng.uniform(0.1, 1.0, K), len(losses))
        start = first_labels(losses, counts)
        assert_array_equal(np.bincount(start, minlength=K), counts)
        labels, every = swapped(losses, start), np.arange(len(losses))
        assert_array_equal(np.bincount(labels, minlength=K), counts)
        total, best = losses[every, labels].sum(), best_total(losses, counts)
        assert best - 1e-9 <= total <= losses[every, start].sum() + 1e-9
        for j, k in combinations(every, 2):
            c, d = labels[j], labels[k]
            assert losses[j, d] + losses[k, c] >= losses[j, c] + losses[k, d] - 1e-9
        equal += total <= best + 1e-9
    assert equal >= {2: 40, 3: 28, 5: 15}[K]  # with two classes swaps are enough; measured: 40, 32, 19


def test_counts_are_whole_and_complete():
    assert_array_equal(whole_counts(np.array([1.0, 1.0, 1.0]), 4), [2, 1, 1])
    assert_array_equal(whole_counts(np.array([0.0, 3.0]), 5), [0, 5])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shares, m = rng.uniform(size=6), int(rng.integers(0, 50))
        counts = whole_counts(shares, m)
        assert counts.sum() == m
        assert (np.abs(counts - m * shares / shares.sum()) < 1).all()


# ---- the solver


def small(seed, n=30, F=5, K=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F)) * (rng.uniform(size=(n, F)) < 0.7)
    return X, rng.integers(0, K, n), rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("seed", range(3))
def test_the_solver_agrees_with_that_of_chains_of_length_one(seed):
    X, y, C = small(seed)
    found = solve_classes(csr_array(X), y, C, 1.0 - np.eye(4), tol=1e-6)
    rows = csr_array(X)
    n = len(y)
    batch = SequenceBatch(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, np.arange(n + 1),
        np.zeros(n, np.int16), 5, 1,
    )  # fmt: skip
    chain = solve(Problem(batch, 4, y.astype(np.int16), C, np.ones(n)), tol=1e-6)
    assert_allclose(found.primal, chain.objective, rtol=2e-6, atol=0)
    assert_allclose(found.W, chain.state.chain.tokens, rtol=0, atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_is_that_of_the_definition(seed):
    X, y, C = small(seed)
    cost = np.random.default_rng(seed).uniform(0.5, 3.0, (4, 4))
    np.fill_diagonal(cost, 0.0)
    found = solve_classes(csr_array(X), y, C, cost, tol=0.05)
    primal, dual = 0.5 * np.sum(found.W**2), -0.5 * np.sum(found.W**2)
    for i in range(len(y)):
        scores = X[i] @ found.W
        primal += C[i] * max(cost[y[i], c] + scores[c] - scores[y[i]] for c in range(4))
        dual += C[i] * found.alpha[i] @ cost[y[i]]
    W = sum(np.outer(X[i], C[i] * (np.eye(4)[y[i]] - found.alpha[i])) for i in range(len(y)))
    assert_allclose(found.W, W, rtol=0, atol=1e-9)
    assert_allclose(found.alpha.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    assert_allclose([found.primal, found.primal - found.gap], [primal, dual], rtol=1e-9, atol=0)
    losses = hinge(X @ found.W, cost)
    assert_allclose(primal, 0.5 * np.sum(found.W**2) + C @ losses[np.arange(len(y)), y], rtol=1e-9, atol=0)


# ---- fitting

POINTS, TRUTH = make_blobs(120, centers=4, cluster_std=1.6, random_state=3)
FEW = np.concatenate([np.flatnonzero(k == TRUTH)[:2] for k in range(4)])
KNOWN = np.full(120, -1)
KNOWN[FEW] = TRUTH[FEW]


@pytest.fixture(scope="module")
def fitted():
    return TransductiveSVM().fit(POINTS, KNOWN)


def test_the_objective_falls_within_each_weight_and_counts_hold(fitted):
    for C_u in {row["C_u"] for row in fitted.history_}:
        values = [row["objective"] for row in fitted.history_ if row["C_u"] == C_u]
        assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values)), values
    assert_array_equal(np.bincount(fitted.labels_), [28] * 4)
    assert np.mean(fitted.labels_ == np.delete(TRUTH, FEW)) > 0.85
    assert_array_equal(fitted.predict(POINTS), fitted.classes_[np.argmax(fitted.decision_function(POINTS), axis=1)])
    assert_allclose(fitted.decision_function(POINTS), POINTS @ fitted.coef_.T + fitted.intercept_, rtol=0, atol=1e-9)
    assert fitted.score(POINTS, TRUTH) > 0.85


@pytest.mark.parametrize("form", ["pool", "None", "sparse", "text"])
def test_forms_of_the_data_make_no_difference(fitted, form):
    order = np.argsort(KNOWN == -1, kind="stable")
    rest = np.flatnonzero(KNOWN == -1)
    if form == "pool":
        first = np.flatnonzero(KNOWN >= 0)
        again = TransductiveSVM().fit(POINTS[first], TRUTH[first], pool=POINTS[rest])
    elif form == "None":
        again = TransductiveSVM().fit(POINTS[order], [None if k < 0 else int(k) for k in KNOWN[order]])
    elif form == "sparse":
        again = TransductiveSVM().fit(csr_array(POINTS), KNOWN)
    else:
        again = TransductiveSVM().fit(POINTS, [None if k < 0 else f"c{k}" for k in KNOWN])
        assert again.classes_.tolist() == ["c0", "c1", "c2", "c3"]
    assert_allclose(again.coef_, fitted.coef_, rtol=0, atol=0)
    assert [str(c)[-1] for c in again.labels_] == [str(c) for c in fitted.labels_]


def test_given_counts_are_obeyed():
    counts = {0: 40, 1: 30, 2: 30, 3: 12}
    assert_array_equal(np.bincount(TransductiveSVM(class_counts=counts).fit(POINTS, KNOWN).labels_), [40, 30, 30, 12])


def test_without_unlabelled_examples_it_is_an_svm():
    model = TransductiveSVM(fit_intercept=False).fit(POINTS, TRUTH)
    assert len(model.labels_) == 0
    assert not model.intercept_.any()
    assert model.score(POINTS, TRUTH) > 0.8


DISTANCES = [[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]]


def test_costs_matter(fitted):
    other = TransductiveSVM(costs=DISTANCES).fit(POINTS, KNOWN)
    assert not np.array_equal(other.coef_, fitted.coef_)
    same = TransductiveSVM(costs=1 - np.eye(4)).fit(POINTS, KNOWN)
    assert_array_equal(same.coef_, fitted.coef_)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"C": 0}, r"TransductiveSVM\(C=0\)"),
        ({"schedule": [2, 1]}, "schedule must be a growing list"),
        ({"costs": np.eye(4)}, "zeros on the diagonal"),
        ({"class_counts": {0: 1, 1: 1, 2: 1}}, "no number for 3"),
        ({"class_counts": {0: 1, 1: 1, 2: 1, 3: 1, 7: 1}}, "no class 7"),
        ({"class_counts": {0: 0, 1: 0, 2: 0, 3: 0}}, "not all 0"),
    ],
)
def test_wrong_parameters_are_named(given, words):
    with pytest.raises(ParameterError, match=words):
        TransductiveSVM(**given).fit(POINTS, KNOWN)


@pytest.mark.parametrize(
    ("X", "y", "more", "words"),
    [
        (POINTS, KNOWN[:5], None, "120 rows, y has 5"),
        (POINTS, [-1] * 120, None, "no example has a label"),
        (POINTS, [1] * 120, None, "only one class"),
        (POINTS, KNOWN, POINTS[:, :1], "pool has 2 columns, X has 3"),
        (np.full((120, 2), np.nan), KNOWN, None, "NaN"),
    ],
)
def test_bad_data_is_told(X, y, more, words):
    with pytest.raises(DataError, match=words):
        TransductiveSVM().fit(X, y, pool=more)


def test_it_is_a_scikit_learn_classifier(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(POINTS)
    with pytest.raises(DataError, match="3 columns, the model was fitted with 2"):
        fitted.predict(np.ones((2, 3)))
    again = TransductiveSVM().fit(POINTS, KNOWN)
    assert_array_equal(again.coef_, fitted.coef_)
