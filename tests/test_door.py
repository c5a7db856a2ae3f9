"""What users pass to estimators is checked at the door: lists of sequences, labels that fit them, weights."""

from fractions import Fraction

import numpy as np
import pytest

from semistruct import CRF, HMM, SSVM, AnnealedSSVM
from semistruct.base.errors import DataError, ParameterError, SemistructError
from semistruct.data.corpus import Corpus
from semistruct.learning.data import Data
from semistruct.rules import Rules, Words

X = [["a", "b", "c"], ["b"], ["a", "c"]]
Y = [["p", "q", "q"], ["q"], ["p", "q"]]


@pytest.fixture(scope="module", params=[SSVM, CRF, HMM], ids=lambda method: method.name)
def model(request):
    return request.param().fit(X, Y)


def one_sentence(caught):
    message = str(caught.value)
    assert isinstance(caught.value, SemistructError)
    assert "\n" not in message
    assert len(message) < 200
    return message


# ---- labels that do not fit

UNFIT = {
    "a row too short": ([["a", "b", "c"]], [["p"]], "sequence 0 has 3 tokens but 1 labels"),
    "a row too long": ([["a"]], [["p", "q"]], "sequence 0 has 1 tokens but 2 labels"),
    "too few rows": (X, Y[:1], "3 sequences but 1 label lists"),
    "far too few rows": (X * 2000, [["p"]], "6000 sequences but 1 label lists"),
    "too many rows": (X[:1], Y, "1 sequences but 3 label lists"),
    "no list": (X[:1], ["ppp"], "sequence 0 has 3 tokens but 'ppp'"),
    "a mapping": (X[1:2], [{"p": 1}], "sequence 0 has 1 tokens but "),
    "a number": (X[1:2], [[3]], "sequence 0 has the label 3"),
}


@pytest.mark.parametrize("case", UNFIT)
@pytest.mark.parametrize("method", ["confidence", "score"])
def test_labels_that_do_not_fit_the_tokens(model, method, case):
    tokens, labels, wanted = UNFIT[case]
    with pytest.raises(DataError) as caught:
        getattr(model, method)(tokens, labels)
    assert wanted in one_sentence(caught)


@pytest.mark.parametrize("labels", [[None], [["p", None, "q"]]])
def test_confidence_needs_all_labels(model, labels):
    with pytest.raises(DataError, match="sequence 0 has an unknown label"):
        model.confidence(X[:1], labels)


# ---- what a fit refuses

