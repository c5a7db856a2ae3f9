"""Probabilities of being right, and what is promised because of them."""

import json
import pickle
import zipfile
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binom
from sklearn.base import clone

from semistruct import CRF, HMM, SSVM, AnnealedSSVM, Rules, load, make_citations
from semistruct.batch import UNKNOWN
from semistruct.calibration.calibration import Calibration, Standing
from semistruct.calibration.cases import LEVELS, Cases, Scores, blocks_of, cases, soft_least
from semistruct.calibration.curves import KINDS, LOG_ODDS, MARGINS, PRIORS, Curve, Prior, fit
from semistruct.calibration.promises import CONFIDENCE, Record, keeps, needed
from semistruct.calibration.reliability import by_chance, calibration_error, coverage, reliability
from semistruct.errors import ModelError, ParameterError
from semistruct.fitting import calibrating
from semistruct.fitting.calibrating import ONE_PART, PARTS, Uncalibrated, parts_of
from semistruct.labels import Span, spans
from semistruct.methods.ssvm import BRIEF_GAP, BRIEF_PASSES
from semistruct.rules import AtMostOnce, StartsWith, Words
from strategies import random_problem, seeds

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
    return Record.of(alone(score, right), Curve(1, 1, MARGINS))


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
    alike = Record.of(alone(score, right, owner), Curve(2.2, 0, MARGINS))
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
    p, right = np.array([0.2] * 10 + [0.9] * 10), np.array([1] * 4 + [0] * 6 + [1] * 9 + [0], bool)
    bins = reliability(p, right, 2)
    assert [one["right"] for one in bins] == pytest.approx([0.4, 0.9])
    assert calibration_error(bins) == pytest.approx(0.1)


def test_perfect_probabilities_err_by_chance_only():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    found = [calibration_error(reliability(p, rng.random(400) < p)) for _ in range(200)]
    assert np.mean(found) == pytest.approx(by_chance(p), rel=0.05)


def test_coverage_of_the_surest():
    rows = coverage(np.linspace(0, 1, 10), np.arange(10) >= 4)
    assert [row["right"] for row in rows] == pytest.approx([1] * 6 + [6 / 7, 6 / 8, 6 / 9, 0.6])
    assert [row["n"] for row in rows] == list(range(1, 11))


# models ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models():
    pool = make_citations(20, seed=7).tokens
    return {
        "ssvm": SSVM(rules=RULES).fit(TRAIN.tokens, TRAIN.labels),
        "crf": CRF(rules=RULES).fit(TRAIN.tokens, TRAIN.labels),
        "hmm": HMM().fit(TRAIN.tokens, TRAIN.labels),
        "annealed": AnnealedSSVM(rules=RULES, schedule=[1.0], rounds=1).fit(TRAIN.tokens, TRAIN.labels, pool=pool),
    }


@pytest.mark.parametrize("name", ["ssvm", "crf", "hmm", "annealed"])
def test_probabilities_of_all_methods(models, name):
    model = models[name]
    for rules in (False, True) if model.model_.rules is not None else (False,):
        labels = model.predict(TEST.tokens, rules=rules)
        token, block, whole = (model.confidence(TEST.tokens, rules=rules, by=level) for level in LEVELS)
        for row, own, p, y in zip(token, block, whole, labels, strict=True):
            assert len(row) == len(y)
            assert len(own) == len(spans(y))
            assert all(0 <= value <= 1 for value in (*row, *own, p))
            check_order(Scores(row, own, p), spans(y))


@pytest.mark.parametrize("name", ["ssvm", "crf", "annealed"])
def test_probabilities_are_about_right(models, name):
    data, model = make_citations(100, seed=9), models[name]
    for rules in (False, True):
        p = np.concatenate(model.confidence(data.tokens, rules=rules))
        assert np.mean(p) == pytest.approx(model.score(data.tokens, data.labels, rules=rules), abs=0.08)


@pytest.mark.parametrize("name", ["crf", "hmm"])
def test_exact_probabilities_before_calibration(models, name):
    model, odds = models[name], models[name].model_.answers(TEST.tokens, exact=True)
    assert model.calibration_.plain.kind == LOG_ODDS
    for marginal, labels, one in zip(model.predict_marginals(TEST.tokens), *odds, strict=True):
        wanted = [row[model.classes_.index(label)] for row, label in zip(marginal, labels, strict=True)]
        assert_allclose(1 / (1 + np.exp(-one.token)), wanted, rtol=0, atol=1e-8)


def test_saved_and_loaded(models, tmp_path):
    for name, model in models.items():
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        assert again.confidence(TEST.tokens, by="sequence") == model.confidence(TEST.tokens, by="sequence")
        assert again.card_["calibration"]["from"] == "cross-fitting"
        assert again.model_.calibration.to_dict() == model.calibration_.to_dict()


