"""AnnealedSSVM: its objective by enumeration, the path and its choice, and what it says of itself."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import brute_rules
from annealed_cases import (
    CITATIONS,
    CORPUS,
    DEV,
    HELD_OUT,
    LABELLED,
    POOL,
    ROUNDING,
    SHORT,
    UNLABELLED,
    N,
    X,
    Y,
    chosen,
    fit,
    long_titles,
    on_citations,
    same_fit,
    same_weights,
)
from rule_strategies import penalty_of
from semistruct import CODL, SSVM, AnnealedSSVM, PosteriorRegularization, TransductiveSSVM
from semistruct.base.errors import ParameterError, RuleWarning
from semistruct.learning.choice import Judge
from semistruct.learning.effects import LEARNED
from semistruct.learning.rounds import walk
from semistruct.learning.settings import MARGIN_GAP
from semistruct.learning.trust import Trust
from semistruct.methods.annealed import PRINTED
from semistruct.rules import Function, Proportion, Rules, StartsWith, Words


@pytest.fixture(scope="module")
def fitted():
    return on_citations()


# ---- fitting


def test_unlabelled_data_and_rules_help(fitted):
    alone = SSVM(tol=MARGIN_GAP, features=SHORT["features"]).fit(*LABELLED)
    worth = 0.05  # measured: 0.2
    assert fitted.score(*HELD_OUT, rules=False) > alone.score(*HELD_OUT) + worth


def test_watch_sees_the_history_and_the_points():
    seen = []
    model = fit(X, Y, pool=POOL, watch=seen.append, params={"select": "last"})
    assert [record.row() for record in seen if record.step != "point"] == model.history_
    points = [{k: v for k, v in row.items() if k != "chosen"} for row in model.path_]
    seen_points = [record for record in seen if record.step == "point"]
    assert [{record.place.axis: record.place.value, **record.details} for record in seen_points] == points[1:]


@pytest.mark.parametrize("params", [{"schedule": "printed", "moves": "printed"}, {"C": "auto"}, {"schedule": (0.5,)}])
def test_other_ways_of_annealing(params):
    model = fit(X, Y, pool=POOL, params={"select": "last", **params})
    assert model.predict(POOL)[1] == ["date"]
    weights = [row["C_u"] for row in model.path_]
    assert weights.pop(0) is None
    labelled, free = model.C_ * len(X), len(POOL)
    if params.get("schedule") == "printed":
        wanted = [total / free for total in PRINTED]
    else:
        wanted = [ratio * labelled / free for ratio in params.get("schedule", SHORT["schedule"])]
    assert_allclose(weights, wanted, rtol=ROUNDING, atol=0)
    assert [row["C"] for row in model.search_] == ([] if params.get("C") != "auto" else [0.1, 0.3, 1.0])


# ---- labels of the unlabelled sequences


def test_labels_come_in_the_order_of_the_sequences():
    free = [X[0], POOL[1]]
    model = fit(
        [free[0], X[1], free[1], X[2], X[3]], [None, Y[1], None, Y[2], Y[3]], pool=POOL[2:], params={"select": "last"}
    )
    assert model.labels_ == [["author"] * 3, ["date"], ["author", "author", "date"], ["author"] * 3 + ["date"]]


@pytest.mark.parametrize("select", ["last", "labels-free"])
def test_every_unlabelled_sequence_is_labelled(select):
    model = on_citations({"select": select})
    assert [len(row) for row in model.labels_] == [len(x) for x in UNLABELLED]
    assert {label for row in model.labels_ for label in row} <= set(model.classes_)
    assert all(type(label) is str for row in model.labels_ for label in row)
    truth = CORPUS.labels[N:40]
    right = [a == b for g, p in zip(truth, model.labels_, strict=True) for a, b in zip(g, p, strict=True)]
    assert np.mean(right) > 0.8  # measured: 0.85


@pytest.mark.parametrize("nothing", [None, "all unknown"])
def test_sequences_without_labels_may_stand_in_X(nothing, fitted):
    rows = [None if nothing is None else [None] * len(x) for x in UNLABELLED]
    model = fit([*LABELLED[0], *UNLABELLED], [*LABELLED[1], *rows], params={"rules": CITATIONS})
    same_fit(model, fitted)


@pytest.mark.parametrize("select", ["last", "auto"])
@pytest.mark.parametrize("match_by", ["crossed", "score", "slack"])
def test_known_labels_stay(monkeypatch, match_by, select):
    """Also against the model and the rules."""
    steps = []

    def looking(*args, **kwargs):
        for state in walk(*args, **kwargs):
            steps.append(state.labels.copy())
            yield state

    monkeypatch.setattr("semistruct.learning.path.walk", looking)
    partial = ["date", None, "author", None]
    false = Rules([StartsWith("author", weight="hard"), Words(["1931"], are="date")])
    params = {"match_by": match_by, "select": select, "rules": false}
    model = fit([X[0], X[1], *X[2:]], [Y[0], partial, *Y[2:]], pool=POOL, params=params)
    author, date = model.classes_.index("author"), model.classes_.index("date")
    assert len(steps) == 2
    for labels in steps:
        assert (labels[0], labels[2], labels[3]) == (date, author, date)  # the rules hold where nothing is known
    assert len(model.labels_) == len(POOL)


def test_partly_labelled_sequences_weigh_as_labelled_ones():
    y = [Y[0], [None, None, None, "date"], None, Y[3]]
    model = fit(X, y, pool=POOL, sample_weight=[2.0, 3.0, 1.0, 0.5], params={"select": "last"})
    assert_allclose([row["C_u"] for row in model.path_[1:]], [0.5 * 5.5 / 5, 5 * 5.5 / 5], rtol=ROUNDING, atol=0)
    assert len(model.labels_) == 1 + len(POOL)


@pytest.mark.parametrize("pool", [None, []])
@pytest.mark.parametrize("rules", [None, CITATIONS])
def test_without_unlabelled_data_it_is_the_supervised_machine(pool, rules):
    model = fit(*LABELLED, pool=pool, params={"rules": rules, "C": 0.7})
    alone = SSVM(C=0.7, tol=MARGIN_GAP, features=SHORT["features"], rules=rules).fit(*LABELLED)
    same_weights(model, alone)
    assert model.labels_ == model.history_ == []
    assert len(model.path_) == 1
    assert model.explanation_ == {"rules": [], "moved": [], "causes": []}
    assert model.stop_ == "finished"
    if rules is not None:
        assert model.predict(HELD_OUT[0][:5], rules=True) == alone.predict(HELD_OUT[0][:5], rules=True)


def test_weight_zero_of_an_unlabelled_sequence_is_absence():
    weights = [1.0] * 4 + [1.0, 0.0, 1.0, 1.0]
    model = fit([*X, *POOL], [*Y, *[None] * 4], sample_weight=weights, params={"select": "last", "tol": 1e-4})
    assert len(model.labels_) == 4
    ratios = [r * 3 / 4 for r in SHORT["schedule"]]  # the weight is spread over four sequences, one of them mute
    few = fit(X, Y, pool=[POOL[0], *POOL[2:]], params={"select": "last", "tol": 1e-4, "schedule": ratios})
    assert_allclose(few.history_[-1]["objective"], model.history_[-1]["objective"], rtol=2e-3, atol=0)
    heavy = fit([*X, *POOL], [*Y, *[None] * 4], sample_weight=[1.0] * 4 + [2.0] * 4, params={"select": "last"})
    light = fit(X, Y, pool=POOL, params={"select": "last", "schedule": [2.0, 20.0]})
    same_weights(heavy, light)


def test_a_label_without_examples_is_learned_from_a_rule():
    pool = [[*x, "pp", "7"] for x in POOL] * 3
    rules = Rules([Words(["pp"], are="pages")], labels=["pages"])
    model = fit(X, Y, pool=pool, params={"rules": rules})
    assert model.classes_ == ["author", "date", "pages"]
    assert model.predict([["Curry", "pp", "7"]], rules=False)[0][1] == "pages"  # without regard to the rule
    assert all(row[-2] == "pages" for row in model.labels_)


@pytest.mark.parametrize("method", [SSVM, partial(AnnealedSSVM, **SHORT)])
@pytest.mark.parametrize(("label", "hint"), [("autohr", " (did you mean 'author'?)"), ("zzz", "")])
def test_a_label_that_the_rules_do_not_have_is_told(method, label, hint):
    rules, wrong = Rules([], labels=["author", "date", "title"]), [*Y[:3], [label, "author", "date"]]
    with pytest.warns(RuleWarning) as caught:
        method(rules=rules).fit(X, wrong)
    told = [str(warning.message) for warning in caught]
    assert len(told) == 1
    what = "labels of the data that are not among the labels of the rules"
    assert told[0] == f"{what}: {label!r}{hint}; if they are right, add them there"


def test_single_tokens_and_proportions_are_a_transductive_multi_class_machine():
    """Against a linear machine on the few labels, on sequences of one token."""
    pixels, y = load_digits(return_X_y=True)
    pixels = normalize(pixels - pixels.mean(axis=0))
    share = {str(k): float(np.mean(y == k)) for k in range(10)}
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        few = np.concatenate([rng.choice(np.flatnonzero(y == k), 2, replace=False) for k in range(10)])
        pool = rng.choice(np.setdiff1d(np.arange(len(y)), few), 300, replace=False)
        dicts = [[{"bias": 1.0} | {f"p{j}": float(v) for j, v in enumerate(row) if v}] for row in pixels]
        model = AnnealedSSVM(
            C=1.0, schedule=[0.1, 0.3, 1.0, 3.0, 10.0], rounds=10, select="last",
            rules=Rules([Proportion(share, weight=0.1)]),
        )  # fmt: skip
        model.fit([dicts[i] for i in few], [[str(y[i])] for i in few], pool=[dicts[i] for i in pool])
        right = np.mean([row == [str(y[i])] for row, i in zip(model.labels_, pool, strict=True)])
        gains.append(right - LinearSVC().fit(pixels[few], y[few]).score(pixels[pool], y[pool]))
    assert min(gains) > 0.0
    assert np.mean(gains) > 0.04  # measured: 0.06


# ---- the choice of a point


def judged(monkeypatch, accuracies=(None,) * 3, mistakes=(0.0,) * 3):
    """Points with these accuracies on dev data and these known mistakes."""
    accuracies, mistakes = iter(accuracies), iter(mistakes)
    monkeypatch.setattr(Judge, "_on_dev", lambda self, chain: (next(accuracies),) * 2)
    monkeypatch.setattr(Judge, "_mistakes", lambda self, chain: next(mistakes))


@pytest.mark.parametrize(
    ("select", "accuracies", "mistakes", "wanted"),
    [
        ("last", (0.9, 0.5, 0.1), (0, 1, 2), 2),
        ("dev", (0.9, 0.5, 0.1), (2, 1, 0), 0),
        ("dev", (0.1, 0.5, 0.4), (0, 1, 2), 1),
        ("dev", (0.5, 0.5, 0.4), (0, 1, 2), 1),
        ("auto", (0.1, 0.5, 0.4), (0, 1, 2), 1),
        ("labels-free", (0.9, 0.5, 0.1), (2, 0, 1), 1),
        ("labels-free", (0.1, 0.5, 0.9), (0, 1, 1), 0),
        ("labels-free", (0.9, 0.5, 0.1), (1, 1, 1), 0),
        ("labels-free", (0.1, 0.5, 0.9), (1, 0.91, 0.92), 0),  # no more than a slight difference
        ("labels-free", (0.1, 0.5, 0.9), (1, 0.5, 0.35), 2),
    ],
)
def test_which_point_is_taken(monkeypatch, select, accuracies, mistakes, wanted):
    judged(monkeypatch, accuracies, mistakes)
    model = fit(X, Y, pool=POOL, dev=DEV, params={"select": select, "rules": Rules([StartsWith(["author", "date"])])})
    assert chosen(model) == wanted
    assert [row["dev_accuracy"] for row in model.path_] == list(accuracies)
    assert [row["mistakes"] for row in model.path_] == list(mistakes)


@pytest.mark.parametrize("method", [AnnealedSSVM, CODL, PosteriorRegularization, TransductiveSSVM])
def test_without_rules_or_dev_data_the_supervised_model_is_taken(method):
    with pytest.warns(RuleWarning, match="nothing tells whether the pool helps: the supervised model is taken"):
        model = method().fit(X, Y, pool=POOL)
    assert len(model.path_) == 1
    assert [len(row) for row in model.labels_] == [len(x) for x in POOL]


@pytest.mark.parametrize("point", range(3))
def test_the_model_is_that_of_the_chosen_point(monkeypatch, point):
    """Labels, weights and explanation, as if annealing had ended there."""
    mistakes = [1.0] * 3
    mistakes[point] = 0.0
    judged(monkeypatch, mistakes=mistakes)
    model = on_citations()
    monkeypatch.undo()
    if point == 0:
        alone = SSVM(tol=MARGIN_GAP, features=SHORT["features"], rules=CITATIONS).fit(*LABELLED)
        same_weights(model, alone)
        assert model.labels_ == alone.predict(UNLABELLED, rules=False)
        assert model.explanation_["moved"] == model.explanation_["causes"] == []
    else:
        ended = on_citations({"schedule": SHORT["schedule"][:point], "select": "last"})
        same_weights(model, ended)
        assert model.labels_ == ended.labels_
        assert model.explanation_ == ended.explanation_


def test_dev_accuracy_is_measured_under_the_rules():
    dev = (HELD_OUT[0][:10], HELD_OUT[1][:10])
    model = fit(*LABELLED, pool=UNLABELLED, dev=dev, params={"rules": CITATIONS})
    best = max(row["dev_accuracy"] for row in model.path_)
    assert model.path_[chosen(model)]["dev_accuracy"] == best
    soft = Trust.of(CITATIONS, [LABELLED, dev], model.classes_).weighted(40 / np.sqrt(N))
    assert_allclose(best, model.score(*dev, rules=soft), rtol=0, atol=0.01)  # a narrower search
    assert best > model.score(*dev, rules=False)


def test_known_mistakes_are_wrong_labels_and_broken_rules():
    rules = [{"starts_with": ["author"], "weight": 9}, {"words": ["of"], "are": ["title"], "weight": 9}]
    rules.append({"proportion": {"title": (0.1, 0.4)}, "level": "instance", "unit": "fraction", "weight": 9})
    made = Rules([StartsWith("author", weight=9), Words(["of"], are="title", weight=9), Proportion(**rules[2])])
    model = on_citations({"rules": made, "select": "last"})
    found, learned = (model.predict(X, rules=False) for X in (UNLABELLED, LABELLED[0]))
    wrong = sum(a != b for g, p in zip(LABELLED[1], learned, strict=True) for a, b in zip(g, p, strict=True))
    broken = sum(sum(brute_rules.violations(brute_rules.complete(r), UNLABELLED, found, model.classes_)) for r in rules)
    assert broken > 0
    assert_allclose(model.path_[-1]["mistakes"], wrong / N + broken / len(UNLABELLED), rtol=ROUNDING, atol=0)


def test_breaches_of_functions_are_known_mistakes():
    rules = Rules([Function(long_titles, high=0.0, weight=0.01), Function(long_titles, level="corpus", high=0.0)])
    model = fit(*LABELLED, pool=UNLABELLED[:10], params={"rules": rules, "rounds": 1})
    start = SSVM(C=model.C_, tol=MARGIN_GAP, features=SHORT["features"]).fit(*LABELLED)
    broken = sum(row.count("title") > 12 for row in start.predict(UNLABELLED[:10], rules=False))
    wrong = (1 - start.score(*LABELLED, rules=False)) * sum(map(len, LABELLED[0]))
    assert broken > 0
    assert model.path_[0]["mistakes"] == pytest.approx(broken / 10 + wrong / N)


FALSE = Rules([Proportion({"date": 0.9})])


def test_unlabelled_data_that_hurts_is_left_alone():
    """Nine of ten tokens are no dates; the supervised model is kept, and its labels."""
    params = {"rules": FALSE, "schedule": [10.0, 100.0]}
    model = fit(*LABELLED, pool=UNLABELLED, params=params)
    alone = SSVM(tol=MARGIN_GAP, features=SHORT["features"], rules=FALSE).fit(*LABELLED)
    assert chosen(model) == 0
    same_weights(model, alone)
    assert model.labels_ == alone.predict(UNLABELLED, rules=False)
    assert model.explanation_["moved"] == []
    with_dev = fit(*LABELLED, pool=UNLABELLED, dev=HELD_OUT, params=params)
    assert chosen(with_dev) == 0
    last = fit(*LABELLED, pool=UNLABELLED, params={**params, "select": "last"})
    assert last.score(*HELD_OUT, rules=False) < alone.score(*HELD_OUT, rules=False) - 0.2


# ---- what it says


def test_the_explanation_is_a_recount(fitted):
    alone = SSVM(tol=MARGIN_GAP, features=SHORT["features"]).fit(*LABELLED)
    names, told = fitted.classes_, fitted.explanation_
    before = SSVM(tol=MARGIN_GAP, features=SHORT["features"], rules=CITATIONS).fit(*LABELLED)
    before = before.predict(UNLABELLED, rules=False)
    assert alone.classes_ != names  # the rules bring in labels
    broke, breaks = (
        [
            [penalty_of(Rules([rule]), [x], [row], names) > 0 for rule in CITATIONS.rules]
            for x, row in zip(UNLABELLED, labels, strict=True)
        ]
        for labels in (before, fitted.labels_)
    )
    broke, breaks = np.array(broke), np.array(breaks)
    assert told["rules"] == [
        {"rule": rule.text, "before": int(broke[:, r].sum()), "after": int(breaks[:, r].sum())}
        for r, rule in enumerate(CITATIONS.rules)
    ]
    pairs = [(a, b) for g, p in zip(before, fitted.labels_, strict=True) for a, b in zip(g, p, strict=True) if a != b]
    assert {(row["from"], row["to"]): row["tokens"] for row in told["moved"]} == Counter(pairs)
    counts = [row["tokens"] for row in told["moved"]]
    assert counts == sorted(counts, reverse=True)
    changed = np.array([a != b for a, b in zip(before, fitted.labels_, strict=True)])
    mended = broke & ~breaks & changed[:, None]
    causes = {rule.text: int(n) for rule, n in zip(CITATIONS.rules, mended.sum(axis=0), strict=True) if n}
    learned = int(sum(changed & ~mended.any(axis=1)))
    assert {row["because"]: row["sequences"] for row in told["causes"]} == (
        causes | ({LEARNED: learned} if learned else {})
    )
    assert causes


def test_known_labels_have_not_moved():
    """The supervised model hardly learns from the partly labelled sequence and would say otherwise."""
    y, weight = [Y[0], ["date", None, None, None], *Y[2:]], [1, 1e-6, 1, 1]
    model = fit(X, y, pool=POOL, sample_weight=weight, params={"select": "last"})
    assert SSVM(tol=MARGIN_GAP, features=SHORT["features"]).fit(X, y, sample_weight=weight).predict(X)[1][0] == "author"
    assert {"from": "author", "to": "date"} not in [
        {k: row[k] for k in ("from", "to")} for row in model.explanation_["moved"]
    ]


def test_the_history_counts_switches_and_broken_rules():
    model = on_citations({"rules": CITATIONS.softened(1000.0), "select": "last"})
    matches = [row for row in model.history_ if row["step"] == "match"]
    broken = sum(
        penalty_of(CITATIONS, [x], [row], model.classes_) > 0 for x, row in zip(UNLABELLED, model.labels_, strict=True)
    )
    assert matches[-1]["broken"] == broken
    assert_allclose(
        matches[-1]["penalty"], penalty_of(CITATIONS, UNLABELLED, model.labels_, model.classes_), rtol=ROUNDING, atol=0
    )
    before = SSVM(tol=MARGIN_GAP, features=SHORT["features"], rules=CITATIONS).fit(*LABELLED)
    before = before.predict(UNLABELLED, rules=False)
    first = on_citations({"rules": CITATIONS.softened(1000.0), "select": "last", "schedule": [1.0], "rounds": 1})
    moved = sum(a != b for g, p in zip(before, first.labels_, strict=True) for a, b in zip(g, p, strict=True))
    assert first.history_[0]["switched"] == moved > 0
    assert {row["stages"] for row in model.history_} == {2}
    assert {row["rounds"] for row in model.history_} == {2}


# ---- what is refused


def test_a_rule_about_an_unknown_label_is_refused():
    with pytest.raises(ParameterError, match="unknown label 'autor'; did you mean 'author'"):
        fit(X, Y, pool=POOL, params={"rules": Rules([StartsWith("autor")])})


def test_a_rule_that_fails_names_its_sequence():
    def broken(tokens, labels):
        return 1 / (len(tokens) - 1)

    with pytest.raises(ParameterError, match="'broken' fails on sequence 1: ZeroDivisionError"):
        fit(X, Y, pool=POOL, params={"rules": Rules([Function(broken)])})
