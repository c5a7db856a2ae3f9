"""`semistruct suggest`, called in process."""

import json

import pytest

from semistruct import Corpus, make_citations, write
from semistruct.rules import Rules


@pytest.fixture
def home(tmp_path):
    write(make_citations(12, seed=1), tmp_path / "few.tsv", "tsv")
    write(make_citations(20, seed=2), tmp_path / "pool.txt", "text")
    return tmp_path


def test_a_rules_file_on_standard_output(good, home):
    out = good("suggest", home / "few.tsv", "-u", home / "pool.txt")
    rules = Rules.from_text(out)
    assert "each label at most once" in [rule.text for rule in rules]
    assert out.startswith(
        "# Rules suggested by 12 labelled sequences, and by what a model trained on them sees in a pool"
    )
    assert "  # Doubtful" in out


def test_a_rules_file_to_use(good, home):
    out = good("suggest", home / "few.tsv", "-u", home / "pool.txt", "-o", home / "rules.yaml")
    n = len(Rules.from_file(home / "rules.yaml"))
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "the pool was labelled by a model trained on the labelled sequences"
    assert lines[1].startswith("rule holds of at least pool broken gain")
    assert lines[-1].startswith(f"{n} rules and ")
    assert lines[-1].endswith(f"as comments, written to {home / 'rules.yaml'}")
    good("rules", home / "rules.yaml", "--on", home / "few.tsv")
    good("suggest", home / "few.tsv", "-r", home / "rules.yaml", "-o", home / "more.yaml")
    known, more = (set(map(str, Rules.from_file(home / name))) for name in ("rules.yaml", "more.yaml"))
    assert known.isdisjoint(more)


def test_json(good, home):
    result = json.loads(good("suggest", home / "few.tsv", "-u", home / "pool.txt", "--json"))
    assert (result["labelled"], result["pool"], result["trained"], result["output"]) == (12, 20, True, None)
    certain = [row["rule"] for row in result["suggestions"] if row["certain"]]
    text = good("suggest", home / "few.tsv", "-u", home / "pool.txt")
    assert Rules.from_dict({"labels": result["labels"], "rules": certain}) == Rules.from_text(text)


def test_one_sequence(good, home):
    write(Corpus(make_citations(1).examples), home / "one.tsv", "tsv")
    out = good("suggest", home / "one.tsv", "-u", home / "pool.txt")
    assert len(Rules.from_text(out)) == 0
    assert "rules: []" in out


def test_bad_input(run, home):
    few = home / "few.tsv"
    (home / "wrong.yaml").write_text("rules:\n  - present: nothing\n")
    (home / "empty.txt").write_text("")
    write(make_citations(3), home / "unlabelled.txt", "text")
    for arguments, sentence in [
        ([few, "-o", few], f"{few}: is also an input"),
        ([few, "-o", home / "no" / "rules.yaml"], "cannot write: no such folder"),
        ([home / "unlabelled.txt"], f"{home / 'unlabelled.txt'}: no sequence is fully labelled"),
        ([few, "-r", home / "wrong.yaml"], "unknown label 'nothing'"),
        ([few, "-u", home / "empty.txt"], f"{home / 'empty.txt'}"),
        ([few, "-r", few], "this is data, not rules"),
        ([home / "missing.tsv"], "cannot read"),
    ]:
        code, out, err = run("suggest", *arguments)
        assert (code, out) == (2, ""), arguments
        assert sentence in err, arguments
        assert len(err.splitlines()) == 1
    assert not (home / "rules.yaml").exists()
