"""Rules with conditions, beyond what all random rules are tested for."""

import json

import numpy as np
import pytest

import brute_rules
from matching_cases import random_case
from rule_strategies import built
from semistruct import SSVM, PosteriorRegularization
from semistruct.base.errors import DataError, ParameterError
from semistruct.methods import METHODS
from semistruct.methods.projected import has_expectation
from semistruct.rules import AtMostOnce, Count, If, Present, Proportion, Rules, Words
from semistruct.rules.base import HARD
from semistruct.rules.checking import check_rules
from semistruct.rules.search import find_best

LABELS = ["a", "b", "c"]

CONDITIONAL = [
    {"at_most_once": ["a"], "if": {"absent": ["c"]}},
    {"at_most_once": "all", "if": {"present": ["c"]}, "penalty": "square"},
    {"at_most_once": "all", "counting": "labels", "if": {"absent": ["b"]}},
    {"at_most_once": "all", "counting": "labels", "if": {"absent": ["b"], "words": ["pp"]}, "penalty": "square"},
    {"present": ["b"], "if": {"present": ["a"]}},
    {"exactly_once": ["b"], "if": {"present": ["a"], "absent": ["c"]}},
    {"count": {"b": 0}, "level": "instance", "if": {"present": ["a"]}},
    {"count": {"a": (1, 2)}, "of": "tokens", "level": "instance", "if": {"pattern": "p.*"}},
    {"proportion": {"a": (0.3, 0.5)}, "level": "instance", "unit": "fraction", "if": {"no_words": ["pp"]}},
    {"order": ["a", "b"], "if": {"absent": ["c"]}},
    {"order": ["c", "a"], "if": {"words": ["ca", "pp"]}},
    {"min_length": 2, "if": {"present": ["b"]}},
    {"max_length": 2, "if": {"no_pattern": "p.*"}},
    {"starts_with": ["a"], "if": {"present": ["b", "c"]}},
    {"follows": {"b": ["a"]}, "if": {"absent": ["c"]}},
    {"change_only_on": ["punctuation"], "if": {"present": ["a"]}},
    {"pattern": ".*", "are": ["a"], "if": {"present": ["a"], "words": ["pp", "ca"]}},
]


@pytest.mark.parametrize(("weight", "restless"), [("hard", 1.0), (2.0, 1.0), (1.0, 6.0)])
@pytest.mark.parametrize("rule", CONDITIONAL, ids=str)
def test_search_is_exact(rule, weight, restless):
    """With a rule about blocks beside it, so that multipliers are used; scores of the size of the weight.

    Where labels change all the time, counts lie far above what is allowed.
    """
    rng = np.random.default_rng(len(str(rule)))
    rules = [{**rule, "weight": weight}, {"at_most_once": ["b", "c"], "weight": 0.5}]
    case = random_case(rng, [1, 2, *[6] * 6], "abc", rules, size=1.0)
    case.weights.trans[:, range(3), range(3)] -= restless
    check_the_best(case)


def test_whole_counts_are_paid_for_at_the_end():
    """Without c, whose absence is known at the end only, there are three blocks of a."""
    rules = [{"at_most_once": ["a"], "if": {"absent": ["c"]}, "weight": 1}, {"count": {"c": 0}, "level": "instance"}]
    case = random_case(np.random.default_rng(0), [6, 6], "abc", rules, size=0.1)
    case.weights.trans[:, range(3), range(3)] -= 8.0
    check_the_best(case)


def check_the_best(case):
    found = find_best(case.batch, case.weights, case.tables)
    assert found.exact.all()
    for i in range(len(case.X)):
        values = {path: case.scores[i][path] - case.instance(i, path) for path in case.paths(i)}
        path = tuple(found.labels[0, case.tokens(i)].tolist())
        assert values[path] == pytest.approx(max(values.values()), abs=1e-6)
        assert found.values[i, 0] == pytest.approx(values[path], abs=1e-6)


@pytest.mark.parametrize("rule", CONDITIONAL, ids=str)
def test_what_is_broken(rule):
    case = random_case(np.random.default_rng(3), [4], "abc", [rule])
    for path in case.paths(0):
        wanted = brute_rules.price([rule], case.X, [case.names(path)], case.labels, HARD) > 0
        assert case.tables.broken(np.array(path, np.int16))[0, 0] == wanted


