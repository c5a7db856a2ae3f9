"""Generalised expectation: the loss of shares by enumeration, its gradient by differences, and the estimator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

import brute
import brute_projection
import brute_rules
from annealed_cases import POOL, SHORT, X, Y, same_weights
from matching_cases import level, random_case
from rule_strategies import descriptions, has_expectation
from semistruct import CRF
from semistruct.base.errors import RuleWarning
from semistruct.core.chain.inference import ChainWeights
from semistruct.learning.solvers.crf import Objective
from semistruct.methods.ge import GeneralizedExpectation, Shares, WithShares
from semistruct.rules import (
    AtMostOnce,
    Count,
    Function,
    MinLength,
    Proportion,
    Rules,
    StartsWith,
    Words,
)
from strategies import dense, seeds

FEATURES = {"features": SHORT["features"]}
EDGE = 1e-6


def about_shares(rule):
    return has_expectation(rule) and level(rule) == "corpus" and next(iter(rule)) != "count"


# ---- the loss


def divergence(p, q):
    q = min(max(q, EDGE), 1 - EDGE)
    return sum(a * np.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def enumerated(case):
    """(tokens, trans) -> sum_k KL(target_k || share_k), and the shares, by listing every labelling."""

    def measured(quantity):
        pairs = zip(case.X, map(case.paths, range(len(case.X))), strict=True)
        return [np.array([quantity(words, case.names(path)) for path in paths]) for words, paths in pairs]

    watched = []
    for rule in case.rules:
        rule = brute_rules.explicit(brute_rules.complete(rule), case.labels)
        for quantity, target, n in brute_projection.quantities(rule, case.X, case.labels):
            low, high = target if isinstance(target, tuple) else (target, target)
            if high is None and low <= 0:
                continue
            ratio = isinstance(quantity, tuple)
            some, every = map(measured, quantity) if ratio else (measured(quantity), n)
            watched.append((some, every, 0 if low is None else low, 1 if high is None else high))
    rows = case.batch.split(dense(case.batch))

    def value(tokens, trans):
        step = np.array([trans[0], *(trans[0] + table for table in trans[1:])])
        q = []
        for i, (own, kind) in enumerate(zip(rows, case.batch.split(case.batch.kind), strict=True)):
            unary = own @ tokens
            q.append(softmax([brute.score(unary, step, kind, path) for path in case.paths(i)]))
        total, shares = 0.0, []
        for some, every, low, high in watched:
            divisor = sum(map(np.dot, q, every)) if isinstance(every, list) else every
            share = sum(map(np.dot, q, some)) / max(divisor, EDGE)
            total += divergence(min(max(share, low), high), share)
            shares.append(share)
        return total, shares

    return value


@st.composite
def cases(draw):
    labels = ("a", "b", "c")[: draw(st.sampled_from([2, 3]))]
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    rules = draw(st.lists(descriptions(labels, level="corpus").filter(about_shares), min_size=1, max_size=3))
    return random_case(np.random.default_rng(draw(seeds)), lengths, labels, rules, size=0.7)


@settings(deadline=None, max_examples=20)
@given(cases())
def test_loss_and_gradient(case):
    tokens, trans = case.weights.tokens, case.weights.trans
    shares = Shares(case.batch, case.tables)
    loss, by_tokens, by_trans = shares(case.weights)
    slow = enumerated(case)
    wanted, values = slow(tokens, trans)
    assert_allclose(loss, wanted, rtol=1e-8, atol=1e-8)
    assert_allclose(shares.values(case.weights)[0], values, rtol=0, atol=1e-9)
    small = 1e-5
    for which, gradient in ((0, by_tokens), (1, by_trans)):
        for place in np.ndindex(gradient.shape):
            sides = []
            for sign in (1, -1):
                moved = [tokens.copy(), trans.copy()]
                moved[which][place] += sign * small
                sides.append(slow(*moved)[0])
            assert_allclose(gradient[place], (sides[0] - sides[1]) / (2 * small), rtol=1e-4, atol=1e-5)


def test_shares_inside_their_range_cost_nothing():
    case = random_case(np.random.default_rng(0), [3, 2], "abc", [{"proportion": {"a": (0.0, 1.0), "b": (None, 1.0)}}])
    loss, by_tokens, by_trans = Shares(case.batch, case.tables)(case.weights)
    assert loss == 0.0
    assert not by_tokens.any()
    assert not by_trans.any()


def test_words_that_do_not_occur_are_left_out():
    rules = [{"words": ["never"], "are": ["a"], "level": "corpus"}]
    case = random_case(np.random.default_rng(0), [3, 2], "abc", rules)
    shares = Shares(case.batch, case.tables)
    assert len(shares.terms) == 0
    assert shares(case.weights)[0] == 0.0
    assert shares.compared(case.weights, case.weights) == []


@pytest.mark.parametrize("scale", [50.0, 150.0, 400.0])
def test_scores_so_large_that_probabilities_underflow(scale):
    rules = [{"proportion": {"a": 0.3}}, {"change_only_on": ["punctuation"], "level": "corpus", "fraction": 0.1}]
    for seed in range(200):
        case = random_case(np.random.default_rng(seed), [4, 3], "abc", rules, size=scale)
        found = Shares(case.batch, case.tables)(case.weights)
        assert all(np.isfinite(part).all() for part in found)


def test_with_another_objective():
    case = random_case(np.random.default_rng(1), [3, 2], "abc", [{"proportion": {"a": 0.3}}])
    losses = Objective(case.batch, 3, np.ones(2), np.array([0, 1, 2, 0, 0], np.int16), merge=False)
    both, shares = WithShares(losses, Shares(case.batch, case.tables), 7.0), Shares(case.batch, case.tables)
    w = both.pack(case.weights)
    (f, g), (loss, tokens, trans) = losses(w), shares(ChainWeights(case.weights.tokens, case.weights.trans))
    value, gradient = both(w)
    assert_allclose(value, f + 7 * loss, rtol=1e-12, atol=0)
    assert_allclose(gradient, g + 7 * both.pack(ChainWeights(tokens, trans)), rtol=0, atol=1e-12)


# ---- the estimator

RULES = Rules([Proportion({"date": (0.5, 0.6)}), Words(["."], are="date", level="corpus", fraction=0.9)])


def fit(*, params=None, **given):
    model = GeneralizedExpectation(**{**FEATURES, "rules": RULES, **(params or {})})
    return model.fit(X, Y, **{"pool": POOL, **given})


def test_the_fit_moves_shares_to_their_targets():
    model = fit(params={"ratio": 100.0, "select": "last"})
    share = sum(p[:, 1].sum() for p in model.predict_marginals(POOL)) / sum(map(len, POOL))
    dates, words = model.shares_
    assert (dates["low"], dates["high"], words["low"], words["high"]) == (0.5, 0.6, 0.9, 0.9)
    assert_allclose(dates["end"], share, rtol=1e-6, atol=0)
    start = CRF(**FEATURES).fit(X, Y)
    share = sum(p[:, 1].sum() for p in start.predict_marginals(POOL)) / sum(map(len, POOL))
    assert_allclose(dates["start"], share, rtol=1e-6, atol=0)
    assert 0.45 < dates["end"] < 0.65
    assert words["start"] < 0.5
    assert_allclose(words["end"], 0.9, rtol=0, atol=0.05)
    weak = fit(params={"ratio": 1e-3, "select": "last"})
    assert_allclose(weak.shares_[1]["end"], words["start"], rtol=0, atol=0.05)


def test_the_history_tells_the_objective_of_the_weights():
    model = fit(params={"ratio": 3.0, "C": 0.7, "select": "last"}, sample_weight=[1, 2, 1, 1])
    assert [row["step"] for row in model.history_] == ["learn"]
    assert [row["ratio"] for row in model.path_] == [None, 3.0]
    weights = model.model_.weights
    batch, pool = (model.model_.encoder.transform(sequences) for sequences in (X, POOL))
    number = {label: k for k, label in enumerate(model.classes_)}
    known = np.array([number[label] for row in Y for label in row], np.int16)
    losses = Objective(batch, 2, 0.7 * np.array([1.0, 2.0, 1.0, 1.0]), known, merge=False)
    shares = Shares(pool, RULES.compile(POOL, model.classes_))
    value = WithShares(losses, shares, 3.0 * 0.7 * 5)(losses.pack(weights))[0]
    assert_allclose(model.history_[0]["objective"], value, rtol=1e-9, atol=0)


def test_labels_and_known_labels():
    model = fit(params={"select": "last"})
    assert model.labels_ == model.predict(POOL, rules=False)
    assert len(model.predict_marginals(POOL)) == len(POOL)
    partial = GeneralizedExpectation(**FEATURES, rules=RULES, select="last")
    partial.fit([*X, POOL[0]], [*Y, ["date", None, None]], pool=POOL[1:])
    assert partial.labels_ == partial.predict(POOL[1:], rules=False)


def test_a_label_without_examples_is_learned_from_a_rule():
    rules = Rules([Words(["."], are="title", level="corpus")], labels=["title"])
    model = fit(params={"rules": rules, "ratio": 100.0, "select": "last"})
    assert model.predict([["C", "."]], rules=False)[0][1] == "title"


@pytest.mark.parametrize("rules", [None, RULES])
def test_without_unlabelled_data_it_is_the_random_field(rules):
    model = fit(pool=None, params={"rules": rules})
    same_weights(model, CRF(**FEATURES).fit(X, Y))
    assert model.shares_ == model.labels_ == []


@pytest.mark.filterwarnings("ignore:interrupted; left out")
def test_an_interrupted_report_leaves_the_rest(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(GeneralizedExpectation, "_report", stop)
    with pytest.warns(UserWarning, match="interrupted; left out: the report on rules"):
        model = fit()
    assert (model.stop_, model.skipped_[0], model.shares_) == ("interrupted", "the report on rules", [])
    assert [len(labels) for labels in model.labels_] == [len(x) for x in POOL]
    assert len(model.predict(POOL)) == len(POOL)


def test_reaching_the_limit_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        fit(params={"max_iterations": 1})


# ---- what is set aside, and what is refused

ASIDE = {
    "instance": StartsWith("author", name="odd"),
    "once": AtMostOnce(name="odd"),
    "count": Count({"date": 2}, name="odd"),
    "length": MinLength(2, name="odd", weight=5),
    "function": Function(lambda x, y: 0, name="odd"),
}


@pytest.mark.parametrize("kind", ASIDE)
def test_rules_that_are_not_about_shares_are_obeyed_only_in_prediction(kind):
    own = Proportion({"date": 0.5})
    with pytest.warns(RuleWarning, match="cannot learn from 1 of 2 rules, and obeys them only in prediction: 'odd'$"):
        model = fit(params={"rules": Rules([own, ASIDE[kind]])})
    alone = fit(params={"rules": Rules([own])})
    assert_array_equal(model.model_.weights.tokens, alone.model_.weights.tokens)
    assert [rule.text for rule in model.model_.rules] == [own.text, "odd"]


def test_rules_about_words_become_rules_about_shares():
    words = Words(["."], are="date", weight=5)
    model, same = (
        fit(params={"rules": Rules([rule])}) for rule in (words, words.model_copy(update={"level": "corpus"}))
    )
    assert_array_equal(model.model_.weights.tokens, same.model_.weights.tokens)
