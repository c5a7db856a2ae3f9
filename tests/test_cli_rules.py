"""`semistruct rules`, called in process."""

import json
import re
from pathlib import Path

import pytest

from semistruct import make_citations, read, write
from semistruct.rules import Rules
from semistruct.rules.checking import check_rules
from semistruct.rules.files import shipped

RULES = """labels: [a, b, c]
rules:
  - starts_with: a
  - words: [pp]
    are: b
    weight: hard
  - words: [pp, xx]
    are: c
  - proportion: {a: [0.9, null], b: 0.1}
  - order: [b, c]
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    rows = [{"tokens": ["A", ",", "pp"], "labels": ["a", "a", "b"]}]
    rows += [{"tokens": ["B", "xx", "pp"], "labels": ["a", "c", "c"]}, {"tokens": ["C", "pp"], "labels": ["a", None]}]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_rules_in_words(good, home):
    out = good("rules", home / "rules.yaml")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:4] == [
        "labels: a, b, c",
        "rule level weight",
        "1 starts with a instance open",
        "2 pp is b instance hard",
    ]
    assert "4 at least 90% a and 10% b corpus open" in lines


def test_rules_as_json(good, home):
    result = json.loads(good("rules", home / "rules.yaml", "--json"))
    rules = Rules.from_file(home / "rules.yaml")
    plain = {"labels": result["labels"], "rules": [row["rule"] for row in result["rules"]]}
    assert Rules.from_dict(plain) == rules
    assert plain == rules.to_dict()
    assert [row["text"] for row in result["rules"]] == [rule.text for rule in rules.rules]
    assert result["contradictions"] == []


@pytest.mark.parametrize("name", shipped())
def test_shipped_rules_by_name(good, name):
    assert f" {Rules.from_file(name).rules[0].text} " in good("rules", name)
    assert re.search(rf" {name}[,.] ", " ".join(good("rules", "--help").split()))


def test_rules_on_data(good, home):
    out = good("rules", home / "rules.yaml", "--on", home / "data.jsonl")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "1 starts with a 2 of 2 100.0% true" in lines
    assert "2 pp is b 1 of 2 50.0% broken" in lines
    assert "3 pp or xx is c 2 of 3 66.7% true" in lines
    assert "5 order b, c 0 of 0 - unseen" in lines
    assert "broken: it is hard, but the labelled data does not always obey" in lines
    assert f"{home / 'data.jsonl'}:2, token 3: B/a xx/c »pp/c«" in lines
    assert "blocks" not in out
    assert "share of a: 0.5, wanted at least 0.9" in lines
    assert "share of b: 0.167, wanted 0.1" in lines
    assert "rules 2 and 3 contradict each other: no label is left for the token 'pp'" in lines
    assert "0 of 2 sequences obey all instance rules" in lines
    assert "sequences skipped because of unknown labels: 1" in lines


def test_rules_on_data_as_json(good, home):
    result = json.loads(good("rules", home / "rules.yaml", "--on", home / "data.jsonl", "--json"))
    corpus = read(home / "data.jsonl")
    rules = Rules.from_file(home / "rules.yaml")
    wanted = check_rules(rules, corpus.tokens, corpus.labels).to_dict()
    assert result["rules"][1]["examples"][0].pop("where") == f"{home / 'data.jsonl'}:2"
    assert result["rules"][2]["examples"][0].pop("where") == f"{home / 'data.jsonl'}:1"
    assert {key: result[key] for key in wanted} == wanted
    assert result["data"] == str(home / "data.jsonl")


def test_contradictions_without_data(good, tmp_path):
    (tmp_path / "r.yaml").write_text("rules:\n- min_length: 5\n- max_length: 4\n  labels: x\n")
    assert "rules 1 and 2 contradict each other: no block of x" in good("rules", tmp_path / "r.yaml")
    rules = "rules:\n- never_follows: {x: y}\n- never_follows: {x: z}\n"
    (tmp_path / "r.yaml").write_text(rules)
    result = json.loads(good("rules", tmp_path / "r.yaml", "--json"))
    assert (result["labels"], result["contradictions"]) == (None, [])  # there may be further labels
    (tmp_path / "r.yaml").write_text("labels: [x, y, z]\n" + rules)
    assert "contradict each other: there is no label left that x may follow" in good("rules", tmp_path / "r.yaml")


def test_synthetic_references_obey_the_rules_for_references(good, tmp_path):
    write(make_citations(100, seed=0), tmp_path / "x.tsv", "tsv")
    result = json.loads(good("rules", "citations", "--on", tmp_path / "x.tsv", "--json"))
    assert (result["sequences"], result["contradictions"]) == (100, [])
    assert all(rule["share"] is None or rule["share"] > 0.7 for rule in result["rules"])


def test_words_that_look_like_markup(good, tmp_path):
    (tmp_path / "r.yaml").write_text("rules:\n- words: ['[red]', '[/red]']\n  are: '[bold]'\n")
    (tmp_path / "x.tsv").write_text("[red]\t[bold]\n[/red]\t[/x]\n")
    out = good("rules", tmp_path / "r.yaml", "--on", tmp_path / "x.tsv")
    assert "[red]/[bold] »[/red]/[/x]«" in out
    assert "[red] or [/red] is [bold]" in out


def bad(home):
    rules, data = home / "rules.yaml", home / "data.jsonl"
    return {
        "missing rules": (["nonesuch"], "there is no rules file nonesuch; semistruct comes with apartments, "),
        "bad rules": ([home / "bad.yaml"], "bad.yaml:4: present: weight: should be greater than 0"),
        "bad rules on data": ([home / "bad.yaml", "--on", data], "bad.yaml:4: present: weight: "),
        "missing data": ([rules, "--on", home / "none.tsv"], "none.tsv: cannot read: no such file"),
        "no labels": ([rules, "--on", home / "text.txt"], "text.txt: no sequence is fully labelled"),
        "unknown label": ([home / "other.yaml", "--on", data], "other.yaml:2: rule 'starts with aa': unknown "),
        "label column": ([rules, "--on", data, "--label-column", "x"], "--label-column is 'x'"),
    }


@pytest.mark.parametrize("case", bad(Path("home")))
def test_bad_input(run, home, case):
    (home / "bad.yaml").write_text("rules:\n- present: a\n- present: b\n  weight: 0\n")
    (home / "other.yaml").write_text("rules:\n- starts_with: aa\n")
    (home / "text.txt").write_text("some words\n")
    args, message = bad(home)[case]
    code, out, err = run("rules", *args)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("semistruct: ")
    assert message in err


@pytest.mark.parametrize("args", [[], ["citations", "--none"]])
def test_wrong_usage(run, args):
    code, out, _ = run("rules", *args)
    assert (code, out) == (2, "")
