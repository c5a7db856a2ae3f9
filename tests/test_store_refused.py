"""Model files that are damaged, forged or something else: refused in one sentence, before anything is built of them."""

import json
import re
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from semistruct import SSVM, load
from semistruct.base.errors import ModelError, ParameterError
from semistruct.core.chain.inference import ChainWeights
from semistruct.features import Encoder
from semistruct.model import store
from semistruct.model.model import Model
from store_cases import description, fitted, model_state, refused, rewritten, saved

__all__ = ["fitted", "saved"]  # fixtures
BOMB = 100 << 20


@pytest.fixture(scope="module")
def original(fitted, tmp_path_factory):
    """The bytes of a good model file."""
    path = tmp_path_factory.mktemp("original") / "m.model"
    fitted.save(path)
    return path.read_bytes()


def test_no_file_at_all(tmp_path):
    assert "no such file" in refused(tmp_path / "none.model")
    assert "directory" in refused(tmp_path)
    for path in (None, 3, b"m.model"):
        with pytest.raises(ParameterError, match="is not the path of a model file"):
            load(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"PK\x03\x04", b"\x80\x04\x95pickle", b"\0" * 1000])
def test_not_an_archive(tmp_path, content):
    path = tmp_path / "x.model"
    path.write_bytes(content)
    assert "not a semistruct model" in refused(path)


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "model.json/../evil", "weights.pkl"])
def test_extra_members_are_refused(saved, name):
    before = set(saved.parent.parent.rglob("*"))
    message = refused(rewritten(saved, members={name: b"x"}))
    assert message == f"{saved}: not a semistruct model: it holds {name!r}"
    assert set(saved.parent.parent.rglob("*")) == before


@pytest.mark.parametrize("name", sorted(store.MEMBERS))
def test_missing_members_are_named(saved, name):
    assert name in refused(rewritten(saved, drop=[name]))


@pytest.mark.parametrize("name", sorted(store.MEMBERS))
def test_a_bomb_is_refused_before_it_is_unpacked(saved, name, monkeypatch):
    def unpack(*_):
        raise AssertionError("unpacked")

    rewritten(saved, members={name: bytes(BOMB)})
    assert saved.stat().st_size < BOMB // 100
    monkeypatch.setattr(zipfile.ZipFile, "read", unpack)
    assert str(BOMB) in refused(saved)


@pytest.mark.parametrize("claim", [1000, 300 << 20])
def test_a_member_that_lies_about_its_size_is_not_unpacked_further(saved, claim):
    """It holds 128 MiB packed to 128 KiB, whatever it declares."""
    size = 128 << 20
    rewritten(saved, members={"weights.safetensors": bytes(size)})
    content = bytearray(saved.read_bytes())
    with zipfile.ZipFile(saved) as archive:
        packed = archive.getinfo("weights.safetensors").compress_size
    content = content.replace(struct.pack("<I", size), struct.pack("<I", claim))
    if claim > size:  # and about how far it is packed
        content = content.replace(struct.pack("<I", packed), struct.pack("<I", claim))
    saved.write_bytes(content)
    tracemalloc.start()
    refused(saved)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size // 8


def test_weights_that_are_all_zero_are_not_taken_for_a_bomb(tmp_path):
    Y, path = 600, tmp_path / "m"
    model = SSVM()
    weights = ChainWeights(np.zeros((1, Y)), np.zeros((1, Y, Y)))
    model.model_ = Model(tuple(f"label {y}" for y in range(Y)), Encoder(None, ["f"]), weights)
    model.tokens_, model.look_ = "given", None
    model.save(path)
    assert weights.trans.nbytes > store.SMALL
    assert model_state(load(path)) == model_state(model)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(saved, packing):
    refused(rewritten(saved, packing=packing))


def test_a_newer_format_says_which_version_wrote_it(saved):
    card = {"semistruct": "9.1", "created": "2040-01-01"}
    message = refused(rewritten(saved, about={"format": store.FORMAT + 1, "card": card}))
    assert f"format {store.FORMAT + 1}" in message
    assert "9.1" in message


@pytest.mark.parametrize("content", [b"[]", b"null", b"3", b'"text"', b"{}", b"", b"{", b"\xff", b"[" * 100_000])
def test_json_that_does_not_describe_a_model(saved, content):
    refused(rewritten(saved, members={"model.json": content}))


