"""Words of rules: phrases, patterns in a row, lists from files and lists with names."""

import json

import numpy as np
import pytest

from rule_strategies import Tally
from semistruct import SSVM, load
from semistruct.base.errors import DataError, ParameterError
from semistruct.rules import AllExcept, Pattern, Rules, StartsWith, Words, read_words
from semistruct.rules.lists import LONGEST, shipped_lists

LABELS = ("a", "b")


def counted(rule, text, y):
    """How often a rule is broken by labels, by what it says and by the kernels."""
    tokens, (term,) = text.split(), rule.terms(LABELS)
    found = len(term.event.places(tokens, list(y)))
    codes = np.array([LABELS.index(label) for label in y], np.int16)
    assert Tally(Rules([rule]).compile([tokens], LABELS), codes).counts[0, 0] == found
    return found


@pytest.mark.parametrize(
    ("rule", "text", "y", "wrong"),
    [
        (Words("new york", are="a"), "In New York , York New", "bbabbb", 1),
        (Words("new york", are="a"), "new new york york", "bbbb", 2),
        (Words("New york", are="a"), "new york New YORK", "bbbb", 2),
        (Words(["new york", "york"], are="a"), "york new york", "bbb", 3),
        (Words("St. Louis", are="a"), "St. Louis St . Louis", "bbbbb", 5),
        (Words("a b a", are="a"), "a b a b a", "bbbbb", 5),
        (Words("x " * 5000, are="a"), "x x x", "bbb", 0),
        (Words("pp", are="a", case="exact"), "pp PP", "bb", 1),
        (Words("PP", are="a", case="any"), "pp PP pP", "bbb", 3),
        (Words("pp", are="a", punctuation="ignore"), "(pp. pp .pp, p.p", "bbbb", 3),
        (Words("pp.", are="a", punctuation="ignore"), "pp", "b", 1),
        (Words(",", are="a", punctuation="ignore"), ", ;", "bb", 1),
        (Words("st louis", are="a", punctuation="ignore"), "(St. Louis).", "bb", 2),
        (Pattern([r"\d+", "[A-Z].*"], are="a"), "12 Oak 13 oak", "bbbb", 2),
        (Pattern([r"\d+", "oak"], are="a", case="any"), "12 Oak 13 oak", "bbbb", 4),
        (Pattern("[a-z]+", are="a", punctuation="ignore"), "(ab) (AB)", "bb", 1),
        (Words("x", are="a", place="first"), "x x", "bb", 1),
        (Words("x y", are="a", place="last"), "x y x y", "bbbb", 2),
        (Words("x", are="a", before=r"\d", within=2), "1 y x x", "bbbb", 1),
        (Words("x y", are="a", after=r"\d", within=2), "x y z 1", "bbbb", 2),
        (Words("x", are=AllExcept("b")), "x x", "ab", 1),
        (Words("x", are_not={"all_except": ["b"]}), "x x", "ab", 1),
    ],
)  # fmt: skip
def test_what_words_find(rule, text, y, wrong):
    assert counted(rule, text, y) == wrong


def test_runs_do_not_reach_into_other_sequences():
    rules = Rules([Words("x y", are="a"), Pattern(["x", "y"], are="a"), Words("y", are="a", before="x", within=5)])
    tables = rules.compile([["x"], ["y"]], LABELS)
    assert Tally(tables, np.ones(2, np.int16)).counts.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_all_except_is_read_and_written():
    rules = Rules.from_text(
        "labels: [a, b]\nrules:\n- starts_with: {all_except: b}\n- {min_length: 2, labels: {all_except: [a]}}"
    )
    assert rules.rules[0] == StartsWith(AllExcept(["b"])) == StartsWith({"all_except": "b"})
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert str(rules).splitlines()[0] == "starts with any label except b (weight open)"
    with pytest.raises(ParameterError, match=r"starts_with: expected labels, or `all_except:` and labels"):
        StartsWith({"all": ["b"]})
    with pytest.raises(ParameterError, match="unknown label 'c'"):
        Rules([StartsWith(AllExcept("c"))], LABELS)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"words": " "}, "a word is empty"),
        ({"words": "x", "within": 2}, "`within` says how far"),
        ({"words": "x", "within": 0, "before": "y"}, "within.*greater than or equal to 1"),
        ({"words": "x", "place": "middle"}, "place.*'middle'"),
        ({"words": "x", "case": "lower"}, "case.*'lower'"),
    ],
)
def test_what_is_refused(fields, problem):
    with pytest.raises(ParameterError, match=f"^words: .*{problem}"):
        Words(**fields, are="a")


def test_patterns_that_do_not_compile_are_named():
    with pytest.raises(ParameterError, match=r"the pattern '\(' does not compile"):
        Pattern(["x", "("], are="a")
    with pytest.raises(ParameterError, match="at least 1"):
        Pattern([], are="a")
    with pytest.raises(ParameterError, match="does not compile"):
        Pattern("(?x) a # what follows is a comment", are="a", case="any")


# lists -----------------------------------------------------------------------------------------------------


