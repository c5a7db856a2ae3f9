"""The SSVM estimator: its objective by enumeration, its parameters and data at the door, scikit-learn's habits."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from semistruct import SSVM, make_citations
from semistruct.base.errors import DataError, ParameterError
from semistruct.learning import settings as learning
from semistruct.learning.learners import MarginLearner

ROUNDING = 1e-9
SCORES = 1e-8  # two ways of adding up the same score

X = [["A", ".", "Turing"], ["K", ".", "Godel", "1931"], ["1936"], ["Church", ",", "1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"], ["author", "author", "date"]]
UNKNOWN_WORDS = ["Zermelo", "in", "1908", "!"]


def noisy(n, seed, n_labels=3, flip=0.3):
    """Sequences of feature lists: a hidden label that mostly stays, and a feature that mostly tells it."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        y = [int(rng.integers(n_labels))]
        while len(y) < 4:
            y.append(y[-1] if rng.random() < 0.6 else int(rng.integers(n_labels)))
        seen = [k if rng.random() > flip else int(rng.integers(n_labels)) for k in y]
        X.append([[f"f{k}", f"noise{rng.integers(4)}"] for k in seen])
        Y.append([f"l{k}" for k in y])
    return X, Y


def real(X, Y, seed):
    """The same with random feature values, so that no two labellings ever score the same."""
    rng = np.random.default_rng(seed)
    return [[{f: rng.uniform(0.5, 1.5) for f in features} for features in x] for x in X], Y


def weights_by_name(model):
    """{feature name: weights of the labels} and the steps; models may hold other features in another order."""
    names = model.model_.encoder.feature_names()
    return dict(zip(names, model.model_.weights.tokens, strict=False)), model.model_.weights.trans


def distance(a, b):
    """The Euclidean distance between the weight vectors of two models with the same labels."""
    (tokens_a, steps_a), (tokens_b, steps_b) = weights_by_name(a), weights_by_name(b)
    nothing = np.zeros(len(a.classes_))
    parts = [tokens_a.get(name, nothing) - tokens_b.get(name, nothing) for name in tokens_a | tokens_b]
    return np.sqrt(sum(p @ p for p in parts) + np.sum((steps_a - steps_b) ** 2))


def objective(model, X, Y, C):
    """1/2 ||w||^2 + sum_i C_i H_i by listing every labelling; X holds feature lists.

    Unknown labels cost nothing, and the best labelling that agrees with the known ones is the one to win.
    """
    rows, (step,) = weights_by_name(model)
    number = {label: k for k, label in enumerate(model.classes_)}

    def score(x, y):
        tokens = sum(rows[f][k] for features, k in zip(x, y, strict=True) for f in features if f in rows)
        return tokens + sum(step[a, b] for a, b in pairwise(y))

    total = 0.5 * (sum(row @ row for row in rows.values()) + np.sum(step**2))
    for x, labels, c in zip(X, Y, C, strict=True):
        known = [None if label is None else number[label] for label in labels]
        rated = [
            (sum(b is not None and a != b for a, b in zip(y, known, strict=True)), score(x, y))
            for y in product(range(len(number)), repeat=len(x))
        ]
        total += c * (max(wrong + s for wrong, s in rated) - max(s for wrong, s in rated if not wrong))
    return total


# ---- learning


def test_a_separable_problem_is_learned_perfectly():
    model = SSVM(C=10).fit(X, Y)
    assert model.predict(X) == Y
    assert model.score(X, Y) == 1.0
    assert model.classes_ == ["author", "date"]


def test_the_history_tells_the_objective_of_the_weights():
    X, Y = noisy(12, seed=1)
    model = SSVM(C=0.7, tol=1e-3).fit(X, Y)
    assert_allclose(model.history_[-1]["objective"], objective(model, X, Y, [0.7] * 12), rtol=ROUNDING, atol=0)


@pytest.mark.parametrize("tol", [0.1, 0.01, 1e-4])
def test_fit_ends_with_a_gap_within_the_tolerance(tol):
    model = SSVM(tol=tol).fit(*noisy(20, seed=2))
    assert model.stop_ == "converged"
    assert {"step", "count", "objective", "dual", "gap", "scale", "viterbi", "seconds"} == set(model.history_[-1])
    for row in model.history_:
        assert_allclose(row["objective"] - row["dual"], row["gap"], rtol=0, atol=ROUNDING * row["objective"])
        assert row["gap"] >= -ROUNDING * row["objective"]
    assert model.history_[-1]["gap"] <= tol * model.history_[-1]["objective"]


