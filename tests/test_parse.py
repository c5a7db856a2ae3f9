"""`model.parse`: from a text to its fields."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semistruct
from semistruct import SSVM, Rules
from semistruct.base.errors import DataError, ParameterError

TEXT = "A. Turing. On computable numbers. 42:230-265, 1936."
PIECES = ("A.", "Turing", "On", "numbers", ",", "1936", "12-19", ".", "\t", "  ", "\n", "é", "日本", "(", "x@y.org")


@pytest.fixture(scope="module")
def model():
    train = semistruct.make_citations(40)
    return SSVM(C=0.5, rules=Rules.from_file("citations")).fit(train.tokens, train.labels)


def test_a_text_and_its_fields(model):
    parse = model.parse(TEXT)
    assert {field.label for field in parse.fields} == {*parse.as_dict()}
    assert parse["author"].startswith("A.")
    assert parse["date"] == "1936."
    assert "author" in parse
    assert "editor" not in parse
    assert parse.get("editor") is None
    assert parse.get("editor", "") == ""
    with pytest.raises(KeyError, match="did you mean 'author'"):
        parse["autor"]
    assert str(parse).splitlines()[0].split(maxsplit=1) == ["author", parse["author"]]


def test_a_field_that_occurs_twice_is_a_list(model):
    fields = model.parse(TEXT, rules=False).fields
    twice = semistruct.model.parse.Parse(TEXT, (*fields, fields[0]))
    assert twice[fields[0].label] == [fields[0].text] * 2


@settings(max_examples=40)
@given(st.lists(st.sampled_from(PIECES), max_size=15).map(" ".join))
def test_fields_are_parts_of_the_text_and_labels_are_those_of_predict(model, text):
    parse = model.parse(text)
    tokens, offsets = semistruct.tokenize(text)
    assert parse.tokens == tokens
    assert all(text[field.start : field.end] == field.text for field in parse.fields)
    if not tokens:
        assert (parse.fields, parse.confidence) == ((), None)
        return
    assert parse.labels == model.predict([tokens])[0]
    assert parse.confidence == pytest.approx(model.confidence([tokens], by="sequence")[0])
    assert [field.confidence for field in parse.fields] == pytest.approx(model.confidence([tokens], by="block")[0])
    covered = {t for t, (a, b) in enumerate(offsets) for field in parse.fields if field.start <= a and b <= field.end}
    assert covered == set(range(len(tokens)))


def test_one_text_a_list_and_an_iterator_give_the_same(model):
    texts = [TEXT, "", "B. Russell. 1910."]
    alone = [model.parse(text) for text in texts]
    assert model.parse(texts) == alone
    stream = model.parse(iter(texts))
    assert next(stream) == alone[0]
    assert [*stream] == alone[1:]
    assert model.parse([]) == []


def test_broken_rules_are_named(model):
    assert model.parse(TEXT, rules=False).broken == ()
    rules = Rules.from_dict({"rules": [{"starts_with": "date", "name": "a date first", "weight": 0.001}]})
    assert model.parse(TEXT, rules=rules).broken == ("a date first",)


def test_alternatives_are_the_next_best(model):
    parse = model.parse(TEXT, alternatives=2)
    best, *others = model.predict([parse.tokens], n_best=3)[0]
    assert parse.labels == best[0]
    assert [other.labels for other in parse.alternatives] == [labels for labels, _ in others]


def test_the_record_is_read_back(model, tmp_path):
    parses = model.parse([TEXT, "B. Russell. 1910."], alternatives=1)
    records = [parse.record() for parse in parses]
    assert records[0]["spans"][0]["text"] == parses[0].fields[0].text
    (tmp_path / "parsed.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    read = semistruct.read(tmp_path / "parsed.jsonl")
    assert read.tokens == [parse.tokens for parse in parses]
    assert read.labels == [parse.labels for parse in parses]


def test_a_table(model):
    pandas = pytest.importorskip("pandas")
    frame = model.parse([TEXT, ""]).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["author"].tolist() == ["A. Turing.", ""]
    assert frame["text"].tolist() == [TEXT, ""]


@pytest.mark.parametrize("wrong", [3, None, b"bytes", [3], [["A", "."]]])
def test_what_is_not_text_is_refused(model, wrong):
    with pytest.raises(DataError):
        model.parse(wrong)


@pytest.mark.parametrize("wrong", [-1, 10_000, "two"])
def test_wrong_numbers_of_alternatives(model, wrong):
    with pytest.raises(ParameterError, match="alternatives"):
        model.parse(TEXT, alternatives=wrong)
