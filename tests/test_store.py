"""Model files: what is saved comes back, and nothing else is ever taken for a model."""

import json
import os
import pickle
import re
import struct
import tracemalloc
import zipfile
from datetime import datetime

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import save as save_arrays

from semistruct import CODL, HMM, SSVM, AnnealedSSVM, Corpus, __version__, load, make_citations, save, store
from semistruct.chain.inference import ChainWeights
from semistruct.errors import DataError, ModelError, ParameterError
from semistruct.features import Encoder
from semistruct.methods import METHODS
from semistruct.model import Model
from semistruct.rules import AtMostOnce, Proportion, Rules, StartsWith

X = [["A", ".", "Turing"], ["K", ".", "Gödel", "1931"], ["1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"]]
BOMB = 100 << 20


def model_state(estimator):
    """All that a model file keeps, in a form that can be compared exactly."""
    found = estimator.model_
    arrays = [(a.dtype.str, a.shape, a.tobytes()) for a in (found.weights.tokens, found.weights.trans)]
    return (
        type(estimator),
        estimator.get_params(),
        found.labels,
        list(found.encoder.vocabulary),
        found.encoder.features and vars(found.encoder.features) | {"specs": list(found.encoder.features.specs)},
        arrays,
    )


@pytest.fixture(scope="module")
def fitted():
    return SSVM(features=["word"], C=2.0).fit(X, Y)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "m.model"
    fitted.save(path, card={"origin": "three references"})
    return path


@pytest.fixture(scope="module")
def original(fitted, tmp_path_factory):
    """The bytes of a good model file."""
    path = tmp_path_factory.mktemp("original") / "m.model"
    fitted.save(path)
    return path.read_bytes()


