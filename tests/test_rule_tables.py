"""Compiled rules against their plain definitions, on random corpora."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import brute_rules
from rule_strategies import EVERY_KIND, MEASURED, Tally, built, cases, penalty_of
from semistruct.core import kernels
from semistruct.errors import DataError
from semistruct.rules import AtMostOnce, ChangeOnlyOn, Count, Pattern, Proportion, Rules, StartsWith, Words, building
from semistruct.rules.base import HARD
from vocabulary_strategies import VOCABULARY_OF_WORDS

light = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
RTOL = 1e-9  # of penalties; counts are exact


def rules_of(rules):
    return Rules([built(rule) for rule in rules])


def numbers(y, labels):
    """The labels of all sequences, end to end, as numbers."""
    return np.array([labels.index(label) for row in y for label in row], np.int16)


def price(*case):
    return brute_rules.price(*case, HARD)


def same(found, wanted):
    return found == pytest.approx(wanted, rel=RTOL, abs=RTOL)


@settings(light, max_examples=100)
@given(cases(functions=True))
def test_the_penalty_is_what_the_rules_say(case):
    X, y, labels, rules = case
    assert same(penalty_of(rules_of(rules), X, y, labels), price(rules, X, y, labels))


@settings(light, max_examples=100)
@given(cases())
def test_tallies_count_events_and_price_them(case):
    X, y, labels, rules = case
    ruleset = rules_of(rules)
    tables = ruleset.compile(X, labels)
    tally = Tally(tables, numbers(y, labels))
    assert len(tables) == len(X)
    assert [term.text for term in tables.terms] == [term.text for _, term in ruleset.terms(labels)]
    for k, term in enumerate(tables.terms):
        assert tally.counts[:, k].tolist() == [len(term.event.places(*pair)) for pair in zip(X, y, strict=True)]
    assert same(tally.penalty, penalty_of(ruleset, X, y, labels))
    assert same(tally.penalty, price(rules, X, y, labels))


@light
@given(cases())
def test_a_tally_tells_sequences_and_corpus_apart(case):
    X, y, labels, rules = case
    tally = Tally(rules_of(rules).compile(X, labels), numbers(y, labels))
    by_level = {"instance": [], "corpus": []}
    for rule in map(brute_rules.complete, rules):
        by_level[rule["level"]].append(rule)
    assert same(tally.corpus, price(by_level["corpus"], X, y, labels))
    for i, found in enumerate(tally.instance):
        assert same(found, price(by_level["instance"], X[i : i + 1], y[i : i + 1], labels))


@settings(light, max_examples=75)
@given(cases(), st.data())
def test_counts_follow_the_moves(case, data):
    """Taking out the events of a window, relabelling it and putting them in again is a recount."""
    X, y, labels, rules = case
    ruleset = rules_of(rules)
    tables = ruleset.compile(X, labels)
    now = numbers(y, labels)
    counts, totals, work = tables.count(now), np.empty(tables.n_terms), np.empty(len(tables.labels), np.int64)
    kernels.total_of(counts, totals)
    for _ in range(data.draw(st.integers(1, 5), "moves")):
        i = data.draw(st.integers(0, len(X) - 1), "sequence")
        s = data.draw(st.integers(0, len(X[i]) - 1), "from")
        e = data.draw(st.integers(s + 1, len(X[i])), "to")
        new = data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=e - s, max_size=e - s), "labels")
        first, path = tables.offsets[i], now[tables.offsets[i] : tables.offsets[i + 1]]
        totals -= counts[i]
        kernels.count_window(tables.events, first, path, s, e, -1.0, counts[i], work)
        path[s:e] = new
        kernels.count_window(tables.events, first, path, s, e, 1.0, counts[i], work)
        totals += counts[i]
        recount = Tally(tables, now)
        assert counts.tolist() == recount.counts.tolist()
        assert totals.tolist() == recount.counts.sum(axis=0).tolist()
        found = kernels.penalty(tables.targets, tables.instance, counts[i], float(len(X[i])), 1.0)
        assert same(found, recount.instance[i])
        found = kernels.penalty(tables.targets, tables.corpus, totals, float(len(now)), float(len(X)))
        assert same(found, recount.corpus)
    moved = [[labels[z] for z in now[a:b]] for a, b in zip(tables.offsets, tables.offsets[1:], strict=False)]
    assert same(recount.penalty, price(rules, X, moved, labels))


@light
@given(cases())
def test_sets_of_tests_are_numbered_in_parts(case):
    X, _, labels, rules = case
    whole = rules_of(rules).compile(X, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "PLACES", 8)
        parts = rules_of(rules).compile(X, labels)
    assert_array_equal(parts.token_tests, whole.token_tests)
    assert_array_equal(parts.step_tests, whole.step_tests)
    for found, wanted in zip(parts.events, whole.events, strict=True):
        assert_array_equal(found, wanted)


@pytest.mark.parametrize("n_jobs", [2, 3, None])
def test_threads_do_not_matter(n_jobs):
    rng, labels = np.random.default_rng(5), ("a", "b", "c")
    X = [rng.choice(VOCABULARY_OF_WORDS, n).tolist() for n in rng.integers(1, 9, 200)]
    y = [rng.choice(labels, len(words)).tolist() for words in X]
    tables = rules_of(EVERY_KIND).compile(X, labels)
    wanted, found = (Tally(tables, numbers(y, labels), n) for n in (1, n_jobs))
    assert found.counts.tolist() == wanted.counts.tolist()
    assert found.instance.tolist() == wanted.instance.tolist()
    assert found.corpus == wanted.corpus
    assert same(found.penalty, price(EVERY_KIND, X, y, labels))


@light
@given(cases(functions=True))
def test_columns_beside_the_words_change_nothing(case):
    X, y, labels, rules = case
    columns = [[(word, "") for word in words] for words in X]
    ruleset = rules_of([rule for rule in rules if next(iter(rule)) not in MEASURED])
    found, wanted = (Tally(ruleset.compile(x, labels), numbers(y, labels)) for x in (columns, X))
    assert found.counts.tolist() == wanted.counts.tolist()
    assert penalty_of(ruleset, columns, y, labels) == penalty_of(ruleset, X, y, labels)


# words need tokens -----------------------------------------------------------------------------------------

FEATURES = [[{"word=a": 1.0}, {"word=b": 1.0}], [{"word=c": 0.5}]]


@pytest.mark.parametrize(
    "rule",
    [
        Words("pp", are="a"),
        Pattern("[Pp]+", are_not="a"),
        ChangeOnlyOn("punctuation"),
        Words("pp", are="a", fraction=1),
    ],
    ids=["words", "pattern", "change_only_on", "fraction"],
)
@pytest.mark.parametrize(
    ("X", "form"),
    [(FEATURES, "feature dictionaries"), ([[["word=a"], ["word=b"]], [["word=c"]]], "feature lists")],
    ids=["dictionaries", "lists"],
)
def test_rules_about_words_refuse_features(rule, X, form):
    with pytest.raises(DataError, match=f"rules about words need tokens, but this data holds {form}"):
        Rules([rule]).compile(X, ["a", "b"])


def test_rules_about_labels_take_features():
    rules = [StartsWith("a"), AtMostOnce(), Proportion({"a": 0.5}), Count({"b": 1})]
    tally = Tally(Rules(rules).compile(FEATURES, ["a", "b"]), np.array([0, 1, 1], np.int16))
    # the second sequence does not start with a; a third of the tokens is a, and that is 100/6 percent off
    assert tally.instance.tolist() == [0.0, 1000.0]
    assert same(tally.corpus, 1000 * (100 / 6) ** 2)


def test_functions_are_kept_aside():
    rules = [StartsWith("a"), built({"function": lambda words, labels: 1, "name": "mine"})]
    tables = Rules(rules).compile([["x"]], ["a", "b"])
    assert {r: rule.text for r, rule in tables.functions.items()} == {1: "mine"}
    assert tables.n_terms == 1
    assert Tally(tables, np.array([1], np.int16)).penalty == 1000.0


def test_labels_are_numbered_as_they_are_given():
    X, rules = [["x", "y"]], Rules([StartsWith("b"), Proportion({"a": 1}, unit="fraction", weight=8)])
    for labels, y in [(("a", "b"), [0, 1]), (("b", "a"), [1, 0])]:
        assert Tally(rules.compile(X, labels), np.array(y, np.int16)).penalty == 1000 + 8 * 0.25


def test_no_rules_cost_nothing():
    tally = Tally(Rules([]).compile([["x", "y"], ["z"]], ["a"]), np.zeros(3, np.int16))
    assert tally.penalty == 0.0
    assert tally.counts.shape == (2, 0)


def test_a_share_of_nothing_is_as_it_should_be():
    X, y, rules = (
        [["x", "y"]],
        [["a", "a"]],
        [ChangeOnlyOn("punctuation", fraction=0.5), Words("pp", are="b", fraction=1)],
    )
    assert penalty_of(Rules(rules), X, y, ["a", "b"]) == 0.0
    assert Tally(Rules(rules).compile(X, ["a", "b"]), np.array([0, 0], np.int16)).penalty == 0.0
