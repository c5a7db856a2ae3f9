"""Answers accepted by a promise, on the command line; and what `evaluate` says of probabilities."""

import json
import os

import pytest

from semistruct import SSVM, Rules, make_citations, read
from semistruct.cli import main
from semistruct.cli.trusting import Split, is_sure, only_sure
from semistruct.corpus import Example
from semistruct.formats import write
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


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as done:
        main([*map(str, args)])
    out = capsys.readouterr()
    assert done.value.code == code, out.err
    return out


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "txt"])
def test_sequences_are_split(files, model, capsys, ending):
    options = ["--to", "jsonl"] if ending == "jsonl" else []
    err = run(
        capsys, "predict", "m", "new.tsv", "--accept", 0.7, "-o", f"s.{ending}", "--rest", f"c.{ending}", *options
    ).err
    found = model.accept(NEW.tokens, 0.7, rules=True)
    for path, wanted in ((f"s.{ending}", True), (f"c.{ending}", False)):
        which = [i for i, sure in enumerate(found.sure) if sure == wanted]
        assert [e.tokens for e in read(path)] == [NEW.tokens[i] for i in which]
        assert [e.labels for e in read(path)] == [found.labels[i] for i in which]
    assert f"accepted {sum(found.sure)} of 30 sequences; of the sequences accepted, at most 30% are wrong" in err
    assert "with 95% confidence (from 80 held-out sequences" in err


def test_fields_are_split(files, model, capsys):
    run(capsys, "predict", "m", "new.tsv", "--accept", 0.9, "--accept-by", "field", "-o", "s.tsv", "--rest", "c.tsv")
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
    assert list(split.sure_ones(iter([(example, [])]), os.devnull, format="tsv")) == []


def test_jsonl_marks_what_is_sure(files, model, capsys):
    out = run(capsys, "predict", "m", "new.txt", "--accept", 0.5, "--to", "jsonl").out
    assert {type(json.loads(line)["sure"]) for line in out.splitlines()} == {bool}
    out = run(capsys, "predict", "m", "new.txt", "--accept", 0.8, "--accept-by", "field", "--to", "jsonl").out
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
    (["--accept", "0.5", "--rest", "c", "--accept-by", "word"], "must be 'sequence' or 'field'"),
    (["--accept", "0.5", "--rest", "c", "--corpus-rules"], "--accept cannot go with --corpus-rules"),
    (["--accept", "0.5", "--rest", "c", "-r", "citations"], "not under other rules"),
    (["--accept", "0.99", "--rest", "c"], "too few labels to promise anything: it takes at least 299 held-out"),
])  # fmt: skip
def test_what_cannot_be_accepted(files, capsys, options, problem):
    before = sorted(path.name for path in files.iterdir())
    err = run(capsys, "predict", "m", "new.tsv", *options, code=2).err
    assert problem in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_model_without_calibration(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = SSVM(C=0.5)
    model.fit(TRAIN.tokens, TRAIN.labels).leave_uncalibrated().save("m")
    write(NEW, "new.tsv", "tsv")
    told = run(capsys, "predict", "m", "new.tsv", "--accept", "0.9", "--rest", "c", code=2).err
    assert "too few labels to promise anything" in told
    assert "there are none" in told
    assert "calibration" not in run(capsys, "evaluate", "m", "new.tsv").out


def test_bad_input_leaves_neither_file(files, capsys):
    (files / "bad.tsv").write_text((files / "new.tsv").read_text() + "a\tb\tc\n")
    run(capsys, "predict", "m", "bad.tsv", "--accept", 0.5, "-o", "s", "--rest", "c", code=2)
    assert not (files / "s").exists()
    assert not (files / "c").exists()


def test_an_interruption_while_the_rest_is_written_leaves_neither_file(files, capsys, monkeypatch):
    from semistruct.cli import trusting

    def interrupted(examples, path, **_):
        next(iter(examples))
        raise KeyboardInterrupt

    monkeypatch.setattr(trusting, "write", interrupted)
    run(capsys, "predict", "m", "new.tsv", "--accept", 0.7, "-o", "s", "--rest", "c", code=130)
    assert sorted(path.name for path in files.iterdir()) == ["m", "new.tsv", "new.txt"]


def test_evaluate_tells_how_far_probabilities_are_right(files, capsys):
    result = json.loads(run(capsys, "evaluate", "m", "new.tsv", "--json").out)
    found = result["calibration"]
    assert list(found) == ["token", "block", "sequence"]
    assert found["sequence"]["n"] == 30
    assert found["sequence"]["coverage"][-1]["right"] == pytest.approx(result["sequence_accuracy"])
    assert found["token"]["coverage"][-1]["right"] == pytest.approx(result["token_accuracy"])
    assert 0 <= found["token"]["error"] <= 1
    out = run(capsys, "evaluate", "m", "new.tsv", "--html", "e.html").out
    assert "calibration error in points:" in out
    assert "of sequences are" in out
    page = (files / "e.html").read_text()
    assert page.count("<svg") == 3
    assert "How sure, and how right" in page