def refused(path):
    """The message with which `path` is refused: one line that names it."""
    with pytest.raises(ModelError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.count(str(path)) == 1
    assert "\n" not in message
    return message


def rewritten(path, *, about=None, arrays=None, members=None, drop=(), packing=zipfile.ZIP_DEFLATED):
    """The archive again, with keys of model.json, arrays or whole members replaced."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    if about is not None:
        content["model.json"] = json.dumps(json.loads(content["model.json"]) | about).encode()
    if arrays is not None:
        content["weights.safetensors"] = save_arrays(arrays)
    content.update(members or {})
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name in content.keys() - set(drop):
            archive.writestr(name, content[name])
    return path


# ---- there and back


def test_what_is_loaded_predicts_the_same(tmp_path):
    train, test = make_citations(10, seed=0), make_citations(30, seed=1)
    model = SSVM(tol=0.1).fit(train.tokens, train.labels)
    model.save(tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert again.predict(test.tokens) == model.predict(test.tokens)
    assert_array_equal(again.decision_function(test.tokens), model.decision_function(test.tokens))
    assert again.classes_ == model.classes_
    assert model_state(again) == model_state(model)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_pickled_predicts_the_same(name):
    rule = Proportion({"author": (0.1, None)}) if name == "ge" else StartsWith("author")
    method = METHODS[name](rules=Rules([rule]))
    more = {} if name in ("ssvm", "crf", "hmm") else {"pool": [["A", ".", "Church"], ["1930"]]}
    again = pickle.loads(pickle.dumps(method.fit(X, Y, **more)))
    assert model_state(again) == model_state(method)
    for rules in (False, True):
        assert again.predict(X, rules=rules) == method.predict(X, rules=rules)
    assert again.model_.rules == method.model_.rules
    assert again.history_ == method.history_


def test_all_parameters_come_back(tmp_path):
    given = {"C": "auto", "features": ["word", "shape"], "tol": 0.2, "max_passes": 50, "n_jobs": 2, "random_state": 9}
    given["rules"] = Rules([StartsWith("a"), AtMostOnce(weight="hard")], labels=["a", "b", "c"])
    given["metric"] = "span"
    SSVM(**given).fit(X, Y).save(tmp_path / "m")
    assert load(tmp_path / "m").get_params() == given
    assert given.keys() == SSVM().get_params().keys()


def test_a_loaded_model_can_be_fitted_and_saved_again(saved, tmp_path):
    again = load(saved)
    again.save(tmp_path / "copy")
    assert model_state(load(tmp_path / "copy")) == model_state(again)
    assert again.fit([["x"], ["y"]], [["b"], ["c"]]).classes_ == ["b", "c"]


@pytest.mark.parametrize(
    "X",
    [
        [[["f", "g"]], [["g"], ["h"]]],
        [[{"f": 0.25, "w": "word"}], [{"f": -3}, {}]],
        [[("a", "X")], [("b", "Y"), ("c", "Z")]],
        [["\ud800"], ["\0", "=a=b"]],
        [["日本"], ["é", "e\u0301"]],
    ],
    ids=["feature lists", "feature dictionaries", "columns", "half characters", "other scripts"],
)
def test_every_form_of_data(tmp_path, X):
    model = SSVM(C=10).fit(X, [["a"], ["b", "c"]])
    model.save(tmp_path / "m")
    assert model_state(load(tmp_path / "m")) == model_state(model)
    assert load(tmp_path / "m").predict(X) == model.predict(X)


def test_parameters_that_are_numpy_numbers(tmp_path):
    SSVM(C=np.float32(0.5), max_passes=np.int64(70)).fit(X, Y).save(tmp_path / "m", card={"score": np.float32(0.25)})
    again = load(tmp_path / "m")
    assert (again.C, again.max_passes, again.card_["score"]) == (0.5, 70, 0.25)


def test_a_random_state_is_not_kept(tmp_path):
    SSVM(random_state=np.random.RandomState(1)).fit(X, Y).save(tmp_path / "m")
    assert load(tmp_path / "m").random_state == SSVM().random_state


BASES = [
    {},
    {"params": {}},
    {"method": "hmm"},
    {"method": "none", "params": {}},
    {"method": ["hmm"], "params": {}},
    {"method": "hmm", "params": [1]},
    {"method": "hmm", "params": {"nope": 1}},
]


@pytest.mark.parametrize("base", BASES, ids=str)
def test_a_parameter_that_is_not_an_estimator_after_all(tmp_path, base):
    CODL(HMM()).fit(X, Y).save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        params = json.loads(archive.read("model.json"))["params"]
    assert params["base"]["method"] == "hmm"
    refused(rewritten(tmp_path / "m", about={"params": params | {"base": base}}))


def test_an_estimator_that_cannot_be_named_is_refused_before_writing(tmp_path):
    class Other(HMM):
        pass

    with pytest.raises(ModelError, match="Other"):
        CODL(Other()).fit(X, Y).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_files_named_by_templates_are_not_needed_again(tmp_path):
    lexicon, clusters = tmp_path / "names.txt", tmp_path / "brown.tsv"
    lexicon.write_text("alan turing\nkurt gödel\n", encoding="utf-8")
    clusters.write_text("0010\tturing\t5\n1101\tnumbers\t2\n")
    specs = [f"lexicon({lexicon})", f"cluster({clusters})"]
    tokens = [["Alan", "Turing", "wrote", "numbers"], ["Kurt", "Gödel", "proved"]]
    model = SSVM(features=specs, C=10).fit(tokens, [["n", "n", "o", "o"], ["n", "n", "o"]])
    model.save(tmp_path / "m")
    lexicon.unlink()
    clusters.unlink()
    again = load(tmp_path / "m")
    new = [["Kurt", "Gödel", "and", "numbers"]]
    assert again.predict(new) == model.predict(new) == [["n", "n", "o", "o"]]
    assert again.model_.encoder.features.resources[f"lexicon({lexicon})"] == {"alan turing": "", "kurt gödel": ""}


def test_the_card_tells_version_time_and_what_was_given(saved):
    card = load(saved).card_
    assert card["semistruct"] == __version__
    assert datetime.fromisoformat(card["created"]).utcoffset() is not None
    assert card["origin"] == "three references"


def test_the_card_tells_the_data(tmp_path):
    pool, dev = [["A", ".", "Church"], ["1930"]], ([["1905"]], [["date"]])
    model = AnnealedSSVM().fit(X, Y, pool=pool, dev=dev)
    model.save(tmp_path / "m", card={"data": {"file": "three.tsv"}})
    found = load(tmp_path / "m").card_["data"]
    assert found == {
        "sequences": 3, "sha256": Corpus.of(X, Y).digest, "pool": 2, "pool sha256": Corpus.of(pool).digest,
        "dev": 1, "dev sha256": Corpus.of(*dev).digest, "file": "three.tsv",
    }  # fmt: skip
    load(tmp_path / "m").save(tmp_path / "again")
    assert load(tmp_path / "again").card_["data"] == found
    other = SSVM().fit(X[::-1], Y[::-1])
    assert other.data_["sha256"] != found["sha256"]


def test_sets_of_features_have_the_same_digest_in_any_order():
    names = [f"f{i}" for i in range(50)]
    one, other = (SSVM().fit([[set(row)], [{"g"}]], [["a"], ["b"]]) for row in (names, names[::-1]))
    listed = SSVM().fit([[sorted(names)], [["g"]]], [["a"], ["b"]])
    assert one.data_ == other.data_ == listed.data_


def test_the_file_is_a_plain_archive(saved):
    with zipfile.ZipFile(saved) as archive:
        assert sorted(archive.namelist()) == ["model.json", "weights.safetensors"]
        about = json.loads(archive.read("model.json"))
    assert about["format"] == store.FORMAT
    assert about["method"] == "ssvm"


def test_a_subclass_is_not_taken_for_the_method_it_extends(tmp_path):
    class Other(SSVM):
        pass

    with pytest.raises(ModelError, match="Other"):
        save(Other().fit(X, Y), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# ---- what is not a model


def test_a_missing_file(tmp_path):
    assert "no such file" in refused(tmp_path / "none.model")


def test_a_directory(tmp_path):
    assert "directory" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"PK\x03\x04", b"\x80\x04\x95pickle", b"\0" * 1000])
def test_not_an_archive(tmp_path, content):
    path = tmp_path / "x.model"
    path.write_bytes(content)
    assert "not a semistruct model" in refused(path)


def test_an_archive_of_something_else(tmp_path):
    path = tmp_path / "x.model"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "'readme.txt'" in refused(path)


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


BAD_KEYS = [
    {"format": "1"},
    {"format": None},
    {"format": True},
    {"format": 0},
    {"format": [2]},
    {"format": store.FORMAT + 1, "card": None},
    {"method": "none"},
    {"method": None},
    {"method": ["ssvm"]},
    {"params": None},
    {"params": [1]},
    {"params": {"no_such": 1}},
    {"labels": None},
    {"labels": ["author"]},
    {"labels": ["author", "author"]},
    {"labels": ["author", 3]},
    {"labels": ["author", ["x"]]},
    {"labels": []},
    {"names": None},
    {"names": []},
    {"names": [["word=A"]]},
    {"names": "word=A"},
    {"names": ["word=A", "word=A"]},
    {"names": {"word=A": 1}},
    {"features": "word"},
    {"features": {"specs": ["nope"], "resources": {}}},
    {"features": {"specs": ["lexicon(names.txt)"], "resources": {}}},
    {"features": {"specs": ["lexicon(names.txt)"], "resources": {"names.txt": 3}}},
    {"features": {"specs": 3, "resources": {}}},
    {"features": {"specs": ["word", "cluster(c)"], "resources": {"cluster(c)": {"turing": 3}}}},
    {"features": {"specs": ["word", "steps(punctuation)"], "resources": {}}},
    {"features": {"specs": ["word"], "resources": {}, "more": 1}},
    {"card": None},
    {"card": 3},
]


@pytest.mark.parametrize("about", BAD_KEYS, ids=str)
def test_wrong_values_in_the_description(saved, about):
    refused(rewritten(saved, about=about))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_jobs", "x"), ("n_jobs", 0), ("n_jobs", [1]), ("C", "x"), ("C", None), ("tol", -1), ("features", 3),
     ("rules", 3), ("max_passes", 0.5), ("random_state", "x")],
)  # fmt: skip
def test_parameters_that_no_estimator_takes(saved, name, value):
    with zipfile.ZipFile(saved) as archive:
        params = json.loads(archive.read("model.json"))["params"]
    assert name in refused(rewritten(saved, about={"params": params | {name: value}}))


def test_a_number_among_the_names(fitted, saved):
    names = list(fitted.model_.encoder.vocabulary)
    assert "the names are not" in refused(rewritten(saved, about={"names": [3, *names[1:]]}))


@pytest.mark.parametrize("path", [None, 3, b"m.model", ["m.model"]])
def test_what_is_no_path(path):
    with pytest.raises(ParameterError, match="is not the path of a model file"):
        load(path)


@pytest.mark.parametrize("key", ["format", "method", "params", "labels", "features", "names", "card"])
def test_missing_values_in_the_description(saved, key):
    with zipfile.ZipFile(saved) as archive:
        about = json.loads(archive.read("model.json"))
    del about[key]
    refused(rewritten(saved, members={"model.json": json.dumps(about).encode()}))


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


@pytest.mark.parametrize("mask", [0x01, 0x04, 0x06, 0x80, 0xFF], ids=hex)
def test_a_wrong_byte_anywhere_is_noticed_or_harmless(fitted, original, tmp_path, mask):
    path, wanted, unnoticed = tmp_path / "flipped.model", model_state(fitted), 0
    for place in range(len(original)):
        damaged = bytearray(original)
        damaged[place] ^= mask
        path.write_bytes(damaged)
        unnoticed += harmless(path, wanted)
    assert unnoticed < len(original) / 2


def test_an_archive_that_names_a_place_before_its_beginning(original, tmp_path):
    path, damaged = tmp_path / "far.model", bytearray(original)
    damaged[-4] = 0xFF  # where the list of members begins
    path.write_bytes(damaged)
    assert refused(path) == f"{path}: not a semistruct model, or damaged"


def test_content_that_cannot_be_unpacked(original, tmp_path):
    path, damaged = tmp_path / "garbled.model", bytearray(original)
    start = 30 + len("model.json")
    damaged[start : start + 9] = b"\xff" * 9
    path.write_bytes(damaged)
    assert refused(path) == f"{path}: the model is damaged: its content cannot be unpacked"


def test_many_wrong_bytes(fitted, original, tmp_path):
    rng, path, wanted = np.random.default_rng(0), tmp_path / "damaged.model", model_state(fitted)
    trials, unnoticed = 300, 0
    for _ in range(trials):
        damaged = np.frombuffer(original, np.uint8).copy()
        places = rng.integers(len(damaged), size=rng.integers(2, 6))
        damaged[places] = rng.integers(256, size=len(places))
        path.write_bytes(damaged.tobytes())
        unnoticed += harmless(path, wanted)
    assert unnoticed < trials / 2


# ---- writing


def test_a_path_in_a_missing_folder(fitted, tmp_path):
    with pytest.raises(DataError, match=r"nowhere.*cannot write: no such file"):
        fitted.save(tmp_path / "nowhere" / "m.model")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_as_path(fitted, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(DataError, match="folder: cannot write: is a directory"):
        fitted.save(folder)
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_the_old_file_and_nothing_else(fitted, tmp_path, monkeypatch, exists):
    path = tmp_path / "m.model"
    if exists:
        path.write_bytes(b"old")

    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(store, "save_arrays", fail)
    with pytest.raises(MemoryError, match="no room"):
        fitted.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["m.model"] * exists
    assert not exists or path.read_bytes() == b"old"


def test_a_full_disk_is_told_in_one_line(fitted, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "save_arrays", fail)
    with pytest.raises(DataError, match=r"m\.model: cannot write: no space left on device"):
        fitted.save(tmp_path / "m.model")
    assert os.listdir(tmp_path) == []


def test_an_old_model_is_replaced(fitted, saved):
    other = SSVM().fit([["a"]], [["b"]])
    other.save(saved)
    assert model_state(load(saved)) == model_state(other) != model_state(fitted)
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_a_card_that_json_cannot_hold_is_refused_before_writing(fitted, saved):
    before = saved.read_bytes()
    with pytest.raises(TypeError):
        fitted.save(saved, card={"labels": {"a", "b"}})
    assert saved.read_bytes() == before
    assert len(os.listdir(saved.parent)) == 1