def test_no_other_weights_are_better_than_the_gap_allows():
    X, Y = noisy(10, seed=3)
    model = SSVM(C=1, tol=1e-3).fit(X, Y)
    best, gap = model.history_[-1]["objective"], model.history_[-1]["gap"]
    rng = np.random.default_rng(0)
    tokens, trans = model.model_.weights.tokens, model.model_.weights.trans
    for size in (1e-3, 1e-2, 0.1):
        moved = clone(model).fit(X, Y)
        moved.model_.weights.tokens[:] = tokens + size * rng.normal(size=tokens.shape)
        moved.model_.weights.trans[:] = trans + size * rng.normal(size=trans.shape)
        assert objective(moved, X, Y, [1.0] * 10) >= best - gap - ROUNDING


def test_giving_up_warns_and_says_so():
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        model = SSVM(tol=1e-9, max_passes=1).fit(*noisy(20, seed=4))
    assert model.stop_ == "max_passes"
    assert model.history_[-1]["count"] == 1
    assert len(model.predict(noisy(2, seed=0)[0])) == 2


def test_watch_sees_the_history():
    seen = []
    model = SSVM().fit(*noisy(10, seed=7), watch=seen.append)
    assert [record.row() for record in seen] == model.history_


# ---- weights of sequences


def close_optima(a, b):
    """Both within their gap of the same optimum, hence 1/2 ||w - w*||^2 <= gap for each."""
    last = a.history_[-1], b.history_[-1]
    slack = max(row["gap"] for row in last)
    assert abs(last[0]["objective"] - last[1]["objective"]) <= slack + ROUNDING
    assert distance(a, b) <= sum(np.sqrt(2 * row["gap"]) for row in last) + ROUNDING


def test_weight_two_is_the_sequence_given_twice():
    X, Y = noisy(8, seed=8)
    weighted = SSVM(tol=1e-4).fit(X, Y, sample_weight=[1, 1, 2, 1, 1, 2, 1, 1])
    close_optima(weighted, SSVM(tol=1e-4).fit([*X, X[2], X[5]], [*Y, Y[2], Y[5]]))


def test_weight_zero_is_absence():
    X, Y = noisy(8, seed=9)
    weighted = SSVM(tol=1e-4).fit(X, Y, sample_weight=[0, 1, 1, 1, 0, 1, 1, 1])
    close_optima(weighted, SSVM(tol=1e-4).fit(X[1:4] + X[5:], Y[1:4] + Y[5:]))


def test_weights_multiply_C():
    X, Y = noisy(8, seed=10)
    weight = np.linspace(0.2, 2, 8)
    model = SSVM(C=0.5, tol=1e-3).fit(X, Y, sample_weight=weight)
    assert_allclose(model.history_[-1]["objective"], objective(model, X, Y, 0.5 * weight), rtol=ROUNDING, atol=0)


def test_weights_stay_with_their_sequences_when_others_are_unlabelled():
    with_gap = SSVM().fit([X[0], X[1], X[2], X[3]], [Y[0], None, Y[2], Y[3]], sample_weight=[1, 50, 3, 0.5])
    without = SSVM().fit([X[0], X[2], X[3]], [Y[0], Y[2], Y[3]], sample_weight=[1, 3, 0.5])
    assert_array_equal(with_gap.model_.weights.tokens, without.model_.weights.tokens)


# ---- unknown labels


@pytest.mark.parametrize("nothing", [None, [None] * 4])
def test_unlabelled_sequences_are_ignored(nothing):
    unlabelled = SSVM().fit([X[0], UNKNOWN_WORDS, *X[1:]], [Y[0], nothing, *Y[1:]])
    without = SSVM().fit(X, Y)
    assert distance(unlabelled, without) == 0
    assert list(unlabelled.model_.encoder.vocabulary) == list(without.model_.encoder.vocabulary)


def hide(labels, seed, share=0.5):
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else y for y in row] for row in labels]


def test_known_labels_of_partly_labelled_sequences_are_learned():
    data = make_citations(8, seed=11)
    partial = hide(data.labels, seed=0)
    predicted = SSVM(C=10, tol=0.1).fit(data.tokens, partial).predict(data.tokens)
    known = [(y, z) for g, p in zip(partial, predicted, strict=True) for y, z in zip(g, p, strict=True) if y]
    assert len(known) > 60
    assert all(y == z for y, z in known)


@pytest.mark.parametrize("seed", range(4))
def test_unknown_labels_are_filled_in_until_they_stay(monkeypatch, seed):
    """The objective then is that of the best completions for the final weights, not of earlier ones."""
    monkeypatch.setattr(learning, "COMPLETIONS", 100)
    X, Y = noisy(12, seed=60 + seed)
    partial = hide(Y, seed=seed)
    partial[0][0] = Y[0][0]
    kept = [(x, y) for x, y in zip(X, partial, strict=True) if any(y)]
    X, partial = [x for x, _ in kept], [y for _, y in kept]
    model = SSVM(C=1, tol=1e-3).fit(X, partial)
    assert_allclose(
        model.history_[-1]["objective"], objective(model, X, partial, [1.0] * len(X)), rtol=ROUNDING, atol=0
    )


