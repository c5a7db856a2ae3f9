"""Choosing parameters by tokens, whole sequences or spans; and the same metrics as scorers of scikit-learn."""

import json
import pickle
import re

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from semistruct import HMM, SSVM, AnnealedSSVM, Rules, load, make_citations, read, scorer, write
from semistruct.base.errors import DataError, ParameterError
from semistruct.data import metrics
from semistruct.data.metrics import METRICS, rank, standing
from semistruct.learning import fitting
from semistruct.learning.choice import best_strength
from semistruct.learning.fitting import Effort
from semistruct.learning.settings import STRENGTHS
from semistruct.learning.trust import Trust

TRAIN, DEV, POOL = make_citations(8), make_citations(12, seed=1), make_citations(10, seed=2)
PAIR = (DEV.tokens, DEV.labels)
SMALL = {"features": ["word", "shape"], "tol": 0.1}


@pytest.mark.parametrize("metric", METRICS)
def test_a_standing_is_a_part_of_the_evaluation(metric):
    predicted = SSVM(**SMALL).fit(TRAIN.tokens, TRAIN.labels).predict(DEV.tokens)
    whole, found = metrics.evaluate(DEV.labels, predicted), standing(DEV.labels, predicted, metric)
    assert found == {key: whole[key] for key in dict.fromkeys(("token_accuracy", METRICS[metric].key))}
    assert rank(found, metric) == (whole[METRICS[metric].key], whole["token_accuracy"])


@pytest.mark.parametrize("metric", METRICS)
def test_C_is_the_best_by_the_metric(metric):
    model = SSVM(C="auto", metric=metric, **SMALL).fit(TRAIN.tokens, TRAIN.labels, dev=PAIR)
    best = max((row[METRICS[metric].key], row["token_accuracy"]) for row in model.search_)
    taken = next(row for row in model.search_ if row["C"] == model.C_)
    assert (taken[METRICS[metric].key], taken["token_accuracy"]) == best
    again = SSVM(C=model.C_, metric=metric, **SMALL).fit(TRAIN.tokens, TRAIN.labels, dev=PAIR)
    scores = metrics.evaluate(DEV.labels, again.predict(DEV.tokens))
    assert scores[METRICS[metric].key] == pytest.approx(taken[METRICS[metric].key], abs=0.1)  # the search is rough


@pytest.mark.parametrize("metric", METRICS)
def test_the_point_of_a_path_is_the_best_by_the_metric(metric):
    model = AnnealedSSVM(schedule=[1.0, 10.0], rounds=1, metric=metric, rules=Rules([]), **SMALL)
    model.fit_with(Effort(keep_models=True), TRAIN.tokens, TRAIN.labels, pool=POOL.tokens, dev=PAIR)
    for row, point in zip(model.path_, model.models_, strict=True):
        found = metrics.evaluate(DEV.labels, point.predict(DEV.tokens))
        assert row["dev_score"] == pytest.approx(found[METRICS[metric].key])
        assert row["dev_accuracy"] == pytest.approx(found["token_accuracy"])
    best = max((row["dev_score"], row["dev_accuracy"]) for row in model.path_)
    assert [(row["dev_score"], row["dev_accuracy"]) for row in model.path_ if row["chosen"]] == [best]


@pytest.mark.parametrize("metric", METRICS)
def test_rules_weigh_what_is_best_by_the_metric(metric):
    rules = Rules.from_file("citations")
    model = HMM(rules=rules, metric=metric).fit(TRAIN.tokens, TRAIN.labels, dev=PAIR)
    bare = HMM(rules=rules).fit(TRAIN.tokens, TRAIN.labels).model_
    bare = type(bare)(bare.labels, bare.encoder, bare.weights, rules)

    trust = Trust.of(rules, [(TRAIN.tokens, TRAIN.labels), PAIR], bare.labels)

    def found(strength):
        return rank(standing(DEV.labels, bare.predict(DEV.tokens, rules=trust.weighted(strength)), metric), metric)

    best = max(STRENGTHS, key=lambda strength: (*found(strength), strength))
    assert best_strength(trust, bare, PAIR, metric, None) == best
    assert model.model_.rules == trust.weighted(best)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ParameterError, match="metric must be 'token' or 'sequence' or 'span'"):
        SSVM(metric="f1").fit(TRAIN.tokens, TRAIN.labels)
    with pytest.raises(ParameterError, match="there is no metric 'spam'; did you mean 'span'"):
        scorer("spam")


# ---- the command line


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    write(TRAIN, folder / "train.tsv", "tsv")
    write(DEV, folder / "dev.tsv", "tsv")
    write(POOL, folder / "pool.txt", "text")
    return folder


def test_training_by_whole_sequences(good, home, tmp_path):
    args = ["train", home / "train.tsv", "-d", home / "dev.tsv", "-f", "word", "-q", "--metric", "sequence"]
    result = json.loads(good(*args, "-o", tmp_path / "m", "--json"))
    model, dev = load(tmp_path / "m"), read(home / "dev.tsv")
    assert model.metric == model.card_["metric"] == result["metric"] == "sequence"
    wanted = metrics.evaluate(dev.labels, model.predict(dev.tokens))
    assert result["sequence_accuracy"]["dev"] == wanted["sequence_accuracy"]
    assert result["token_accuracy"]["dev"] == wanted["token_accuracy"]
    out = good(*args, "-o", tmp_path / "m")
    assert f"sequence accuracy on dev: {wanted['sequence_accuracy']:.2%}" in out
    assert f"token accuracy on dev: {wanted['token_accuracy']:.2%}" in out
    row = result["search"][0]
    assert (
        f"sequence accuracy {row['sequence_accuracy']:.2%}, token accuracy {row['token_accuracy']:.2%} on held" in out
    )
    assert "metric: sequence" in good("dump", tmp_path / "m")


