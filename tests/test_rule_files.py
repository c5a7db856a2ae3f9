"""Rules files: what they mean, every way to get them wrong, and those that come with semistruct."""

import copy
import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from pydantic import ValidationError

from rule_strategies import EVERY_KIND, built
from rule_strategies import rules as some_rules
from semistruct import read
from semistruct.base.errors import DataError, ParameterError, SemistructError
from semistruct.rules import (
    Agree,
    AllExcept,
    AtMostOnce,
    BlockEndsWith,
    BlockStartsWith,
    ChangeAfter,
    ChangeOnlyOn,
    Count,
    Differ,
    EndsWith,
    ExactlyOnce,
    Follows,
    If,
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
from semistruct.rules.files import LONGEST, SHIPPED, shipped
from semistruct.rules.vocabulary import VOCABULARY

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

EVERY_RULE = [
    StartsWith("a"),
    EndsWith(["a", "b"], weight="hard"),
    AtMostOnce(),
    AtMostOnce(["a"], counting="labels", penalty="square"),
    ExactlyOnce("a", name="one a"),
    Present(["a", "b"], weight=0.5),
    ChangeOnlyOn(["newline", "[.;]"], side="either"),
    ChangeOnlyOn("punctuation", fraction=(None, 0.1), unit="percent"),
    Words(["1984", "no", "null"], are="a", before=r"\d", after="x|y"),
    Words("w", are_not=["a", "b"], fraction=0.9),
    Pattern(r"\d+", are=["b"], level="corpus"),
    MinLength(2),
    MaxLength(7, labels="a"),
    Order(["b", "a"]),
    Follows({"a": ["b"]}),
    NeverFollows({"a": "b", "b": ["a"]}),
    Proportion({"a": 0.25, "b": (0.1, None)}),
    Proportion({"a": (0.0, 0.5)}, level="instance", penalty="absolute", unit="fraction"),
    Count({"a": 2, "b": (None, 1.5)}, of="tokens"),
    Words(["new york", "x"], are=AllExcept("a"), case="any", punctuation="ignore", place="last"),
    Pattern([r"\d+", "st"], are_not="b", after=r"\W", within=4, if_=If(words="x", absent=["a", "b"])),
    ChangeAfter([",", "newline"], labels="a"),
    BlockStartsWith({"a": "[A-Z].*"}),
    BlockEndsWith({"a": ["punctuation", "x"], "b": "y"}),
    Present({"all_except": ["a", "b"]}, if_={"present": "a"}),
    Differ(["a", "b"]),
    Agree(["b", "a"], weight=2),
]


# ---- what files mean


def test_every_rule_can_be_written():
    text = r"""
labels: [b, a, yes]
rules:
  - starts_with: a
  - {ends_with: [a, b], weight: hard}
  - at_most_once: all
  - {at_most_once: [a], counting: labels, penalty: square}
  - {name: one a, exactly_once: a}
  - {present: [a, b], weight: 0.5}
  - {change_only_on: [newline, '[.;]'], side: either}
  - {change_only_on: punctuation, fraction: [null, 0.1], unit: percent}
  - words: [1984, no, null]
    are: a
    before: \d
    after: x|y
  - {words: w, are_not: [a, b], fraction: 0.9}
  - {pattern: '\d+', are: b, level: corpus}
  - min_length: 2
  - {max_length: 7, labels: a}
  - order: [b, a]
  - follows: {a: b}
  - never_follows: {a: b, b: [a]}
  - proportion: {a: 0.25, b: [0.1, ~]}
  - {proportion: {a: [0, 0.5]}, level: instance, penalty: absolute, unit: fraction}
  - {count: {a: 2, b: [null, 1.5]}, of: tokens}
  - {words: [new york, x], are: {all_except: a}, case: any, punctuation: ignore, place: last}
  - {pattern: ['\d+', st], are_not: b, after: '\W', within: 4, if: {words: x, absent: [a, b]}}
  - {change_after: [',', newline], labels: a}
  - block_starts_with: {a: '[A-Z].*'}
  - block_ends_with: {a: [punctuation, x], b: y}
  - {present: {all_except: [a, b]}, if: {present: [a]}}
  - differ: [a, b]
  - {agree: [b, a], weight: 2}
"""
    assert Rules.from_text(text) == Rules(EVERY_RULE, ["a", "b", "yes"])


def test_words_and_labels_are_texts_whatever_yaml_makes_of_them():
    text = "labels: [no, 1, null, 2001-01-01]\nrules:\n- words: [1984, 007, 1e3, off, ~, 0x1F]\n  are: no"
    found = Rules.from_text(text)
    assert found.labels == ("1", "2001-01-01", "no", "null")
    assert found.rules == (Words(["1984", "007", "1e3", "off", "~", "0x1F"], are="no"),)
    assert Rules.from_text("rules:\n- {proportion: {1: 0.5}, name: 12}").rules == (Proportion({"1": 0.5}, name="12"),)


def test_a_list_of_rules_may_be_empty_and_a_mark_of_byte_order_is_skipped(tmp_path):
    (tmp_path / "r.yaml").write_bytes(b"\xef\xbb\xbflabels: [a]\nrules: []\n")
    assert Rules.from_file(tmp_path / "r.yaml") == Rules([], ["a"])


def test_dumped_rules_are_read_back():
    rules = Rules(EVERY_RULE, ["a", "b"])
    dumped = rules.to_dict()
    assert Rules.from_dict(json.loads(json.dumps(dumped, allow_nan=False))) == rules
    assert dumped["labels"] == ["a", "b"]
    assert dumped["rules"][:3] == [
        {"starts_with": ["a"]},
        {"ends_with": ["a", "b"], "weight": "hard"},
        {"at_most_once": "all"},
    ]
    assert dumped["rules"][7] == {
        "change_only_on": ["punctuation"], "level": "corpus", "fraction": [None, 0.1], "unit": "percent",
    }  # fmt: skip
    assert all(next(iter(entry)) == rule.key for entry, rule in zip(dumped["rules"], EVERY_RULE, strict=True))


@pytest.mark.parametrize("rule", [Present("a"), Present("a", weight=1000), Present("a", weight="hard")])
def test_dumped_weights_are_open_or_given_as_before(rule):
    (again,) = Rules.from_dict(json.loads(json.dumps(Rules([rule]).to_dict())))
    assert again.shown_weight == rule.shown_weight


@pytest.mark.parametrize("data", [[], {}, {"rules": None}, {"rules": ["x"]}, {"rules": [{}]}, {"rules": [{"x": 1}]}])
def test_damaged_data_is_refused(data):
    with pytest.raises(SemistructError):
        Rules.from_dict(data)


# ---- what can be wrong with them; the message begins with the line

BAD = {
    "not YAML": ("rules:\n\t- x", "2: not YAML: "),
    "odd character": ("rules:\n  - \x01", "2: not YAML: the character '\\x01'"),
    "two documents": ("rules: []\n---\nrules: []\n", "2: a rules file is one document"),
    "a list": ("- starts_with: a", "1: expected `rules:`"),
    "no rules": ("labels: [a]", "1: expected `rules:`"),
    "rules are no list": ("labels: [a]\nrules: x", "2: rules: expected a list"),
    "labels are no list": ("labels: a\nrules: []", "1: labels: expected a list"),
    "labels are lists": ("labels:\n- [a]\nrules: []", "2: labels: expected a text"),
    "unknown part": ("rules: []\nlables: [a]", "2: there is no part 'lables'; did you mean 'labels'?"),
    "a rule that is a text": ("rules:\n- present: a\n- at_most_once", "3: a rule is written as"),
    "unknown rule": (
        "rules:\n- present: a\n- weight: 3\n  starts_wth: a",
        "3: there is no rule 'starts_wth'; did you",
    ),
    "no rule": ("rules:\n- {}", "2: there is no rule ''"),
    "two rules": ("rules:\n- present: a\n\n- present: a\n  order: [a, b]", "4: present and order are two rules"),
    "unknown entry": ("rules:\n- present: a\n  wieght: 3", "3: present: there is no entry 'wieght'; did you mean 'we"),
    "twice": ("rules:\n- present: a\n  weight: 1\n  weight: 2", "4: 'weight' is given twice, first in line 3"),
    "label twice": ("rules:\n- proportion: {a: 0.1,\n    a: 0.2}", "3: 'a' is given twice"),
    "unknown label": (
        "labels: [author, title]\nrules:\n- present: title\n- starts_with: autor",
        "4: starts_with: unknown label 'autor'; did you mean 'author'?",
    ),
    "bad pattern": ("rules:\n- pattern: '('\n  are: a", "2: pattern: the pattern '(' does not compile"),
    "bad mark": ("rules:\n- change_only_on: [newline, '*']", "2: change_only_on: the pattern '*' does not compile"),
    "mark by half": ("rules:\n- change_only_on: punct", "2: change_only_on: unknown mark 'punct'; did you mean "),
    "negative weight": ("rules:\n- present: a\n  weight: -1", "3: present: weight: should be greater than 0"),
    "weight in words": (
        "rules:\n- present: a\n  weight: strong",
        "3: present: weight: should be a number or 'hard', found 'strong'",
    ),
    "short order": ("rules:\n- order: a", "2: order: should have at least 2 entries, found 'a'"),
    "place in a list": ("rules:\n- words:\n  - cup\n  - ' '\n  are: a", "4: words: a word is empty"),
    "place in a mapping": ("rules:\n- count:\n    a: 1\n    b: x", "4: count: b: should be a number, found 'x'"),
    "half a range": ("rules:\n- proportion:\n    a: [0.5]", "3: proportion: a range has two ends"),
    "several mistakes": (
        "rules:\n- presnt: a\n- present: b\n- present: a\n  weight: 0\n- order: a",
        "2: there is no rule 'presnt'; did you mean 'present'? (further errors in line 5, 6)",
    ),
    "large proportion": ("rules:\n- proportion: {a: 1.5}", "2: proportion: a: should be less than or equal to 1"),
    "large sum": ("rules:\n- proportion: {a: 0.6, b: 0.6}", "2: proportion: the proportions add up to 120%"),
    "empty range": ("rules:\n- proportion: {a: [0.5, 0.2]}", "2: proportion: the range [0.5, 0.2] is empty"),
    "no such level": ("rules:\n- present: a\n  level: corpus", "2: present: this rule cannot have the level corpus"),
    "no labels for words": ("rules:\n- words: w", "2: words: give the labels with either `are` or `are_not`"),
    "missing value": ("rules:\n- words: w\n  are:", "3: words: are: expected a text, found nothing"),
    "list as a key": ("rules:\n- ? [a]\n  : b", "2: before a colon: expected a text"),
    "Python object": ("rules:\n- !!python/object/apply:os.system [ls]", "2: the tag tag:yaml.org,2002:python/object/"),
    "anchor": ("rules:\n- present: &x a", "2: anchors and aliases are not allowed"),
    "word like an alias": ("rules:\n- words: [$, *MONEY*]", "2: not YAML: while scanning an alias"),
    "deep": ("rules:\n- " + "[" * 100_000, "2: nested more than 8 levels deep"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    text, message = BAD[case]
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as found:
        Rules.from_file(path)
    assert str(found.value).startswith(f"{path}:{message}")
    assert len(str(found.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('rules:\n- words: ["\\UFFFFFFFF"]\n  are: a\n', "2: not YAML"),
        ('rules:\n- words: ["\\U00110000"]\n  are: a\n', "2: not YAML"),
        (f"%YAML 1.{'1' * 5000}\n---\nrules: []\n", "1: not YAML"),
        ('rules:\n- words: ["\\uD800"]\n  are: a\n', "2: not YAML: .*invalid Unicode"),
        (f"rules:\n- pattern: '{'(' * 3000 + ')' * 3000}'\n  are: a\n", "2: .* nested too deeply"),
        ("rules:\n- pattern: 'a(?R)'\n  are: a\n", "2: .* calls itself or a group"),
        ("rules:\n- count: {a: 1e300}\n", "2: count: a: should be less than or equal to 1000000"),
        ("rules:\n- count: {a: 1e18}\n", "2: count: a: should be less than or equal to 1000000"),
        (f"rules:\n- words: ['{'x y' * 90_000}']\n  are: a\n  case: lower", "4: words: case: should be "),
    ],
    ids=range(9),
)
def test_what_python_itself_would_stumble_over(tmp_path, content, message):
    path = tmp_path / "rules.yaml"
    path.write_text(content)
    with pytest.raises(DataError, match=f"^{path}:{message}") as caught:
        Rules.from_file(path)
    assert len(str(caught.value)) < len(str(path)) + 250


def test_labels_that_the_data_does_not_have_are_told_with_the_place_of_the_rule(tmp_path):
    (tmp_path / "r.yaml").write_text("rules:\n- present: title\n\n- starts_with: autor\n")
    rules = Rules.from_file(tmp_path / "r.yaml")
    told = f"^{tmp_path / 'r.yaml'}:4: rule 'starts with autor': unknown label 'autor'; did you"
    for found in (rules, rules.softened(1.0)):
        with pytest.raises(ParameterError, match=told):
            found.all_labels(["author", "title"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file is empty"),
        (b"# nothing\n\n", ": the file is empty"),
        ("rules:\n- words: Gödel\n".encode("latin-1"), ":2: not UTF-8 text"),
        (b"#" * (LONGEST + 1), f": more than {LONGEST} bytes"),
    ],
    ids=["empty", "only a comment", "another encoding", "too long"],
)
def test_bad_bytes(tmp_path, content, message):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(DataError) as found:
        Rules.from_file(path)
    assert str(found.value).startswith(f"{path}{message}")


def test_files_that_cannot_be_read(tmp_path):
    names = "semistruct comes with apartments, apartments-daso, "
    with pytest.raises(DataError, match=f"there is no rules file nonesuch; {names}"):
        Rules.from_file("nonesuch")
    with pytest.raises(DataError, match=f"there is no rules file .*none.yaml; {names}"):
        Rules.from_file(tmp_path / "none.yaml")
    with pytest.raises(DataError, match="cannot read: is a directory"):
        Rules.from_file(tmp_path)


# ---- those that come with semistruct


@pytest.mark.parametrize("name", shipped())
def test_shipped_files_load_and_do_not_contradict_themselves(name):
    rules = Rules.from_file(name)
    assert len(rules) >= 10
    assert rules.labels is not None
    texts = [rule.text for rule in rules.rules]
    assert len(set(texts)) == len(texts)
    assert "#" in (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")


def test_a_file_in_the_working_directory_goes_before_a_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = Rules.from_file("citations")
    (tmp_path / "citations").mkdir()
    assert Rules.from_file("citations") == there
    (tmp_path / "citations").rmdir()
    (tmp_path / "citations").write_text("rules: []")
    assert Rules.from_file("citations") == Rules([])


@pytest.mark.parametrize(
    ("name", "corpus"), [("citations", "citations"), ("citations-daso", "citations"), ("headers", "headers")]
)
def test_shipped_rules_are_true(name, corpus):
    path = DATA / corpus / "train.tsv"
    if not path.exists():
        pytest.skip(f"no corpus at {path}; set SEMISTRUCT_DATA")
    data, rules = read(path), Rules.from_file(name)
    found = check_rules(rules, data.tokens, data.labels, n_examples=0)
    assert set(rules.labels) == set(data.label_set)
    assert all(rule.applies >= 3 and rule.share >= 0.85 for rule in found.rules)
    assert found.obeying >= 0.6 * found.sequences
    assert found.contradictions == []
    if name == "citations-daso":
        shares = {measure.text: measure for measure in found.rules[-1].measures}
        assert len(shares) == len(rules.labels)
        assert all(abs(measure.value - measure.low) <= 0.0005 for measure in shares.values())


# rules as values -------------------------------------------------------------------------------------------


def test_every_word_of_the_vocabulary_is_tried():
    assert {next(iter(rule)) for rule in EVERY_KIND} == set(VOCABULARY) - {"differ", "agree"}


@pytest.mark.parametrize("rule", [built(rule) for rule in EVERY_KIND], ids=lambda rule: rule.says)
def test_rules_are_frozen_and_say_what_they_are(rule):
    with pytest.raises(ValidationError, match="frozen"):
        rule.weight = 3.0
    with pytest.raises(ValidationError, match="frozen"):
        setattr(rule, rule.key, getattr(rule, rule.key))
    assert rule.text == rule.says + (f" if {rule.if_.says}" if rule.if_ else "") != ""
    named = built({rule.key: getattr(rule, rule.key), **rule.model_dump(exclude_none=True), "name": "mine"})
    assert named.text == "mine"
    assert named != rule


@given(some_rules(("a", "b", "c")))
def test_copies_are_equal(rule):
    for twin in (
        copy.deepcopy(rule),
        pickle.loads(pickle.dumps(rule)),
        built({rule.key: None, **rule.model_dump(exclude_none=True)}),
    ):
        assert twin == rule
        assert Rules([twin]) == Rules([rule])


def test_equal_rules():
    assert StartsWith("a") == StartsWith(["a"]) == StartsWith(starts_with=("a",), weight=1000)
    assert StartsWith("a") != StartsWith("b")
    assert StartsWith("a") != EndsWith("a")
    assert StartsWith("a") != StartsWith("a", weight=1)
    assert len({StartsWith("a"), StartsWith(["a"]), StartsWith("b"), Words("x", are="a"), Words("x", are="a")}) == 3
    assert Rules([StartsWith("a")]) != Rules([StartsWith("a")], labels=["a"])
    assert Rules([StartsWith("a")]) == Rules([StartsWith(["a"])])


def test_a_set_of_rules_is_a_collection_that_reads_well():
    rules = [StartsWith("a", weight="hard"), AtMostOnce(), Words("x", are="b", weight=3, name="x is b")]
    found = Rules(rules)
    assert list(found) == rules
    assert len(found) == 3
    assert str(found).splitlines() == [
        "starts with a (weight hard)", "each label at most once (weight open)", "x is b (weight 3)",
    ]  # fmt: skip
    assert str(Rules([])) == ""


def test_an_open_weight_does_not_look_like_a_given_one():
    left, given = StartsWith("a"), StartsWith("a", weight=1000)
    assert (repr(left), left.shown_weight) == ("StartsWith(starts_with=('a',))", "open")
    assert (repr(given), given.shown_weight) == ("StartsWith(weight=1000.0, starts_with=('a',))", 1000.0)
    assert left.cost == given.cost == 1000.0
    for rule in (left, given, StartsWith("a", weight="hard")):
        assert eval(repr(rule)).shown_weight == rule.shown_weight
