"""Labels proposed from elsewhere."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute_rules
from rule_strategies import Tally, penalty_of
from semistruct import SSVM, load
from semistruct.base.errors import DataError, ParameterError
from semistruct.rules import Rules, Votes
from semistruct.rules.base import HARD
from semistruct.rules.checking import check_rules

LABELS = ("a", "b", "c")
votes = st.sampled_from(["a", "b", "c", "", "?"])
tokens = st.one_of(st.tuples(st.just("w"), votes), st.just("w"), st.tuples(st.just("w"), votes, votes))


@given(st.lists(st.lists(tokens, min_size=1, max_size=5), min_size=1, max_size=3), st.integers(1, 2), st.randoms())
def test_votes_in_columns(X, column, random):
    y = [random.choices(LABELS, k=len(x)) for x in X]
    together, apart = Rules([Votes({"column": column})]), Rules([Votes({"column": column})], LABELS)
    wanted = brute_rules.price([{"votes": {"column": column}}], X, y, LABELS, HARD)
    codes = np.array([LABELS.index(label) for row in y for label in row], np.int16)
    assert (len(together), len(apart)) == (1, 3)
    for rules in (together, apart):
        tables = rules.compile(X, LABELS)
        tally = Tally(tables, codes)
        assert tally.penalty == penalty_of(rules, X, y, LABELS) == wanted
        for term, column_of in zip(tables.terms, tally.counts.T, strict=True):
            assert column_of.tolist() == [len(term.event.places(*pair)) for pair in zip(X, y, strict=True)]


def written(folder):
    rows = [
        {"tokens": ["new", "york"], "labels": ["a", "b"]},
        {"tokens": ["x", "y", "z"], "labels": [None, "a", None]},
    ]
    (folder / "llm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rules.yaml").write_text(
        "labels: [a, b, c]\nrules:\n- present: c\n- votes: {file: llm.jsonl}\n- present: a\n"
    )
    return folder / "rules.yaml"


def test_votes_of_a_file(tmp_path):
    rules = Rules.from_file(written(tmp_path))
    assert [rule.text.split(" in ")[0] for rule in rules] == ["c present", "votes for a", "votes for b", "a present"]
    assert [place.rpartition(":")[2] for place in rules.places] == ["3", "4", "4", "5"]
    assert all(rule.weight_is_open for rule in rules)
    X, y = [["new", "york"], ["x", "y", "z"], ["else"]], [["a", "a"], ["c", "c", "c"], ["b"]]
    counts = Tally(rules.compile(X, LABELS), np.array([0, 0, 2, 2, 2, 1], np.int16)).counts
    assert counts[:, 1:3].tolist() == [[0, 1], [1, 0], [0, 0]]
    found = check_rules(rules, X, y).rules
    assert [(rule.applies, rule.obeys) for rule in found[1:3]] == [(2, 1), (1, 0)]


def test_a_saved_model_needs_no_file(tmp_path):
    rules = Rules.from_file(written(tmp_path))
    X, y = [["new", "york"], ["x", "c"]], [["b", "b"], ["a", "c"]]
    SSVM(features=["word"], rules=Rules([rule.model_copy(update={"weight": "hard"}) for rule in rules])).fit(X, y).save(
        tmp_path / "model"
    )
    (tmp_path / "llm.jsonl").unlink()
    again = load(tmp_path / "model")
    assert b"york" not in json.dumps(again.model_.rules.to_dict()).encode()
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert again.predict([["x", "y", "z"]], rules=True)[0][1] == "a"


def test_tokens_that_differ_are_named(tmp_path):
    rules = Rules.from_file(written(tmp_path))
    message = r"sequence 1, which begins with 'newyork', is cut into other tokens in .*llm.jsonl"
    with pytest.raises(DataError, match=message):
        rules.compile([["x"], ["newyork"]], LABELS)


def test_votes_for_no_label(tmp_path):
    with pytest.raises(DataError, match="sequence 1, token 2: the vote 'd' in column 1 is no label; there are a, b"):
        Rules([Votes({"column": 1})]).compile([["x"], [("x", "a"), ("x", "d")]], LABELS)
    written(tmp_path)
    with pytest.raises(ParameterError, match="unknown label 'b'"):
        Rules([Votes({"file": str(tmp_path / "llm.jsonl")})], ["a", "c"])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{column: 0}", "greater than or equal to 1"),
        ("{colum: 1}", "there is no entry 'colum'; did you mean 'column'"),
        ("{column: 1, file: llm.jsonl}", "votes are in a `column` or in a `file`"),
        ("{format: jsonl}", "votes are in a `column` or in a `file`"),
        ("{file: no.jsonl}", "no.jsonl"),
        ("{file: empty.txt}", "has no labels, so there are no votes"),
        ("{file: llm.jsonl, format: pdf}", "pdf"),
        ("[1]", "votes"),
    ],
)
def test_bad_votes(tmp_path, value, problem):
    written(tmp_path)
    (tmp_path / "empty.txt").write_text("only text\n")
    (tmp_path / "rules.yaml").write_text(f"rules:\n- votes: {value}\n")
    with pytest.raises(DataError, match=problem) as found:
        Rules.from_file(tmp_path / "rules.yaml")
    assert str(found.value).startswith(f"{tmp_path / 'rules.yaml'}:2: votes: ")
    assert len(str(found.value).splitlines()) == 1
