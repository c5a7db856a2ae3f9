"""The vocabulary of rules: what each of them means, by hand, and what it refuses."""

import time
from itertools import product

import numpy as np
import pytest

import brute_rules
from rule_strategies import EVERY_KIND, Tally, built, penalty_of
from semistruct.base import patterns
from semistruct.base.errors import ParameterError
from semistruct.rules import (
    AtMostOnce,
    ChangeOnlyOn,
    Count,
    EndsWith,
    ExactlyOnce,
    Follows,
    Function,
    MaxLength,
    MinLength,
    NeverFollows,
    Order,
    Pattern,
    Present,
    Proportion,
    Rules,
    StartsWith,
    Words,
)
from semistruct.rules.base import HARD

LABELS = ("a", "b", "c")


def cost(rule, *pairs, labels=LABELS):
    """What a rule costs on (text, labels) pairs, also when compiled: one word per label, `-` for any words."""
    y = [list(row) for _, row in pairs]
    X = [["w"] * len(row) if text == "-" else text.split(" ") for (text, _), row in zip(pairs, y, strict=True)]
    found = penalty_of(Rules([rule]), X, y, labels)
    if not isinstance(rule, Function):
        numbers = np.array([labels.index(label) for row in y for label in row], np.int16)
        tally = Tally(Rules([rule]).compile(X, labels), numbers)
        assert tally.penalty == pytest.approx(found, rel=1e-9, abs=1e-9)
    return found


def of(rule, y):
    """The size of what is wrong with the labels of one sequence, whose words do not matter."""
    return cost(rule, ("-", y)) / rule.cost


# labels and blocks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (StartsWith("a"), {"a": 0, "b": 1, "ab": 0, "ba": 1, "bba": 1}),
        (StartsWith(["a", "b"]), {"a": 0, "b": 0, "c": 1, "cab": 1}),
        (EndsWith("a"), {"a": 0, "b": 1, "ab": 1, "ba": 0}),
        (AtMostOnce(), {"a": 0, "aab": 0, "aba": 1, "abab": 2, "ababa": 3, "abcabc": 3}),
        (AtMostOnce("a"), {"b": 0, "bcb": 0, "a": 0, "aba": 1, "abababab": 3}),
        (AtMostOnce(["a", "b"]), {"cacbc": 0, "abab": 2}),
        (AtMostOnce(counting="labels"), {"a": 0, "aba": 1, "ababa": 2, "abababa": 2, "abcabc": 3}),
        (ExactlyOnce("a"), {"a": 0, "b": 1, "aa": 0, "aba": 1, "ababa": 2}),
        (ExactlyOnce(["a", "b"]), {"c": 2, "ca": 1, "cab": 0, "aba": 1}),
        (Present("a"), {"a": 0, "b": 1, "bab": 0, "aba": 0}),
        (Present(["a", "b"]), {"c": 2, "cb": 1, "bab": 0}),
        (MinLength(2), {"a": 1, "aa": 0, "ab": 2, "aba": 3, "aab": 1, "aabb": 0}),
        (MinLength(3, labels="b"), {"a": 0, "b": 1, "abba": 1, "bbb": 0, "babbb": 1}),
        (MinLength(1), {"a": 0, "aba": 0}),
        (MaxLength(1), {"a": 0, "aa": 1, "aaaa": 1, "aabb": 2, "aba": 0}),
        (MaxLength(2, labels=["a"]), {"aa": 0, "bbb": 0, "aaabbbaaa": 2}),
        (Order(["a", "b"]), {"a": 0, "b": 0, "ab": 0, "ba": 1, "bab": 1, "baba": 2, "bcaaca": 2, "abab": 1}),
        (Order(["a", "b", "c"]), {"abc": 0, "ac": 0, "cba": 3, "cab": 2, "bca": 2, "acb": 1}),
        (Follows({"b": "a"}), {"b": 0, "ab": 0, "cb": 1, "bcb": 1, "acab": 0, "abb": 0}),
        (Follows({"b": ["a", "c"], "c": "a"}), {"cbc": 1, "acb": 0, "bc": 1}),
        (NeverFollows({"b": "a"}), {"b": 0, "ab": 1, "acb": 0, "ba": 0, "abab": 2, "bb": 0}),
        (NeverFollows({"b": ["a", "c"], "c": "a"}), {"abc": 1, "acb": 2, "ba": 0}),
        (Count({"a": 1}, level="instance", penalty="absolute"), {"a": 0, "b": 1, "aba": 1, "ababa": 2}),
        (Count({"a": (1, 2)}, level="instance", penalty="absolute"), {"b": 1, "a": 0, "aba": 0, "abababa": 2}),
        (Count({"a": (None, 1)}, level="instance"), {"b": 0, "a": 0, "ababa": 4}),
        (Count({"a": (3, None)}, of="tokens", level="instance"), {"b": 9, "aab": 1, "aaaa": 0}),
        (Count({"a": 1, "b": 0}, of="tokens", level="instance", penalty="absolute"), {"ab": 1, "aaabb": 4}),
        (Proportion({"a": 0.5}, level="instance", unit="fraction"), {"ab": 0, "a": 0.25, "bbba": 0.0625}),
        (Proportion({"a": 0.5}, level="instance"), {"ab": 0, "bbba": 625}),
        (Proportion({"a": (0.25, 0.5)}, level="instance", penalty="absolute"), {"abbb": 0, "ab": 0, "aaab": 25}),
    ],
    ids=lambda part: part.says if hasattr(part, "says") else "",
)  # fmt: skip
def test_what_is_wrong_with_labels(rule, wrong):
    assert {y: of(rule, y) for y in wrong} == wrong


