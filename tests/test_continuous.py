"""ContinuousTransductiveSSVM: the smooth objective against its definition and finite differences; how it fits."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

import brute
from annealed_cases import CITATIONS, HELD_OUT, LABELLED, POOL, UNLABELLED, N, X, Y, same_fit, task_of
from semistruct import ContinuousTransductiveSSVM
from semistruct.core.batch import SequenceBatch
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.learners import MarginLearner
from semistruct.learning.rounds import State
from semistruct.learning.solvers.working_sets import (
    SOFT,
    SmoothObjective,
    WantedShares,
    WorkingSets,
    joint_features,
    labelled_loss,
    unlabelled_loss,
)
from semistruct.methods.continuous import Learning, wanted_shares
from semistruct.rules import Proportion, Rules, StartsWith

SHORT = {"features": ["word", "shape"], "schedule": [0.03, 0.3], "rounds": 3, "max_steps": 30}


def small_batch(seed, lengths=(3, 1, 2, 4), features=4, kinds=2):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    indptr = np.arange(n + 1) * 2
    indices = np.concatenate([np.sort(rng.choice(features, 2, replace=False)) for _ in range(n)]).astype(np.int32)
    kind = rng.integers(0, kinds, n).astype(np.int16)
    return SequenceBatch(indptr, indices, rng.normal(size=2 * n), offsets, kind, features, kinds)


def dense(batch):
    rows = np.zeros((batch.n_tokens, batch.n_features))
    for t in range(batch.n_tokens):
        entries = slice(batch.indptr[t], batch.indptr[t + 1])
        rows[t, batch.indices[entries]] = batch.values[entries]
    return rows


def small_sets(seed, k=4, n_labels=3):
    batch, rng = small_batch(seed), np.random.default_rng(seed)
    sets = WorkingSets(batch, n_labels)
    sets.put(rng.integers(0, n_labels, batch.n_tokens), np.ones(len(batch), bool))
    for _ in range(k):
        sets.add(rng.integers(0, n_labels, batch.n_tokens))
    return sets


SHARES = WantedShares(np.array([0.2, 0.4, -np.inf]), np.array([0.2, 0.6, np.inf]), 2.0)
IS_LABELLED = np.array([True, False, True, False])
WEIGHT = np.array([1.0, 0.5, 2.0, 1.5])
COST = np.repeat(IS_LABELLED, [3, 1, 2, 4]).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_features_of_labellings_are_those_of_the_definition(seed):
    batch, rng = small_batch(seed), np.random.default_rng(seed)
    labels = rng.integers(0, 3, batch.n_tokens)
    found = joint_features(batch, labels, 3).toarray()
    for i, (a, b) in enumerate(pairwise(batch.offsets)):
        case = brute.Case(dense(batch)[a:b], batch.kind[a:b], None, 1.0, None)
        assert_allclose(found[i], brute.joint_features(case, labels[a:b], 3, 2), rtol=0, atol=1e-12)
    chain = ChainWeights(rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 3)))
    again = ChainWeights.of_flat(chain.flat, batch.n_features, 3)
    assert_array_equal(again.tokens, chain.tokens)
    assert_array_equal(again.trans, chain.trans)


def test_a_labelling_is_in_a_working_set_once():
    sets = small_sets(0, k=0)
    first = sets.labels[0]
    assert sets.add(first) == 0
    other = first.copy()
    other[0] = (other[0] + 1) % 3
    assert sets.add(other) == 1
    assert_array_equal(sets.present[1], [True, False, False, False])
    assert sets.add(other) == 0
    assert sets.differences().shape[0] == 5
    rows = [joint_features(sets.batch, row, 3)[0].toarray() for row in (other, first)]
    assert_allclose(sets.differences().toarray(), [*np.zeros((4, rows[0].size)), rows[0] - rows[1]], rtol=0, atol=1e-12)
    assert_array_equal(sets.counts()[0].sum(axis=1), sets.batch.lengths)


def stated(sets, w, shares):
    """J, sequence by sequence."""
    features = [joint_features(sets.batch, row, 3).toarray() for row in sets.labels]
    total, tokens, share = 0.5 * w @ w, 0, np.zeros(3)
    for i, (a, b) in enumerate(pairwise(sets.batch.offsets)):
        there = [k for k in range(len(sets.labels)) if sets.present[k][i]]
        scores = {k: features[k][i] @ w for k in there}
        best = 0 if IS_LABELLED[i] else max(there, key=lambda k: scores[k])
        wrong = {k: IS_LABELLED[i] * np.sum(sets.labels[k][a:b] != sets.labels[0][a:b]) for k in there}
        others = [scores[k] + wrong[k] for k in there if k != best]
        if others:
            m = scores[best] - SOFT * np.log(np.sum(np.exp(np.array(others) / SOFT)))
            if IS_LABELLED[i]:
                loss = -0.5 - m if m < -1 else 0.5 * m**2 if m < 0 else 0.0
            else:
                loss = 1.0 if m < 0 else 1 - 2 * m**2 if m < 0.5 else 2 * (1 - m) ** 2 if m < 1 else 0.0
            total += WEIGHT[i] * loss
        if not IS_LABELLED[i]:
            likely = np.exp(np.array([scores[k] for k in there]) / SOFT)
            for p, k in zip(likely / likely.sum(), there, strict=True):
                share += p * np.bincount(sets.labels[k][a:b], minlength=3)
            tokens += b - a
    if shares is not None:
        share /= tokens
        distance = np.maximum(np.maximum(share - shares.high, shares.low - share), 0.0)
        total += shares.balance * distance @ distance
    return total


@pytest.mark.parametrize("shares", [None, SHARES], ids=["free", "shares"])
@pytest.mark.parametrize("scale", [0.03, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_and_its_gradient(seed, scale, shares):
    sets, rng = small_sets(seed), np.random.default_rng(seed)
    objective = SmoothObjective(sets, IS_LABELLED, WEIGHT, COST, shares)
    full = np.zeros(4 * 3 + 2 * 9)
    full[objective.columns] = scale * rng.normal(size=len(objective.columns))
    w = full[objective.columns]
    value, gradient = objective(w)
    assert_allclose(value, stated(sets, full, shares), rtol=1e-10, atol=0)
    difference = check_grad(lambda u: objective(u)[0], lambda u: objective(u)[1], w, epsilon=1e-7)
    assert difference < 1e-4 * (1 + np.linalg.norm(gradient))


@pytest.mark.parametrize("loss", [labelled_loss, unlabelled_loss])
def test_losses_have_the_slopes_they_claim(loss):
    m, h = np.linspace(-2, 2, 401) + 1e-4, 1e-6
    slope = (loss(m + h)[0] - loss(m - h)[0]) / (2 * h)
    assert_allclose(loss(m)[1], slope, rtol=0, atol=1e-4)
    assert (loss(np.array([1.0, 3.0]))[0] == 0).all()
    assert (np.diff(loss(m)[0]) <= 0).all()
    assert_allclose(unlabelled_loss(np.array([0.0, -1.0])), [[1.0, 1.0], [0.0, 0.0]], rtol=0, atol=1e-12)


def small_learning(seed):
    rng = np.random.default_rng(seed)
    tokens = [[str(t) for t in rng.choice(list("abcd"), rng.integers(1, 5))] for _ in range(6)]
    labels = [[str(z) for z in rng.choice(list("xyz"), len(row))] for row in tokens[:3]]
    labels[0] = [None, *labels[0][1:]] if len(labels[0]) > 1 else labels[0]
    task = task_of(tokens[:3], labels, tokens[3:], rules=Rules([], labels=["x", "y", "z"]))
    F, K = task.batch.n_features, task.batch.n_kinds
    chain = ChainWeights(rng.normal(size=(F, 3)), rng.normal(size=(K, 3, 3)))
    return Learning.of(task, State(chain), 1), chain


@pytest.mark.parametrize("seed", range(4))
def test_the_labellings_in_the_way_join(seed):
    learning, chain = small_learning(seed)
    task, sets = learning.task, learning.sets
    new = learning.grow_free(chain) + learning.grow_labelled(chain)
    rows = np.zeros((task.batch.n_tokens, task.batch.n_features))
    rows[np.arange(task.batch.n_tokens), task.batch.indices] = 1.0
    unary, target = rows @ chain.tokens, sets.labels[0]
    assert_array_equal(target[task.known >= 0], task.known[task.known >= 0])
    for i, (a, b) in enumerate(pairwise(task.batch.offsets)):
        have = {tuple(row[a:b]) for row, there in zip(sets.labels, sets.present, strict=True) if there[i]}
        score = {p: brute.score(unary[a:b], chain.step, np.zeros(b - a, int), p) for p in brute.labellings(b - a, 3)}
        if task.has_labels[i]:
            wrong = (task.known[a:b] >= 0).astype(float)
            for p in score:
                score[p] += wrong @ (np.array(p) != target[a:b])
            assert max(score, key=score.get) in have
            assert len(have) <= 2
        else:
            assert set(sorted(score, key=score.get)[-2:]) == have
    assert new == sum(there.sum() for there in sets.present[1:])


def test_the_supervised_part_is_a_smoothed_ssvm():
    """Huber's hinge and the softmax are no further from the hinge loss than 1/2 and SOFT log of the set."""
    task = task_of(*LABELLED)
    batch, known, weight = task.labelled
    hard = MarginLearner(len(task.labels), 1e-3, 1000, 0, 1).learn(batch, known, 0.5 * weight)
    learning = Learning.of(task, State(hard.chain), 1)
    soft = learning.supervised(hard.chain, 0.5 * weight, 1e-8, 300)
    value = learning.objective(0.5 * weight, None)
    at = value(soft.flat[value.columns])[0]
    slack = 0.5 * len(batch) * (0.5 + SOFT * np.log(len(learning.sets.labels)))
    assert abs(at - hard.history[-1].objective) < slack
    assert at <= value(hard.chain.flat[value.columns])[0] + 1e-6


