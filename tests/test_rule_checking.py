"""Are the rules true?  Against a recount by hand, and known contradictions."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistruct.base.errors import DataError, ParameterError
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
from semistruct.rules.checking import check_rules
from semistruct.rules.evidence import Credibility

LABELS = ["a", "b", "c"]
WORDS = ["x", "X", "w1", "22", ".", ","]


def runs(labels):
    """(label, start, length) of each block."""
    out = []
    for t, y in enumerate(labels):
        if t and y == labels[t - 1]:
            out[-1][2] += 1
        else:
            out.append([y, t, 1])
    return out


def changes(labels):
    return [t for t in range(1, len(labels)) if labels[t] != labels[t - 1]]


def number_of_blocks(labels, y):
    return sum(z == y for z, _, _ in runs(labels))


def last(labels, y):
    return len(labels) - 1 - labels[::-1].index(y)


CASES = [
    # a rule, and a function from words and labels to (place, does it obey?) of every case
    (StartsWith(["a", "b"]), lambda x, y: [(0, y[0] != "c")]),
    (EndsWith("c"), lambda x, y: [(len(x) - 1, y[-1] == "c")]),
    (AtMostOnce(), lambda x, y: [(None, len(runs(y)) == len(set(y)))]),
    (AtMostOnce(["b"], counting="labels"), lambda x, y: [(None, number_of_blocks(y, "b") <= 1)]),
    (ExactlyOnce(["a", "b"]), lambda x, y: [(None, number_of_blocks(y, "a") == number_of_blocks(y, "b") == 1)]),
    (Present("c"), lambda x, y: [(None, "c" in y)]),
    (ChangeOnlyOn("punctuation"), lambda x, y: [(t, x[t - 1] in ".,") for t in changes(y)]),
    (ChangeOnlyOn("[.]", side="either"), lambda x, y: [(t, "." in (x[t - 1], x[t])) for t in changes(y)]),
    (ChangeOnlyOn("punctuation", fraction=0.1), lambda x, y: [(t, x[t - 1] in ".,") for t in changes(y)]),
    (Words(["x", "22"], are="a"), lambda x, y: [(t, y[t] == "a") for t, w in enumerate(x) if w in ("x", "X", "22")]),
    (Words("X", are_not="a"), lambda x, y: [(t, y[t] != "a") for t, w in enumerate(x) if w == "X"]),
    (Words("x", are=["a", "b"], fraction=0.5), lambda x, y: [
        (t, y[t] != "c") for t, w in enumerate(x) if w in ("x", "X")
    ]),
    (Pattern(r"\w?\d+", are="b", before="[.]"), lambda x, y: [
        (t, y[t] == "b") for t, w in enumerate(x) if re.fullmatch(r"\w?\d+", w) and t and x[t - 1] == "."
    ]),
    (MinLength(2), lambda x, y: [(t, n >= 2) for _, t, n in runs(y)]),
    (MaxLength(1, labels="a"), lambda x, y: [(t, n <= 1) for z, t, n in runs(y) if z == "a"]),
    (Order(["a", "b"]), lambda x, y: [(None, last(y, "a") < y.index("b"))] if {"a", "b"} <= set(y) else []),
    (Follows({"b": ["a"]}), lambda x, y: [(t, y[t - 1] == "a") for t in changes(y) if y[t] == "b"]),
    (NeverFollows({"b": "a", "c": "a"}), lambda x, y: [(t, y[t - 1] != "a") for t in changes(y) if y[t] in "bc"]),
    (Proportion({"a": (0.2, 0.5)}, level="instance"), lambda x, y: [(None, 0.2 <= y.count("a") / len(y) <= 0.5)]),
    (Count({"a": (None, 2)}, of="tokens", level="instance"), lambda x, y: [(None, y.count("a") <= 2)]),
    (Count({"a": 1, "b": (1, 2)}, level="instance"), lambda x, y: [
        (None, number_of_blocks(y, "a") == 1 <= number_of_blocks(y, "b") <= 2)
    ]),
    (Function(lambda x, y: len(x) - y.count("a"), high=2), lambda x, y: [(None, len(x) - y.count("a") <= 2)]),
]  # fmt: skip


@st.composite
def corpora(draw):
    """(X, y): sequences of words and their labels, some with unknown ones."""
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    X = [[draw(st.sampled_from(WORDS)) for _ in range(n)] for n in lengths]
    y = [[draw(st.sampled_from(LABELS)) for _ in range(n)] for n in lengths]
    for i in range(1, len(y)):
        unknown = draw(st.sampled_from(["no"] * 8 + ["all", "one"]))
        if unknown == "one":
            y[i][-1] = None
        y[i] = None if unknown == "all" else y[i]
    return X, y


@pytest.mark.parametrize(("rule", "cases"), CASES, ids=[rule.key for rule, _ in CASES])
@settings(max_examples=40)
@given(data=corpora())
def test_cases_are_those_of_a_recount(rule, cases, data):
    X, y = data
    check = check_rules(Rules([rule], LABELS), X, y, n_examples=100)
    known = [i for i, row in enumerate(y) if row is not None and None not in row]
    wanted = {i: cases(X[i], y[i]) for i in known}
    (found,) = check.rules
    n, good = sum(map(len, wanted.values())), sum(ok for row in wanted.values() for _, ok in row)
    assert (found.applies, found.obeys) == (n, good)
    assert found.share == (good / n if n else None)
    assert (check.sequences, check.skipped) == (len(known), len(X) - len(known))
    broken = {i: [place for place, ok in row if not ok] for i, row in wanted.items() if not all(ok for _, ok in row)}
    assert {example.sequence for example in found.examples} == set(broken)
    assert check.obeying == len(known) - len(broken) * (rule.level == "instance")
    if rule.level == "instance":
        assert found.verdict == (Credibility(n, good).kind if n else "unseen")
    for example in found.examples:
        i, start = example.sequence, example.start
        assert broken[i][0] in (example.position, None)
        assert example.tokens == X[i][start : start + len(example.tokens)]
        assert example.labels == y[i][start : start + len(example.labels)]
        assert len(example.tokens) == len(example.labels) > 0
        assert example.position is None or start <= example.position < start + len(example.tokens)
    json.dumps(check.to_dict(), allow_nan=False)


@given(data=corpora(), shares=st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]), min_size=2, max_size=2))
def test_values_of_corpus_rules(data, shares):
    X, y = data
    low, high = sorted(shares)
    rules = [Proportion({"a": (low, high)}), Count({"b": (None, 1)}), Words("x", are="a", level="corpus")]
    rules.append(Function(lambda words, labels: labels.count("c"), level="corpus", high=1))
    share, blocks, words, own = check_rules(Rules(rules, LABELS), X, y).rules
    pairs = [(x, row) for x, row in zip(X, y, strict=True) if row is not None and None not in row]
    tokens = [pair for x, row in pairs for pair in zip(x, row, strict=True)]
    measured = sum(z == "a" for _, z in tokens) / len(tokens)
    assert share.measures[0].value == pytest.approx(measured, abs=1e-12)
    assert (share.measures[0].low, share.measures[0].high) == (low, high)
    assert blocks.measures[0].value == pytest.approx(sum(number_of_blocks(row, "b") for _, row in pairs) / len(pairs))
    assert (blocks.measures[0].low, blocks.measures[0].high) == (None, 1)
    of_words = [z == "a" for word, z in tokens if word in "xX"]
    assert words.measures[0].value == pytest.approx(sum(of_words) / len(of_words) if of_words else 1)
    assert own.measures[0].value == pytest.approx(sum(z == "c" for _, z in tokens) / len(pairs))
    assert share.verdict == "true" or not low - 0.05 <= measured <= high + 0.05


def verdicts(*rules, X, y):
    return [rule.verdict for rule in check_rules(Rules(rules, LABELS), X, y).rules]


def test_verdicts():
    X, y = [["x"]] * 20, [["a"]] * 19 + [["b"]]
    soft, hard = StartsWith("a"), StartsWith("a", weight="hard")
    assert verdicts(soft, hard, Words("y", are="a"), X=X, y=y) == ["true", "broken", "unseen"]
    assert verdicts(hard, X=X[:19], y=y[:19]) == ["true"]
    assert verdicts(soft, X=X, y=[["a"]] * 15 + [["b"]] * 5) == ["loose"]
    assert verdicts(soft, X=X[:4], y=[["b"]] * 4) == ["false"]


def test_verdicts_on_corpus_rules_allow_for_chance():
    def far(*rules, X, y):
        return [verdict == "far" for verdict in verdicts(*rules, X=X, y=y)]

    X, y = [["x"] * 10] * 40, [["a"] * 4 + ["b"] * 6] * 40
    assert far(Proportion({"a": 0.4}), Proportion({"a": 0.36}), Proportion({"a": 0.34}), X=X, y=y) == [0, 0, 1]
    assert far(Proportion({"a": (0.46, None)}), Proportion({"a": (None, 0.36)}), X=X, y=y) == [1, 0]
    uneven = [["a"] * 10, ["b"] * 10] * 2
    assert far(Proportion({"a": 0.2}), X=X[:4], y=uneven) == [False]  # half, give or take a quarter
    assert far(Proportion({"a": 0.2}), X=X, y=uneven * 10) == [True]
    assert far(Proportion({"a": 0.9}), X=X[:1], y=y[:1]) == [False]
    assert far(Count({"a": 4.1}, of="tokens"), Count({"a": 4.3}, of="tokens"), X=X, y=y) == [False, True]


def test_the_worst_sequences_are_shown():
    X, y = [["x"] * n for n in (1, 3, 2)], [["b"] * n for n in (1, 3, 2)]
    (found,) = check_rules(Rules([Words("x", are="a")], LABELS), X, y, n_examples=2).rules
    assert [example.sequence for example in found.examples] == [1, 2]
    (found,) = check_rules(Rules([AtMostOnce()], LABELS), [["x"] * 12], [list("aaaaaaaaabca")]).rules
    (example,) = found.examples
    assert (example.position, example.start) == (11, 7)
    assert example.labels == list("aabca")


def test_labels_that_rules_name_must_be_known():
    with pytest.raises(ParameterError, match="unknown label 'b'"):
        check_rules(Rules([StartsWith("b")]), [["x"]], [["a"]])
    assert check_rules(Rules([StartsWith("b")]), [["x"]], [["a"]], labels="ab").rules[0].obeys == 0


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["x"]], [None], "no sequence is fully labelled"),
        ([["x", "y"]], [["a", None]], "no sequence is fully labelled"),
        ([["x", "y"]], [["a"]], "sequence 0: 2 tokens but 1 labels"),
        ([[{"f": 1.0}]], [["a"]], "holds features"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(DataError, match=message):
        check_rules(Rules([AtMostOnce()]), X, y)


# ---- contradictions

X = [["x", "22", ".", "y", "z"]]
CLASHES = {
    "two words": ([Words(["x", "y"], are="a"), Pattern("[yz]", are=["b", "c"])], "no label is left for the token 'y'"),
    "not these": ([Words("x", are=["a", "b"]), Words("x", are_not=["a", "b"])], "no label is left for the token 'x'"),
    "two starts": ([StartsWith("a"), StartsWith(["b", "c"])], "no label is left for the token 'x'"),
    "start and word": ([Words("x", are="b"), StartsWith("a")], "no label is left for the token 'x'"),
    "end and word": ([EndsWith("a"), Words("z", are="b")], "no label is left for the token 'z'"),
    "word without a label": ([Count({"a": 0}, of="tokens", level="instance"), Words("x", are="a")], "token 'x'"),
    "lengths": ([MinLength(4), MaxLength(3, labels=["b", "c"])], "no block of b can be that long and that short"),
    "orders": ([Order(["a", "b", "c"]), Order(["c", "a"])], "a comes before c, and c before a"),
    "predecessors": ([Follows({"a": "b"}), NeverFollows({"a": ["b"]})], "there is no label left that a may follow"),
    "proportions": ([Proportion({"a": (0.1, 0.3)}), Proportion({"a": (0.4, None)})], "the ranges for share of a"),
    "proportions of each and of all": (
        [Proportion({"a": (0.1, 0.3)}, level="instance"), Proportion({"a": 0.4})],
        "the ranges for share of a",
    ),
    "once and never": ([Present("b"), Count({"b": (None, 0)}, level="instance")], "the ranges for blocks of b"),
    "once and twice": ([AtMostOnce(), Count({"b": 2}, level="instance")], "the ranges for blocks of b"),
}
FRIENDS = [
    [Words("x", are="a"), Words("y", are="b")],
    [Words("x", are=["a", "b"]), Words("x", are=["b", "c"])],
    [Words("x", are="a", level="corpus"), Words("x", are="b", level="corpus")],
    [Words("none", are="a"), Words("none", are="b")],
    [StartsWith("a"), Words("z", are="b"), EndsWith("b")],
    [MinLength(3), MaxLength(3)],
    [MinLength(4, labels="a"), MaxLength(3, labels="b")],
    [Order(["a", "b"]), Order(["b", "c"])],
    [Follows({"a": "b"}), NeverFollows({"a": "c"})],
    [Proportion({"a": (0.1, 0.3)}), Proportion({"a": 0.3}), Proportion({"b": 0.5})],
    [Present("b"), AtMostOnce(), ExactlyOnce("b")],
    [AtMostOnce(), Count({"b": 0.5}), Count({"b": 3}, of="tokens")],
]


@pytest.mark.parametrize("case", CLASHES)
@pytest.mark.parametrize("turned", [False, True])
def test_rules_that_contradict_each_other(case, turned):
    rules, why = CLASHES[case]
    rules = rules[::-1] if turned else rules
    friend = ChangeOnlyOn("newline")
    check = check_rules(Rules([rules[0], friend, rules[1]], LABELS), X, [["a"] * 5])
    (found,) = check.contradictions
    assert (found.first, found.second) == (0, 2)
    assert why in found.why or (turned and case == "orders" and found.why == "c comes before a, and a before c")


@pytest.mark.parametrize("rules", FRIENDS)
def test_rules_that_agree(rules):
    assert check_rules(Rules(rules, LABELS), X, [["a"] * 5]).contradictions == []
