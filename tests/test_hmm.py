"""HMM: its probabilities against counting in plain Python, and what it makes of unknown words and labels."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rule_strategies import corpora
from semistruct import HMM, SSVM, Rules, load, make_citations
from semistruct.base.errors import DataError
from semistruct.core.batch import UNKNOWN
from semistruct.learning.learners import learn_mixture
from semistruct.methods.hmm import CountLearner
from semistruct.rules import StartsWith
from strategies import batches, seeds

light = settings(deadline=None, max_examples=60)
ROUNDING = 1e-9

X = [["A", ".", "Turing"], ["K", ".", "Godel", "1931"], ["1936"], ["Church", ",", "1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"], ["author", "author", "date"]]


def counted(X, y, a, weight=None, labels=None):
    """{(what, given): log-probability} of words, steps and starts, by counting; y are labels."""
    weight = weight or [1] * len(X)
    mean = sum(weight) / len(weight)
    labels = labels or sorted({label for row in y for label in row})
    words = sorted({word for x, w in zip(X, weight, strict=True) for word in x if w})
    n = Counter()
    for tokens, row, w in zip(X, y, weight, strict=True):
        w = w / mean
        n["start", row[0]] += w
        n["starts"] += w
        for word, label in zip(tokens, row, strict=True):
            n["word", word, label] += w
            n["token", label] += w
        for one, two in pairwise(row):
            n["step", one, two] += w
            n["steps", one] += w
    out = {}
    for z in labels:
        out["start", z] = log((n["start", z] + a) / (n["starts"] + a * len(labels)))
        out |= {("word", v, z): log((n["word", v, z] + a) / (n["token", z] + a * len(words))) for v in words}
        out |= {("step", y, z): log((n["step", y, z] + a) / (n["steps", y] + a * len(labels))) for y in labels}
    return out


def weights_by_name(model):
    """The weights of a model as `counted` names them; features that are left out have weight 0."""
    model = getattr(model, "model_", model)
    out, names = Counter(), model.encoder.feature_names()
    for y, label in enumerate(model.labels):
        for name, w in zip(names, model.weights.tokens[: len(names), y], strict=True):
            kind, value = name.split("=", 1)
            out[("start", label) if kind == "begin" else (kind, value, label)] = w
        for z, to in enumerate(model.labels):
            out["step", label, to] = model.weights.trans[0, y, z]
    return out


def same_numbers(found, wanted):
    for key in wanted:
        assert_allclose(found[key], wanted[key], rtol=0, atol=ROUNDING, err_msg=str(key))
    assert set(found) <= set(wanted)


@light
@given(corpora(), st.sampled_from([0.001, 0.01, 1.0, 3.5]))
def test_probabilities_are_relative_frequencies(corpus, smoothing):
    X, y, _ = corpus
    same_numbers(weights_by_name(HMM(smoothing).fit(X, y)), counted(X, y, smoothing))


@light
@given(corpora(), seeds)
def test_weights_of_sequences(corpus, seed):
    X, y, _ = corpus
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).tolist()
    model = HMM(0.1).fit(X, y, sample_weight=weight)
    same_numbers(weights_by_name(model), counted(X, y, 0.1, weight))
    again = HMM(0.1).fit(X, y, sample_weight=[7 * w for w in weight])
    same_numbers(weights_by_name(again), weights_by_name(model))


def test_a_probability_distribution_of_each_kind():
    model = HMM(0.5).fit(X, Y).model_
    probability = np.exp(model.weights.tokens)
    begin = model.encoder.feature_names().index("begin=yes")
    assert_allclose(probability[begin].sum(), 1.0)
    assert_allclose(np.delete(probability, begin, axis=0).sum(axis=0), 1.0)
    assert_allclose(np.exp(model.weights.trans).sum(axis=2), 1.0)


@light
@given(batches(), seeds)
def test_the_steps_of_each_kind_are_counted_apart(batch, seed):
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 3, batch.n_tokens).astype(np.int16), rng.uniform(0.5, 2.0, len(batch))
    learner = CountLearner(3, 0.2)
    batch = replace(batch, values=np.abs(batch.values))
    found = learner.learn(batch, y, weight).chain
    for kind in range(batch.n_kinds):
        n = np.full((3, 3), 0.2)
        for i in range(len(batch)):
            for t in range(batch.offsets[i] + 1, batch.offsets[i + 1]):
                if batch.kind[t] == kind:
                    n[y[t - 1], y[t]] += weight[i] / weight.mean()
        assert_allclose(np.exp(found.step[kind]), n / n.sum(axis=1, keepdims=True), rtol=0, atol=ROUNDING)


@light
@given(batches(), seeds)
def test_several_labellings_are_learned_like_copies(batch, seed):
    """A learner that has no way to learn them at once is given copies of the sequences."""
    rng = np.random.default_rng(seed)
    batch = replace(batch, values=np.abs(batch.values))
    labellings = rng.integers(0, 3, (4, batch.n_tokens)).astype(np.int16)
    share = rng.random((len(batch), 4)) * rng.integers(0, 2, (len(batch), 4))
    share[:, 1] += 0.1
    for i, k in zip(*np.nonzero(share == 0), strict=True):
        labellings[k, batch.offsets[i] : batch.offsets[i + 1]] = UNKNOWN
    weight = rng.uniform(0.5, 2.0, len(batch))

    class Copying:
        def learn(self, copies, known, weight, *, rough):
            assert rough
            # counts are relative to the mean weight, which is another one with more sequences
            return CountLearner(3, 0.3 * usual / weight.mean()).learn(copies, known, weight)

    usual = weight.mean()
    at_once = learn_mixture(CountLearner(3, 0.3), batch, labellings, share, weight).chain
    copied = learn_mixture(Copying(), batch, labellings, share, weight).chain
    assert_allclose(at_once.trans, copied.trans, rtol=0, atol=ROUNDING)
    assert_allclose(at_once.tokens, copied.tokens, rtol=0, atol=ROUNDING)


def test_margin_learners_learn_copies():
    batch_of, labels = SSVM(C=10, features=["word"]).fit(X, Y), ("author", "date")
    batch = batch_of.model_.encoder.transform(X)
    codes = np.array([labels.index(label) for row in Y for label in row], np.int16)
    learner = SSVM(C=10).learner(2)
    both = learn_mixture(learner, batch, np.stack([codes, 1 - codes]), np.tile([1.0, 0.0], (4, 1)), np.ones(4))
    alone = learner.learn(batch, codes, np.ones(4), rough=True)
    assert_array_equal(both.chain.tokens, alone.chain.tokens)


# ---- what it was not told


def test_unseen_words_say_nothing():
    model = HMM().fit(X, Y)
    weights = model.model_.weights
    chain = weights.tokens[model.model_.encoder.feature_names().index("begin=yes")]
    assert model.decision_function([["unseen"]])[0, 0] == max(chain)
    two = max(chain[y] + weights.trans[0, y, z] for y in range(2) for z in range(2))
    assert_allclose(model.decision_function([["unseen", "words"]])[0, 0], two)


def test_labels_without_examples_can_be_predicted():
    rules = Rules([StartsWith("editor", weight="hard")], labels=["author", "date", "editor"])
    model = HMM(rules=rules).fit(X, Y)
    assert model.predict([["K", ".", "Godel"]], rules=True)[0][0] == "editor"
    assert model.predict([["K", ".", "Godel"]], rules=False) == [["author"] * 3]


def test_the_start_is_uniform_without_a_feature_of_it():
    model = HMM(features="identity").fit(X, Y)
    assert not any(name.startswith("begin") for name in model.model_.encoder.feature_names())
    assert_allclose(model.decision_function([["unseen"]]), 0.0)


def test_the_start_among_features_of_the_user():
    lists = [[[f"word={word}", *["begin=yes"] * (t == 0)] for t, word in enumerate(x)] for x in X]
    same_numbers(weights_by_name(HMM().fit(lists, Y)), counted(X, Y, HMM().smoothing))


def test_unknown_labels_are_filled_in():
    partial = [["author", None, None], ["author", None, "author", "date"], ["date"], ["author", None, "date"]]
    model = HMM().fit(X, partial)
    same_numbers(weights_by_name(model), weights_by_name(HMM().fit(X, Y)))
    assert model.stop_ == "converged"
    assert model.history_[-1]["switched"] == 0


@light
@given(corpora(max_T=5), st.data())
def test_filling_in_never_lowers_the_likelihood_of_labels(corpus, data):
    X, y, _ = corpus
    hidden = [[label if t == 0 or data.draw(st.booleans()) else None for t, label in enumerate(row)] for row in y]
    model = HMM(1e-6).fit(X, hidden)
    found = [row["objective"] for row in model.history_]
    assert all(b >= a - 1e-3 for a, b in pairwise(found))


# ---- an estimator like the others


def test_rules_n_best_confidence_and_files(tmp_path):
    corpus = make_citations(40, seed=3)
    rules = Rules.from_file("citations-codl")
    model = HMM(rules=rules).fit(corpus.tokens[:20], corpus.labels[:20], dev=(corpus.tokens[30:], corpus.labels[30:]))
    rest = corpus.tokens[20:], corpus.labels[20:]
    assert model.score(*rest, rules=True) > model.score(*rest, rules=False) > 0.5
    assert [best[0][0] for best in model.predict(rest[0], n_best=3)] == model.predict(rest[0])
    assert all(row.min() >= 0 for row in model.confidence(rest[0]))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(rest[0], rules=True) == model.predict(rest[0], rules=True)
    assert again.get_params() == model.get_params()


def test_negative_values_cannot_be_counted():
    with pytest.raises(DataError, match="negative"):
        HMM().fit([[{"f": -1.0}]], [["a"]])
