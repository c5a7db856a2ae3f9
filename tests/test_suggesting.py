"""Suggested rules: what must never be suggested, and the file that they make."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_rules as brute
import semistruct
from rule_strategies import built, descriptions
from semistruct import SSVM, suggest
from semistruct.base.errors import DataError, ParameterError
from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    ExactlyOnce,
    MaxLength,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.evidence import Examples
from semistruct.rules.files import dump_rule
from semistruct.rules.suggesting import KnownFacts, Suggestion, Suggestions, candidates_of, chosen
from test_candidates import LABELS, seens

# ---- what is said already


@settings(max_examples=75, deadline=None)
@given(st.data())
def test_what_is_implied_cannot_be_broken(data):
    """By all labellings of short sequences: whichever obeys what was said obeys what is implied."""
    words = st.lists(st.sampled_from(["pp", "PP", "CA", "1984", ".", "*NEWLINE*"]), min_size=1, max_size=4)
    X = data.draw(st.lists(words, min_size=1, max_size=2))
    labels = LABELS[: data.draw(st.integers(1, 3))]
    given_rules = data.draw(st.lists(descriptions(labels), max_size=3))
    rule = data.draw(st.one_of(descriptions(labels), *map(st.just, given_rules)))
    if built(rule).level == "corpus" or not KnownFacts(X, labels, map(built, given_rules)).imply(built(rule)):
        return
    instance = [one for one in map(brute.complete, given_rules) if one["level"] == "instance"]
    for x in X:
        for y in product(labels, repeat=len(x)):
            if not any(any(brute.sequence_violations(one, x, y, labels)) for one in instance):
                assert not any(brute.sequence_violations(brute.complete(rule), x, y, labels)), (x, y)


X = [["pp", "PP", "1984", "12", ".", "CA", "ca"]]


@pytest.mark.parametrize(
    ("said", "rule", "implied"),
    [
        (Pattern(r"\d+", are="a"), Words("1984", are="a"), True),
        (Pattern(r"\d+", are="a"), Words("1984", are=["a", "b"]), True),
        (Pattern(r"\d+", are=["a", "b"]), Words("1984", are="a"), False),
        (Pattern(r"\d+", are="a"), Words("1984", are_not="b"), True),
        (Words("pp", are="a"), Words("PP", are="a"), True),
        (Words("PP", are="a"), Words("pp", are="a"), False),
        (Words("unseen", are="a"), Words("pp", are="a"), False),
        (ExactlyOnce("a"), AtMostOnce("a"), True),
        (ExactlyOnce("a"), Present("a"), True),
        (AtMostOnce(), AtMostOnce(["a", "b"]), True),
        (AtMostOnce(["a", "b"]), AtMostOnce(), False),
        (Order(["a", "b", "c"]), Order(["a", "c"]), True),
        (Order(["a", "c"]), Order(["a", "b", "c"]), False),
        (Order(["a", "b"]), NeverFollows({"a": ["b"]}), True),
        (Order(["a", "b"]), NeverFollows({"b": ["a"]}), False),
        (ChangeOnlyOn("[.]"), ChangeOnlyOn("punctuation"), True),
        (ChangeOnlyOn("punctuation"), ChangeOnlyOn("punctuation", side="either"), True),
        (ChangeOnlyOn("punctuation", side="either"), ChangeOnlyOn("punctuation"), False),
        (MinLength(3), MinLength(2, labels="a"), True),
        (MinLength(2, labels="a"), MinLength(2), False),
        (MaxLength(3), MaxLength(4), True),
        (MaxLength(4), MaxLength(3), False),
        (StartsWith("a"), StartsWith(["a", "b"]), True),
        (StartsWith(["a", "b"]), StartsWith("a"), False),
    ],
    ids=str,
)
def test_what_is_implied(said, rule, implied):
    assert KnownFacts(X, LABELS, [said]).imply(rule) == implied


@settings(max_examples=40, deadline=None)
@given(seens(), st.data())
def test_nothing_is_suggested_that_is_said(seen, data):
    known = Rules([built(rule) for rule in data.draw(st.lists(descriptions(LABELS), max_size=4))])
    found = chosen(seen, known)
    everywhere = [*seen.X, *seen.pool]
    for one in found:
        assert not KnownFacts(everywhere, LABELS, known).imply(one.rule)
    again = chosen(seen, Rules([*known, *(one.rule for one in found)]))
    texts = {str(dump_rule(one.rule)) for one in found}
    assert texts.isdisjoint(str(dump_rule(one.rule)) for one in again)


@settings(max_examples=40, deadline=None)
@given(seens())
def test_no_suggestion_follows_from_those_that_are_made_before_it(seen):
    candidates = [one.rule for one in candidates_of(seen)]
    place = {str(dump_rule(rule)): i for i, rule in enumerate(candidates)}
    for certain in (True, False):
        kept = [one.rule for one in chosen(seen, Rules([])) if one.certain == certain]
        kept = sorted((rule for rule in kept if str(dump_rule(rule)) in place), key=lambda r: place[str(dump_rule(r))])
        for i, rule in enumerate(kept):  # rules that became one are not among the candidates
            assert not KnownFacts([*seen.X, *seen.pool], LABELS, kept[:i]).imply(rule)


# ---- the file


def uncommented(text):
    """The file with its doubtful rules."""
    return re.sub(r"^  # (- |  )", r"  \1", text.replace("rules: []", "rules:"), flags=re.MULTILINE)


@settings(max_examples=60, deadline=None)
@given(seens(), st.sampled_from([["a", "b", "c"], ["no", "null", "1"], ["all", "x: y", "# z"], ["é", "'", '"']]))
def test_the_file_reads_as_the_same_rules(seen, names):
    rename = dict(zip(LABELS, names, strict=True))
    y, found = ([[rename[z] for z in row] for row in rows] for rows in (seen.y, seen.guess))
    renamed = Examples(seen.X, y, seen.pool, found, [1 - row for row in seen.doubt], names)
    suggested = Suggestions(chosen(renamed, Rules([])), tuple(names), len(y), len(found), True)
    text = suggested.to_yaml()
    assert Rules.from_text(text) == suggested.rules
    every = [one.rule for one in suggested.found]
    if every:
        assert list(Rules.from_text(uncommented(text))) == every


@pytest.mark.parametrize(
    "word", ["no", "1984", "&x", "*y", "!z", "a: b", "#", "- x", "'", '"', "é", "\u2028x", "😀", "\x07"]
)
def test_odd_words_survive_the_file(word):
    rule = Words(word.split()[0], are="a")
    evidence = Examples([[word]], [["a"]], [], [], [], LABELS).evidence(rule)
    for certain in (True, False):
        suggested = Suggestions([Suggestion(rule, evidence, certain)], ("a", "b"), 1, 0, True)
        text = suggested.to_yaml()
        assert Rules.from_text(text if certain else uncommented(text)).rules == (rule,)


# ---- the whole


@pytest.fixture(scope="module")
def citations():
    return semistruct.make_citations(20, seed=1), semistruct.make_citations(40, seed=2)


def test_references(citations):
    few, pool = citations
    found = suggest(few.tokens, few.labels, pool=pool.tokens)
    assert (found.n, found.pool, found.trained) == (20, 40, True)
    keys = {one.rule.key for one in found.found if one.certain}
    assert {"at_most_once", "starts_with", "order", "change_only_on"} <= keys
    gains = [one.evidence.gain for one in found.found if one.certain]
    assert gains == sorted(gains, reverse=True)
    assert [one.certain for one in found.found] == sorted([one.certain for one in found.found], reverse=True)
    assert found.to_dict()["suggestions"][0]["rule"] == dump_rule(found.found[0].rule)
    steps = []
    model = SSVM().fit(few.tokens, few.labels)
    same = suggest(few.tokens, few.labels, pool=pool.tokens, model=model, show=steps.append)
    assert [one.to_dict() for one in same.found] == [one.to_dict() for one in found.found]
    assert not same.trained
    assert steps == ["labelling the pool", "looking for rules"]


def test_one_sequence_is_never_enough(citations):
    few, pool = citations
    found = suggest(few.tokens[:1], few.labels[:1], pool=pool.tokens)
    assert found.found
    assert not any(one.certain for one in found.found)
    assert len(Rules.from_text(found.to_yaml())) == 0
    copies = suggest(few.tokens[:1], few.labels[:1], pool=few.tokens[:1] * 50)
    assert not any(one.certain for one in copies.found)


def test_without_a_pool(citations):
    few, _ = citations
    for pool in (None, []):
        found = suggest(few.tokens, few.labels, pool=pool)
        assert any(one.certain for one in found.found)
        assert all((one.evidence.coverage, one.evidence.broken, one.evidence.gain) == (0, 0, 0) for one in found.found)
        assert "pool" not in found.to_yaml()
        assert Rules.from_text(found.to_yaml()) == found.rules


def test_one_label_says_nothing():
    found = suggest([["x", "y"], ["x"]] * 5, [["a", "a"], ["a"]] * 5, pool=[["x", "z"]])
    assert found.found == []
    assert Rules.from_text(found.to_yaml()) == Rules([], ["a"])


def test_tags_in_a_scheme():
    X = [["Ann", "Lee", "saw", "Bo", "."], ["Bo", "saw", "Ann", "Lee", "."], ["Cy", "Fox", "ran", "."]] * 3
    y = [["B-p", "I-p", "O", "B-p", "O"], ["B-p", "O", "B-p", "I-p", "O"], ["B-p", "I-p", "O", "O"]] * 3
    found = suggest(X, y, pool=[["Di", "saw", "Ed", "."]] * 4)
    said = KnownFacts(X, found.labels, found.rules)
    assert said.imply(NeverFollows({"I-p": ["O"]}))
    assert said.imply(StartsWith("B-p"))
    assert not said.imply(AtMostOnce("B-p"))
    assert Rules.from_text(found.to_yaml()) == found.rules


def test_bad_input(citations):
    few, _ = citations
    with pytest.raises(DataError, match="no sequence is fully labelled"):
        suggest(few.tokens[:1], [[None, *few.labels[0][1:]]])
    with pytest.raises(DataError, match="holds features"):
        suggest([[["w=a"], ["w=b"]]], [["a", "b"]])
    with pytest.raises(ParameterError, match="expected a fitted estimator"):
        suggest(few.tokens, few.labels, model="refs.model")
    with pytest.raises(ParameterError, match="expected Rules"):
        suggest(few.tokens, few.labels, rules="citations")
    with pytest.raises(ParameterError, match="unknown label 'autor'"):
        suggest(few.tokens, few.labels, rules=Rules([Present("autor")]))


def test_what_is_said_under_a_condition_implies_nothing():
    always, sometimes = (built({"starts_with": ["b"], **more}) for more in ({}, {"if": {"absent": ["a"]}}))
    assert not KnownFacts([["pp"]], ("a", "b"), [sometimes]).imply(always)
    assert KnownFacts([["pp"]], ("a", "b"), [always]).imply(always)
