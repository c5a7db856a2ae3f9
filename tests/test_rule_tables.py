"""Compiled rules against their plain definitions, on random corpora."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import brute_rules
from rule_strategies import EVERY_KIND, MEASURED, Tally, built, cases, penalty_of
from semistruct.base.errors import DataError
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
    assert [term.text for term in tables.terms] == [term.text for rule in ruleset for term in rule.terms(labels)]
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


@light
@given(cases(functions=True), st.data())
def test_tables_of_some_rules_with_other_weights_are_those_compiled_anew(case, data):
    X, y, labels, rules = case
    whole, codes = rules_of(rules), numbers(y, labels)
    which = sorted(data.draw(st.sets(st.sampled_from(range(len(rules)))))) if rules else []
    some = [whole.rules[r].model_copy(update={"weight": 0.5 + r, "penalty": "square"}) for r in which]
    found, wanted = whole.compile(X, labels).reweighted(some), Rules(some).compile(X, labels)
    assert (found.rules, found.terms, found.rule_of) == (wanted.rules, wanted.terms, wanted.rule_of)
    assert_array_equal(found.targets, wanted.targets)
    assert_array_equal(found.events.mark, wanted.events.mark)
    assert_array_equal(found.broken(codes), wanted.broken(codes))
    assert_array_equal(Tally(found, codes).counts, Tally(wanted, codes).counts)
    assert Tally(found, codes).penalty == Tally(wanted, codes).penalty
    for of_class, of_token in (("token_tests", "token_class"), ("step_tests", "step_class")):
        tested = [getattr(tables, of_class)[getattr(tables, of_token)] for tables in (found, wanted)]
        assert_array_equal(*tested)
    costs = [tables.event_costs for tables in (found, wanted)]
    assert_array_equal(*(cost.token[cost.token_class] for cost in costs))
    assert_array_equal(*(cost.step[cost.step_class] for cost in costs))


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
