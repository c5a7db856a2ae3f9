"""Names that are looked up all at once, against a dictionary."""

from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semistruct.base.errors import DataError
from semistruct.features import Encoder, vocabulary
from semistruct.features.vocabulary import Lookup, NameTable

light = settings(deadline=None)
FACTOR = 0x9E3779B97F4A7C15  # of the hash in core/names.hpp
ALIKE = st.builds(lambda n, end: "w" * n + end, st.integers(0, 25), st.text("wé\x01\x7f\x80\ud800𝔸", max_size=2))
NAMES = ALIKE | st.text(max_size=9)
TOKENS = st.lists(st.one_of(st.lists(NAMES, max_size=6), st.sets(NAMES, max_size=40)), min_size=1, max_size=9)


def can_be_told(known, tokens):
    counted = [Counter(name for name in token if name in known) for token in tokens]
    return (
        len(known) > 0
        and not any("\0" in name for name in known)
        and not any("\ud800" <= letter <= "\udfff" for token in tokens for name in token for letter in name)
        and not any(n > 1 for token in counted for n in token.values())
    )


@light
@given(st.lists(NAMES, unique=True, max_size=40), TOKENS, st.data())
def test_names_are_found_as_in_a_dictionary(known, tokens, data):
    number = {name: k for k, name in enumerate(known)}
    some = st.lists(st.sampled_from(known), max_size=30) if known else st.just([])
    tokens = [*tokens, data.draw(some)]
    with patch.object(vocabulary, "AT_ONCE", data.draw(st.integers(1, 12))):
        blocks = NameTable(known).blocks(tokens)
    assert (blocks is not None) == can_be_told(known, tokens)
    if blocks is not None:
        found = [block.rows[end - n : end].tolist() for block in blocks
                 for n, end in zip(block.sizes, block.sizes.cumsum(), strict=True)]  # fmt: skip
        assert found == [sorted(number[name] for name in token if name in number) for token in tokens]


@light
@given(st.lists(TOKENS, min_size=1, max_size=4), st.lists(TOKENS, min_size=1, max_size=4))
def test_encoding_is_the_same_name_by_name(seen, others):
    encoder = Encoder(None)
    encoder.fit(seen)
    for X in (seen, others):
        fast = encoder.transform(X)
        with patch.object(Lookup, "blocks", lambda *_: None):
            slow = encoder.transform(X)
        for part in ("indptr", "indices", "values", "offsets", "kind"):
            assert_array_equal(getattr(fast, part), getattr(slow, part))
            assert getattr(fast, part).dtype == getattr(slow, part).dtype


def test_a_token_with_very_many_names():
    encoder, token = Encoder(None), [f"name {k}" for k in range(1000)]
    encoder.fit([[token]])
    (block,) = encoder.vocabulary.table.blocks([token[::-1][1:], []])
    assert_array_equal(block.rows, range(999))
    assert_array_equal(block.sizes, [999, 0])


def test_what_is_no_name_is_not_known():
    encoder = Encoder(None)
    encoder.fit([[["a", "b"]]])
    assert_array_equal(encoder.transform([[["b", 7], ["a", None]]]).indices, [1, 0])
    with pytest.raises(TypeError, match="unhashable"):
        encoder.transform([[["b", ["a"]]]])


def test_new_names_are_found_after_fitting_again():
    encoder = Encoder(None)
    encoder.fit([[["a"]]])
    assert_array_equal(encoder.transform([[["b", "a"]]]).indices, [0])
    encoder.fit([[["b"]]])
    assert_array_equal(encoder.transform([[["b", "a"]]]).indices, [0, 1])


def test_a_vector_is_no_name():
    encoder = Encoder(None)
    encoder.fit([[{"v": np.ones(2)}]])
    encoder.fit([[["a"]]])
    assert_array_equal(encoder.transform([[["a"]]]).indices, [2])
    with pytest.raises(DataError, match="'v' is a vector"):
        encoder.transform([[["a", "v"]]])


def hash_after(word):
    mixed = (int.from_bytes(word, "little") * FACTOR) % 2**64
    return mixed ^ (mixed >> 32)


def alike(first, second):
    """Other eight bytes, and what behind them has the same hash as the two parts."""
    wanted = hash_after(first) ^ int.from_bytes(second, "little")
    for k in range(10**6):
        other = (b"%08d" % k)[::-1]
        end = (wanted ^ hash_after(other)).to_bytes(8, "little")
        if all(0 < byte < 128 for byte in end[: len(second)]) and not any(end[len(second) :]):
            return other.decode(), end[: len(second)].decode()
    raise AssertionError


@pytest.mark.parametrize(
    ("first", "second", "tail"), [(b"all cats", b"in a bag", "!"), (b"all cats", b"in bags", ""), (b"", b"in bags", "")]
)
def test_names_of_the_same_hash(first, second, tail):
    known, other = (first + second).decode() + tail, "".join(alike(first, second)) + tail
    (block,) = NameTable(["a", known]).blocks([[other], [known]])
    assert_array_equal(block.sizes, [0, 1])
    (block,) = NameTable([other, known]).blocks([[known], [other], [known, other]])
    assert_array_equal(block.rows, [1, 0, 0, 1])
    slots = NameTable([known, other])._slots
    assert len(set(slots["hash"][slots["number"] >= 0])) == 1