BAD_VALUES = {
    "format": ["1", None, True, 0, [2], store.FORMAT + 1],
    "method": ["none", None, ["ssvm"]],
    "params": [None, [1], {"no_such": 1}],
    "labels": [None, ["author"], ["author", "author"], ["author", 3], ["author", ["x"]], []],
    "names": [None, [], [3], [["word=A"]], "word=A", ["word=A", "word=A"], {"word=A": 1}],
    "features": [
        "word",
        {"specs": ["nope"], "resources": {}},
        {"specs": ["lexicon(names.txt)"], "resources": {}},
        {"specs": ["lexicon(names.txt)"], "resources": {"names.txt": 3}},
        {"specs": 3, "resources": {}},
        {"specs": ["word", "cluster(c)"], "resources": {"cluster(c)": {"turing": 3}}},
        {"specs": ["word", "steps(punctuation)"], "resources": {}},
        {"specs": ["word"], "resources": {}, "more": 1},
    ],
    "card": [None, 3],
}


@pytest.mark.parametrize("key", BAD_VALUES)
def test_wrong_and_missing_values_in_the_description(saved, key):
    good = saved.read_bytes()
    for value in BAD_VALUES[key]:
        saved.write_bytes(good)
        refused(rewritten(saved, about={key: value}))
    saved.write_bytes(good)
    about = description(saved)
    del about[key]
    refused(rewritten(saved, members={"model.json": json.dumps(about).encode()}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_jobs", "x"), ("n_jobs", 0), ("n_jobs", [1]), ("C", "x"), ("C", None), ("tol", -1), ("features", 3),
     ("rules", 3), ("max_passes", 0.5), ("random_state", "x")],
)  # fmt: skip
def test_parameters_that_no_estimator_takes(saved, name, value):
    assert name in refused(rewritten(saved, about={"params": description(saved)["params"] | {name: value}}))


def bad_arrays(tokens, trans):
    with_nan, with_inf = tokens.copy(), trans.copy()
    with_nan[0, 0], with_inf[0, 0, 0] = np.nan, np.inf
    return {
        "fewer rows": {"tokens": tokens[1:], "trans": trans},
        "more labels": {"tokens": np.hstack([tokens, tokens]), "trans": trans},
        "flat": {"tokens": tokens.ravel(), "trans": trans},
        "two step tables": {"tokens": tokens, "trans": np.concatenate([trans, trans])},
        "no step table": {"tokens": tokens, "trans": trans[:0]},
        "single precision": {"tokens": tokens.astype(np.float32), "trans": trans},
        "whole numbers": {"tokens": tokens, "trans": trans.astype(np.int64)},
        "not a number": {"tokens": with_nan, "trans": trans},
        "too large": {"tokens": np.full_like(tokens, 1e200), "trans": trans},
        "infinite": {"tokens": tokens, "trans": with_inf},
        "no steps": {"tokens": tokens},
        "nothing": {},
    }


@pytest.mark.parametrize("case", bad_arrays(np.zeros((2, 2)), np.zeros((1, 2, 2))))
def test_wrong_weights(fitted, saved, case):
    weights = fitted.model_.weights
    refused(rewritten(saved, arrays=bad_arrays(weights.tokens, weights.trans)[case]))


def test_weights_that_are_not_safetensors(saved):
    refused(rewritten(saved, members={"weights.safetensors": b"\xff" * 64}))


def test_rewriting_alone_leaves_a_good_model(fitted, saved):
    """The tests above refuse what they change, not how they write it."""
    weights = fitted.model_.weights
    rewritten(saved, about={}, arrays={"tokens": weights.tokens, "trans": weights.trans})
    assert model_state(load(saved)) == model_state(fitted)


# ---- damage


def test_cut_off_anywhere(original, tmp_path):
    path = tmp_path / "cut.model"
    for length in range(0, len(original), 7):
        path.write_bytes(original[:length])
        refused(path)


def harmless(path, wanted):
    """Whether a damaged file still gives the same model; if not, it is refused."""
    try:
        state = model_state(load(path))
    except ModelError:
        assert not re.search("cannot read|Error -|zip file version|encrypted", refused(path))
        return False
    assert state == wanted
    return True


@pytest.mark.parametrize("mask", [0x01, 0x06, 0xFF], ids=hex)
def test_a_wrong_byte_anywhere_is_noticed_or_harmless(fitted, original, tmp_path, mask):
    path, wanted, unnoticed = tmp_path / "flipped.model", model_state(fitted), 0
    for place in range(len(original)):
        damaged = bytearray(original)
        damaged[place] ^= mask
        path.write_bytes(damaged)
        unnoticed += harmless(path, wanted)
    assert unnoticed < len(original) / 2
