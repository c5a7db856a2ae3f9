"""How right fitted models are: when it is learned, from what, and what they promise."""

import json
import pickle
import zipfile
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from semistruct import CRF, HMM, SSVM, AnnealedSSVM, Rules, load, make_citations
from semistruct.base.errors import ModelError, ParameterError
from semistruct.core.batch import UNKNOWN
from semistruct.data.labels import spans
from semistruct.learning import held_out
from semistruct.learning.held_out import Uncalibrated, parts_of
from semistruct.learning.settings import BRIEF_GAP, BRIEF_PASSES, ENOUGH, PARTS
from semistruct.model.answers import LEVELS, Scores
from semistruct.model.calibration import (
    LOG_ODDS,
    MARGINS,
    Calibration,
    Standing,
)
from semistruct.rules import AtMostOnce, StartsWith, Words
from strategies import random_problem
from test_calibration import alone, check_order

RULES = Rules([StartsWith("author"), AtMostOnce()])
TRAIN, TEST = make_citations(24), make_citations(12, seed=5)


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
    model, odds = models[name], models[name].model_.answers(TEST.tokens, exact=True)[:2]
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
    brief = SSVM(tol=0.01, n_jobs=1)._brief_learner(problem.n_labels)
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
    brief = SSVM(tol=0.01, n_jobs=1)._brief_learner(problem.n_labels)
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
        patch.setattr(held_out, "_answers", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.confidence(TEST.tokens)
    assert model.calibration_.card["from"] == "cross-fitting"


def test_an_interruption_while_a_model_is_saved_leaves_it_uncalibrated(monkeypatch, tmp_path):
    model = SSVM().fit(TRAIN.tokens, TRAIN.labels)
    monkeypatch.setattr(held_out, "_answers", interrupt)
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
    assert len(parts_of(5000, 0)[0]) == ENOUGH


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
