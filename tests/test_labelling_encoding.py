"""What is remembered of names changes nothing: encoding known names is encoding them for the first time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semistruct.features import Encoder, memory
from semistruct.features.memory import Memory

WORDS = st.sampled_from(["A", "b.", "Cd", "1999", ",", "(", ")", "pp", "Ä-9", '"', "x" * 9])
DATA = st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=5)
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
    before, memory.LIMIT = memory.LIMIT, limit
    try:
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
    finally:
        memory.LIMIT = before


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
    monkeypatch.setattr(memory, "LIMIT", 10)
    asked, mind = [], Memory()

    def double(keys):
        asked.extend(keys)
        return [2 * key for key in keys]

    for start in range(50):
        keys = range(start, start + 4)
        found = mind.of(keys, double)
        assert [found[key] for key in keys] == [2 * key for key in keys]
        assert len(found) <= 10
    assert len(asked) < 50 * 4
