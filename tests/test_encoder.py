"""The encoder against spelling out every feature of every token; what it remembers; names looked up all at once."""

import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import brute
from feature_cases import values_by_token
from semistruct import make_citations
from semistruct.base.errors import DataError
from semistruct.features import Encoder, Features, sources, vocabulary
from semistruct.features.registry import SEQUENCES, WORDS, Template
from semistruct.features.sequences import by_sequence
from semistruct.features.vocabulary import Memory

light = settings(deadline=None, max_examples=60)


def names_by_token(encoder, batch):
    """The names of the features of each token."""
    names = np.array(encoder.feature_names(), object)
    return [set(names[batch.indices[a:b]]) for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)]


# the encoder -----------------------------------------------------------------------------------------------

WINDOWS = {
    "word": [0],
    "lower": [-2, -1, 0, 1],
    "shape": [-1],
    "digits": [1, 2],
    "prefix(1-2)": [0],
    "suffix(2)": [-1, 0, 1],
}
SPECS = ["word", "lower[-2..1]", "shape[-1]", "digits[1..2]", "prefix(1-2)", "suffix(2)[-1..1]"]
SPECS += ["begin", "end", "bigram", "position"]

words = st.sampled_from(["a", "A", "the", "The", "then", "=", "a=b", ",", "12", "123456", "Éa"])
texts = st.lists(st.lists(words, min_size=1, max_size=7), min_size=1, max_size=4)


@light
@given(texts)
def test_every_feature_of_every_token(sequences):
    encoder = Encoder(Features.of(SPECS))
    batch = encoder.fit(sequences)
    assert names_by_token(encoder, batch) == brute.encoded(sequences, WINDOWS)
    assert len(set(encoder.feature_names())) == encoder.n_features == batch.n_features
    assert batch.lengths.tolist() == [len(x) for x in sequences]
    assert_array_equal(batch.values, [1.0])
    for a, b in zip(batch.indptr, batch.indptr[1:], strict=False):
        assert (np.diff(batch.indices[a:b]) > 0).all()


@light
@given(texts, texts)
def test_features_never_seen_are_left_out(seen, others):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    names = encoder.feature_names()
    batch = encoder.transform(others)
    assert names_by_token(encoder, batch) == brute.encoded(others, WINDOWS, known=seen)
    assert encoder.feature_names() == names


@light
@given(texts, texts)
def test_an_encoder_is_rebuilt_from_its_names(seen, others):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    again = Encoder(encoder.features, list(encoder.vocabulary))
    assert again.feature_names() == encoder.feature_names()
    for name in ("indptr", "indices", "values", "offsets", "kind"):
        assert_array_equal(getattr(again.transform(others), name), getattr(encoder.transform(others), name))


@light
@given(texts, texts)
def test_fitting_again_adds_features_and_keeps_the_old_ones(first, second):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(first)
    names = encoder.feature_names()
    batch = encoder.fit(second)
    assert encoder.feature_names()[: len(names)] == names
    assert names_by_token(encoder, batch) == brute.encoded(second, WINDOWS)


@light
@given(texts, texts, st.data())
def test_an_encoder_without_some_names(seen, others, data):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    names, n = encoder.feature_names(), encoder.n_features
    marked = np.array(data.draw(st.lists(st.integers(0, 3).map(bool), min_size=n, max_size=n)))
    smaller, kept = encoder.without(marked)
    # rows of one name differ in their offsets only, and stay as long as one of them does
    owner = [re.sub(r"^([^=]*)\[[+-]\d\]=", r"\1=", name) for name in names]
    stay = {owner[j] for j in range(n) if not marked[j]}
    assert kept.tolist() == [j for j in range(n) if owner[j] in stay]
    assert smaller.feature_names() == [names[j] for j in kept]
    whole = names_by_token(encoder, encoder.transform(others))
    left = set(smaller.feature_names())
    assert names_by_token(smaller, smaller.transform(others)) == [found & left for found in whole]


def test_without_any_name_an_encoder_still_works():
    encoder = Encoder(Features.of("lower[-1..1]"))
    encoder.fit([["a", "b"]])
    smaller, kept = encoder.without(np.ones(encoder.n_features, bool))
    assert (len(kept), smaller.n_features) == (0, 0)
    assert smaller.transform([["a"]]).indptr.tolist() == [0, 0]


@pytest.mark.parametrize("features", ["digits", "lower", "begin"])
def test_an_encoder_that_knows_no_feature(features):
    encoder = Encoder(Features.of(features))
    batch = encoder.transform([["12", "b"]])
    assert batch.indptr.tolist() == [0, 0, 0]
    assert batch.n_features == 1  # arrays of weights are never empty


def test_tokens_with_columns():
    encoder = Encoder(Features.of(["lower", "column(1)[-1..0]"]))
    batch = encoder.fit([[("The", "DT"), ("cat", "NN")], [("cat", "VB")]])
    assert names_by_token(encoder, batch) == [
        {"lower=the", "column(1)=DT"},
        {"lower=cat", "column(1)=NN", "column(1)[-1]=DT"},
        {"lower=cat", "column(1)=VB"},
    ]