def written(folder, text, **files):
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content, encoding="utf-8")
    (folder / "rules.yaml").write_text(text, encoding="utf-8")
    return folder / "rules.yaml"


def test_lists_of_words(tmp_path):
    text = """
lists:
  all: [{list: cities}, {list: months}, x]
  cities: {file: sub/../cities.txt}
  months: [may, june]
rules:
  - {words: {list: all}, are: a}
  - {words: [y, {file: cities.txt}, {list: months}], are: b, if: {words: {list: months}}}
"""
    (tmp_path / "sub").mkdir()
    path = written(tmp_path, text, cities="\ufeff# cities\n\nNew York\n  Rome \nRome\n")
    first, second = Rules.from_file(path)
    assert first.words == ("New York", "Rome", "may", "june", "x")
    assert second.words == ("y", "New York", "Rome", "may", "june")
    assert second.if_.words == ("may", "june")
    assert read_words(tmp_path / "cities.txt") == ["New York", "Rome"]


@pytest.mark.parametrize("name", shipped_lists())
def test_shipped_lists_are_found_by_their_names(name):
    (rule,) = Rules.from_text(f"rules:\n- {{words: {{list: {name}}}, are: a}}")
    assert len(rule.words) > 10
    assert len(rule.words) == len({word.lower() for word in rule.words})


def test_a_list_of_ones_own_goes_before_a_shipped_one():
    text = "lists: {months: [nivose, pluviose]}\nrules:\n- {words: [{list: months}, {list: places}], are: a}"
    (rule,) = Rules.from_text(text)
    assert rule.words[:2] == ("nivose", "pluviose")
    assert "New York" in rule.words
    assert "january" not in rule.words


BAD = {
    "missing": ("rules:\n- are: a\n  words: {file: no.txt}", "3: there is no file FOLDER/no.txt"),
    "empty": ("rules:\n- words:\n  - {file: empty.txt}\n  are: a", "3: FOLDER/empty.txt: no words, expected one"),
    "a folder": ("rules:\n- {words: {file: .}, are: a}", "2: FOLDER: not a regular file"),
    "odd bytes": ("rules:\n- {words: {file: odd.txt}, are: a}", "2: FOLDER/odd.txt:2: not UTF-8 text"),
    "no list": ("lists: {cities: [x]}\nrules:\n- {words: {list: citys}, are: a}", "3: there is no list 'citys'; did"),
    "itself": ("lists:\n  a: [x, {list: a}]\nrules: []", "2: the list 'a' contains itself (a, a)"),
    "circle": ("lists:\n  a: {list: b}\n  b: [{list: a}]\nrules: []", "3: the list 'a' contains itself (a, b, a)"),
    "unused": ("lists:\n  a: {file: no.txt}\nrules: []", "2: there is no file"),
    "no mapping": ("lists: [a]\nrules: []", "1: lists: expected names and lists"),
    "nested": ("lists:\n  a: [[x]]\nrules: []", "2: lists: a: expected a text, found a list"),
    "odd entry": ("rules:\n- {words: {files: x}, are: a}", "2: words: expected words, `file:` and a path, or `list:`"),
    "empty words": ("lists: {a: []}\nrules:\n- {words: {list: a}, are: a}", "3: words: should have at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_lists(tmp_path, case):
    text, message = BAD[case]
    (tmp_path / "odd.txt").write_bytes(b"x\n\xff\n")
    path = written(tmp_path, text, empty="\n# nothing\n")
    with pytest.raises(DataError) as found:
        Rules.from_file(path)
    assert str(found.value).startswith(f"{path}:{message.replace('FOLDER', str(tmp_path))}")
    assert len(str(found.value).splitlines()) == 1


def test_lists_that_double_do_not_explode():
    doubled = "".join(f"  l{i}: [{{list: l{i - 1}}}, {{list: l{i - 1}}}]\n" for i in range(1, 60))
    (rule,) = Rules.from_text(f"lists:\n  l0: [x]\n{doubled}rules:\n- {{words: {{list: l59}}, are: a}}\n")
    assert rule.words == ("x",)


def test_a_file_that_is_too_long(tmp_path):
    with open(tmp_path / "long.txt", "wb") as file:
        file.truncate(LONGEST + 1)
    with pytest.raises(DataError, match="too long for a list of words"):
        read_words(tmp_path / "long.txt")


def test_many_words(tmp_path):
    """They are read, said in short, applied and saved; a model needs the file no longer."""
    words = [f"w{i}" for i in range(50_000)] + [f"w{i} x{i}" for i in range(50_000)]
    path = written(tmp_path, "rules:\n- {words: {file: w.txt}, are: a, weight: hard}", w="\n".join(words))
    rules = Rules.from_file(path)
    assert len(str(rules)) < 300
    X, y = [["w1", "y"], ["w7", "x7", "y"]], [["a", "b"], ["b", "a", "b"]]
    model = SSVM(features=["word"], rules=rules).fit(X, y)
    model.save(tmp_path / "model")
    (tmp_path / "w.txt").unlink()
    again = load(tmp_path / "model")
    assert again.predict([["w9", "x9", "x8"]], rules=True)[0][:2] == ["a", "a"]
