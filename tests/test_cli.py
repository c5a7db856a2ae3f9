"""The command line, called in process: the way from data to scores."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

from semistruct import SSVM, load, make_citations, read
from semistruct.app.cli import demo
from semistruct.app.cli.output import show_fit
from semistruct.base.progress import Progress
from semistruct.data import metrics

ON_TRAINING_DATA = pytest.mark.filterwarnings("ignore:.*the model was trained on this data")
FAST = ("-C", "0.5", "-p", "tol=0.1", "--quiet")


@pytest.fixture
def home(refs):
    return refs


def rich_text(out):
    """Words of help texts and tables, without frames and line breaks."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())


# ---- the way from data to scores


def test_made_data_is_the_generators(good, tmp_path):
    good("data", "make", "citations", "-n", 5, "--seed", 7, "-o", tmp_path / "x.tsv")
    made = make_citations(5, seed=7)
    assert read(tmp_path / "x.tsv").tokens == made.tokens
    assert read(tmp_path / "x.tsv").labels == made.labels
    assert good("data", "make", "citations", "-n", 5, "--seed", 7) == (tmp_path / "x.tsv").read_text(encoding="utf-8")


def test_training_reports(home, good, tmp_path):
    out = good("train", home / "train.tsv", "-o", tmp_path / "m", *FAST)
    result = json.loads(good("train", home / "train.tsv", "-o", tmp_path / "m", *FAST, "--json"))
    model, corpus = load(tmp_path / "m"), read(home / "train.tsv")
    assert f"learned {len(corpus.label_set)} labels from 15 sequences" in out
    assert (
        f"C = 0.5, relative duality gap {result['history'][-1]['gap'] / result['history'][-1]['objective']:.2%}" in out
    )
    assert f"(on the training data itself: {result['token_accuracy']['train']:.2%})" in out
    assert f"model written to {tmp_path / 'm'}\n" in out
    assert not re.search("rules|dev", out)
    assert (result["model"], result["C"], result["stop"]) == (str(tmp_path / "m"), 0.5, "converged")
    assert result["labels"] == corpus.label_set
    assert result["token_accuracy"] == {"train": model.score(corpus.tokens, corpus.labels)}
    assert result["data"] == {"file": str(home / "train.tsv"), "sequences": 15, "sha256": corpus.digest}
    assert result["features"] == model.model_.encoder.n_features
    assert model.card_["data"]["sha256"] == corpus.digest


def test_training_is_the_librarys(home):
    corpus = read(home / "train.tsv")
    by_hand = SSVM(C=0.5, tol=0.1).fit(corpus.tokens, corpus.labels)
    assert load(home / "refs.model").model_.weights.tokens.tobytes() == by_hand.model_.weights.tokens.tobytes()


def test_C_is_chosen_on_dev_data(good, home, tmp_path):
    args = ["train", home / "train.tsv", "-d", home / "test.tsv", "-o", tmp_path / "m", "-f", "lower", "-p", "tol=0.2"]
    result = json.loads(good(*args, "--json"))
    best = max(row["token_accuracy"] for row in result["search"])
    assert result["C"] == min(row["C"] for row in result["search"] if row["token_accuracy"] == best)
    held = read(home / "test.tsv")
    assert result["token_accuracy"]["dev"] == load(tmp_path / "m").score(held.tokens, held.labels)
    out = good(*args)
    assert out.count("on held-out data") == len(result["search"])
    assert "token accuracy on dev" in out


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_giving_up_is_told_in_one_line(run, home, tmp_path):
    args = ["-o", tmp_path / "m", "-C", 1, "-p", "tol=1e-9", "-p", "max_passes=1"]
    code, out, err = run("train", home / "train.tsv", *args)
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith("semistruct: warning: stopped after 1 passes")
    assert (tmp_path / "m").exists()
    assert "model written" in out