def test_a_cluster_file_whose_name_holds_an_equals_sign(tmp_path):
    file = tmp_path / "k=100.tsv"
    file.write_text("run\tverbs\nthe\tdeterminers\n", encoding="utf-8")
    encoder = Encoder(Features.of(f"cluster({file})[-1..0]"))
    batch = encoder.fit([["the", "run"]])
    assert names_by_token(encoder, batch) == [
        {"cluster(k=100)=determiners"},
        {"cluster(k=100)=verbs", "cluster(k=100)[-1]=determiners"},
    ]


def test_one_file_as_clusters_and_as_a_lexicon(tmp_path):
    file = tmp_path / "words.tsv"
    file.write_text("run\t1\n", encoding="utf-8")
    encoder = Encoder(Features.of([f"cluster({file})", f"lexicon({file})"]))
    batch = encoder.fit([["run", "1"]])  # for the lexicon, the line is a phrase of two words
    assert names_by_token(encoder, batch) == [{"cluster(words)=1", "lexicon(words)=B"}, {"lexicon(words)=I"}]


def test_kinds_of_steps_by_the_token_before():
    X = [["a", ".", "b", ",", "c", ";", "*NEWLINE*", "d"], [".", "x"], ["<br>"]]
    batch = Encoder(Features.of(["word", "steps(punctuation)"])).fit(X)
    assert batch.n_kinds == 5
    assert batch.kind.tolist() == [0, 0, 1, 0, 2, 0, 3, 4, 0, 1, 0]
    for features in (["word"], ["word", "steps(plain)"]):
        batch = Encoder(Features.of(features)).fit(X)
        assert batch.n_kinds == 1
        assert_array_equal(batch.kind, 0)


def test_feature_lists_are_taken_as_they_are():
    encoder = Encoder.for_data([[["a"]]], "default")
    batch = encoder.fit([[["a", "b=c"], []], [["b=c"]]])
    assert values_by_token(encoder, batch) == [{"a": 1.0, "b=c": 1.0}, {}, {"b=c": 1.0}]
    assert_array_equal(batch.values, [1.0])
    assert (batch.n_kinds, batch.kind.tolist()) == (1, [0, 0, 0])
    assert values_by_token(encoder, encoder.transform([[{"a"}, ["z", "b=c"]]])) == [{"a": 1.0}, {"b=c": 1.0}]


def test_a_feature_listed_twice_counts_twice():
    encoder = Encoder(None)
    assert values_by_token(encoder, encoder.fit([[["a", "b", "a"], ["a"]]])) == [{"a": 2.0, "b": 1.0}, {"a": 1.0}]


def test_feature_dictionaries_hold_texts_truth_values_and_numbers():
    encoder = Encoder.for_data([[{}, {}]], "default")
    batch = encoder.fit([[{"pos": "DT", "cap": True, "no": False, "zero": 0, "len": 2.5}, {}, {"len": -1}]])
    assert values_by_token(encoder, batch) == [{"pos:DT": 1.0, "cap": 1.0, "len": 2.5}, {}, {"len": -1.0}]
    assert "no" not in encoder.feature_names()
    other = encoder.transform([[{"pos": "NN", "len": 7, "new": 1}]])
    assert values_by_token(encoder, other) == [{"len": 7.0}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf"), None, [1]])
def test_feature_values_that_are_not_finite(value):
    X = [[{"a": 1}], [{"a": 1}, {"a": 2, "len": value}]]
    encoder = Encoder(None)
    with pytest.raises(DataError, match="sequence 1, token 1: feature 'len' is"):
        encoder.fit(X)
    encoder.fit(X[:1])
    with pytest.raises(DataError, match="sequence 1, token 1: feature 'len' is"):
        encoder.transform(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "there are no sequences"),
        ([[]], "sequence 0 has no tokens"),
        ([["a"], [], ["b"]], "sequence 1 has no tokens"),
        ([[], ["b"]], "sequence 0 has no tokens"),
        (["abc"], "sequence 0 is 'abc', expected a list"),
        ([3], "sequence 0 is 3, expected a list"),
        ([[3]], "sequence 0 holds 3, expected tokens"),
    ],
)
def test_data_that_is_no_list_of_sequences(X, message):
    encoder = Encoder(Features.of("word"))
    encoder.fit([["a"]])
    for call in (encoder.fit, encoder.transform):
        with pytest.raises(DataError, match=message):
            call(X)


@pytest.mark.parametrize(
    ("trained", "given", "message"),
    [
        ([["a"]], [[["a"]]], "trained on tokens, but this data holds feature lists"),
        ([["a"]], [[{"a": 1}]], "trained on tokens, but this data holds feature dictionaries"),
        ([[["a"]]], [["a"]], "trained on features, but this data holds tokens"),
    ],
)
def test_data_of_another_form_than_the_model(trained, given, message):
    encoder = Encoder.for_data(trained, "identity")
    encoder.fit(trained)
    with pytest.raises(DataError, match=message):
        encoder.transform(given)