def test_a_label_known_nowhere_else_survives_between_unknown_ones():
    model = SSVM(C=10, features=["word"]).fit([["a", "b", "c"], ["c"]], [[None, "B", None], ["C"]])
    assert model.predict([["b"], ["c"]]) == [["B"], ["C"]]


# ---- choosing C


def test_C_is_chosen_by_the_accuracy_on_dev(monkeypatch):
    tol = 1e-6
    monkeypatch.setattr(learning, "ROUGH_GAP", tol)  # near the optimum, where it does not matter how one got there
    train, dev = real(*noisy(12, seed=20, flip=0.5), seed=0), real(*noisy(30, seed=21, flip=0.5), seed=1)
    model = SSVM(C="auto", tol=tol).fit(*train, dev=dev)
    alone = {C: SSVM(C=C, tol=tol).fit(*train).score(*dev) for C in MarginLearner.grid}
    assert {row["C"]: row["token_accuracy"] for row in model.search_} == pytest.approx(alone, abs=ROUNDING)
    assert len(set(alone.values())) > 1  # there is something to choose
    chosen = model.C_
    assert chosen == max(alone, key=lambda C: (alone[C], -C))
    close_optima(model, SSVM(C=model.C_, tol=tol).fit(*train))


def test_of_equally_good_C_the_smallest_is_taken():
    model = SSVM(C="auto").fit(X * 3, Y * 3, dev=([["1936"]], [["date"]]))
    best = max(row["token_accuracy"] for row in model.search_)
    tied = [row["C"] for row in model.search_ if row["token_accuracy"] == best]
    assert len(tied) > 1
    chosen = model.C_
    assert chosen == min(tied)


def test_without_dev_C_is_chosen_by_cross_validation():
    X, Y = noisy(20, seed=22)
    model = SSVM(C="auto").fit(X, Y)
    assert [row["C"] for row in model.search_] == list(MarginLearner.grid)
    chosen = model.C_
    assert chosen == max(model.search_, key=lambda row: (row["token_accuracy"], -row["C"]))["C"]
    held_out = [round(row["token_accuracy"] * 80, 6) for row in model.search_]
    assert all(right == int(right) for right in held_out)  # every one of the 80 tokens is held out once


def test_with_nothing_to_hold_out_C_is_the_default():
    model = SSVM(C="auto").fit([X[1]], [Y[1]])
    assert model.C_ == learning.MARGIN_C == SSVM().C
    assert model.search_ == []


def test_dev_labels_that_training_never_saw_do_not_count():
    seen = SSVM(C="auto").fit(X, Y, dev=([["1936"], ["1931"]], [["date"], ["date"]]))
    more = SSVM(C="auto").fit(X, Y, dev=([["1936"], ["1931"], ["x"]], [["date"], ["date"], ["title"]]))
    assert more.search_ == seen.search_


# ---- predicting


@pytest.fixture(scope="module")
def fitted():
    return SSVM(C=1).fit(*noisy(30, seed=30))


def test_the_three_best_labellings(fitted):
    X, _ = noisy(20, seed=31)
    ranked = fitted.predict(X, n_best=3)
    assert [row[0][0] for row in ranked] == fitted.predict(X)
    for row in ranked:
        scores = [score for _, score in row]
        assert len({tuple(labels) for labels, _ in row}) == 3
        assert scores == sorted(scores, reverse=True)


def test_scores_are_those_of_the_weights(fitted):
    """Every labelling of short sequences, scored by hand from the names of the features."""
    rows, (step,) = weights_by_name(fitted)
    number = {label: k for k, label in enumerate(fitted.classes_)}
    X, _ = noisy(5, seed=32)
    for x, ranked in zip(X, fitted.predict(X, n_best=100), strict=True):
        assert len(ranked) == 3**4  # all there are
        for labels, score in ranked:
            y = [number[label] for label in labels]
            tokens = sum(rows[f][k] for features, k in zip(x, y, strict=True) for f in features if f in rows)
            assert score == pytest.approx(tokens + sum(step[a, b] for a, b in pairwise(y)), abs=SCORES, rel=0)


def test_decision_function_holds_score_and_margin(fitted):
    X, _ = noisy(20, seed=33)
    decision, ranked = fitted.decision_function(X), fitted.predict(X, n_best=2)
    assert decision.shape == (20, 2)
    assert_allclose(decision[:, 0], [row[0][1] for row in ranked], rtol=0, atol=SCORES)
    assert_allclose(decision[:, 1], [row[0][1] - row[1][1] for row in ranked], rtol=0, atol=SCORES)
    assert (decision[:, 1] >= 0).all()


