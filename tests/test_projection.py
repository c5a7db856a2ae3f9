"""Projection on expectations, against a general solver that lists every labelling."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import brute
import brute_projection
from matching_cases import Case, random_case
from rule_strategies import descriptions, has_expectation
from semistruct.rules import AtMostOnce, Proportion, Rules, StartsWith, Words
from semistruct.rules.expectations import Expectations
from semistruct.rules.projection import Multipliers, Projector
from strategies import random_batch, random_chain, seeds, some_known

CLOSE = 5e-4  # the dual is flat at its top: its value is far more exact than what is expected there
TEMPERATURES = [0.5, 1.0, 2.0]


def softness(n):
    return 0.1 * n


@dataclass(frozen=True)
class Task:
    """A small corpus with a model and rules, at a temperature; labels that are -1 are not known."""

    case: Case
    T: float
    known: np.ndarray

    @cached_property
    def listed(self):
        """Of every sequence {labelling: score}, of those that agree with what is known."""
        fixed = self.case.batch.split(self.known)
        return [
            {p: s for p, s in scores.items() if all(k in (-1, z) for k, z in zip(own, p, strict=True))}
            for scores, own in zip(self.case.scores, fixed, strict=True)
        ]

    @cached_property
    def problem(self):
        return brute_projection.problem(self.case.X, self.case.labels, self.listed, self.case.rules, softness)

    def projector(self, **given):
        expectations = Expectations.of(self.case.tables, lambda level, n: softness(n))
        known = self.known if (self.known >= 0).any() else None
        return Projector(self.case.batch, expectations, known, **{"tol": 1e-8, "rounds": 1000, **given})

    def project(self, **given):
        return self.projector().project(self.case.weights, temperature=self.T, **given)

    def marginals(self, q):
        """(marginals, expected steps of every sequence) of distributions over the listed labellings."""
        Y, K = self.case.Y, self.case.batch.n_kinds
        marginal, steps = [], np.zeros((len(q), K, Y, Y))
        for i, (paths, own) in enumerate(zip(self.listed, q, strict=True)):
            kind, here = self.case.chains[i][2], np.zeros((len(self.case.X[i]), Y))
            for path, p in zip(paths, own, strict=True):
                for t, z in enumerate(path):
                    here[t, z] += p
                    if t > 0:
                        steps[i, kind[t], path[t - 1], z] += p
            marginal.append(here)
        return np.concatenate(marginal), steps

    def is_met_by(self, found, q, close=CLOSE):
        """What was found is expected of q."""
        marginal, steps = self.marginals(q)
        assert_allclose(found.marginal, marginal, rtol=0, atol=close)
        assert_allclose(found.steps, steps.sum(axis=0), rtol=0, atol=close * len(q))
        entropy = [-np.sum(own[own > 0] * np.log(own[own > 0])) for own in q]
        assert_allclose(found.entropy, entropy, rtol=0, atol=10 * close)
        e, p = Expectations.of(self.case.tables, lambda level, n: softness(n)), self.problem
        instance = [own @ a for own, a in zip(q, p.instance, strict=True)]
        assert_allclose(e.instance_scale() * (found.expected @ e.instance.a.T), instance, rtol=0, atol=4 * close)
        corpus = sum(own @ b for own, b in zip(q, p.corpus, strict=True))
        assert_allclose(e.corpus.a @ found.expected.sum(axis=0), corpus, rtol=0, atol=4 * close * len(q))


@st.composite
def tasks(draw, weights=(None, 0.25, 1, 7.5)):
    """weights  those that rules may have; None leaves them open"""
    labels = ("a", "b", "c")[: draw(st.sampled_from([2, 3]))]
    lengths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    rules = draw(st.lists(descriptions(labels).filter(has_expectation), min_size=1, max_size=4))
    rules = [{k: v for k, v in rule.items() if k != "weight"} for rule in rules]
    chosen = [draw(st.sampled_from(weights)) for _ in rules]
    rules = [rule if w is None else {**rule, "weight": w} for rule, w in zip(rules, chosen, strict=True)]
    rng = np.random.default_rng(draw(seeds))
    case = random_case(rng, lengths, labels, rules, size=1.5)
    share = 1 / 3 if draw(st.booleans()) else 0.0
    return Task(case, draw(st.sampled_from(TEMPERATURES)), some_known(rng, sum(lengths), len(labels), share))


# ---- the optimum


@settings(deadline=None, max_examples=40)
@given(tasks())
def test_projection_against_a_general_solver(task):
    found = task.project()
    q, dual = brute_projection.project(task.problem, task.T)
    assert_allclose(found.dual, dual, rtol=1e-7, atol=1e-7)
    task.is_met_by(found, q)
    assert found.residual < 1e-3


@settings(deadline=None, max_examples=60)
@given(tasks(), seeds)
def test_no_distribution_costs_less_than_the_dual(task, seed):
    """And the one that was found costs no more, which proves that it is the best."""
    found, p, rng = task.project(), task.problem, np.random.default_rng(seed)
    assume(
        found.residual < 1e-6
    )  # rules that say the same twice can leave a flat valley, which is told by the residual
    q = brute_projection.tilted(p, found.multipliers.instance, found.multipliers.corpus, task.T)
    task.is_met_by(found, q, 1e-8)
    assert_allclose(brute_projection.primal(p, q, task.T), found.dual, rtol=1e-5, atol=1e-5)
    for size in (0.01, 1.0):
        near = [own * rng.lognormal(0, size, len(own)) for own in q]
        near = [own / own.sum() for own in near]
        assert brute_projection.primal(p, near, task.T) >= found.dual - 1e-7
    start = brute_projection.tilted(p, 0 * found.multipliers.instance, 0 * found.multipliers.corpus, task.T)
    assert brute_projection.primal(p, start, task.T) >= found.dual - 1e-7


@settings(deadline=None, max_examples=40)
@given(tasks(weights=("hard", "hard", None, 1)))
def test_hard_rules_that_can_be_met_are_met(task):
    assume(brute_projection.feasible(task.problem))
    found = task.project()
    q, dual = brute_projection.project(task.problem, task.T)
    assert_allclose(found.dual, dual, rtol=1e-3, atol=1e-3)
    task.is_met_by(found, q, 2e-3)
    e = Expectations.of(task.case.tables, lambda level, n: softness(n))
    instance, corpus = e.beyond(found.expected)
    assert (instance[:, (e.instance.slack == 0) & np.isinf(e.instance.price)] < 1e-2).all()
    assert (corpus[(e.corpus.slack == 0) & np.isinf(e.corpus.price)] < 1e-2).all()


@settings(deadline=None, max_examples=30)
@given(tasks(weights=(None, 1)), seeds)
def test_a_start_does_not_change_the_result(task, seed):
    cold, rng = task.project(), np.random.default_rng(seed)
    e = Expectations.of(task.case.tables, lambda level, n: softness(n))
    far = Multipliers(
        np.clip(rng.normal(0, 2, cold.multipliers.instance.shape), e.instance.low, e.instance.price),
        np.clip(rng.normal(0, 2, cold.multipliers.corpus.shape), e.corpus.low, e.corpus.price),
    )
    kept = far.instance.copy(), far.corpus.copy()
    for start in (cold.multipliers, far):
        warm = task.project(start=start)
        assert_allclose(warm.dual, cold.dual, rtol=1e-7, atol=1e-7)
        assert_allclose(warm.marginal, cold.marginal, rtol=0, atol=CLOSE)
    assert_array_equal(far.instance, kept[0])
    assert_array_equal(far.corpus, kept[1])


@settings(deadline=None, max_examples=30)
@given(tasks(), seeds)
def test_weights_of_sequences_multiply_the_steps(task, seed):
    weight = np.random.default_rng(seed).uniform(0, 3, len(task.case.X))
    found, p = task.project(weight=weight), task.problem
    q = brute_projection.tilted(p, found.multipliers.instance, found.multipliers.corpus, task.T)
    wanted = np.tensordot(weight, task.marginals(q)[1], 1)
    assert_allclose(found.steps, wanted, rtol=0, atol=1e-8)
    assert_array_equal(found.expected, task.project().expected)


@settings(deadline=None, max_examples=30)
@given(tasks())
def test_the_most_probable_labelling(task):
    found = task.project()
    labels = task.projector().best(task.case.weights, found.multipliers)
    p = task.problem
    q = brute_projection.tilted(p, found.multipliers.instance, found.multipliers.corpus, task.T)
    for paths, own, path in zip(task.listed, q, task.case.split(labels), strict=True):
        chosen = own[list(paths).index(path)]  # it agrees with what is known
        assert chosen >= own.max() * (1 - 1e-8)


@settings(deadline=None, max_examples=30)
@given(tasks())
def test_what_the_model_expects_itself(task):
    p = task.problem
    nothing = np.zeros((len(p.scores), len(p.of_instance))), np.zeros(len(p.of_corpus))
    q = brute_projection.tilted(p, *nothing, task.T)
    e = Expectations.of(task.case.tables, lambda level, n: softness(n))
    found = task.projector().expected(task.case.weights, task.T)
    instance = [own @ a for own, a in zip(q, p.instance, strict=True)]
    assert_allclose(e.instance_scale() * (found @ e.instance.a.T), instance, rtol=0, atol=1e-9)
    corpus = sum(own @ b for own, b in zip(q, p.corpus, strict=True))
    assert_allclose(e.corpus.a @ found.sum(axis=0), corpus, rtol=0, atol=1e-9)


@pytest.mark.parametrize("T", TEMPERATURES)
def test_without_rules_it_is_the_model_at_that_temperature(T):
    case = random_case(np.random.default_rng(0), [3, 1], "abc", [])
    found = Task(case, T, np.full(4, -1, np.int16)).project()
    parts = [brute.distribution(unary / T, step / T, kind) for unary, step, kind in case.chains]
    assert_allclose(found.marginal, np.concatenate([part[1] for part in parts]), rtol=0, atol=1e-9)
    assert_allclose(found.dual, -T * sum(part[0] for part in parts), rtol=1e-9, atol=0)


# ---- the size of things


def large_task(n=200, seed=0, size=2.0):
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, rng.integers(1, 12, n).tolist(), 6, n_kinds=2)
    X = [rng.choice(["pp", "ca", ",", "x1"], length).tolist() for length in batch.lengths]
    return batch, X, random_chain(rng, batch, 3, size)


RULES = [
    AtMostOnce(),
    StartsWith(["a", "b"]),
    Words(["pp"], are="b", level="corpus"),
    Proportion({"a": 0.5, "c": (0.1, 0.2)}),
]


def test_threads_do_not_change_a_bit():
    batch, X, chain = large_task()
    expectations = Expectations.of(Rules(RULES).compile(X, "abc"), lambda level, n: softness(n))
    one, *others = (Projector(batch, expectations, n_jobs=n).project(chain) for n in (1, 2, 3, None))
    for other in others:
        for name in ("marginal", "steps", "expected", "entropy", "dual", "residual"):
            assert_array_equal(getattr(one, name), getattr(other, name))
        assert_array_equal(one.multipliers.instance, other.multipliers.instance)
        assert_array_equal(one.multipliers.corpus, other.multipliers.corpus)


def test_many_sequences_are_brought_to_their_targets():
    batch, X, chain = large_task()
    expectations = Expectations.of(Rules(RULES[1:]).compile(X, "abc"), lambda level, n: 1e-4 * n)
    projector = Projector(batch, expectations)
    (_, before), (_, after) = (
        expectations.beyond(expected) for expected in (projector.expected(chain), projector.project(chain).expected)
    )
    assert (before > 40).sum() == 3
    assert (after < 3).all()


@pytest.mark.parametrize("size", [1.0, 50.0, 1000.0])
def test_rules_that_cannot_be_met_end_and_stay_finite(size):
    batch, X, chain = large_task(40, size=size)
    never = [StartsWith("a", weight="hard"), StartsWith("b", weight="hard"), Proportion({"a": 0.9}, weight="hard")]
    expectations = Expectations.of(Rules([*RULES, *never]).compile(X, "abc"), lambda level, n: softness(n))
    projector = Projector(batch, expectations, rounds=50)
    found = projector.project(chain)
    assert np.isfinite(found.marginal).all()
    assert np.isfinite(found.expected).all()
    assert np.isfinite(found.dual)
    instance, corpus = expectations.beyond(found.expected)
    assert instance[:, -2:].sum() + corpus[-1] >= len(X) - 1e-6  # each begins with one label
    assert_allclose(found.marginal.sum(axis=1), 1.0, rtol=0, atol=1e-6)
    assert set(projector.best(chain, found.multipliers)) <= {0, 1, 2}