def test_a_path_by_spans(good, home, tmp_path):
    args = ["train", home / "train.tsv", "-d", home / "dev.tsv", "-u", home / "pool.txt", "-f", "word", "-C", 1, "-q"]
    more = ["-p", "schedule=1,10", "-p", "rounds=1", "--metric", "span", "-o", tmp_path / "m"]
    result, out = json.loads(good(*args, *more, "--json")), good(*args, *more, "--plot", tmp_path / "p.svg")
    assert "dev span F1" in out
    assert "dev token accuracy" in out
    for point in result["path"]:
        assert f"{point['dev_score']:.2%}" in out
    assert re.search(r"span F1 on dev(, under the rules)?: \d+\.\d\d%", out)


def test_a_metric_that_does_not_exist(run, home, tmp_path):
    code, _, err = run("train", home / "train.tsv", "-o", tmp_path / "m", "--metric", "f1", "-q")
    assert code == 2
    assert "invalid value for '--metric': 'f1' is not one of 'token', 'sequence', 'span'" in err
    code, _, err = run("train", home / "train.tsv", "-o", tmp_path / "m", "-p", "metric=span", "-q")
    assert "metric has an option of its own, --metric" in err


def test_the_curve_of_whole_sequences(good, home):
    args = ["curve", home / "dev.tsv", "--sizes", 4, "--folds", 2, "-f", "word", "--metric", "sequence"]
    result = json.loads(good(*args, "--json"))
    assert result["metric"] == "sequence accuracy"
    for method in ("supervised", "annealed"):
        assert all(6 * score == pytest.approx(round(6 * score)) for score in result["curve"][0][method]["scores"])
    assert "the sequence accuracy is" in good(*args)


# ---- scikit-learn


@pytest.mark.parametrize("metric", METRICS)
def test_cross_validation_with_a_scorer(metric):
    model = SSVM(**SMALL)
    found = cross_val_score(model, DEV.tokens, DEV.labels, cv=3, scoring=scorer(metric), error_score="raise")
    parts = np.array_split(np.arange(len(DEV)), 3)
    for value, held in zip(found, parts, strict=True):
        rest = np.setdiff1d(np.arange(len(DEV)), held)
        model.fit([DEV.tokens[i] for i in rest], [DEV.labels[i] for i in rest])
        predicted = model.predict([DEV.tokens[i] for i in held])
        assert value == metrics.evaluate([DEV.labels[i] for i in held], predicted)[METRICS[metric].key]


def test_the_default_score_is_token_accuracy():
    model = SSVM(metric="sequence", **SMALL)
    plain, named = (
        cross_val_score(model, DEV.tokens, DEV.labels, cv=3, scoring=scoring, error_score="raise")
        for scoring in (None, scorer())
    )
    assert plain.tolist() == named.tolist()


def test_a_grid_search_with_several_scorers():
    search = GridSearchCV(
        SSVM(**SMALL), {"C": [0.01, 1.0]}, cv=2, scoring={name: scorer(name) for name in METRICS}, refit="sequence",
        error_score="raise",
    ).fit(DEV.tokens, DEV.labels)  # fmt: skip
    assert search.best_score_ == max(search.cv_results_["mean_test_sequence"])
    assert np.isfinite(search.cv_results_["mean_test_span"]).all()
    assert search.predict(TRAIN.tokens[:1])


def test_a_scorer_under_rules():
    rules = Rules.from_file("citations")
    model = HMM(rules=rules)
    found = cross_validate(model, DEV.tokens, DEV.labels, cv=2, scoring=scorer(), return_estimator=True)
    held = slice(0, 6)
    first = found["estimator"][0]
    under, free = (first.score(DEV.tokens[held], DEV.labels[held], rules=on) for on in (True, False))
    assert found["test_score"][0] == under != free == scorer(rules=False)(first, DEV.tokens[held], DEV.labels[held])
    assert cross_val_score(model, DEV.tokens, DEV.labels, cv=2)[0] == under


def test_scorers_travel_to_other_processes():
    again = pickle.loads(pickle.dumps(scorer("span", rules=True)))
    assert again == scorer("span", rules=True)


def test_spans_of_partly_labelled_sequences_have_no_score():
    model = SSVM(**SMALL).fit(TRAIN.tokens, TRAIN.labels)
    with pytest.raises(DataError, match="span F1 needs a sequence whose labels are all known"):
        scorer("span")(model, [["A", "b"]], [["author", None]])


def test_the_accuracy_of_scikit_learn_is_not_for_sequences():
    with pytest.raises(ValueError, match="equence of sequences"):
        cross_val_score(SSVM(**SMALL), DEV.tokens, DEV.labels, cv=2, scoring="accuracy", error_score="raise")


@pytest.mark.filterwarnings("ignore:interrupted; left out")
def test_an_interrupted_choice_of_weights_leaves_those_by_the_labels(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    rules = Rules.from_file("citations")
    wanted = HMM(rules=rules).fit(TRAIN.tokens, TRAIN.labels).trust_
    monkeypatch.setattr(fitting, "best_strength", interrupt)
    model = HMM(rules=rules).fit(TRAIN.tokens, TRAIN.labels, dev=PAIR)
    assert (model.stop_, model.skipped_) == ("interrupted", ["the weights of rules"])
    assert len(model.model_.rules) > 0
    assert [row["rule"] for row in model.trust_] == [row["rule"] for row in wanted]