def test_evaluation(good, home):
    out = good("evaluate", home / "refs.model", home / "test.tsv")
    result = json.loads(good("evaluate", home / "refs.model", home / "test.tsv", "--json"))
    gold = read(home / "test.tsv")
    wanted = metrics.evaluate(gold.labels, load(home / "refs.model").predict(gold.tokens))
    assert {key: result[key] for key in wanted} == wanted
    assert {"token_accuracy", "sequence_accuracy", "per_label", "span_f1"} <= result.keys()
    assert result["data"] == str(home / "test.tsv")
    assert f"{wanted['token_accuracy']:.2%}" in out
    assert f"{wanted['span_f1']:.2%}" in out
    for label, row in wanted["per_label"].items():
        assert re.search(rf"^{label} .* {row['support']}$", out, re.MULTILINE)


@pytest.mark.parametrize("to", ["inline", "jsonl", "tsv"])
def test_predicted_text_in_every_format(good, home, tmp_path, to):
    target = tmp_path / "out"
    out = good("predict", home / "refs.model", home / "refs.txt", "--to", to)
    good("predict", home / "refs.model", home / "refs.txt", "--to", to, "-o", target)
    assert target.read_text(encoding="utf-8") == out
    wanted, found = read(home / "refs.txt"), read(target, format=to)
    assert found.tokens == wanted.tokens
    assert found.labels == load(home / "refs.model").predict(wanted.tokens)


def test_text_gets_tags_and_tokens_a_column(good, home):
    assert good("predict", home / "refs.model", home / "refs.txt").startswith("<")
    out = good("predict", home / "refs.model", home / "test.tsv")
    assert all(line.count("\t") == 1 for line in out.splitlines() if line)


@pytest.mark.parametrize("args", [(), ("-",)])
def test_predicting_standard_input(good, home, monkeypatch, args):
    content = (home / "refs.txt").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert good("predict", home / "refs.model", *args) == good("predict", home / "refs.model", home / "refs.txt")


def test_an_empty_standard_input_gives_an_empty_output(good, home, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert good("predict", home / "refs.model") == ""


@pytest.mark.parametrize(
    "args",
    [
        ["rules", "citations"],
        ["methods", "--json"],
        ["data", "make", "citations"],
        ["demo", "-o"],
        ["--help"],
        ["--version"],
    ],
)
def test_output_that_is_read_no_more_ends_a_command_quietly(args, tmp_path):
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "semistruct", *args, *([tmp_path / "demo"] if args[0] == "demo" else [])]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env=buffered, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    "args",
    [["predict", "refs.model", "test.tsv"], ["dump", "refs.model"], ["dump", "refs.model", "--json"], ["--help"]],
)
def test_a_full_output_is_told_in_one_sentence(home, args):
    with open("/dev/full", "w") as full:
        paths = [home / arg if (home / arg).is_file() else arg for arg in args]
        command = [sys.executable, "-m", "semistruct", *paths]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("semistruct: <stdout>: cannot write: no space left on device\n")
    assert "Traceback" not in done.stderr


@ON_TRAINING_DATA
def test_half_characters_are_shown_as_escapes_and_cannot_be_written(good, rejected, tmp_path):
    path = tmp_path / "half.jsonl"
    path.write_text(r'{"tokens": ["\ud800", "b"], "labels": ["\udc00", "y"]}')
    good("train", path, "-o", tmp_path / "m", "-C", 10)
    for args in (["dump", tmp_path / "m"], ["evaluate", tmp_path / "m", path]):
        assert r"\udc00" in good(*args)
        assert "\udc00" in json.dumps(json.loads(good(*args, "--json")), ensure_ascii=False)
    refused = rejected("predict", tmp_path / "m", path, "-o", tmp_path / "out", folder=tmp_path)
    assert "sequence 0: " in refused


def test_several_inputs_are_labelled_one_after_another(good, home):
    once = good("predict", home / "refs.model", home / "refs.txt")
    assert good("predict", home / "refs.model", home / "refs.txt", home / "refs.txt") == 2 * once


def test_more_sequences_than_are_labelled_at_a_time(good, home, monkeypatch):
    whole = good("predict", home / "refs.model", home / "test.tsv")
    monkeypatch.setattr("semistruct.app.cli.answers.CHUNK", 3)
    assert good("predict", home / "refs.model", home / "test.tsv") == whole


