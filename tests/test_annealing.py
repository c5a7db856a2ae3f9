"""The annealing loop, with one model and crossed: its objective by enumeration, its labels and its models."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import brute
import brute_rules
from annealed_cases import (
    CITATIONS,
    LABELLED,
    POOL,
    ROUNDING,
    SHORT,
    UNLABELLED,
    N,
    X,
    Y,
    fit,
    long_titles,
    same_fit,
    task_of,
)
from semistruct import AnnealedSSVM
from semistruct.learning import settings as learning
from semistruct.learning.learners import MarginLearner
from semistruct.learning.rounds import Run, State
from semistruct.learning.solvers.sdm import Problem, solve
from semistruct.methods.annealed import NO_PART, CrossedModels, OneModel, PoolMatcher
from semistruct.rules import Function, Proportion, Rules, StartsWith, Words
from semistruct.rules.base import HARD
from semistruct.rules.switching import Matcher

pytestmark = pytest.mark.usefixtures("crossed_if_small")


def falls_within_each_temperature(history):
    for temperature in {row["stage"] for row in history}:
        rows = [row for row in history if row["stage"] == temperature]
        values = [row["objective"] for row in rows]
        assert all(b <= a + ROUNDING * abs(a) for a, b in pairwise(values)), values
        steps = [row["step"] for row in rows]
        assert steps == (["match", "learn"] * len(rows))[: len(rows)]
        assert [row["round"] for row in rows] == [k // 2 for k in range(len(rows))]


PROPORTIONS = Proportion({"author": (0.2, 0.3), "title": (0.2, 0.3)}, weight=0.5)
RULES = {
    "none": Rules([]),
    "instance": CITATIONS,
    "corpus": Rules.from_file("citations-daso"),
    "range": Rules([PROPORTIONS, *CITATIONS.rules[:3]], CITATIONS.labels),
    "function": Rules([*CITATIONS.rules[:4], Function(long_titles, weight=2.0)], CITATIONS.labels),
}


@pytest.mark.parametrize("moves", ["spans", "tokens"])
@pytest.mark.parametrize("match_by", ["score", "slack"])
@pytest.mark.parametrize("rules", RULES)
def test_no_half_step_raises_the_objective(rules, match_by, moves):
    pool = UNLABELLED[:8] if rules == "function" else UNLABELLED
    given = {**SHORT, "rules": RULES[rules], "match_by": match_by, "moves": moves, "rounds": 3, "select": "last"}
    history = AnnealedSSVM(**given).fit(*LABELLED, pool=pool).history_
    falls_within_each_temperature(history)
    assert [row["stage"] for row in history] == sorted(row["stage"] for row in history)
    assert {row["C_u"] for row in history} == {ratio * learning.MARGIN_C * N / len(pool) for ratio in (1.0, 10.0)}


SMALL_RULES = {
    "none": [],
    "instance": [{"starts_with": ["x", "y"], "weight": 0.3}, {"words": ["c"], "are": ["z"], "weight": 0.5}],
    "number": [{"proportion": {"x": 0.5, "z": 0.1}, "weight": 0.001}],
    "range": [{"proportion": {"x": (0.4, 0.6), "y": (0.1, 0.3)}, "weight": 1}, {"starts_with": ["x"], "weight": 0.2}],
    "function": [{"function": lambda tokens, labels: abs(labels.count("z") - 1), "weight": 0.2}],
    "mean": [
        {"function": lambda tokens, labels: labels.count("x"), "level": "corpus", "low": 1, "high": 1, "weight": 3}
    ],
}


def small_rules(name):
    made = {"starts_with": StartsWith, "words": Words, "proportion": Proportion, "function": Function}
    return Rules([made[next(iter(rule))](**rule) for rule in SMALL_RULES[name]], labels=["x", "y", "z"])


def small_corpus(seed):
    """(tokens, labels): some complete, one partly labelled, the others unlabelled; at most four tokens each."""
    rng = np.random.default_rng(seed)
    tokens = [[str(t) for t in rng.choice(list("abcd"), rng.integers(1, 5))] for _ in range(8)]
    labels = [[{"a": "x", "b": "y", "c": "z"}.get(t, str(rng.choice(["x", "y"]))) for t in row] for row in tokens]
    tokens[2], labels[2] = ["a", "d", "c"], ["x", None, None]
    return tokens, [*labels[:3], None, labels[4], None, None, None]


def objective(task, chain, labels, weight, rules):
    """J by listing every labelling of every sequence."""
    batch, Y = task.batch, chain.n_labels
    rows = np.zeros((batch.n_tokens, batch.n_features))
    for t in range(batch.n_tokens):
        entries = slice(batch.indptr[t], batch.indptr[t + 1])
        rows[t, batch.indices[entries]] = 1.0
    unary, names = rows @ chain.tokens, np.array(["x", "y", "z"])
    target = np.concatenate([task.known[: task.first_open], labels])
    total = 0.5 * (np.sum(chain.tokens**2) + np.sum(chain.trans**2))
    for i, (a, b) in enumerate(pairwise(batch.offsets)):
        own, u, kind = target[a:b], unary[a:b], np.zeros(b - a, int)
        worst = max(
            np.sum(np.array(path) != own) + brute.score(u, chain.trans, kind, path)
            for path in brute.labellings(b - a, Y)
        )
        total += weight[i] * (worst - brute.score(u, chain.trans, kind, own))
    open_y = np.split(names[labels], batch.offsets[task.n_fixed + 1 : -1] - task.first_open)
    price = brute_rules.price(rules, task.tables.X, [list(row) for row in open_y], list(names), HARD)
    return total + price, price


IMPORTANCE = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0])
ORDER = [0, 1, 4, 2, 3, 5, 6, 7]  # complete, then the others, then the pool
C, SCHEDULE = 0.8, [0.05, 1.0]


def small_task(rules, seed):
    """(the task, the supervised weights, its C_i at each stage)."""
    tokens, y = small_corpus(seed)
    task = task_of(tokens[:6], y[:6], tokens[6:], rules=small_rules(rules), sample_weight=IMPORTANCE[:6])
    begin = LEARNER.learn(task.batch.take(np.arange(4)), task.known[: task.batch.offsets[4]], C * task.weight[:4])
    has_labels = np.array([row is not None for row in y])
    return task, begin.chain, [(np.where(has_labels, C, C_u) * IMPORTANCE)[ORDER] for C_u in SCHEDULE]


LEARNER = MarginLearner(3, 0.01, 1000, 0, 1)


def history_is_true(rules, seed, models_of):
    """Follow a small path; after every half-step the record is of the old weights and the new labels, then of the
    new weights too."""
    task, begin, weights = small_task(rules, seed)
    seen, chains, models = [], [], models_of(task)

    class KeepingTheWeights:
        learn = models.learn

        def match(self, state, scale):
            chains.append(state.chain)
            return models.match(state, scale)

    def after_round(state):
        rows = state.history[-1:] if state.settled else state.history[-2:]
        for row, chain in zip(rows, [chains[-1], state.chain], strict=False):
            total, price = objective(task, chain, state.labels, weights[state.stage], SMALL_RULES[rules])
            assert_allclose(row["objective"], total, rtol=1e-8, atol=1e-8, err_msg=str(row))
            assert_allclose(row["penalty"], price, rtol=0, atol=1e-8)
        where = task.known[task.first_open :] >= 0
        assert_array_equal(state.labels[where], task.known[task.first_open :][where])
        seen.append((state.stage, state.round))

    class Small(AnnealedSSVM):
        C_ = C

        def _models(self, task, run):
            return KeepingTheWeights()

    state = State(begin)
    run = Run(state, "C_u", SCHEDULE, save=after_round)
    for _ in Small(rounds=3, n_jobs=1)._walk(task, run):
        pass
    assert {temperature for temperature, _ in seen} == {0, 1}
    return state.history


@pytest.mark.parametrize("moves", ["spans", "tokens", "printed"])
@pytest.mark.parametrize("by", ["score", "slack"])
@pytest.mark.parametrize("rules", SMALL_RULES)
@pytest.mark.parametrize("seed", range(4))
def test_the_recorded_objective_is_that_of_the_state(rules, by, moves, seed):
    history = history_is_true(rules, seed, lambda task: OneModel(PoolMatcher(task, by, moves, 1), LEARNER))
    if (by, moves) != ("slack", "printed"):
        falls_within_each_temperature(history)


@pytest.mark.parametrize("moves", ["spans", "tokens", "printed"])
@pytest.mark.parametrize("rules", SMALL_RULES)
@pytest.mark.parametrize("seed", range(4))
def test_switching_starts_from_the_best_labels_of_the_model(rules, moves, seed):
    """As the paper prints it, nothing else has a say; otherwise the old labels stay where they are better."""
    task, begin, weights = small_task(rules, seed)
    match, scale = PoolMatcher(task, "slack", moves, 1).match, weights[1][task.n_fixed :]
    fresh = match(begin, scale, None)
    matcher = Matcher(task.opened, task.tables, task.open_known, moves, n_jobs=1)
    assert_array_equal(fresh.labels, matcher.match(begin, scale, task.decoded(begin, 1)).labels)
    known = task.known[task.first_open :]
    for y in range(3):
        old = np.where(known >= 0, known, y).astype(np.int16)
        found, before = match(begin, scale, old), matcher.price(begin, scale, old)
        if moves == "printed":
            assert_array_equal(found.labels, fresh.labels)
        else:
            assert found.objective <= min(before.objective, fresh.objective) + 1e-9


@pytest.mark.parametrize("rules", ["none", "instance"])
@pytest.mark.parametrize("seed", range(4))
def test_so_it_is_with_crossed_models(rules, seed):
    history_is_true(rules, seed, crossed_models)


@pytest.mark.parametrize("match_by", ["crossed", "score", "slack"])
def test_rounds_end_when_the_labels_settle(match_by):
    rounds = 50
    model = fit(X, Y, pool=POOL, params={"rounds": rounds, "match_by": match_by, "select": "last"})
    for temperature in (0, 1):
        rows = [row for row in model.history_ if row["stage"] == temperature]
        assert len(rows) < 2 * rounds
        assert rows[-1]["step"] == "match"
        assert rows[-1]["switched"] == 0


# ---- crossed models


def crossed_models(task, learner=None):
    return CrossedModels.of(PoolMatcher(task, "score", "spans", 1), learner or LEARNER)


def random_chain(task, rng):
    shape = task.batch.n_features, len(task.labels)
    chain = LEARNER.learn(*task.labelled[:2], task.labelled[2]).chain
    return replace(
        chain, tokens=chain.tokens + rng.normal(size=shape), trans=chain.trans + rng.normal(size=chain.trans.shape)
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rules=st.sampled_from(["none", "instance"]))
def test_each_part_is_labelled_by_the_model_that_has_not_learned_from_it(seed, rules):
    """By listing all labellings of every sequence."""
    rng = np.random.default_rng(seed)
    task, _, weights = small_task(rules, seed % 1000)
    crossed = crossed_models(task)
    models = [random_chain(task, rng) for _ in range(learning.CROSSED)]
    state, scale = State(random_chain(task, rng), models=models), weights[1][task.n_fixed :]
    labels = crossed.match(state, scale).labels
    names, batch = ["x", "y", "z"], task.opened
    assert sorted(crossed.part) == [NO_PART] + [0] * 2 + [1] * 2
    for i, (a, b) in enumerate(pairwise(batch.offsets)):
        chain = state.chain if crossed.part[i] == NO_PART else models[crossed.part[i]]
        unary = np.zeros((b - a, 3))
        for t in range(a, b):
            unary[t - a] = chain.tokens[batch.indices[batch.indptr[t] : batch.indptr[t + 1]]].sum(axis=0)
        known = task.known[task.first_open :][a:b]

        def value(path, chain=chain, unary=unary, i=i):
            X, rows = [task.tables.X[i]], [[names[y] for y in path]]
            score = brute.score(unary, chain.trans, np.zeros(len(path), int), path)
            return scale[i] * score - brute_rules.price(SMALL_RULES[rules], X, rows, names, HARD)

        allowed = [p for p in brute.labellings(b - a, 3) if all(k < 0 or k == y for k, y in zip(known, p, strict=True))]
        assert value(labels[a:b].tolist()) == pytest.approx(max(map(value, allowed)), abs=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_each_model_is_that_of_a_problem_without_its_part(seed, n_jobs):
    task, begin, weights = small_task("instance", seed)
    crossed, weight = crossed_models(task, replace(LEARNER, tol=1e-4, n_jobs=n_jobs)), weights[1]
    state = State(begin)
    for _ in range(2):  # from weights, then from dual variables
        matching = crossed.match(state, weight[task.n_fixed :])
        target = np.concatenate([task.known[: task.first_open], matching.labels])
        problem = Problem(task.batch, 3, target, weight, np.ones(task.batch.n_tokens, np.int8))
        crossed.learn(problem, state, np.inf)
        part = np.concatenate([np.full(task.n_fixed, NO_PART), crossed.part])
        for k, found in enumerate(state.models):
            rest = np.flatnonzero(part != k)
            share = weight[part >= 0].sum() / weight[(part >= 0) & (part != k)].sum()
            more = np.where(part == NO_PART, 1.0, share)[rest] * weight[rest]
            alone = Problem(task.batch.take(rest), 3, target[task.batch.tokens_of(rest)], more,
                            np.ones(task.batch.lengths[rest].sum(), np.int8))  # fmt: skip
            expected = solve(alone, tol=1e-4)
            bound = 4 * np.sqrt(2e-4 * expected.objective)  # two points within a gap of the optimum
            assert np.linalg.norm(found.tokens - expected.chain.tokens) <= bound
            assert np.linalg.norm(found.trans - expected.chain.trans) <= bound
        assert_allclose(state.chain.tokens, np.mean([one.tokens for one in state.models], axis=0))
        assert_allclose(state.chain.trans, np.mean([one.trans for one in state.models], axis=0))


def test_threads_do_not_change_crossed_models():
    given = {**SHORT, "rules": CITATIONS, "select": "last"}
    same_fit(*(AnnealedSSVM(**given, n_jobs=n).fit(*LABELLED, pool=UNLABELLED) for n in (1, 2)))
    same_fit(*(AnnealedSSVM(**given, n_jobs=n).fit(*LABELLED, pool=UNLABELLED * 9) for n in (1, 4)))


@pytest.mark.parametrize(
    ("rules", "params"),
    [("corpus", {}), ("function", {}), ("instance", {"rounds": 1}), ("instance", {"moves": "tokens"})],
)
def test_without_halves_or_a_search_there_is_one_model(rules, params):
    given = {**SHORT, "rules": RULES[rules], "select": "last", **params}
    same_fit(*(AnnealedSSVM(**given, match_by=way).fit(*LABELLED, pool=UNLABELLED[:8]) for way in ("crossed", "score")))


def test_a_small_pool_has_no_parts(monkeypatch):
    monkeypatch.setattr(learning, "CROSSED_FROM", len(POOL) + 1)
    same_fit(*(fit(X, Y, pool=POOL, params={"match_by": way, "select": "last"}) for way in ("crossed", "score")))


def test_crossed_models_are_others():
    one, other = (fit(X, Y, pool=POOL, params={"match_by": way, "select": "last"}) for way in ("crossed", "score"))
    assert not np.array_equal(one.model_.weights.tokens, other.model_.weights.tokens)