def test_a_label_named_twice_counts_once():
    assert of(AtMostOnce(["a", "a"]), "aba") == 1
    assert of(AtMostOnce(["a", "a"], counting="labels", penalty="square"), "aba") == 1
    assert of(ExactlyOnce(["a", "a"]), "b") == 1
    assert of(Present(["a", "a"]), "b") == 1


def test_all_may_be_a_label():
    assert AtMostOnce("all") == AtMostOnce()
    assert of(AtMostOnce("all"), "aba") == 1
    assert cost(AtMostOnce(["all"]), ("-", "aba"), labels=["a", "b", "all"]) == 0


@pytest.mark.parametrize(
    "rule", [rule for rule in EVERY_KIND if not {"change_only_on", "words", "pattern"} & set(rule)], ids=str
)
def test_every_short_labelling(rule):
    for T in range(1, 6):
        for y in product(LABELS, repeat=T):
            wanted = brute_rules.price([rule], [["w"] * T], [y], LABELS, HARD)
            assert penalty_of(Rules([built(rule)]), [["w"] * T], [y], LABELS) == pytest.approx(wanted, rel=1e-12)


# changes of the label --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "side", "text", "y", "wrong"),
    [
        ("punctuation", "after", "x , y", "aab", 0),
        ("punctuation", "after", "x , y", "abb", 1),
        ("punctuation", "either", "x , y", "abb", 0),
        ("punctuation", "either", "x y ,", "abb", 1),
        ("punctuation", "after", "x", "a", 0),
        ("punctuation", "after", "x y z", "aaa", 0),
        ("punctuation", "after", "x y z", "aba", 2),
        ("punctuation", "after", "-- y", "ab", 0),
        ("punctuation", "after", "x. y", "ab", 1),  # a word with a full stop is a word
        ("punctuation", "after", "*NEWLINE* y", "ab", 1),
        ("newline", "after", "*NEWLINE* y", "ab", 0),
        ("newline", "after", "<br> y", "ab", 0),
        ("newline", "after", "\\n y", "ab", 0),
        ("newline", "after", ", y", "ab", 1),
        (["newline", "punctuation"], "after", "<br> x , y", "abbc", 0),
        (["newline", r"x+"], "after", "xx y <br> z xxy u", "abbccb", 1),
        (r"x+\.?", "after", "xx. y", "ab", 0),
        (["(x)y", r"(.)\1"], "after", "zz y", "ab", 0),  # each pattern counts its own groups
        (["(?x) z # a comment", "x"], "after", "z y", "ab", 0),
        (["x|y", "z"], "after", "yz w", "ab", 1),
    ],
)
def test_changes_away_from_marks(marks, side, text, y, wrong):
    assert cost(ChangeOnlyOn(marks, side=side, weight=1), (text, y)) == wrong