BAD_DATA = {
    "no labels": ({"y": [None] * 3}, "no sequence has a label"),
    "only unknown labels": ({"X": [["a"]], "y": [[None]]}, "no sequence has a label"),
    "no sequences": ({"X": [], "y": []}, "no sequence has a label"),
    "labels as one text": ({"X": [["a", "b"]], "y": ["xy"]}, "training data: sequence 0 has 2 tokens but 'xy'"),
    "fewer labels": ({"y": [*Y[:2], ["q"]]}, "training data: sequence 2 has 2 tokens but 1 labels"),
    "more label lists": ({"y": [*Y, None]}, "3 sequences but 4 label lists"),
    "numbers as labels": ({"X": [["a"], ["b"]], "y": [["x"], [3]]}, "sequence 1 has the label 3"),
    "empty label": ({"X": [["a"], ["b"]], "y": [["x"], [""]]}, "sequence 1 has an empty label"),
    "empty sequence": ({"X": [["a"], []], "y": [["x"], []]}, "sequence 1 has no tokens"),
    "empty token": ({"X": [["a"], ["b", ""]], "y": [["x"], ["x", "y"]]}, "sequence 1 has an empty token"),
    "numbers as tokens": ({"X": [[1, 2]], "y": [["x", "y"]]}, "sequence 0 holds 1"),
    "features among tokens": ({"X": [["a"], [["f"]], ["b"]], "y": [None, ["x"], ["x"]]}, "training data: sequence 1 "),
    "empty in the pool": ({"pool": [["a"], []]}, "pool data: sequence 1 has no tokens"),
    "numbers as pool": ({"pool": [3]}, "pool data: sequence 0 is 3"),
    "a corpus as pool": ({"pool": Corpus.of(X)}, "pool data: a Corpus is not a list .* pass corpus.tokens and"),
    "a text in the pool": ({"pool": [["a"], "abc"]}, "pool data: sequence 1 is 'abc'"),
    "examples as pool": ({"pool": list(Corpus.of(X))}, r"pool data: sequence 0 is Example\("),
    "features as pool": ({"pool": [[["f"]]]}, r"pool data: sequence 0 holds \['f'\], expected tokens"),
    "weights": ({"sample_weight": [1, 1]}, "sample_weight has shape"),
    "no weight": ({"sample_weight": [0, 0, 0]}, "no sequence has a label and a sample_weight > 0"),
    "weight without labels": ({"y": [*Y[:2], None], "sample_weight": [0, 0, 1]}, ".* a sample_weight > 0"),
    "bad dev": ({"dev": ([["a"]], [["q", "q"]])}, "dev data: sequence 0 has 1 tokens but 2 labels"),
    "dev of numbers": ({"dev": ([3], [["q"]])}, "dev data: sequence 0 is 3"),
    "rules about words": (
        {"X": [[["a"]]], "y": [["x"]], "rules": Rules([Words(["a"], are="x")])},
        "rules about words need tokens",
    ),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused(case):
    changed, message = BAD_DATA[case]
    given = {"X": X, "y": Y, **changed}
    with pytest.raises(DataError, match=message) as caught:
        Data.of(given.pop("X"), given.pop("y"), **given)
    one_sentence(caught)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_values_of_features_that_are_no_numbers(value):
    with pytest.raises(DataError, match="sequence 1, token 1: feature 'f' is "):
        SSVM().fit([[{"f": 1.0}], [{"f": 1.0}, {"f": value}]], [["x"], ["x", "y"]])


@pytest.mark.parametrize("dev", [([["d"]], [None]), ([["d"]], [["title"]])])
def test_dev_data_without_a_known_label(dev):
    with pytest.raises(DataError, match="dev data: no token has a label"):
        AnnealedSSVM().fit(X, Y, pool=X, dev=dev)


def test_dev_data_that_is_training_data_is_told():
    with pytest.warns(UserWarning, match="1 of 2 dev sequences are also in the training data"):
        AnnealedSSVM().fit(X, Y, dev=([X[0], ["d"]], [Y[0], ["q"]]))


# ---- labels in arrays

IN_ARRAYS = {
    "arrays of texts": lambda rows: [np.array(row) for row in rows],
    "arrays of objects": lambda rows: [np.array(row, object) for row in rows],
    "one array": lambda rows: np.array(rows),
}


@pytest.mark.parametrize("case", IN_ARRAYS)
@pytest.mark.parametrize("method", [SSVM, CRF, AnnealedSSVM])
def test_labels_in_arrays_are_as_good_as_lists(method, case):
    tokens, rows = [["a", "b"], ["b", "c"], ["a", "c"]], [["p", "q"], ["q", "q"], ["p", "q"]]
    others, arrays = [["a", "d"], ["d", "c"], ["a", "e"]], IN_ARRAYS[case](rows)
    model = method(C=0.3).fit(tokens, arrays, dev=(others, arrays))
    other = method(C=0.3).fit(tokens, rows, dev=(others, rows))
    assert model.predict(tokens) == other.predict(tokens)
    assert model.data_ == other.data_
    assert model.score(tokens, arrays) == other.score(tokens, rows)


def test_arrays_of_labels_may_have_unknown_ones():
    model = SSVM(C=0.3).fit(X, [np.array(["p", None, "q"], object), None, np.array(["p", "q"])])
    assert model.classes_ == ["p", "q"]


def test_one_label_in_an_array_is_no_row_of_labels():
    with pytest.raises(DataError, match="sequence 0 has 1 tokens but 'p'"):
        SSVM().fit([["a"]], [np.array("p")])


# ---- what is no list of sequences

NO_SEQUENCES = {
    "None": (lambda: None, "found None, expected a list of sequences"),
    "a number": (lambda: 3, "found a int"),
    "text": (lambda: "abc", "found a str"),
    "a mapping": (lambda: {0: ["a"]}, "found a dict"),
    "a set": (lambda: {("a", "b")}, "found a set"),
    "text inside": (lambda: ["ab"], "sequence 0 is 'ab'"),
    "a mapping inside": (lambda: [{"a": 1}], "sequence 0 is {'a': 1}"),
    "a set inside": (lambda: [["a"], {"a"}], "sequence 1 is {'a'}"),
    "a token without columns": (lambda: [[()]], "sequence 0 holds the token ()"),
    "a column that is no text": (lambda: [["a"], [("a", 3)]], "sequence 1 holds the token ('a', 3)"),
}
USES = {
    "fit": lambda model, found: SSVM().fit(found, Y),
    "fit a path": lambda model, found: AnnealedSSVM().fit(found, Y, pool=X),
    "pool": lambda model, found: AnnealedSSVM().fit(X, Y, pool=found),
    "dev": lambda model, found: SSVM().fit(X, Y, dev=(found, [["p"]])),
    "predict": lambda model, found: model.predict(found),
    "n_best": lambda model, found: model.predict(found, n_best=2),
    "decision_function": lambda model, found: model.decision_function(found),
    "confidence": lambda model, found: model.confidence(found),
    "score": lambda model, found: model.score(found, [["p"]]),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("case", NO_SEQUENCES)
def test_what_is_no_list_of_sequences(use, case):
    found, wanted = NO_SEQUENCES[case]
    if (use, case) == ("pool", "None"):
        return  # no pool
    if use in ("fit", "fit a path", "dev", "score") and not wanted.startswith("found"):
        wanted = ""  # the number of labels may be noticed first
    model = SSVM().fit(X, Y)
    with pytest.raises(DataError) as caught:
        USES[use](model, found())
    assert wanted in one_sentence(caught)


def once(rows):
    return (row if row is None else iter(row) for row in rows)


def test_what_can_be_read_only_once(model):
    again = type(model)().fit(once(X), once(Y), sample_weight=iter([1, 1, 1]), dev=(once(X[:1]), once(Y[:1])))
    np.testing.assert_array_equal(again.model_.weights.tokens, model.model_.weights.tokens)
    assert model.predict(once(X)) == model.predict(X)
    assert model.predict(once(X), n_best=2) == model.predict(X, n_best=2)
    assert model.score(once(X), once(Y)) == model.score(X, Y)
    for found, wanted in ((model.confidence(once(X), once(Y)), model.confidence(X, Y)),
                          (model.confidence(once(X)), model.confidence(X))):  # fmt: skip
        np.testing.assert_array_equal(np.concatenate(found), np.concatenate(wanted))


def test_a_pool_that_can_be_read_only_once():
    wanted = AnnealedSSVM(select="last").fit(X, Y, pool=X)
    with pytest.warns(UserWarning, match="dev sequences are also in the training data"):
        found = AnnealedSSVM(select="last").fit(once(X), once(Y), pool=once(X), dev=(once(X), once(Y)))
    assert found.labels_ == wanted.labels_


@pytest.mark.parametrize("dev", [(X,), (), X, 3, "ab", {"a": 1, "b": 2}, (X, Y, Y)], ids=repr)
@pytest.mark.parametrize("method", [SSVM, AnnealedSSVM])
def test_dev_data_is_a_pair(method, dev):
    with pytest.raises(DataError, match=r"^dev data: found .* expected a pair \(X, y\)$"):
        method().fit(X, Y, dev=dev)


@pytest.mark.parametrize("weight", ["abc", ["a", "b", "c"], [1, 2, "x"], [[1], 2, 3], [1j, 1, 1], 1.0, [1, 2], {}])
def test_sample_weights_that_are_no_numbers(weight):
    with pytest.raises(DataError, match="sample_weight"):
        SSVM().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("weight", [-1.0, 1e300, np.nan, np.inf])
def test_sample_weights_out_of_range(weight):
    with pytest.raises(DataError, match="numbers from 0 to 1e"):
        SSVM().fit(X, Y, sample_weight=[weight, 1, 1])


@pytest.mark.parametrize("n_best", [10**9, 0, -1, 1.5, "2", True])
def test_a_number_of_labellings_that_makes_no_sense(model, n_best):
    with pytest.raises(ParameterError, match="n_best must be a whole number from 1 to 10000"):
        model.predict(X, n_best=n_best)


def test_many_labellings_need_little_memory(model, monkeypatch):
    wanted = model.predict(X, n_best=3)
    monkeypatch.setattr("semistruct.model.model.CHUNK", 3)  # one sequence at a time
    assert model.predict(X, n_best=3) == wanted


# ---- numbers that are too large


@pytest.mark.parametrize("value", [1e308, -1e308, 1e31, 10**400, Fraction(10) ** 40])
def test_values_of_features_that_are_too_large(value):
    tokens, labels = [[{"f": 1.0}], [{"f": 2.0}, {"g": 1}]], [["p"], ["p", "q"]]
    model = SSVM().fit(tokens, labels)
    bad = [[{"f": 1.0}], [{"f": 2.0}, {"g": value}]]
    for use in (model.predict, model.confidence, lambda found: SSVM().fit(found, labels)):
        with pytest.raises(DataError, match=r"^sequence 1, token 1: feature 'g' is "):
            use(bad)


def test_values_just_small_enough_give_numbers():
    tokens, labels = [[{"f": 1.0}], [{"f": 2.0}, {"g": 1}]], [["p"], ["p", "q"]]
    for method in (SSVM, CRF):
        model = method().fit(tokens, labels)
        assert np.isfinite(np.concatenate(model.confidence([[{"f": 1e30}, {"g": -1e30}]]))).all()
        assert np.isfinite(method(C=1e10).fit(tokens, labels).model_.weights.tokens).all()


@pytest.mark.parametrize("method", [SSVM, CRF, AnnealedSSVM])
def test_a_weight_so_large_that_nothing_would_be_learned(method):
    with pytest.raises(ParameterError, match=r"C must be a number > 0 and at most 1e\+10 or 'auto'"):
        method(C=1e300).fit(X, Y)


@pytest.mark.filterwarnings("ignore:stopped after")
def test_the_largest_weight_still_learns():
    model = CRF(C=1e10).fit(X, Y)
    assert model.predict(X) == Y
    assert np.abs(model.model_.weights.tokens).max() > 1
