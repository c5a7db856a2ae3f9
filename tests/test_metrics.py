"""Scores against scikit-learn on tokens and against plain counting on spans."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from semistruct.base.errors import DataError
from semistruct.data.metrics import evaluate, token_accuracy

LABELS = ["a", "b", "c", "O"]


@st.composite
def scored(draw, gold_labels):
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    gold = [draw(st.lists(st.sampled_from(gold_labels), min_size=n, max_size=n)) for n in lengths]
    predicted = [draw(st.lists(st.sampled_from(LABELS), min_size=n, max_size=n)) for n in lengths]
    return gold, predicted


def runs(labels):
    """The runs of equal labels found by trying every stretch."""
    n = len(labels)
    return {
        (labels[a], a, b)
        for a in range(n)
        for b in range(a + 1, n + 1)
        if set(labels[a:b]) == {labels[a]} != {"O"}
        and (a == 0 or labels[a - 1] != labels[a])
        and (b == n or labels[b] != labels[a])
    }


@settings(deadline=None)
@given(scored([*LABELS, None]))
def test_token_scores_are_those_of_scikit_learn(case):
    gold, predicted = case
    known = [(y, z) for g, p in zip(gold, predicted, strict=True) for y, z in zip(g, p, strict=True) if y]
    assume(known)
    true, guess = zip(*known, strict=True)
    found = evaluate(gold, predicted)
    assert found["token_accuracy"] == pytest.approx(accuracy_score(true, guess), abs=1e-12)
    assert found["token_accuracy"] == token_accuracy(gold, predicted)
    labels = sorted({*true, *guess})
    assert list(found["per_label"]) == labels
    wanted = precision_recall_fscore_support(true, guess, labels=labels, zero_division=0)
    for name, column in zip(("precision", "recall", "f1", "support"), wanted, strict=True):
        assert [found["per_label"][y][name] for y in labels] == pytest.approx(list(column), abs=1e-12)
    assert found["macro_f1"] == pytest.approx(wanted[2].mean(), abs=1e-12)
    assert json.loads(json.dumps(found)) == found


@settings(deadline=None)
@given(scored(LABELS))
def test_span_scores_are_counts_of_equal_runs(case):
    gold, predicted = case
    right = sum(len(runs(g) & runs(p)) for g, p in zip(gold, predicted, strict=True))
    wanted, claimed = sum(len(runs(g)) for g in gold), sum(len(runs(p)) for p in predicted)
    found = evaluate(gold, predicted)
    precision, recall = right / claimed if claimed else 0.0, right / wanted if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    assert found["span_precision"] == pytest.approx(precision, abs=1e-12)
    assert found["span_recall"] == pytest.approx(recall, abs=1e-12)
    assert found["span_f1"] == pytest.approx(f1, abs=1e-12)
    whole = sum(g == p for g, p in zip(gold, predicted, strict=True))
    assert found["sequence_accuracy"] == whole / len(gold)


def test_chunks_are_compared_by_their_scheme():
    found = evaluate([["B-x", "B-x", "O"]], [["B-x", "I-x", "O"]])
    assert (found["span_precision"], found["span_recall"], found["span_f1"]) == (0, 0, 0)
    assert found["token_accuracy"] == pytest.approx(2 / 3)
    assert evaluate([["B-x", "I-x", "O"]], [["I-x", "I-x", "O"]])["span_f1"] == 1


def test_unknown_labels_are_not_counted():
    gold = [None, [None, None], ["a", None, "b"], ["a", "a"]]
    predicted = [["a"], ["a", "b"], ["a", "c", "b"], ["a", "b"]]
    found = evaluate(gold, predicted)
    assert (found["n_sequences"], found["n_tokens"]) == (2, 4)
    assert found["token_accuracy"] == 3 / 4
    assert found["sequence_accuracy"] == 1 / 2
    assert "c" not in found["per_label"]
    assert found["span_recall"] == 0  # of the last sequence alone
    assert evaluate(gold[:3], predicted[:3])["span_f1"] is None


@pytest.mark.parametrize("score", [evaluate, token_accuracy])
@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["a"]], [], "1 gold sequences but 0 predicted"),
        ([["a"], ["a", "b"]], [["a"], ["a"]], "predicted sequence 1 has 2 tokens but 1 labels"),
        ([["a"]], [None], "predicted sequence 0 has 1 tokens but 0 labels"),
        ([], [], "nothing to score"),
        ([None, [None]], [["a"], ["a"]], "nothing to score"),
    ],
)
def test_what_cannot_be_scored_is_refused(score, gold, predicted, message):
    with pytest.raises(DataError, match=message):
        score(gold, predicted)
