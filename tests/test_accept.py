"""Answers accepted by a promise, on the command line; and what `evaluate` says of probabilities."""

import json
import os

import pytest

from semistruct import SSVM, Rules, make_citations, read
from semistruct.app.cli import predicting
from semistruct.app.cli.predicting import Split, is_sure, only_sure
from semistruct.data.corpus import Example
from semistruct.data.formats import write
from semistruct.rules import AtMostOnce, StartsWith

TRAIN, DEV, NEW = make_citations(60), make_citations(80, seed=3), make_citations(30, seed=4)


@pytest.fixture(scope="module")
def model():
    rules = Rules([StartsWith("author"), AtMostOnce()])
    return SSVM(rules=rules, C=0.5).fit(TRAIN.tokens, TRAIN.labels, dev=(DEV.tokens, DEV.labels))


@pytest.fixture
def files(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("m")
    write(NEW, "new.tsv", "tsv")
    write(NEW, "new.txt", "text")
    return tmp_path


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "txt"])
def test_sequences_are_split(files, model, run, ending):
    options = ["--to", "jsonl"] if ending == "jsonl" else []
    err = run("predict", "m", "new.tsv", "--accept", 0.7, "-o", f"s.{ending}", "--rest", f"c.{ending}", *options)[2]
    found = model.accept(NEW.tokens, 0.7, rules=True)
    for path, wanted in ((f"s.{ending}", True), (f"c.{ending}", False)):
        which = [i for i, sure in enumerate(found.sure) if sure == wanted]
        assert [e.tokens for e in read(path)] == [NEW.tokens[i] for i in which]
        assert [e.labels for e in read(path)] == [found.labels[i] for i in which]
    assert f"accepted {sum(found.sure)} of 30 sequences; of the sequences accepted, at most 30% are wrong" in err
    assert "with 95% confidence (from 80 held-out sequences" in err


def test_fields_are_split(files, model, run):
    run("predict", "m", "new.tsv", "--accept", 0.9, "--accept-by", "field", "-o", "s.tsv", "--rest", "c.tsv")
    found = model.accept(NEW.tokens, 0.9, by="field", rules=True)
    sure, rest = read("s.tsv"), read("c.tsv")
    unsure = [i for i, row in enumerate(found.sure) if not all(row)]
    assert unsure
    assert [e.labels for e in rest] == [found.labels[i] for i in unsure]
    some = [i for i, row in enumerate(found.sure) if any(row)]
    for i, example in zip(some, sure, strict=True):
        assert (None in example.labels) == (i in unsure)
        assert all(y is None or y == z for y, z in zip(example.labels, found.labels[i], strict=True))


def test_a_sequence_without_a_field_is_to_be_checked():
    example = Example(["a", "b"], ["O", "O"])
    assert not is_sure([])
    assert only_sure(example, [], "bio") is None
    split = Split("field", "bio")
    assert list(split.sure_ones([(example, (example.labels, []))], os.devnull, format="tsv")) == []


def test_jsonl_marks_what_is_sure(files, model, run):
    out = run("predict", "m", "new.txt", "--accept", 0.5, "--to", "jsonl")[1]
    assert {type(json.loads(line)["sure"]) for line in out.splitlines()} == {bool}
    out = run("predict", "m", "new.txt", "--accept", 0.8, "--accept-by", "field", "--to", "jsonl")[1]
    for record in map(json.loads, out.splitlines()):
        assert len(record["sure"]) == len(record["spans"])


@pytest.mark.parametrize(("options", "problem"), [
    (["--rest", "c"], "--rest needs --accept"),
    (["--accept-by", "field"], "--accept-by needs --accept"),
    (["--accept", "0.5"], "--accept needs --rest"),
    (["--accept", "1", "--rest", "c"], "expected a number between 0 and 1"),
    (["--accept", "0", "--rest", "c"], "expected a number between 0 and 1"),
    (["--accept", "nan", "--rest", "c"], "expected a number between 0 and 1"),
    (["--accept", "0.5", "--rest", "c", "-o", "./c"], "name the same file"),
    (["--accept", "0.5", "--rest", "new.tsv"], "is also an input"),
    (["--accept", "0.5", "--rest", "c", "-r", "citations"], "not under other rules"),
    (["--accept", "0.99", "--rest", "c"], "too few labels to promise anything: it takes at least 299 held-out"),
])  # fmt: skip
def test_what_cannot_be_accepted(files, rejected, options, problem):
    before = sorted(path.name for path in files.iterdir())
    err = rejected("predict", "m", "new.tsv", *options)
    assert problem in err
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_model_without_calibration(tmp_path, monkeypatch, run, rejected):
    monkeypatch.chdir(tmp_path)
    model = SSVM(C=0.5)
    model.fit(TRAIN.tokens, TRAIN.labels).leave_uncalibrated().save("m")
    write(NEW, "new.tsv", "tsv")
    told = rejected("predict", "m", "new.tsv", "--accept", "0.9", "--rest", "c")
    assert "too few labels to promise anything" in told
    assert "there are none" in told
    assert "calibration" not in run("evaluate", "m", "new.tsv")[1]


def test_bad_input_leaves_neither_file(files, rejected):
    (files / "bad.tsv").write_text((files / "new.tsv").read_text() + "a\tb\tc\n")
    rejected("predict", "m", "bad.tsv", "--accept", 0.5, "-o", "s", "--rest", "c")
    assert not (files / "s").exists()
    assert not (files / "c").exists()


def test_an_interruption_while_the_rest_is_written_leaves_neither_file(files, run, monkeypatch):
    def interrupted(examples, path, *args, **how):
        if path == "s":
            return write(examples, path, *args, **how)
        next(iter(examples))
        raise KeyboardInterrupt

    monkeypatch.setattr(predicting, "write", interrupted)
    assert run("predict", "m", "new.tsv", "--accept", 0.7, "-o", "s", "--rest", "c")[0] == 130
    assert sorted(path.name for path in files.iterdir()) == ["m", "new.tsv", "new.txt"]


def test_evaluate_tells_how_far_probabilities_are_right(files, run):
    result = json.loads(run("evaluate", "m", "new.tsv", "--json")[1])
    found = result["calibration"]
    assert list(found) == ["token", "block", "sequence"]
    assert found["sequence"]["n"] == 30
    assert found["sequence"]["coverage"][-1]["right"] == pytest.approx(result["sequence_accuracy"])
    assert found["token"]["coverage"][-1]["right"] == pytest.approx(result["token_accuracy"])
    assert 0 <= found["token"]["error"] <= 1
    out = run("evaluate", "m", "new.tsv", "--html", "e.html")[1]
    assert "calibration error in points:" in out
    assert "of sequences are" in out
    page = (files / "e.html").read_text()
    assert page.count("<svg") == 3
    assert "How sure, and how right" in page