def test_the_fraction_of_changes_in_a_corpus():
    pairs = [("x , y z", "aabc"), ("x y", "ab"), ("x .", "aa")]  # 3 changes, 2 of them after a word
    assert cost(ChangeOnlyOn("punctuation", fraction=2 / 3), *pairs) == 0
    assert cost(ChangeOnlyOn("punctuation", fraction=0.5, weight=6), *pairs) == pytest.approx(1, rel=1e-12)
    assert cost(ChangeOnlyOn("punctuation", fraction=(None, 0.9)), *pairs) == 0
    rule = ChangeOnlyOn("punctuation", fraction=(0.7, None), unit="percent", weight=3)
    assert cost(rule, *pairs) == pytest.approx(10, rel=1e-12)


# words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "text", "y", "wrong"),
    [
        (Words("pp", are="a"), "pp PP Pp p ppp", "bbbbb", 3),  # lower case stands for any case
        (Words("CA", are="a"), "CA ca Ca", "bbb", 1),
        (Words("Pp", are="a"), "pp PP Pp", "bbb", 1),
        (Words(["pp", "CA"], are=["a", "b"]), "pp CA pp CA", "abcc", 2),
        (Words("pp", are_not="a"), "pp pp pp x", "abca", 1),
        (Words(["pp"], are_not=["a", "b"]), "pp pp pp", "abc", 2),
        (Words(1984, are="a"), "1984 84", "bb", 1),
        (Words("c++", are="a"), "C++ cc", "bb", 1),  # no pattern
        (Words("a|b", are="a"), "a b", "bb", 0),
        (Pattern("[Pp]+", are="a"), "pp PP ppx xpp x", "bbbbb", 2),
        (Pattern("x|xy", are="a"), "x xy y", "bbb", 2),
        (Pattern("ca", are="a"), "CA ca", "bb", 1),
        (Pattern("(?i)ca", are="a"), "CA ca", "bb", 2),
        (Pattern(r"(19|20)\d\d", are="a"), "1984 19845 '84", "bbb", 1),
        (Words("x", are="a", before="y"), "x y x x", "bbbb", 1),
        (Words("x", are="a", after="y"), "x y x x", "bbbb", 1),
        (Words("x", are="a", before="y", after="z"), "y x z x z", "bbbbb", 1),
        (Words("x", are="a", before=".*"), "x", "b", 0),  # there must be a token before
        (Words("x", are="a", after=".*"), "x", "b", 0),
        (Words("x", are="a", before=".*"), "x x", "bb", 1),
        (Words("x", are="a", before="y"), "yy x", "bb", 0),
        (Pattern(".", are_not="b", after=r"\d+"), "x 1 x 2", "bbbb", 2),
    ],
)
def test_words_that_are_something(rule, text, y, wrong):
    assert cost(rule, (text, y)) == 1000 * wrong


def test_the_fraction_of_words_in_a_corpus():
    pairs = [("x x", "ab"), ("x y x", "aab")]  # two of four are a
    assert cost(Words("x", are="a", level="corpus", weight=1), *pairs) == 0.5
    assert cost(Words("x", are="a", fraction=0.5), *pairs) == 0
    assert cost(Words("x", are_not="a", fraction=0.75, weight=1), *pairs) == 0.25
    assert cost(Words("x", are="a", fraction=(0.6, 0.9), unit="percent", weight=1), *pairs) == pytest.approx(
        10, rel=1e-12
    )
    assert cost(Words("x", are="a", fraction=(None, 0.9), weight=1), *pairs) == 0
    assert cost(Pattern("x", are="a", level="corpus", penalty="square", weight=1), *pairs) == 0.25
    assert cost(Words("x", are="a", level="corpus", after="x", weight=1), *pairs) == 0
    assert cost(Words("nothing", are="a", level="corpus", weight=1), *pairs) == 0  # a share of nothing


@pytest.mark.parametrize(
    "slow", [lambda p: Pattern(p, are="a"), lambda p: ChangeOnlyOn(["x", p])], ids=["word", "mark"]
)
def test_a_pattern_that_takes_for_ever_is_named(slow, monkeypatch):
    monkeypatch.setattr(patterns, "PATIENCE", 0.05)
    began, word = time.perf_counter(), "a" * 60 + "!"
    with pytest.raises(ParameterError, match=r"the pattern '\(a\|aa\)\+\$' takes more than 0.05 s on the word 'aaa"):
        cost(slow("(a|aa)+$"), (f"{word} b", "bc"))
    assert time.perf_counter() - began < 5  # it would take years


# means and shares of a corpus ------------------------------------------------------------------------------


