"""Vectors of words as features."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save_file

from feature_cases import rewritten, values_by_token
from semistruct import SSVM, load
from semistruct.base.errors import DataError, ModelError
from semistruct.features import Encoder, Features

PLAIN = "the 1 0 0\ncat 0 3 4\nCat 0 0 -1\n"
UNIT = [[1, 0, 0], [0, 0.6, 0.8], [0, 0, -1]]  # the same of length 1


@pytest.mark.parametrize("start", ["", "3 3\n", "3\t3 \r\n", "\ufeff"], ids=["none", "header", "tab", "mark"])
@pytest.mark.parametrize("ends", ["\n", " \n", "\r\n"])
def test_vectors_in_text_files(tmp_path, start, ends):
    (tmp_path / "v.txt").write_text(start + PLAIN.replace("\n", ends), encoding="utf-8", newline="")
    (vectors,) = Features.of(f"vectors({tmp_path / 'v.txt'})").vectors.values()
    assert vectors.words == ("the", "cat", "Cat")
    assert_allclose(vectors.matrix, UNIT, rtol=1e-6)
    assert [vectors.find(word) for word in ("the", "The", "cat", "Cat", "CAT", "dog", ("cat", "NN"))] == [
        *(0, 0, 1, 2, 1, -1, 1)
    ]


def test_vectors_in_safetensors(tmp_path):
    matrix = np.array([[1, 0, 0], [0, 3, 4], [0, 0, -1]], np.float16)
    save_file({"any name": matrix}, tmp_path / "v.safetensors", metadata={"words": "the\ncat\nCat"})
    (vectors,) = Features.of(f"vectors({tmp_path / 'v.safetensors'})").vectors.values()
    assert_allclose(vectors.matrix, UNIT, rtol=1e-6)
    assert vectors.words == ("the", "cat", "Cat")


def test_words_with_blanks_and_words_that_are_there_twice(tmp_path):
    (tmp_path / "v.txt").write_text("a\u00a0b 1 0\n. . . 0 1\nx 1 1\nx 2 2\n", encoding="utf-8")
    (vectors,) = Features.of(f"vectors({tmp_path / 'v.txt'})").vectors.values()
    assert vectors.words == ("a\u00a0b", ". . .", "x", "x")
    assert vectors.find("x") == 2


def test_vectors_in_windows(tmp_path):
    (tmp_path / "v.txt").write_text(PLAIN, encoding="utf-8")
    table = dict(zip(["the", "cat", "Cat"], UNIT, strict=True))
    x = ["the", "dog", "Cat", "the", "cat"]
    encoder = Encoder(Features.of([f"vectors({tmp_path / 'v.txt'})[-1..2]", "lower"]))
    found = values_by_token(encoder, encoder.fit([x, ["cat"]]))
    wanted = []
    for words in (x, ["cat"]):
        for t, word in enumerate(words):
            names = {f"lower={word.lower()}": 1.0}
            for o in range(-1, 3):
                for k, value in enumerate(table.get(words[t + o], []) if 0 <= t + o < len(words) else []):
                    if value:
                        names[f"vectors(v){f'[{o:+d}]' if o else ''}=dimension:{k}"] = value
            wanted.append(names)
    assert [found_at.keys() for found_at in found] == [names.keys() for names in wanted]
    for names, values in zip(wanted, found, strict=True):
        assert values == pytest.approx(names, rel=1e-6)


def test_a_model_keeps_the_vectors(tmp_path):
    (tmp_path / "v.txt").write_text("1936 1 0\n1937 1 0\nturing 0 1\nlovelace 0 1\n")
    model = SSVM(features=[f"vectors({tmp_path / 'v.txt'})"]).fit([["Turing", "1936"]], [["author", "date"]])
    assert model.predict([["1937", "Lovelace"]]) == [["date", "author"]]
    model.save(tmp_path / "m.model")
    (tmp_path / "v.txt").unlink()
    again = load(tmp_path / "m.model")
    assert_array_equal(again.decision_function([["1937", "Lovelace"]]), model.decision_function([["1937", "Lovelace"]]))
    assert pickle.loads(pickle.dumps(model)).predict([["1937", "Lovelace"]]) == [["date", "author"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "v.txt: there are no vectors"),
        ("2 3\n", "v.txt: there are no vectors"),
        ("the 1 2\ncat 1\n", "v.txt:2: 1 numbers after the word, expected 2 as on line 1"),
        ("the 1 2\n\ncat 1 2 3\n", "v.txt:3: 3 numbers after the word, expected 2 as on line 1"),
        ("2 3\nthe 1 2\n", "v.txt:2: 2 numbers after the word, expected 3 as on line 1"),
        ("the 1 2\ncat 1 nan\n", "v.txt:2: found 'nan', expected a finite number"),
        ("the 1 2\ncat 1 1e40\n", "v.txt:2: found '1e40', expected a finite number"),
        ("the 1 x\n", "v.txt:1: found 'x', expected a finite number"),
        ("the\n", "v.txt:1: 0 numbers after the word, expected at least one"),
        (b"\xff\xfe 1 2\n", "v.txt: not UTF-8"),
    ],
)
def test_bad_vectors(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        Features.of("vectors(v.txt)")


@pytest.mark.parametrize(
    ("arrays", "words", "message"),
    [
        ({"a": np.ones((2, 3))}, None, "1 arrays and no list of words, expected one matrix"),
        ({"a": np.ones((2, 3)), "b": np.ones(1)}, "a\nb", "2 arrays and a list of words"),
        ({"a": np.ones((2, 3))}, "a", r"1 words and a matrix of shape \(2, 3\) .*, expected a row for each word"),
        ({"a": np.ones(2)}, "a\nb", r"a matrix of shape \(2,\)"),
        ({"a": np.array([[1], [np.nan]])}, "a\nb", "the vector of 'b' holds a number that is not finite"),
    ],
)
def test_bad_vectors_in_safetensors(tmp_path, arrays, words, message):
    path = tmp_path / "v.safetensors"
    save_file(arrays, path, metadata=None if words is None else {"words": words})
    with pytest.raises(DataError, match=message):
        Features.of(f"vectors({path})")
    path.write_bytes(b"no header")
    with pytest.raises(DataError, match="cannot read vectors"):
        Features.of(f"vectors({path})")


def test_a_vector_of_zeros_stays_one(tmp_path):
    (tmp_path / "v.txt").write_text("a 0 0\nb 2 0\n")
    (vectors,) = Features.of(f"vectors({tmp_path / 'v.txt'})").vectors.values()
    assert vectors.matrix.tolist() == [[0, 0], [1, 0]]


def test_vectors_need_a_file():
    with pytest.raises(DataError, match="/nowhere: cannot read: no such file"):
        Features.of("vectors(/nowhere)")


def damage_words(about):
    (about["features"]["vectors"],) = [{name: [1] * len(w) for name, w in about["features"]["vectors"].items()}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damage_words, "something else than strings"),
        (lambda about: about["features"].update(vectors={}), "damaged"),
        (
            lambda about: about["features"]["vectors"].update({"vectors(v.txt)": ["one"]}),
            "expected a row for each word",
        ),
        (lambda about: about.update(widths={"vectors(v)=dimension": 0}), "the widths are not whole numbers"),
        (lambda about: about["widths"].update({"other": 2}), "for some of the names"),
        (lambda about: about.update(widths={"vectors(v)=dimension": 3}), "expected"),
        (lambda about: about.update(widths=[]), "damaged"),
    ],
)
def test_damaged_models_with_vectors(tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_text("1936 1 0\nturing 0 1\n")
    SSVM(features=["vectors(v.txt)"]).fit([["Turing", "1936"]], [["author", "date"]]).save("m.model")
    with pytest.raises(ModelError, match=message):
        load(rewritten("m.model", "b.model", change))
