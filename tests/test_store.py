"""Model files: what is saved comes back."""

import json
import os
import pickle
import zipfile
from datetime import datetime
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from semistruct import CODL, HMM, SSVM, AnnealedSSVM, Corpus, __version__, load, make_citations, save
from semistruct.base.errors import DataError, ModelError
from semistruct.methods import METHODS
from semistruct.model import store
from semistruct.rules import AtMostOnce, Proportion, Rules, StartsWith
from store_cases import X, Y, description, fitted, model_state, refused, rewritten, saved

__all__ = ["fitted", "saved"]  # fixtures


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


def test_a_parameter_that_is_not_an_estimator_after_all(tmp_path):
    CODL(HMM()).fit(X, Y).save(tmp_path / "m")
    params = description(tmp_path / "m")["params"]
    assert params["base"]["method"] == "hmm"
    for base in BASES:
        refused(rewritten(tmp_path / "m", about={"params": params | {"base": base}}))


def test_an_estimator_that_cannot_be_named_is_refused_before_writing(tmp_path):
    class Other(HMM):
        pass

    for method in (CODL(Other()), Other()):
        with pytest.raises(ModelError, match="Other"):
            save(method.fit(X, Y), tmp_path / "m")
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


def test_the_archive_and_its_card(saved):
    with zipfile.ZipFile(saved) as archive:
        assert sorted(archive.namelist()) == ["model.json", "weights.safetensors"]
        about = json.loads(archive.read("model.json"))
    assert (about["format"], about["method"]) == (store.FORMAT, "ssvm")
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


# ---- writing


def test_paths_that_cannot_be_written(fitted, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for path, problem in ((tmp_path / "nowhere" / "m.model", "no such file"), (folder, "is a directory")):
        with pytest.raises(DataError, match=f"{path}: cannot write: {problem}"):
            fitted.save(path)
    assert list(tmp_path.rglob("*")) == [folder]


@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_the_old_file_and_nothing_else(fitted, tmp_path, monkeypatch, exists):
    path = tmp_path / "m.model"
    if exists:
        path.write_bytes(b"old")
    full = DataError, r"m\.model: cannot write: no space left on device"
    for error, found in (
        (MemoryError("no room"), (MemoryError, "no room")),
        (OSError(28, "No space left on device"), full),
    ):
        monkeypatch.setattr(store, "save_arrays", Mock(side_effect=error))
        with pytest.raises(found[0], match=found[1]):
            fitted.save(path)
        assert [p.name for p in tmp_path.iterdir()] == ["m.model"] * exists
        assert not exists or path.read_bytes() == b"old"


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