@pytest.mark.parametrize(
    "X",
    [[[["a"]], ["ab", "b"]], [[["a"], "ab"]], [["ab"], [["a"]]], [["ab"], "cd"]],
    ids=["tokens after features", "in one sequence", "features after tokens", "a text after a list"],
)
def test_data_of_mixed_forms(X):
    with pytest.raises(DataError, match=r"sequence [01]"):
        Encoder.for_data(X, "identity").fit(X)


def test_features_that_are_not_texts():
    with pytest.raises(DataError, match="a feature is 1, expected a string"):
        Encoder(None).fit([[[1, 2]]])


@pytest.mark.parametrize("block", [1, 2, 5])
def test_blocks_leave_no_trace(monkeypatch, block):
    X = make_citations(5, seed=3).tokens
    whole, parts = Encoder.for_data(X, "default"), Encoder.for_data(X, "default")
    wanted = whole.fit(X)
    monkeypatch.setattr(sources, "BLOCK", block)
    for found in (parts.fit(X), parts.transform(X)):
        assert list(parts.vocabulary) == list(whole.vocabulary)
        assert_array_equal(found.indptr, wanted.indptr)
        assert_array_equal(found.indices, wanted.indices)


@pytest.mark.parametrize("grow", [True, False])
def test_a_template_that_leaves_tokens_out_is_refused(monkeypatch, grow):
    def partial(tokens):
        return [["yes"]]

    monkeypatch.setitem(SEQUENCES, "partial", Template(by_sequence(partial)))
    encoder = Encoder.for_data([["a"]], ["word", "partial"])
    encoder.fit([["a"]])
    with pytest.raises(DataError, match="feature partial gives values for 1 tokens of a sequence that has 2"):
        (encoder.fit if grow else encoder.transform)([["a", "b"]])


def test_a_template_that_gives_a_value_twice_gives_it_once(monkeypatch):
    monkeypatch.setitem(WORDS, "again", Template(lambda token: [token, "x", token, "x"]))
    anew = by_sequence(lambda tokens: [["b", "a", "b"] for _ in tokens])
    monkeypatch.setitem(SEQUENCES, "anew", Template(anew))
    encoder = Encoder.for_data([["a"]], ["again[-1..1]", "anew"])
    X = [["a", "b", "a"]]
    for batch in (encoder.fit(X), encoder.transform(X)):
        found = values_by_token(encoder, batch)
        assert found[0] == dict.fromkeys(["again=a", "again=x", "again[+1]=b", "again[+1]=x", "anew=b", "anew=a"], 1.0)
        assert len(batch.indices) == sum(map(len, found))


# remembered

SOME = st.sampled_from(["A", "b.", "Cd", "1999", ",", "(", ")", "pp", "Ä-9", '"', "x" * 9])
DATA = st.lists(st.lists(SOME, min_size=1, max_size=6), min_size=1, max_size=5)
PARTS = st.lists(DATA, min_size=1, max_size=4)


def dense(batch, n):
    out = np.zeros((batch.indptr[-1] * 0 + len(batch.indptr) - 1, n))
    for t in range(len(out)):
        out[t, batch.indices[batch.indptr[t] : batch.indptr[t + 1]]] = 1
    return out


@pytest.mark.parametrize("limit", [0, 5, 100_000])
@pytest.mark.parametrize("features", ["default", "paper", "hmm"])
@settings(max_examples=25, deadline=None)
@given(known=DATA, parts=PARTS)
def test_remembered_names(features, limit, known, parts):
    with patch.object(vocabulary, "REMEMBERED", limit):
        encoder = Encoder.for_data(known, features)
        encoder.fit(known)
        names = encoder.feature_names()
        for part in parts:
            found = encoder.transform(part)
            fresh = Encoder.for_data(part, features)
            wanted = dense(fresh.fit(part), fresh.n_features)
            column = {name: k for k, name in enumerate(fresh.feature_names())}
            expected = np.zeros((len(wanted), len(names)))
            for k, name in enumerate(names):
                if name in column:
                    expected[:, k] = wanted[:, column[name]]
            assert_array_equal(dense(found, len(names)), expected)


@settings(max_examples=25, deadline=None)
@given(first=DATA, second=DATA)
def test_learning_more_names_forgets_the_numbers(first, second):
    encoder, whole = Encoder.for_data(first, "default"), Encoder.for_data(first, "default")
    encoder.fit(first)
    encoder.transform(second)  # remembers names that it does not know
    again = encoder.fit(second)
    whole.fit(first)
    assert_array_equal(dense(again, encoder.n_features), dense(whole.fit(second), whole.n_features))
    found = dense(encoder.transform(second), encoder.n_features)
    assert_array_equal(found, dense(again, encoder.n_features))


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(vocabulary, "REMEMBERED", 10)
    asked, mind = [], Memory()

    def double(keys):
        asked.extend(keys)
        return [2 * key for key in keys]

    for start in range(50):
        keys = range(start, start + 4)
        assert mind.of(keys, double) == [2 * key for key in keys]
        assert len(mind._known) <= 10
    assert len(asked) < 50 * 4
