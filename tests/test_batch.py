"""SequenceBatch against lists of lists."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semistruct.base.errors import DataError
from semistruct.core.batch import ranges, starts
from strategies import batches, dense

light = settings(deadline=None, max_examples=60)


def pieces(batch, flat):
    """The part of each sequence, by slicing."""
    return [flat[batch.offsets[i] : batch.offsets[i + 1]] for i in range(len(batch.offsets) - 1)]


def as_lists(batch):
    """[(dense rows, kinds)] of the sequences."""
    rows = pieces(batch, dense(batch).tolist())
    return list(zip(rows, pieces(batch, batch.kind.tolist()), strict=True))


@given(st.lists(st.integers(0, 5)))
def test_starts_add_up_lengths(lengths):
    found = starts(np.array(lengths, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5))))
def test_ranges_are_python_ranges_end_to_end(pairs):
    first, length = np.array(pairs, np.int64).reshape(-1, 2).T
    assert ranges(first, length).tolist() == [j for a, n in pairs for j in range(a, a + n)]


@light
@given(batches())
def test_sizes(batch):
    found = as_lists(batch)
    assert len(batch) == len(found)
    assert batch.n_tokens == sum(len(rows) for rows, _ in found)
    assert batch.lengths.tolist() == [len(rows) for rows, _ in found]


@light
@given(batches())
def test_split_cuts_between_sequences(batch):
    flat = np.arange(batch.n_tokens)
    assert [part.tolist() for part in batch.split(flat)] == [part.tolist() for part in pieces(batch, flat)]


@light
@given(batches(), st.data())
def test_take_picks_sequences_in_any_order_and_more_than_once(batch, data):
    which = data.draw(st.lists(st.integers(0, len(batch) - 1), max_size=8))
    taken, found = batch.take(np.array(which, np.int64)), as_lists(batch)
    assert as_lists(taken) == [found[i] for i in which]
    assert (taken.n_features, taken.n_kinds) == (batch.n_features, batch.n_kinds)
    for name in ("indptr", "indices", "values", "offsets", "kind"):
        assert getattr(taken, name).dtype == getattr(batch, name).dtype, name


@light
@given(batches(), st.data())
def test_tokens_of_sequences_in_any_order(batch, data):
    which = data.draw(st.lists(st.integers(0, len(batch) - 1), min_size=1, max_size=6))
    wanted = np.concatenate([batch.split(np.arange(batch.n_tokens))[i] for i in which])
    assert_array_equal(batch.tokens_of(np.array(which)), wanted)


@light
@given(batches())
def test_take_everything_is_the_same_batch(batch):
    taken = batch.take(np.arange(len(batch)))
    for name in ("indptr", "indices", "values", "offsets", "kind"):
        assert_array_equal(getattr(taken, name), getattr(batch, name), err_msg=name)


@light
@given(batches(), st.data())
def test_validation(batch, data):
    n = batch.n_tokens
    broken = [
        ({"offsets": batch.offsets + 1}, "tokens, offsets end at"),
        ({"offsets": np.append(batch.offsets[:-1], n + 1)}, f"{n} tokens, offsets end at {n + 1}"),
        ({"kind": batch.kind[:-1]}, f"kind has {n - 1}"),
        ({"indptr": batch.indptr[:-1]}, f"{n - 1} tokens"),
        ({"values": np.array([np.nan])}, "not finite"),
        ({"values": np.array([1.0, -np.inf])}, "not finite"),
    ]
    empty = data.draw(st.integers(0, len(batch)))
    broken.append(({"offsets": np.insert(batch.offsets, empty, batch.offsets[empty])}, f"sequence {empty} has"))
    for change, message in broken:
        with pytest.raises(DataError, match=message):
            replace(batch, **change)


@light
@given(batches(), st.data())
def test_after_leaves_out_the_first(batch, data):
    n = data.draw(st.integers(0, len(batch) - 1))
    rest = batch.after(n)
    assert as_lists(rest) == as_lists(batch)[n:]
    assert np.shares_memory(rest.indices, batch.indices) or not len(rest.indices)


@light
@given(batches(), st.data())
def test_the_table_has_the_features_of_all_tokens(batch, data):
    rest = batch.after(data.draw(st.integers(0, len(batch) - 1)))
    for one in (batch, rest):
        assert_array_equal(one.table.toarray(), dense(one))
        assert_array_equal(np.diff(one.table.indptr), np.diff(one.indptr))
