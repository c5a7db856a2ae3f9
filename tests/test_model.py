"""Models: labelling in pieces, leaving out what has no weight, and showing what is inside."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from semistruct.core.chain.inference import ChainWeights
from semistruct.features import Encoder, Features
from semistruct.model import model as module
from semistruct.model.model import Model

WORDS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def model():
    """Random weights for words and their left neighbours; those of `b` and `d` are zero."""
    encoder = Encoder(Features.of(["word[-1..0]", "steps(punctuation)"]))
    encoder.fit([WORDS])
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(encoder.n_features, 3))
    zero = [i for i, name in enumerate(encoder.feature_names()) if name[-1] in "bd"]
    tokens[zero] = 0.0
    tokens[:2, 1] = 0.0  # a label without weight does not make a feature useless
    return Model(("x", "y", "z"), encoder, ChainWeights(tokens, rng.normal(size=(5, 3, 3))))


@pytest.fixture
def sentences():
    rng = np.random.default_rng(1)
    return [rng.choice([*WORDS, "new", ","], size=n).tolist() for n in (1, 5, 3, 8, 2, 4, 1)]


def test_a_compact_model_is_the_same_model(model, sentences):
    small = model.compact()
    assert [name for name in model.encoder.vocabulary if name[-1] not in "bd"] == list(small.encoder.vocabulary)
    assert len(small.weights.tokens) == small.encoder.n_features < model.encoder.n_features
    assert small.predict_k(sentences, 3) == model.predict_k(sentences, 3)


def test_a_name_is_kept_while_one_of_its_rows_has_weight(model, sentences):
    names = model.encoder.feature_names()
    model.weights.tokens[names.index("word[-1]=b")] = 1.0
    small = model.compact()
    assert "word=b" in small.encoder.vocabulary
    assert {"word=b", "word[-1]=b"} <= set(small.encoder.feature_names())
    assert small.predict(sentences) == model.predict(sentences)


def test_a_model_without_any_weight_still_labels():
    encoder = Encoder(None, ["f", "g"])
    empty = Model(("x", "y"), encoder, ChainWeights(np.zeros((2, 2)), np.zeros((1, 2, 2)))).compact()
    assert empty.encoder.n_features == 0
    assert empty.weights.tokens.shape == (1, 2)
    assert [len(labels) for labels in empty.predict([[["f"], ["g"]], [["h"]]])] == [2, 1]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_labelling_in_pieces_changes_nothing(model, sentences, monkeypatch, chunk):
    whole = model.predict(sentences), model.predict_k(sentences, 2), model.margins(sentences)
    monkeypatch.setattr(module, "CHUNK", chunk)
    assert model.predict(sentences) == whole[0]
    assert model.predict_k(sentences, 2) == whole[1]
    assert_array_equal(model.margins(sentences), whole[2])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(model, sentences, n_jobs):
    many = sentences * 10
    assert model.predict(many, n_jobs) == model.predict(sentences) * 10
    assert_array_equal(model.margins(many, n_jobs), np.tile(model.margins(sentences), (10, 1)))


def test_the_heaviest_features(model):
    names = model.encoder.feature_names()
    for y, label in enumerate(model.labels):
        found = model.heaviest(4)[label]
        column = dict(zip(names, model.weights.tokens[:, y], strict=True))
        assert len(found) == 4
        assert [weight for _, weight in found] == [column[name] for name, _ in found]
        lightest = min(abs(weight) for _, weight in found)
        assert all(abs(column[name]) <= lightest for name in column.keys() - dict(found).keys())
        assert [abs(w) for _, w in found] == sorted((abs(w) for _, w in found), reverse=True)