@pytest.mark.parametrize("damage", [
    {"plain": None}, {"plain": {"kind": "margins"}}, {"ruled": {"kind": "x"}}, {"ruled": 3},
    {"plain": {"kind": "margins", "curves": {"token": [0, "x"]}}},
])  # fmt: skip
def test_a_damaged_calibration(models, tmp_path, damage):
    models["ssvm"].save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(parts["model.json"])
    about["calibration"] |= damage
    parts["model.json"] = json.dumps(about).encode()
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match="damaged"):
        load(tmp_path / "m")


def test_dev_data_is_asked_about_if_there_is_enough():
    dev = make_citations(40, seed=3)
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels, dev=(dev.tokens, dev.labels))
    assert model.calibration_.card == {"from": "dev data", "sequences": 40}
    model.fit(TRAIN.tokens, TRAIN.labels, dev=(dev.tokens[:5], dev.labels[:5]))
    assert model.calibration_.card == {"from": "dev data and cross-fitting", "sequences": 29}


def test_one_label_leaves_what_other_data_tell():
    model = SSVM().fit(TRAIN.tokens[:1], TRAIN.labels[:1])
    assert model.calibration_.card == {"from": "other data", "sequences": 0}
    assert 0 <= model.confidence(TEST.tokens[:1], by="sequence")[0] <= 1
    with pytest.raises(ParameterError, match="too few labels to promise anything: it takes at least 299 held-out"):
        model.promise(0.99)


def test_models_without_a_part_are_brief_but_forget_their_start():
    problem = random_problem(0, n=12, max_T=4, n_features=6)
    batch, known = problem.batch, problem.target
    learner = SSVM(tol=0.01, n_jobs=1).learner(problem.n_labels)
    rest = np.where(np.arange(12) < 4, 0.0, 1.0)
    whole = learner.learn(batch, known, np.ones(12))
    brief = SSVM(tol=0.01, n_jobs=1).brief_learner(problem.n_labels)
    brief = brief.learn(batch, known, rest, rough=True, start=whole.start)
    last = brief.history[-1]
    assert brief.stop == "converged"
    assert last.gap <= BRIEF_GAP * last.objective
    assert last.count == BRIEF_PASSES
    assert learner.learn(batch, known, rest, rough=True, start=whole.start).history[-1].count < BRIEF_PASSES


def test_brief_models_fill_in_unknown_labels_in_no_more_passes_than_they_need():
    problem = random_problem(0, n=12, max_T=4, n_features=6)
    known = problem.target.copy()
    known[:3] = UNKNOWN
    brief = SSVM(tol=0.01, n_jobs=1).brief_learner(problem.n_labels)
    learned = brief.learn(problem.batch, known, np.ones(12), rough=True)
    assert learned.stop == "converged"
    assert learned.history[-1].count < BRIEF_PASSES


def test_partly_labelled_sequences_are_not_held_out():
    labels = [[None, *row[1:]] for row in TRAIN.labels[:6]] + TRAIN.labels[6:]
    assert SSVM().fit(TRAIN.tokens, labels).calibration_.card["sequences"] == 18


@pytest.fixture
def learned(monkeypatch):
    """A list of what calibration has learned so far."""
    calls, learn = [], Uncalibrated.calibration
    monkeypatch.setattr(Uncalibrated, "calibration", lambda kept: calls.append(kept) or learn(kept))
    return calls


ASKING = {
    "confidence": lambda model: model.confidence(TEST.tokens[:1]),
    "sureness": lambda model: model.sureness(TEST.tokens[:1]),
    "promise": lambda model: model.promise(0.3),
    "accept": lambda model: model.accept(TEST.tokens[:1], 0.3),
    "calibrate": lambda model: model.calibrate(),
}


@pytest.mark.parametrize("name", ASKING)
def test_it_is_learned_once_and_only_when_somebody_asks(learned, name):
    model = SSVM(rules=RULES).fit(TRAIN.tokens, TRAIN.labels)
    model.predict(TEST.tokens, n_best=2)
    model.score(TEST.tokens, TEST.labels)
    model.decision_function(TEST.tokens)
    assert learned == []
    ASKING[name](model)
    ASKING[name](model)
    assert len(learned) == 1
    assert model._uncalibrated is None  # the training data is not kept any longer


def test_a_saved_model_is_calibrated(learned, tmp_path):
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").calibration_.to_dict() == model.calibration_.to_dict()
    assert len(learned) == 1


@pytest.mark.parametrize(
    "method", [SSVM(rules=RULES), SSVM(C="auto"), CRF(), HMM(), AnnealedSSVM(rules=RULES, schedule=[1.0], rounds=1)]
)
def test_what_is_learned_later_is_the_same(learned, method):
    pool = {"pool": TEST.tokens[:10]} if isinstance(method, AnnealedSSVM) else {}
    model = method.fit(TRAIN.tokens, TRAIN.labels, **pool)
    other = pickle.loads(pickle.dumps(model))
    copied = deepcopy(model)
    wanted = model.calibration_.to_dict()
    model.set_params(random_state=5, n_jobs=2) if "random_state" in model.get_params() else model.set_params(n_jobs=2)
    assert copied.calibration_.to_dict() == wanted
    assert other.predict(TEST.tokens[:5]) == model.predict(TEST.tokens[:5])
    assert len(learned) == 2
    assert other.calibration_.to_dict() == wanted
    assert clone(model).get_params() == model.get_params()
    assert clone(model)._uncalibrated is None


