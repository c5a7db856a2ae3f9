"""Kinds of words: the shipped lists, and models that keep them."""

import json
import zipfile
from importlib.resources import files

import pytest

import semistruct
from semistruct import SSVM
from semistruct.errors import ParameterError
from semistruct.features import Encoder, Features
from semistruct.features.kinds_of_words import shipped_kinds
from semistruct.features.registry import TABLES
from semistruct.features.words import core_of

FILES = sorted(path.name for path in (files("semistruct.features") / "kinds").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_list_says_what_it_holds_and_each_of_its_words_once_in_order(name):
    about, *lines = (files("semistruct.features") / "kinds" / name).read_text("utf-8").splitlines()
    words = " ".join(lines).split()
    assert about.startswith("# ")
    assert about.endswith(".")
    assert words == sorted(set(words))
    assert all(word == core_of(word).lower() for word in words)  # or no token would match it
    assert all(name.removesuffix(".txt") in shipped_kinds()[word].split() for word in words)


def test_kinds_are_found_beside_the_word_too():
    encoder = Encoder(Features.of("kinds[-1..1]"))
    batch = encoder.fit([["Mrs.", "Garcia"]])
    names = encoder.feature_names()
    found = [{names[i] for i in batch.indices[a:b]} for a, b in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)]
    assert found == [
        {"kinds=forms-of-address", "kinds[+1]=surnames"},
        {"kinds=surnames", "kinds[-1]=forms-of-address"},
    ]


def test_a_model_goes_on_with_the_lists_it_was_learned_with(tmp_path, monkeypatch):
    model = SSVM(features="kinds").fit([["Berlin"], ["Garcia"]], [["place"], ["name"]])
    model.save(tmp_path / "a.model")
    monkeypatch.setitem(TABLES, "kinds", lambda: {})
    assert semistruct.load(tmp_path / "a.model").predict([["London"], ["Smith"]]) == [["place"], ["name"]]
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        about = json.loads(archive.read("model.json"))
    assert about["features"]["resources"]["kinds()"]["london"] == "places"


def test_kinds_take_no_argument():
    with pytest.raises(ParameterError, match=r"features: kinds\(names.txt\): kinds takes no argument"):
        Features.of("kinds(names.txt)")