def test_proportions_of_a_corpus_are_of_all_tokens():
    pairs = [("-", "a"), ("-", "bbb")]  # a quarter, and not the mean of 1 and 0
    assert cost(Proportion({"a": 0.25}), *pairs) == 0
    rule = Proportion({"a": 0.5, "b": (None, 0.5)}, unit="fraction", penalty="absolute", weight=1)
    assert cost(rule, *pairs) == 0.5
    assert cost(Proportion({"c": (0.1, None)}, penalty="absolute", weight=1), *pairs) == pytest.approx(10, rel=1e-12)


def test_counts_of_a_corpus_are_means_over_sequences():
    pairs = [("-", "aba"), ("-", "b"), ("-", "aab"), ("-", "a")]
    assert cost(Count({"a": 1}), *pairs) == 0
    assert cost(Count({"a": 2}, weight=1), *pairs) == 1
    assert cost(Count({"a": (None, 0.5)}, weight=1), *pairs) == 0.25
    assert cost(Count({"a": 1.25, "b": 0}, of="tokens", weight=1, penalty="absolute"), *pairs) == 0.75


# weights ---------------------------------------------------------------------------------------------------


def test_weights_and_penalties():
    y = ("-", "ababa")  # two further blocks of a, one of b
    assert cost(AtMostOnce("a"), y) == 2000
    assert cost(AtMostOnce("a", weight=0.5), y) == 1
    assert cost(AtMostOnce("a", weight=0.5, penalty="square"), y) == 2
    assert cost(AtMostOnce("a", weight="hard"), y) == 2 * HARD
    assert cost(AtMostOnce("a", weight="hard", penalty="square"), y) == 4 * HARD


# functions -------------------------------------------------------------------------------------------------


def count_a(tokens, labels):
    return list(labels).count("a")


def test_functions():
    pairs = [("-", "aab"), ("-", "b"), ("-", "a")]
    assert cost(Function(count_a, weight=1), *pairs) == 3
    assert cost(Function(count_a, weight=1, penalty="square"), *pairs) == 5
    assert cost(Function(count_a, weight=1, low=1, high=1), *pairs) == 2
    assert cost(Function(count_a, weight=1, low=1.5, high=np.inf), *pairs) == 2
    assert cost(Function(count_a, weight=1, level="corpus"), *pairs) == 1  # the mean
    assert cost(Function(count_a, weight=1, level="corpus", low=2, high=3), *pairs) == 1
    assert cost(Function(lambda tokens, labels: tokens[0] == "x", weight=1), ("x y", "ab"), ("y x", "ab")) == 1


@pytest.mark.parametrize("value", [True, 1, 1.0, np.int64(1), np.float32(1), np.True_], ids=lambda v: type(v).__name__)
def test_functions_return_any_kind_of_number(value):
    assert cost(Function(lambda tokens, labels: value), ("-", "a")) == 1000


@pytest.mark.parametrize("level", ["instance", "corpus"])
def test_a_function_that_fails_is_named(level):
    def fussy(tokens, labels):
        return 1 / (len(tokens) - 1)

    with pytest.raises(ParameterError, match="rule 'fussy' fails on sequence 1: ZeroDivisionError: division by zero"):
        cost(Function(fussy, level=level), ("-", "ab"), ("-", "a"))
    with pytest.raises(ParameterError, match="rule 'my rule' fails on sequence 0"):
        cost(Function(fussy, level=level, name="my rule"), ("-", "a"))


@pytest.mark.parametrize("value", ["many", None, float("nan"), float("inf"), [1], 1j], ids=str)
def test_a_function_that_returns_no_number_is_named(value):
    with pytest.raises(ParameterError, match=r"rule 'odd' returns .* on sequence 1, expected a finite number"):
        cost(Function(lambda tokens, labels: value if len(tokens) == 2 else 0, name="odd"), ("-", "a"), ("-", "ab"))


# what is refused -------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
FIELDS = ("author", "date", "location", "title")


