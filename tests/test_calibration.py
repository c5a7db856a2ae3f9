"""Probabilities of being right, and what is promised because of them."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binom

from semistruct import Rules, make_citations
from semistruct.data.labels import Span, spans
from semistruct.model.answers import LEVELS, Cases, Scores, blocks_of, cases, soft_least
from semistruct.model.calibration import (
    KINDS,
    LOG_ODDS,
    MARGINS,
    PRIORS,
    Curve,
    Prior,
    Standing,
    by_chance,
    calibration_error,
    coverage,
    fit,
    reliability,
)
from semistruct.model.promises import CONFIDENCE, Record, keeps, needed
from semistruct.rules import AtMostOnce, StartsWith
from strategies import seeds

RULES = Rules([StartsWith("author"), AtMostOnce()])
TRAIN, TEST = make_citations(24), make_citations(12, seed=5)


# curves ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(0, 30), st.sampled_from(KINDS))
def test_the_curve_is_the_most_probable_one(seed, n, kind):
    rng = np.random.default_rng(seed)
    score, right, prior = rng.normal(size=n) * 3, rng.random(n) < 0.7, Prior(0.3, 2.0, 0.7, 0.9, 0.4)
    found = fit(score, right, kind, prior)
    x = score if kind == LOG_ODDS else np.arcsinh(score)

    def loss(w):
        p = 1 / (1 + np.exp(-(w[0] + w[1] * x)))
        cost = -prior.worth * np.sum(np.where(right, np.log(p), np.log(1 - p)))
        return cost + 0.5 * ((w[0] - prior.a) / prior.spread_a) ** 2 + 0.5 * ((w[1] - prior.b) / prior.spread_b) ** 2

    wanted = minimize(loss, [prior.a, prior.b], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    if wanted[1] > 0:
        assert_allclose([found.a, found.b], wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_without_cases_the_prior_decides(kind):
    prior = PRIORS[kind, False, "block"]
    assert fit(np.zeros(0), np.zeros(0, bool), kind, prior) == Curve(prior.a, prior.b, kind)


def test_a_curve_is_between_0_and_1_and_rises():
    score = np.array([-np.inf, -1e9, -3.0, 0.0, 2.0, 1e9, np.inf])
    for kind in KINDS:
        p = Curve(0.5, 2.0, kind)(score)
        assert (p >= 0).all()
        assert (p <= 1).all()
        assert (np.diff(p) >= 0).all()


def test_curves_never_fall():
    score = np.linspace(0, 5, 200)
    assert fit(score, score < 1, MARGINS, PRIORS[MARGINS, False, "token"]).b == 0


# scores ---------------------------------------------------------------------------------------------------------


def test_the_soft_least_is_at_most_the_least():
    values = np.array([3.0, 1.0, 1.0, 8.0])
    assert soft_least(values) == pytest.approx(-0.5 * np.log(np.sum(np.exp(-values / 0.5))))
    assert soft_least(np.array([np.inf])) == np.inf


def test_cases_of_each_level():
    found = [["a", "a", "b"], ["a", "b", "b"], ["b"]]
    gold = [["a", "a", "b"], ["a", None, "a"], None]
    scores = [Scores.of_margins(np.arange(1.0, len(row) + 1), blocks_of(row, "plain")) for row in found]
    known = cases(scores, found, gold, "plain")
    assert known["token"].right.tolist() == [True, True, True, True, False]
    assert known["token"].score.tolist() == [1, 2, 3, 1, 3]
    assert known["token"].owner.tolist() == [0, 0, 0, 1, 1]
    assert known["block"].right.tolist() == [True, True]
    assert known["sequence"].right.tolist() == [True]


def test_blocks_of_gold_labels_that_are_written_otherwise():
    assert blocks_of(["B-a", "I-a"], "bio") == blocks_of(["a", "a"], "bio") == spans(["a", "a"])


# levels ---------------------------------------------------------------------------------------------------------


def check_order(found, blocks):
    """sequence <= block <= token."""
    for p, one in zip(found.block, blocks, strict=True):
        assert found.sequence <= p <= found.token[one.start : one.end].min()
    assert found.sequence <= found.token.min()


@settings(deadline=None, max_examples=100)
@given(seeds, st.integers(1, 12), st.sampled_from(KINDS))
def test_the_parts_are_never_less_likely_right_than_the_whole(seed, n, kind):
    rng = np.random.default_rng(seed)
    curves = {level: Curve(*rng.normal(size=2) * [2, 0] + [0, rng.exponential()], kind) for level in LEVELS}
    edges = np.flatnonzero(rng.random(n + 1) < 0.5)
    blocks = [Span("a", a, b) for a, b in pairwise(edges) if rng.random() < 0.7]
    scores = Scores(rng.normal(size=n) * 4, rng.normal(size=len(blocks)) * 4, float(rng.normal() * 4))
    found = Standing(kind, curves, {}).probabilities(scores, blocks)
    check_order(found, blocks)
    assert found.sequence == curves["sequence"](scores.sequence)
    for level in ("token", "block"):
        alone, now = curves[level](getattr(scores, level)), getattr(found, level)
        assert (now >= alone).all()
        assert {*now} <= {*alone, *found.block, found.sequence}


@pytest.mark.parametrize("kind", KINDS)
def test_what_sequences_tell_of_tokens_does_not_make_them_too_sure(kind):
    """Scores of tokens are worth little here and those of sequences much; the curve of tokens knows of these."""
    rng = np.random.default_rng(0)

    def drawn(n):
        rows = []
        for _ in range(n):
            whole = rng.random() < 0.5
            right = [True] * 6 if whole else [bool(hit) for hit in rng.random(6) < 0.4]
            scores = Scores(rng.normal(size=6) + 1, np.zeros(0), float(rng.normal() + (4 if whole else -4)))
            rows.append((scores, ["O"] * 6, ["O" if hit else "B-a" for hit in right]))
        return zip(*rows, strict=True)

    standing = Standing.of(kind, False, [cases(*drawn(2000), "bio")])
    scores, found, gold = drawn(2000)
    sure = cases([standing.probabilities(one, []) for one in scores], found, gold, "bio")
    for level in ("token", "sequence"):
        one = sure[level]
        assert calibration_error(reliability(one.score, one.right)) < 0.03
    assert_allclose(sure["token"].score.mean(), sure["token"].right.mean(), rtol=0, atol=0.01)


# promises -------------------------------------------------------------------------------------------------------


def alone(score, right, owner=None):
    """Cases that are parts of nothing."""
    score, outside = np.asarray(score, float), np.full(len(score), -np.inf)
    return Cases(score, np.asarray(right, bool), np.arange(len(score)) if owner is None else owner, outside, outside)


def record_of(score, right):
    return Record.of(alone(score, right), Curve(1, 1, MARGINS)(score))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400), st.floats(0.3, 0.999), st.data())
def test_the_bound_is_that_of_clopper_and_pearson(n, level, data):
    """So few wrong answers, or fewer, would be seen rarely if more than 1 - level of all were wrong."""
    wrong = data.draw(st.integers(0, n))
    chance = binom.cdf(wrong, n, 1 - level)
    if abs(chance - (1 - CONFIDENCE)) > 1e-9:
        assert keeps(wrong, n, level) == (chance < 1 - CONFIDENCE)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_how_many_right_answers_it_takes(level):
    n = needed(level)
    assert keeps(0, n, level)
    assert not keeps(0, n - 1, level)
    assert record_of(np.arange(n), np.ones(n)).threshold(level) == 0
    assert record_of(np.arange(n - 1), np.ones(n - 1)).threshold(level) is None
    assert record_of(np.arange(n), np.arange(n) > 0).threshold(level) is None


def test_looks_go_on_with_more_answers_for_each_that_may_be_wrong():
    n = 2000
    right = np.ones(n, bool)
    right[350] = False
    right[1500:] = np.arange(500) % 2 == 0
    record = record_of(-np.arange(n), right)
    score = record.threshold(0.99)
    accepted = -score + 1
    assert 1300 < accepted < 1530
    assert keeps(np.sum(~right[: int(accepted)]), accepted, 0.99)


def test_promises_are_kept_as_often_as_stated():
    """Answers whose chance of being wrong falls with their score, in many draws."""
    rng, broken, made = np.random.default_rng(1), 0, 0
    score = np.linspace(0, 1, 20_001)
    wrong = 0.3 * np.exp(-6 * score)
    for _ in range(300):
        at = rng.random(300)
        found = record_of(at, rng.random(300) > 0.3 * np.exp(-6 * at)).threshold(0.95)
        if found is not None:
            made += 1
            broken += wrong[score >= found].mean() > 0.05
    assert made > 100
    assert broken <= 300 * (1 - CONFIDENCE)


def test_answers_that_are_alike_count_less():
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(50) < 0.9, 8)
    owner = np.repeat(np.arange(50), 8)
    score = rng.random(400)
    alike = Record.of(alone(score, right, owner), Curve(2.2, 0, MARGINS)(score))
    assert alike.likeness == pytest.approx(8 * (1 + 2 * np.sqrt(2 / 50)), rel=0.01)
    assert record_of(score, right).likeness == 1


def test_a_record_is_kept_small_and_read_back():
    rng = np.random.default_rng(0)
    record = record_of(rng.normal(size=5000), rng.random(5000) < 0.8)
    assert len(record.n) <= 500
    assert record.total == 5000
    again = Record.from_dict(json.loads(json.dumps(record.to_dict())))
    assert again.threshold(0.7) == record.threshold(0.7)
    assert_allclose(again.score, record.score, rtol=0, atol=0)


# reliability ----------------------------------------------------------------------------------------------------


def test_calibration_error():
    p, right = np.repeat([0.2, 0.9], 50), np.array(([1] * 4 + [0] * 6) * 5 + ([1] * 9 + [0]) * 5, bool)
    bins = reliability(p, right)
    assert [row["right"] for row in bins] == pytest.approx([0.4] * 5 + [0.9] * 5)
    assert calibration_error(bins) == pytest.approx(0.5 * 0.2 + 0.5 * 0.0)


def test_perfect_probabilities_err_by_chance_only():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    found = [calibration_error(reliability(p, rng.random(400) < p)) for _ in range(200)]
    assert np.mean(found) == pytest.approx(by_chance(p), rel=0.05)


def test_coverage_of_the_surest():
    rows = coverage(np.linspace(0, 1, 10), np.arange(10) >= 4)
    assert [row["right"] for row in rows] == pytest.approx([1] * 6 + [6 / 7, 6 / 8, 6 / 9, 0.6])
    assert [row["n"] for row in rows] == list(range(1, 11))