def test_a_second_fit_forgets_the_first():
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    assert model.calibration_.card["sequences"] == len(TRAIN)
    assert model.fit(TRAIN.tokens[:7], TRAIN.labels[:7]).calibration_.card["sequences"] == 7


def test_an_interruption_while_somebody_asks_changes_nothing(monkeypatch):
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    with monkeypatch.context() as patch:
        patch.setattr(calibrating, "_answers", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.confidence(TEST.tokens)
    assert model.calibration_.card["from"] == "cross-fitting"


def test_an_interruption_while_a_model_is_saved_leaves_it_uncalibrated(monkeypatch, tmp_path):
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    monkeypatch.setattr(calibrating, "_answers", interrupt)
    with pytest.warns(UserWarning, match="interrupted; left out: calibration"):
        model.save(tmp_path / "m")
    assert (model.stop_, model.skipped_) == ("interrupted", ["calibration"])
    assert load(tmp_path / "m").model_.calibration is None


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_model_without_calibration():
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels).leave_uncalibrated()
    for ask in (lambda: model.promise(0.9), lambda: model.accept([["a"]], 0.9)):
        with pytest.raises(ParameterError, match=r"too few labels .* there are none"):
            ask()
    right = [
        a == b for x, y in zip(model.predict(TEST.tokens), TEST.labels, strict=True) for a, b in zip(x, y, strict=True)
    ]
    told = np.concatenate(model.confidence(TEST.tokens))
    assert abs(np.mean(told) - np.mean(right)) < 0.15  # what models of other data told


@pytest.mark.parametrize(("n", "sizes"), [(1, []), (2, [1, 1]), (20, [4] * PARTS), (100, [20] * PARTS)])
def test_parts(n, sizes):
    parts = parts_of(n, 0)
    assert [len(part) for part in parts] == sizes
    assert sorted(i for part in parts for i in part) == (list(range(n)) if sizes else [])
    assert len(parts_of(5000, 0)[0]) == ONE_PART


def test_the_level_is_checked(models):
    for level in (0, 1, -1, 2, True, "high", None):
        with pytest.raises(ParameterError, match="expected a number between 0 and 1"):
            models["ssvm"].promise(level)
    with pytest.raises(ParameterError, match="must be 'sequence' or 'field'"):
        models["ssvm"].promise(0.9, by="token")
    with pytest.raises(ParameterError, match="must be one of"):
        models["ssvm"].confidence(TEST.tokens, by="field")
    with pytest.raises(ParameterError, match="not under other rules"):
        models["ssvm"].promise(0.5, rules=Rules([StartsWith("title")]))


def test_too_many_mistakes_for_a_promise():
    half = alone(np.arange(400.0), np.arange(400) % 2 > 0)
    standing = Standing.of(MARGINS, False, [dict.fromkeys(LEVELS, half)])
    model = SSVM().fit(TRAIN.tokens[:2], TRAIN.labels[:2])
    model.model_ = replace(model.model_, calibration=Calibration("dev data", standing))
    with pytest.raises(ParameterError, match="too many mistakes to promise that, even among the surest of 400 held"):
        model.promise(0.9)


def test_accepted_sequences_and_fields(models):
    model = models["ssvm"]
    made = model.promise(0.3, rules=True)
    assert 0 < made.share <= 1
    assert "at most 70% are wrong, with 95% confidence" in made.text
    found = model.accept(TEST.tokens, made, rules=True)
    assert found.labels == model.predict(TEST.tokens, rules=True)
    sure = model.confidence(TEST.tokens, rules=True, by="sequence")
    assert all(p >= q for p, ok in zip(sure, found.sure, strict=True) if ok
               for q, other in zip(sure, found.sure, strict=True) if not other)  # fmt: skip
    fields = model.accept(TEST.tokens, 0.3, by="field", rules=True)
    assert [len(row) for row in fields.sure] == [len(spans(y)) for y in fields.labels]


def test_a_rule_may_be_about_a_label_that_one_sequence_has():
    X, y = [["a", "b"]] * 3 + [["a", "c"]], [["x", "y"]] * 3 + [["x", "z"]]
    rules = Rules([Words("c", are="z"), StartsWith("x")])
    model = AnnealedSSVM(C=1.0, rules=rules, schedule=[1.0], rounds=1).fit(X, y, pool=[["a", "c"], ["a", "b"]] * 3)
    assert model.calibration_.card["sequences"] == 2