def test_shares_are_those_of_rules_or_of_the_labels():
    def shares(rules):
        return wanted_shares(task_of(X, Y, POOL, rules=Rules(rules)), 1.0)

    found = shares([StartsWith("author")])
    author = sum(row.count("author") for row in Y) / sum(map(len, Y))
    assert_allclose(found.low, [author, 1 - author], rtol=0, atol=1e-12)
    assert_allclose(found.high, found.low, rtol=0, atol=0)
    found = shares([Proportion({"date": (0.1, 0.3)})])
    assert_allclose(found.low, [-np.inf, 0.1], rtol=0, atol=0)
    assert_allclose(found.high, [np.inf, 0.3], rtol=0, atol=0)


# ---- fitting


def on_citations(params=None, pool=UNLABELLED, **kwargs):
    given = {**SHORT, "rules": CITATIONS, **(params or {})}
    return ContinuousTransductiveSSVM(**given).fit(*LABELLED, pool=pool, **kwargs)


@pytest.fixture(scope="module")
def fitted():
    return on_citations({"select": "last"})


def test_fit_goes_along_the_schedule(fitted):
    rows = fitted.history_
    assert [row["stage"] for row in rows] == sorted(row["stage"] for row in rows)
    assert {row["step"] for row in rows} == {"learn"}
    assert {"objective", "broken", "switched", "labellings"} <= rows[0].keys()
    weights = [ratio * fitted.C_ * N / len(UNLABELLED) for ratio in SHORT["schedule"]]
    assert_allclose([row["C_u"] for row in fitted.path_[1:]], weights, rtol=1e-9, atol=0)
    assert [len(row) for row in fitted.labels_] == [len(x) for x in UNLABELLED]
    assert fitted.score(*HELD_OUT, rules=False) > 0.4
    same_fit(on_citations({"select": "last"}), fitted)


class Killed(Exception):
    pass


def test_partial_labels_and_automatic_C():
    partial = ["author", None, None, "date"]
    model = ContinuousTransductiveSSVM(C="auto", select="last", **SHORT).fit([X[1], *X], [partial, *Y], pool=POOL)
    assert len(model.labels_) == len(POOL)
    assert [row["C"] for row in model.search_] == list(MarginLearner.grid)