def test_conditions_are_read_and_written():
    text = "labels: [a, b]\nrules:\n- {present: a, if: {present: b, no_words: [x, y z], pattern: [p, q]}}\n"
    rules = Rules.from_text(text)
    assert rules.rules == (Present("a", if_=If(present="b", no_words=["x", "y z"], pattern=("p", "q"))),)
    assert rules.rules[0].text == "a present if there is b and there is /p q/ and there is no word x or y z"
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert eval(repr(rules.rules[0])) == rules.rules[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules:\n- present: a\n  if: {presnt: b}", "3: present: if: there is no entry 'presnt'; did you mean"),
        ("rules:\n- present: a\n  if: {}", "3: present: if: expected a condition: present, absent,"),
        ("rules:\n- present: a\n  if: b", "3: present: if: "),
        ("rules:\n- present: a\n  if: {pattern: '('}", "3: present: the pattern '(' does not compile"),
        ("rules:\n- proportion: {a: 0.5}\n  if: {present: b}", "2: proportion: a condition needs the instance level"),
        ("labels: [a]\nrules:\n- present: a\n  if: {absent: b}", "3: present: unknown label 'b'"),
        ("rules:\n- present: a\n  if: {words: {list: b}}", "3: there is no list 'b'"),
    ],
)  # fmt: skip
def test_bad_conditions(text, problem):
    with pytest.raises(DataError) as found:
        Rules.from_text(text, "r.yaml")
    assert str(found.value).startswith(f"r.yaml:{problem}")


def test_unknown_labels():
    with pytest.raises(ParameterError, match="unknown label 'x'"):
        SSVM(features=["word"], rules=Rules([Present("a", if_=If(present="x"))])).fit([["w"]], [["a"]])


def test_checking_counts_where_the_condition_holds():
    rules = Rules(
        [
            Present("b", if_=If(present="a")),
            Words("x", are="a", if_=If(absent="c")),
            Words("x", are="a", if_=If(words="y")),
            AtMostOnce("a", if_=If(no_words="y")),
        ]
    )
    X = [["x", "y"], ["x", "z"], ["x", "x"], ["z", "y"]]
    y = [["a", "b"], ["a", "a"], ["b", "c"], ["c", "c"]]
    found = check_rules(rules, X, y).rules
    assert [(rule.applies, rule.obeys) for rule in found] == [(2, 1), (2, 2), (1, 1), (2, 2)]


def test_rules_that_have_a_condition_contradict_nothing():
    both = [Words("x", are="a", if_=If(present="b")), Words("x", are="b")]
    assert check_rules(Rules(both), [["x"]], [["a"]], LABELS).contradictions == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Words("x", are="a", if_=If(words="y")), True),
        (AtMostOnce(if_=If(no_pattern="y")), True),
        (Words("x", are="a", if_=If(present="a")), False),
        (Present("a", if_=If(words="y")), False),
        (Proportion({"a": 0.5}, level="instance", if_=If(words="y")), False),
        (Count({"a": (None, 2)}, level="instance", if_=If(words="y")), True),
    ],
)
def test_which_rules_have_an_expectation(rule, expected):
    assert has_expectation(rule, LABELS) == expected


@pytest.mark.parametrize("rule", [built({**rule, "weight": 5}) for rule in CONDITIONAL], ids=lambda rule: rule.text)
def test_every_method_uses_a_rule_or_sets_it_aside(rule):
    for method in METHODS.values():
        usable = method.usable(rule, LABELS)
        assert usable is None or usable == rule or usable.level == "corpus"


@pytest.mark.filterwarnings("ignore::semistruct.base.errors.RuleWarning")
def test_a_condition_on_the_text_in_expectations():
    rules = Rules([Words("x", are="b", weight="hard", if_=If(words="y"))])
    model = PosteriorRegularization(features=["word"], rules=rules, rounds=1)
    model.fit([["x", "z"], ["z", "x"]], [["a", "b"], ["b", "a"]], pool=[["x", "y"], ["x", "z"]] * 3)
    assert model.predict([["x", "y"]], rules=True)[0][0] == "b"
