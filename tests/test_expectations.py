"""Rules as statements about expectations: the rows of every kind of rule, what they cost, and what has none."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import brute_projection
from rule_strategies import EVERY_KIND, built, corpora, descriptions, has_expectation
from semistruct.base.errors import ParameterError
from semistruct.rules import AtMostOnce, Function, MaxLength, MinLength, Order, Rules, StartsWith
from semistruct.rules.expectations import LARGEST, Expectations, Rows

ROUNDING = 1e-9
X = [["pp", "a", ".", "b"], ["pp", "ca"], ["x1", "."]]  # eight tokens
LABELS = ("a", "b", "c")


def tenth(n):
    return 0.1 * n


def expectations(rules, X=X, labels=LABELS):
    return Expectations.of(Rules([built(rule) for rule in rules]).compile(X, labels), lambda level, n: tenth(n))


def plain(rows):
    """(level apart) what a row says, without what it measures."""
    return [(b, s, p, e) for b, s, p, e in zip(rows.bound, rows.slack, rows.price, rows.equal, strict=True)]


# ---- against the same, written down a second time


@st.composite
def cases(draw):
    X, y, labels = draw(corpora(max_T=5))
    some = st.lists(descriptions(labels).filter(has_expectation), min_size=1, max_size=5)
    every = st.just([rule for rule in EVERY_KIND if has_expectation(rule)])
    return X, y, labels, draw(st.one_of(some, every) if set(labels) >= set("abc") else some)


@settings(deadline=None, max_examples=75)
@given(cases())
def test_rows_are_what_rules_say(case):
    X, y, labels, rules = case
    found = expectations(rules, X, labels)
    wanted = [(r, row) for r, rule in enumerate(rules) for row in brute_projection.rows_of(rule, X, labels, tenth)]
    number = {label: k for k, label in enumerate(labels)}
    counts = found.tables.count(np.array([number[label] for row in y for label in row], np.int16))
    measured = {
        "instance": found.instance_scale() * (counts @ found.instance.a.T),
        "corpus": counts @ found.corpus.a.T,
    }
    for level, rows in (("instance", found.instance), ("corpus", found.corpus)):
        same_level = [(r, row) for r, row in wanted if row.level == level]
        assert len(rows) == len(same_level)
        assert_array_equal(rows.rule, [r for r, _ in same_level])
        for j, (_, row) in enumerate(same_level):
            assert_allclose(rows.bound[j], row.bound, rtol=ROUNDING, atol=ROUNDING)
            assert_allclose(rows.slack[j], row.slack, rtol=ROUNDING, atol=0)
            assert_allclose(rows.price[j], row.price, rtol=ROUNDING, atol=0)
            assert rows.equal[j] == row.equal
            values = [row.value(words, own) for words, own in zip(X, y, strict=True)]
            assert_allclose(measured[level][:, j], values, rtol=ROUNDING, atol=ROUNDING)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_what_lies_beyond_the_bounds(case):
    X, y, labels, rules = case
    found = expectations(rules, X, labels)
    rows = [row for rule in rules for row in brute_projection.rows_of(rule, X, labels, tenth)]
    number = {label: k for k, label in enumerate(labels)}
    counts = found.tables.count(np.array([number[label] for row in y for label in row], np.int16))

    def beyond(row, value):
        return abs(value - row.bound) if row.equal else max(0.0, value - row.bound)

    instance, corpus = found.beyond(counts)
    each = [[beyond(r, r.value(w, v)) for r in rows if r.level == "instance"] for w, v in zip(X, y, strict=True)]
    total = [beyond(r, sum(map(r.value, X, y))) for r in rows if r.level == "corpus"]
    assert_allclose(instance, np.array(each).reshape(instance.shape), rtol=ROUNDING, atol=ROUNDING)
    assert_allclose(corpus, total, rtol=ROUNDING, atol=ROUNDING)


# ---- by hand

INSTANCE = {
    "at most": ({"at_most_once": ["a"]}, [(1, 0.1, inf, False)]),
    "never": ({"starts_with": ["a"], "weight": "hard"}, [(0, 0, inf, False)]),
    "equal": ({"exactly_once": ["a", "b"], "weight": 2}, [(1, 0, 2, True)] * 2),
    "at least": ({"present": ["c"], "weight": 2, "penalty": "square"}, [(-1, 0.25, inf, False)]),
    "range": ({"count": {"a": (1, 3)}, "level": "instance"}, [(3, 0.1, inf, False), (-1, 0.1, inf, False)]),
    "share": ({"proportion": {"a": 0.3}, "level": "instance", "weight": 0.5}, [(0.3, 1 / 1e4, inf, True)]),
    "words": ({"words": ["pp"], "are": ["a"], "weight": 3}, [(0, 0, 3, False)]),
    "no such word": ({"words": ["zz"], "are": ["a"]}, [(0, 0.1, inf, False)]),
}
CORPUS = {
    "share": ({"proportion": {"a": 0.25}}, [(2, 0.8, inf, True)]),
    "share in percent": ({"proportion": {"a": 0.25}, "weight": 2}, [(2, 64 / (2 * 2 * 1e4), inf, True)]),
    "share in fractions": (
        {"proportion": {"a": (0.25, 0.5)}, "unit": "fraction", "weight": 2, "penalty": "absolute"},
        [(4, 0, 0.25, False), (-2, 0, 0.25, False)],
    ),
    "mean": ({"count": {"a": (None, 2)}}, [(6, 0.3, inf, False)]),
    "words": ({"words": ["pp"], "are": ["a"], "level": "corpus", "fraction": 0.9}, [(1.8, 0.2, inf, True)]),
    "all words": ({"words": ["pp", "ca"], "are": ["a"], "level": "corpus", "weight": "hard"}, [(3, 0, inf, True)]),
    "priced words": ({"words": ["pp"], "are": ["a"], "level": "corpus", "weight": 6}, [(2, 0, 3, True)]),
    "no such word": ({"words": ["zz"], "are": ["a"], "level": "corpus"}, []),
    "nothing said": ({"proportion": {"a": (0, None)}}, []),
    "changes": ({"change_only_on": ["punctuation"], "level": "corpus", "fraction": 0.01}, [(0, 0.3, inf, True)]),
    "range of changes": (
        {"change_only_on": ["punctuation"], "level": "corpus", "fraction": (0.1, 0.2), "weight": 6},
        [(0, 0, 2, False)] * 2,
    ),
}


@pytest.mark.parametrize("case", INSTANCE)
def test_rows_of_instance_rules(case):
    rule, wanted = INSTANCE[case]
    found = expectations([rule])
    assert_allclose(plain(found.instance), wanted, rtol=ROUNDING, atol=0)
    assert len(found.corpus) == 0
    assert found.per_token.tolist() == [case == "share"] * len(wanted)


@pytest.mark.parametrize("case", CORPUS)
def test_rows_of_corpus_rules(case):
    rule, wanted = CORPUS[case]
    found = expectations([rule])
    assert len(found.instance) == 0
    assert_allclose(np.array(plain(found.corpus)).reshape(len(wanted), 4), np.reshape(wanted, (-1, 4)), rtol=ROUNDING)


def test_a_share_of_changes_is_a_difference_of_counts():
    found = expectations([CORPUS["range of changes"][0]]).corpus
    assert_allclose(found.a, [[1, -0.2], [-1, 0.1]], rtol=ROUNDING, atol=0)


def test_multipliers_lie_between_prices():
    rows = Rows(
        np.eye(3), np.zeros(3), np.zeros(3), np.array([2.0, 3.0, inf]), np.array([True, False, True]), np.arange(3)
    )
    assert_array_equal(rows.low, [-2.0, 0.0, -LARGEST])
    assert_array_equal(rows.high, [2.0, 3.0, LARGEST])
    assert_array_equal(replace(rows, slack=np.ones(3)).high, [2.0, 3.0, inf])


def test_costs_by_hand():
    equal, rule = np.array([False, True, False, True]), np.arange(4)
    rows = Rows(np.eye(4), np.ones(4), np.array([0.5, 0.0, 0.0, 2.0]), np.array([inf, 3.0, inf, inf]), equal, rule)
    values = np.array([[3.0, 0.5, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    assert_array_equal(rows.beyond(values), [[2.0, 0.5, 1.0, 1.0], [0.0] * 4])
    # a square, a price, a hard row at its multiplier, a square
    assert_allclose(
        rows.cost(values, np.array([9.0, 9.0, -7.0, 9.0])), [4 + 1.5 + 7 + 0.25, 0.0], rtol=ROUNDING, atol=0
    )


# ---- what has no expectation


def own(tokens, labels):
    return 0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (MinLength(2), "rule 'blocks have at least 2 tokens': this method cannot use rules about lengths of"),
        (MaxLength(3, name="short ones"), "rule 'short ones': this method cannot use rules about lengths of blocks"),
        (Order(["a", "b"]), "rule 'order a, b': this method cannot use rules about the order of blocks"),
        (
            AtMostOnce(counting="labels"),
            "rule 'each label at most once': this method cannot use rules about the number of labels that",
        ),
        (Function(own), "rule 'own': this method cannot use rules that are functions"),
    ],
)
def test_rules_without_an_expectation_are_refused_by_name(rule, message):
    tables = Rules([StartsWith("a"), rule]).compile(X, LABELS)
    with pytest.raises(ParameterError, match=message):
        Expectations.of(tables, lambda level, n: tenth(n))