@pytest.mark.parametrize(
    ("kind", "value", "fields", "words"),
    [
        (StartsWith, "a", {"weight": 0}, "weight.*greater than 0"),
        (StartsWith, "a", {"weight": NAN}, "weight.*finite.*nan"),
        (StartsWith, "a", {"weight": "soft"}, "weight.*'soft'"),
        (StartsWith, "a", {"weigth": 1}, "there is no entry 'weigth'; did you mean 'weight'"),
        (StartsWith, "a", {"penalty": "cubic"}, "penalty.*'cubic'"),
        (StartsWith, "a", {"name": ""}, "name"),
        (StartsWith, None, {}, "required: starts_with"),
        (StartsWith, [], {}, "at least 1"),
        (StartsWith, True, {}, "True"),
        (AtMostOnce, "a", {"level": "corpus"}, "cannot have the level corpus"),
        (AtMostOnce, "a", {"counting": "tokens"}, "counting.*'tokens'"),
        (MinLength, 0, {}, "greater than or equal to 1"),
        (MaxLength, 2.5, {}, "whole number, found 2.5"),
        (Order, ["a", "b", "a"], {}, "named twice"),
        (Follows, {"a": []}, {}, "at least 1"),
        (NeverFollows, ["a"], {}, r"\['a'\]"),
        (Proportion, {"a": 30}, {}, "less than or equal to 1.*30"),
        (Proportion, {"a": (0.5, NAN)}, {}, "nan"),
        (Proportion, {"a": (None, None)}, {}, "needs a bound"),
        (Proportion, {"a": (0.1, 0.2, 0.3)}, {}, "at most 2"),
        (Proportion, {"a": (0.7, 1), "b": 0.2, "c": (0.2, None)}, {}, "add up to 110%"),
        (Proportion, {"a": 0.5}, {"unit": "permille"}, "unit.*'permille'"),
        (Count, {"a": -1}, {}, "greater than or equal to 0.*-1"),
        (Count, {"a": INF}, {}, "finite"),
        (Count, {"a": (2, 1)}, {}, r"the range \[2, 1\] is empty"),
        (Pattern, "x", {"are": "a", "after": "*"}, r"the pattern '\*' does not compile"),
        (Words, "x", {"are": "a", "are_not": "b"}, "either `are` or `are_not`"),
        (Words, "x", {"are": "a", "fraction": 0.5, "level": "instance"}, "fraction needs the corpus level"),
        (ChangeOnlyOn, ["punctuation", "New-Line"], {}, "unknown mark 'New-Line'; did you mean 'newline'"),
        (ChangeOnlyOn, "newline", {"level": "corpus"}, "corpus level needs a fraction"),
        (Function, "count", {}, "callable.*'count'"),
        (Function, count_a, {"low": NAN}, "is empty"),
    ],
)  # fmt: skip
def test_what_is_refused(kind, value, fields, words):
    with pytest.raises(ParameterError, match=rf"^{kind.key}: .*({words})"):
        kind(value, **fields)


def test_only_rules_are_rules():
    with pytest.raises(ParameterError, match="Rules: 'starts_with' is not a rule"):
        Rules(["starts_with"])
    with pytest.raises(ParameterError, match=r"'ing.yaml'\): expected rules; .* Rules.from_file$"):
        Rules("ing.yaml")


@pytest.mark.parametrize(
    "rule",
    [
        StartsWith("autor"), EndsWith("autor"), AtMostOnce("autor"), ExactlyOnce("autor"), Present("autor"),
        Words("x", are="autor"), Words("x", are_not="autor"), Pattern("x", are=["title", "autor"]),
        MinLength(2, labels="autor"), MaxLength(2, labels="autor"), Order(["title", "autor"]),
        Follows({"autor": "title"}), Follows({"title": "autor"}), NeverFollows({"autor": "title"}),
        NeverFollows({"title": "autor"}), Proportion({"autor": 0.5}), Count({"autor": 1}),
    ],
    ids=lambda rule: rule.says,
)  # fmt: skip
def test_an_unknown_label_suggests_the_nearest(rule):
    meant = "unknown label 'autor'; did you mean 'author'"
    for refused in (
        lambda: Rules([rule], labels=FIELDS),
        lambda: Rules([rule]).compile([["x"]], FIELDS),
        lambda: Rules([rule]).all_labels(FIELDS),
    ):
        with pytest.raises(ParameterError, match=meant) as err:
            refused()
        assert str(err.value).startswith(f"rule {rule.text!r}: ")


def test_an_unknown_label_like_no_other_lists_all():
    with pytest.raises(ParameterError, match="unknown label 'zzz'; there are author, date, location, title"):
        Rules([StartsWith("zzz")]).check_labels(FIELDS)


def test_labels_without_examples_can_be_declared():
    rules = Rules([StartsWith("editor")], labels=["editor", "note", "note"])
    assert rules.labels == ("editor", "note")
    assert rules.all_labels(["title", "author"]) == ("author", "editor", "note", "title")