def test_predictions_in_another_scheme(good, home):
    out = good("predict", home / "refs.model", home / "test.tsv", "--scheme", "bio")
    labels = {line.split("\t")[1] for line in out.splitlines() if line}
    assert all(label == "O" or label[:2] in ("B-", "I-") for label in labels)


def test_what_is_inside_a_model(good, home):
    shown = json.loads(good("dump", home / "refs.model", "-k", 3, "--json"))
    model = load(home / "refs.model")
    assert shown["card"] == model.card_
    assert shown["params"] == model.get_params()
    assert {y: [tuple(row) for row in rows] for y, rows in shown["heaviest"].items()} == model.model_.heaviest(3)
    assert len(shown["steps"]) == 3
    out = good("dump", home / "refs.model", "-k", 3)
    for label, rows in shown["heaviest"].items():
        assert f"\n{label}\n" in out
        for name, weight in rows:
            assert f"{weight:+9.4f}  {name}" in out


@ON_TRAINING_DATA
def test_labels_that_look_like_markup_are_shown_as_they_are(good, tmp_path):
    (tmp_path / "x.tsv").write_text("[red]\t[bold]\n[/red]\t[/x]\n\n")
    model = tmp_path / "[red]"
    assert f"{model}\n" in good("train", tmp_path / "x.tsv", "-o", model, "-C", 1)
    for command in (["dump", model], ["evaluate", model, tmp_path / "x.tsv"]):
        out = good(*command)
        assert "[bold]" in out
        assert "[/x]" in out


def test_unknown_labels_can_be_counted_as_errors(good, home, tmp_path):
    (tmp_path / "new.tsv").write_text("A\tauthor\nB\tsurprise\n")
    result = json.loads(good("evaluate", home / "refs.model", tmp_path / "new.tsv", "--unseen-labels", "--json"))
    assert result["per_label"]["surprise"]["recall"] == 0


def test_demo(good, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "SIZES", (3, 6))
    monkeypatch.setattr(demo, "N_TEST", 20)
    monkeypatch.setattr(demo, "DRAWS", 1)
    monkeypatch.setattr(demo, "N_POOL", 10)
    out = good("demo", "-o", tmp_path / "new" / "demo")
    rows = re.findall(r"^(\d+) +(\d+\.\d)% +(\d+\.\d)% +(\d+\.\d)%", out, re.MULTILINE)
    assert [row[0] for row in rows] == ["3", "6"]
    assert (tmp_path / "new" / "demo" / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    model, test = load(tmp_path / "new" / "demo" / "citations.model"), make_citations(20, seed=1000)
    assert f"{100 * model.score(test.tokens, test.labels, rules=True):.1f}" == rows[-1][3]
    assert test.tokens[0][0] in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with show_fit(quiet=True) as watch:
        assert watch is None
    assert screen.getvalue() == ""
    with show_fit(quiet=False) as watch:
        watch(Progress("pass", 0, 0.0, 0.0, gap=0.0))
        watch(Progress("pass", 3, 2.0, 0.1, gap=0.5, details={"viterbi": 40}))
    assert "pass 3  objective 2  gap 25.00%" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with show_fit(quiet=False) as watch:
        assert watch is None


# ---- help

COMMANDS = ["train", "methods", "predict", "evaluate", "dump", "rules", "suggest", "pick", "curve", "demo", "data"]
COMMANDS = [[], *([name] for name in COMMANDS), *(["data", name] for name in ("list", "get", "make"))]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_gives_an_example(good, command):
    out = rich_text(good(*command, "--help"))
    assert f"Example: semistruct {' '.join(command)}".strip() in out


def test_version(good):
    from semistruct import __version__

    assert good("--version") == f"semistruct {__version__}\n"


def test_help_names_all_commands(good):
    out = rich_text(good("--help"))
    assert all(f" {command[0]} " in out for command in COMMANDS if command)
