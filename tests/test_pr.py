"""Posterior regularisation and its annealing: the objective by enumeration, and what the estimators do."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import brute_projection
from annealed_cases import (
    HELD_OUT,
    LABELLED,
    POOL,
    SHORT,
    UNLABELLED,
    X,
    Y,
    same_fit,
    same_weights,
    task_of,
)
from projected_cases import SMALL_RULES, Enumerated, exact, small_task
from semistruct import CRF
from semistruct.base.errors import RuleWarning
from semistruct.learning.learners import LikelihoodLearner
from semistruct.learning.rounds import Run, State
from semistruct.learning.settings import SETTLED_FALL
from semistruct.methods.projected import DASO, PUBLISHED, PosteriorRegularization
from semistruct.rules import (
    AtMostOnce,
    Function,
    MinLength,
    Order,
    Proportion,
    Rules,
    StartsWith,
    Words,
)

BOTH = [PosteriorRegularization, DASO]
FEATURES = {"features": SHORT["features"]}
PUBLIC = Rules.from_file("citations-daso")


def quick(method, **given):
    """Few rounds; DASO has two temperatures."""
    more = {"schedule": [2.0, 1.0]} if method is DASO else {}
    return method(**{**FEATURES, "rounds": 2, **more, **given})


def fit(method, *, params=None, **given):
    return quick(method, **{"select": "last", **(params or {})}).fit(X, Y, **{"pool": POOL, **given})


def on_citations(method, *, params=None, **given):
    return quick(method, **{"rules": PUBLIC, **(params or {})}).fit(*LABELLED, pool=UNLABELLED, **given)


# ---- the objective


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("rules", SMALL_RULES)
def test_the_recorded_objective_is_that_of_the_state_and_falls(rules, method, partly):
    """After every half-step: of the old weights and the new distribution, then of the new weights too."""
    C, slack = 0.8, 0.3
    y = [Y[0], ["author", None, None, "date"], Y[2], None] if partly else [*Y[:3], None]
    importance = [1.0, 1.0, 2.0, 1.0]
    task = small_task(rules, y, importance)
    free = 1 + len(POOL)
    more = {"schedule": [2.0, 1.0, 0.5]} if method is DASO else {}
    # all open sequences have the same weight, which is what the projection takes for granted
    model = exact(method, C=C, slack=slack, ratio=free / 4, rounds=3, **more)
    model.C_ = C
    order = [0, 2, 1, 3] if partly else [0, 1, 2, 3]  # complete, then the others
    weight = np.concatenate([C * np.array(importance)[order], np.full(len(POOL), C)])
    enumerated = Enumerated(task, rules, slack, weight, C)
    batch, known, own = task.labelled
    chains = [LikelihoodLearner(3, 1e-4, 1000).learn(batch, known, C * own).chain]
    stages = model._stages(task)

    def after_round(state):
        T = model._temperature(stages[state.stage])
        _, p = enumerated.problem(chains[-1])
        q = brute_projection.tilted(p, state.extra["instance"], state.extra["corpus"], T)
        for row, chain in zip(state.history[-2:], [chains[-1], state.chain], strict=True):
            assert_allclose(row["objective"], enumerated(chain, q, T), rtol=1e-7, atol=1e-7, err_msg=str(row))
        listed = [list(scores) for scores in enumerated.problem(chains[-1])[0][task.n_fixed :]]
        for paths, shares, labels in zip(listed, q, task.opened.split(state.labels), strict=True):
            assert shares[paths.index(tuple(labels.tolist()))] >= shares.max() * (1 - 1e-7)
        chains.append(state.chain)

    state = State(chains[0])
    run = Run(state, model.axis, stages, save=after_round)
    for _ in model._walk(task, run):
        pass
    for T in {model._temperature(stage) for stage in stages}:
        values = [row["objective"] for row in state.history if model._temperature(stages[row["stage"]]) == T]
        assert all(b <= a + 1e-7 * abs(a) for a, b in pairwise(values)), values
    assert [row["step"] for row in state.history] == ["project", "learn"] * (len(chains) - 1)
    assert len(chains) > 2


@pytest.mark.parametrize("method", BOTH)
def test_real_rules_help_and_do_not_raise_the_objective(method):
    model = on_citations(method, params={"select": "last"})
    for T in {row.get("T") for row in model.history_}:
        values = [row["objective"] for row in model.history_ if row.get("T") == T]
        assert all(b <= a * (1 + 1e-4) for a, b in pairwise(values)), values  # as exact as projections are
    alone = CRF(**FEATURES).fit(*LABELLED)
    assert model.score(*HELD_OUT, rules=False) > alone.score(*HELD_OUT) + 0.02  # measured: 0.05


# ---- annealing


@pytest.mark.parametrize("rounds", [1, 3, 30])
def test_at_temperature_one_annealing_is_regularisation(rounds):
    """To the last bit, also if both end because nothing changes any more."""
    params = {"rules": Rules([StartsWith("author"), Proportion({"date": 0.5})]), "select": "last"}
    regular = fit(PosteriorRegularization, params={**params, "rounds": rounds})
    annealed = fit(DASO, params={**params, "rounds": rounds, "schedule": [1.0]})
    same_weights(regular, annealed)
    assert regular.labels_ == annealed.labels_
    assert regular.expectations_ == annealed.expectations_
    pairs = list(zip(regular.history_, annealed.history_, strict=True))
    assert all(a["objective"] == b["objective"] for a, b in pairs)
    assert [a["stage"] for a, _ in pairs] == [b["round"] for _, b in pairs]
    if rounds == 30:
        assert len(pairs) < 60
        before, after = (row["objective"] for row in regular.history_[-2:])
        assert before - after <= SETTLED_FALL * after


def test_temperatures_are_points_of_the_path():
    model = fit(DASO, params={"schedule": "published", "rounds": 1})
    assert [row["T"] for row in model.path_] == [None, *PUBLISHED]
    assert_allclose([PUBLISHED[0], PUBLISHED[-1]], [2.0, 0.697], rtol=0, atol=1e-3)
    assert [row["cycle"] for row in fit(PosteriorRegularization).path_] == [None, 1.0, 2.0]


# ---- fitting


@pytest.mark.parametrize("method", BOTH)
def test_without_unlabelled_data_it_is_the_random_field(method):
    model = fit(method, pool=None, params={"rules": Rules([StartsWith("author")])})
    same_weights(model, CRF(**FEATURES).fit(X, Y))
    assert model.labels_ == model.history_ == model.expectations_ == []


@pytest.mark.parametrize("method", BOTH)
def test_known_labels_stay(method):
    """Also against the model and the rules."""
    rules = Rules([StartsWith("author", weight="hard"), Words(["1931"], are="date")])
    partial = [Y[0], ["date", None, "author", None], *Y[2:]]
    with pytest.warns(RuleWarning, match="rule 'starts with author' cannot be met: it is missed by"):
        model = quick(method, rules=rules, select="last").fit(X, partial, pool=POOL)
    assert len(model.labels_) == len(POOL)
    assert all(row[0] == "author" for row in model.labels_)
    task = task_of(X, partial, POOL, **FEATURES, rules=rules)
    projector, weights = model._projector(task), model.model_.weights
    labels = projector.best(weights, projector.project(weights).multipliers)
    assert [task.labels[z] for z in labels[:4]] == ["date", task.labels[labels[1]], "author", "date"]


@pytest.mark.parametrize("method", BOTH)
def test_a_label_without_examples_is_learned_from_a_rule(method):
    pool = [[*x, "pp", "7"] for x in POOL] * 3
    rules = Rules([Words(["pp"], are="pages")], labels=["pages", "title"])
    model = fit(method, pool=pool, params={"rules": rules, "select": "last"})
    assert model.classes_ == ["author", "date", "pages", "title"]
    assert all(row[-2] == "pages" for row in model.labels_)
    assert model.predict([["Curry", "pp", "7"]], rules=False)[0][1] == "pages"


@pytest.mark.parametrize("method", BOTH)
def test_expectations_before_and_after(method):
    targets = {"author": 0.1}
    rules = Rules([AtMostOnce(name="once"), Proportion(targets, name="few authors")])
    model = fit(method, params={"rules": rules, "select": "last", "slack": 1e-3})
    once, few = model.expectations_
    assert (once["rule"], once["level"], few["rule"], few["level"]) == ("once", "instance", "few authors", "corpus")
    tokens = sum(map(len, POOL))
    share = sum(p[:, 0].sum() for p in model.predict_marginals(POOL))
    assert_allclose(few["model"], abs(share - 0.1 * tokens) / len(POOL), rtol=1e-6, atol=0)
    assert few["projected"] < 0.2 * few["model"]


def test_rules_that_cannot_be_met_are_told_by_name():
    rules = Rules([StartsWith("author", weight="hard", name="one"), StartsWith("date", weight="hard", name="two")])
    with pytest.warns(RuleWarning) as told:
        model = fit(PosteriorRegularization, params={"rules": rules, "select": "last"})
    messages = " ".join(str(warning.message) for warning in told)
    missed = {row["rule"]: row["projected"] for row in model.expectations_}
    assert_allclose(sum(missed.values()), 1.0, rtol=0, atol=1e-6)
    for name, size in missed.items():
        assert (f"rule '{name}' cannot be met" in messages) == (size > 0.01)
    assert np.isfinite(model.model_.weights.tokens).all()


# ---- interruptions


def test_a_settled_fit_is_resumed_settled(tmp_path):
    given = {"params": {"rounds": 50, "select": "last"}}
    whole = fit(PosteriorRegularization, **given, checkpoint=tmp_path)
    assert len(whole.path_) < 51
    same_fit(fit(PosteriorRegularization, **given, checkpoint=tmp_path, resume=True), whole)


# ---- what is set aside, and what is refused

ASIDE = {
    "MinLength": MinLength(2, name="odd", weight=5),
    "Order": Order(["author", "date"], name="odd"),
    "labels": AtMostOnce(counting="labels", name="odd"),
    "function": Function(lambda x, y: 0, name="odd"),
}


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("kind", ASIDE)
def test_rules_without_expectations_are_obeyed_only_in_prediction(method, kind):
    own = StartsWith("author")
    with pytest.warns(RuleWarning, match="cannot learn from 1 of 2 rules, and obeys them only in prediction: 'odd'$"):
        model = fit(method, params={"rules": Rules([own, ASIDE[kind]])})
    alone = fit(method, params={"rules": Rules([own])})
    assert_array_equal(model.model_.weights.tokens, alone.model_.weights.tokens)
    assert [rule.text for rule in model.model_.rules] == [own.text, "odd"]