def test_with_one_label_there_is_no_runner_up():
    model = SSVM().fit([["a", "b"], ["c"]], [["x", "x"], ["x"]])
    assert model.predict([["d", "e", "f"]]) == [["x"] * 3]
    assert [len(row) for row in model.predict([["a"], ["b", "c"]], n_best=3)] == [1, 1]
    assert_array_equal(model.decision_function([["a"], ["b", "c"]])[:, 1], [np.inf, np.inf])


def test_unseen_tokens_get_some_label(fitted):
    model = SSVM().fit(X, Y)
    (labels,) = model.predict([UNKNOWN_WORDS])
    assert len(labels) == 4
    assert set(labels) <= set(model.classes_)
    assert len(fitted.predict([[["never"], [], ["seen"]]])[0]) == 3


def test_nothing_in_nothing_out(fitted):
    assert fitted.predict([]) == []
    assert fitted.predict([], n_best=3) == []
    assert fitted.decision_function([]).shape == (0, 2)


# ---- forms of data


def test_feature_lists_and_dictionaries_that_mean_the_same_learn_the_same():
    lists, Y = noisy(15, seed=40)
    forms = {
        "ones": [[dict.fromkeys(features, 1) for features in x] for x in lists],
        "truth": [[dict.fromkeys(features, True) for features in x] for x in lists],
        "zeros": [[dict.fromkeys(features, 1.0) | {"absent": 0} for features in x] for x in lists],
        "sets": [[set(features) for features in x] for x in lists],
    }
    reference = SSVM(tol=1e-4).fit(lists, Y)
    for form, X in forms.items():
        model = SSVM(tol=1e-4).fit(X, Y)
        assert model.predict(X) == reference.predict(lists), form
        assert distance(model, reference) <= 2 * np.sqrt(2 * model.history_[-1]["gap"]) + ROUNDING, form


def test_feature_values_scale_scores():
    model = SSVM(C=10).fit([[{"x": 2.0}], [{"x": -2.0}]], [["up"], ["down"]])
    assert model.predict([[{"x": 0.1}], [{"x": -7}]]) == [["up"], ["down"]]
    small, large = model.decision_function([[{"x": 1}], [{"x": 3}]])
    assert_allclose(large, 3 * small, rtol=ROUNDING, atol=0)


def test_tokens_cannot_be_labelled_by_a_model_of_features(fitted):
    with pytest.raises(DataError, match="trained on features"):
        fitted.predict([["a", "b"]])
    with pytest.raises(DataError, match="trained on tokens"):
        SSVM().fit(X, Y).predict([[["a"], ["b"]]])


# ---- what is refused


def test_rules_that_are_the_name_of_a_file_are_refused(fitted):
    hint = r"Rules \(those of a file: Rules.from_file\(path\)\)$"
    with pytest.raises(ParameterError, match=f"rules must be None or {hint}"):
        SSVM(rules="ing.yaml").fit(X, Y)
    with pytest.raises(ParameterError, match=f"rules='ing.yaml': must be True, False or {hint}"):
        fitted.predict([[["f0"]]], rules="ing.yaml")


CORPUS = make_citations(2)
CORPUS_FOR_LISTS = {
    "as X": lambda model: model.fit(CORPUS, CORPUS.labels),
    "as y": lambda model: model.fit(CORPUS.tokens, CORPUS),
    "dev": lambda model: model.fit(X, Y, dev=CORPUS),
    "predict": lambda model: model.fit(X, Y).predict(CORPUS),
    "margins": lambda model: model.fit(X, Y).decision_function(CORPUS),
    "confidence": lambda model: model.fit(X, Y).confidence(CORPUS, [["date"]]),
    "score": lambda model: model.fit(X, Y).score(CORPUS, CORPUS.labels),
}


@pytest.mark.parametrize("case", CORPUS_FOR_LISTS)
def test_a_corpus_is_no_list(case):
    with pytest.raises(DataError, match=r"data: a Corpus is not a list of .*; pass corpus.tokens and corpus.labels$"):
        CORPUS_FOR_LISTS[case](SSVM())


# ---- scikit-learn's habits


def test_grid_search_over_C():
    X, Y = noisy(30, seed=50)
    grid = [1e-4, 1.0]
    found = GridSearchCV(SSVM(tol=0.05), {"C": grid}, cv=3, n_jobs=1).fit(X, Y)
    means = found.cv_results_["mean_test_score"]
    assert found.best_params_["C"] == grid[int(np.argmax(means))]
    by_hand = [cross_val_score(SSVM(C=C, tol=0.05), X, Y, cv=3).mean() for C in grid]
    assert_allclose(means, by_hand, rtol=0, atol=ROUNDING)
    assert found.predict(X[:2]) == found.best_estimator_.predict(X[:2])
