"""The command line, called in process: the way from data to scores, and what it says about bad input."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from semistruct import SSVM, load, make_citations, metrics, read
from semistruct.cli import demo, main
from semistruct.cli.progress import watching
from semistruct.progress import Progress
from semistruct.rules import Rules

ON_TRAINING_DATA = pytest.mark.filterwarnings("ignore:.*the model was trained on this data")
FAST = ("-C", "0.5", "-p", "tol=0.1", "--quiet")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with train.tsv, test.tsv, refs.txt and a model trained on the first."""
    folder = tmp_path_factory.mktemp("home")
    for name, n, seed, to in [("train.tsv", 15, 1, "tsv"), ("test.tsv", 10, 2, "tsv"), ("refs.txt", 4, 3, "text")]:
        call(main, "data", "make", "citations", "-n", n, "--seed", seed, "--to", to, "-o", folder / name)
    call(main, "train", folder / "train.tsv", "-o", folder / "refs.model", *FAST, "--json")
    return folder


def call(command, *args):
    with pytest.raises(SystemExit) as done:
        command([str(arg) for arg in args])
    assert not done.value.code


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


def test_training_reports_in_words(good, home, tmp_path):
    out = good("train", home / "train.tsv", "-o", tmp_path / "m", *FAST)
    corpus = read(home / "train.tsv")
    assert f"learned {len(corpus.label_set)} labels from 15 sequences" in out
    assert "C = 0.5" in out
    assert re.search(r"training data itself: \d+\.\d\d%", out)
    assert "rules" not in out
    assert f"model written to {tmp_path / 'm'}\n" in out
    assert "dev" not in out


def test_training_reports_as_json(home, good, tmp_path):
    result = json.loads(good("train", home / "train.tsv", "-o", tmp_path / "m", *FAST, "--json"))
    model, corpus = load(tmp_path / "m"), read(home / "train.tsv")
    assert result["model"] == str(tmp_path / "m")
    assert result["C"] == 0.5
    assert result["stop"] == "converged"
    assert result["labels"] == corpus.label_set
    assert result["token_accuracy"] == {"train": model.score(corpus.tokens, corpus.labels)}
    assert result["data"] == {"file": str(home / "train.tsv"), "sequences": 15, "sha256": corpus.digest}
    assert result["features"] == model.model_.encoder.n_features
    assert result["history"][-1]["gap"] <= 0.1 * result["history"][-1]["objective"]
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


def test_without_dev_data_C_is_chosen_by_folds(good, home, tmp_path):
    result = json.loads(
        good("train", home / "train.tsv", "-o", tmp_path / "m", "-f", "lower", "-p", "tol=0.3", "--json")
    )
    assert len(result["search"]) > 1
    assert "dev" not in result["token_accuracy"]


def test_options_reach_the_estimator(good, home, tmp_path):
    options = [
        "-f",
        "word",
        "-f",
        "shape[-1..1]",
        "-p",
        "max_passes=300",
        "--seed",
        5,
        "--jobs",
        1,
        "-r",
        "citations",
    ]
    good("train", home / "train.tsv", "-o", tmp_path / "m", *FAST, *options)
    assert load(tmp_path / "m").get_params() == {
        "C": 0.5, "features": ["word", "shape[-1..1]"], "tol": 0.1, "max_passes": 300, "n_jobs": 1, "random_state": 5,
        "rules": Rules.from_file("citations"), "metric": "token",
    }  # fmt: skip


def test_one_label_is_enough(good, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tx\nb\tx\n\nc\tx\n")
    assert "learned 1 labels" in good("train", tmp_path / "x.tsv", "-o", tmp_path / "m", "-C", 1)


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_giving_up_is_told_in_one_line(run, home, tmp_path):
    args = ["-o", tmp_path / "m", "-C", 1, "-p", "tol=1e-9", "-p", "max_passes=1"]
    code, out, err = run("train", home / "train.tsv", *args)
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith("semistruct: warning: stopped after 1 passes")
    assert (tmp_path / "m").exists()
    assert "model written" in out


def test_evaluation_as_json(good, home):
    result = json.loads(good("evaluate", home / "refs.model", home / "test.tsv", "--json"))
    gold = read(home / "test.tsv")
    wanted = metrics.evaluate(gold.labels, load(home / "refs.model").predict(gold.tokens))
    assert {key: result[key] for key in wanted} == wanted
    assert {"token_accuracy", "sequence_accuracy", "per_label", "span_f1"} <= result.keys()
    assert all(row.keys() == {"precision", "recall", "f1", "support"} for row in result["per_label"].values())
    assert result["data"] == str(home / "test.tsv")


def test_evaluation_in_words(good, home):
    out = good("evaluate", home / "refs.model", home / "test.tsv")
    scores = json.loads(good("evaluate", home / "refs.model", home / "test.tsv", "--json"))
    assert f"{scores['token_accuracy']:.2%}" in out
    assert f"{scores['span_f1']:.2%}" in out
    for label, row in scores["per_label"].items():
        assert re.search(rf"^{label} .* {row['support']}$", out, re.MULTILINE)


@pytest.mark.parametrize("to", ["inline", "jsonl", "tsv", "conll"])
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
def test_half_characters_of_labels_are_shown_as_escapes(tmp_path, good):
    path = write(tmp_path, "half.jsonl", r'{"tokens": ["\ud800", "b"], "labels": ["\udc00", "y"]}')
    good("train", path, "-o", tmp_path / "m", "-C", 10)
    for args in (["dump", tmp_path / "m"], ["evaluate", tmp_path / "m", path]):
        assert r"\udc00" in good(*args)
        assert "\udc00" in json.dumps(json.loads(good(*args, "--json")), ensure_ascii=False)


def test_several_inputs_are_labelled_one_after_another(good, home):
    once = good("predict", home / "refs.model", home / "refs.txt")
    assert good("predict", home / "refs.model", home / "refs.txt", home / "refs.txt") == 2 * once


def test_more_sequences_than_are_labelled_at_a_time(good, home, monkeypatch):
    whole = good("predict", home / "refs.model", home / "test.tsv")
    monkeypatch.setattr("semistruct.cli.labelling.CHUNK", 3)
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


@ON_TRAINING_DATA
def test_half_characters_are_learned_but_cannot_be_written(good, rejected, tmp_path):
    path = write(tmp_path, "half.jsonl", r'{"tokens": ["\ud800", "b"], "labels": ["x", "y"]}')
    good("train", path, "-o", tmp_path / "m", "-C", 10)
    assert json.loads(good("evaluate", tmp_path / "m", path, "--json"))["token_accuracy"] == 1.0
    assert "sequence 0: " in rejected(tmp_path, "predict", tmp_path / "m", path, "-o", tmp_path / "out")


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
    with watching(quiet=True) as watch:
        assert watch is None
    assert screen.getvalue() == ""
    with watching(quiet=False) as watch:
        watch(Progress("pass", 0, 0.0, 0.0, gap=0.0))
        watch(Progress("pass", 3, 2.0, 0.1, gap=0.5, details={"viterbi": 40}))
    assert "pass 3  objective 2  gap 25.00%" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watching(quiet=False) as watch:
        assert watch is None


# ---- bad input


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def newer(home, folder):
    with zipfile.ZipFile(home / "refs.model") as old, zipfile.ZipFile(folder / "newer.model", "w") as new:
        about = json.loads(old.read("model.json")) | {"format": 99}
        new.writestr("model.json", json.dumps(about))
        new.writestr("weights.safetensors", old.read("weights.safetensors"))


BAD_FILES = {
    "empty file": ("bad.tsv", b"", "bad.tsv: "),
    "blank lines only": ("bad.tsv", b"\n \n", "bad.tsv: "),
    "ragged columns": ("bad.tsv", "a\tx\nb\tx\n\nc\tx\ty\n", "bad.tsv:4: 3 columns"),
    "wrong encoding": ("bad.tsv", "a\tx\nGödel\tx\n".encode("latin-1"), "bad.tsv:2: not UTF-8"),
    "binary file": ("bad.bin", bytes(range(256)), "bad.bin:"),
    "other bytes": ("bad.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "bad.png:"),
    "sequence of no tokens": ("bad.jsonl", '{"tokens": ["a"], "labels": ["x"]}\n{"tokens": []}\n', "bad.jsonl:2: "),
    "white-space token": ("bad.jsonl", '{"tokens": ["a", " "], "labels": ["x", "x"]}\n', "bad.jsonl:1: "),
    "white-space token in a column": ("bad.tsv", "a\tx\n \tx\n", "bad.tsv:2: "),
    "other number of labels": ("bad.jsonl", '{"tokens": ["a", "b"], "labels": ["x"]}\n', "bad.jsonl:1: 2 tokens but 1"),
    "not JSON": ("bad.jsonl", '{"tokens": ["a"], "labels": ["x"]}\n{"tokens": \n', "bad.jsonl:2: not JSON"),
    "NaN as label": ("bad.jsonl", '{"tokens": ["a"], "labels": [NaN]}\n', "bad.jsonl:1: "),
    "number as token": ("bad.jsonl", '{"tokens": [1], "labels": ["x"]}\n', "bad.jsonl:1: "),
    "tag left open": ("bad.txt", "<a> b </a>\n<a> b\n", "bad.txt:2: "),
}


@pytest.fixture
def rejected(run):
    """The one line with which a command refuses, having written nothing."""

    def check(folder, *args):
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        code, out, err = run(*args)
        assert code == 2, err
        assert out == ""
        assert len(err.splitlines()) == 1, err
        assert err.startswith("semistruct: ")
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before
        return err

    return check


@pytest.mark.parametrize("case", BAD_FILES)
@pytest.mark.parametrize("command", ["train", "dev", "evaluate", "predict"])
def test_bad_data_files(rejected, home, tmp_path, case, command):
    name, content, message = BAD_FILES[case]
    path, out, model = write(tmp_path, name, content), tmp_path / "out", home / "refs.model"
    args = {
        "train": ["train", path, "-o", out],
        "dev": ["train", home / "train.tsv", "-d", path, "-o", out],
        "evaluate": ["evaluate", model, path],
        "predict": ["predict", model, path, "-o", out],
    }
    assert str(tmp_path / message) in rejected(tmp_path, *args[command])


BAD_MODELS = {
    "wrong file": lambda home, folder: write(folder, "wrong.model", (home / "train.tsv").read_bytes()),
    "newer": newer,
    "truncated": lambda home, folder: write(folder, "cut.model", (home / "refs.model").read_bytes()[:-100]),
    "missing": lambda home, folder: None,
    "empty": lambda home, folder: write(folder, "empty.model", b""),
}


@pytest.mark.parametrize("case", BAD_MODELS)
@pytest.mark.parametrize("command", ["predict", "evaluate", "dump"])
def test_bad_models(rejected, home, tmp_path, case, command):
    BAD_MODELS[case](home, tmp_path)
    path = next(tmp_path.iterdir(), tmp_path / "none.model")
    args = {"predict": [home / "refs.txt", "-o", tmp_path / "out"], "evaluate": [home / "test.tsv"], "dump": []}
    err = rejected(tmp_path, command, path, *args[command])
    assert err.count(str(path)) == 1
    assert case != "newer" or "99" in err
    assert case != "missing" or "no such file" in err


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_model_and_data_in_the_wrong_order(rejected, home, tmp_path, command):
    model, data = home / "refs.model", home / "test.tsv"
    assert f"{model}: this is a model, not data; the model comes first" in rejected(tmp_path, command, data, model)
    assert f"{data}: not a semistruct model; the model comes first" in rejected(tmp_path, command, data, data)


def bad_options(home, out):
    train, model = [home / "train.tsv", "-o", out / "m"], home / "refs.model"
    return {
        "C = 0": (["train", *train, "-C", "0"], "C=0)"),
        "C = -3": (["train", *train, "-C", "-3"], "C=-3)"),
        "C = abc": (["train", *train, "-C", "abc"], "C='abc'"),
        "C = nan": (["train", *train, "-C", "nan"], "C=nan"),
        "tol = 0": (["train", *train, "-p", "tol=0"], "tol=0)"),
        "no passes": (["train", *train, "-p", "max_passes=0"], "max_passes=0"),
        "negative seed": (["train", *train, "--seed", "-1"], "random_state=-1"),
        "unknown method": (["train", *train, "-m", "magic"], "'magic'; there are annealed, "),
        "unknown template": (["train", *train, "-f", "sufix(2-4)"], "'sufix'; did you mean 'suffix'?"),
        "unknown set": (["train", *train, "-f", "defalt"], "did you mean 'default'?"),
        "missing lexicon": (["train", *train, "-f", "lexicon(none.txt)"], "none.txt"),
        "missing column": (["train", *train, "-f", "column(3)"], "column(3)"),
        "unknown format": (["train", *train, "--format", "tvs"], "'tvs'"),
        "unknown scheme": (["train", *train, "--scheme", "BIO"], "'BIO'; did you mean 'bio'?"),
        "unknown encoding": (["train", *train, "--encoding", "utf-99"], "utf-99"),
        "label column out of range": (
            ["train", *train, "--label-column", "5"],
            "train.tsv:1: there is no label column 5",
        ),
        "label column in words": (["train", *train, "--label-column", "last"], "'last'"),
        "no labels": (["train", home / "refs.txt", "-o", out / "m"], str(home / "refs.txt")),
        "no labels in dev": (["train", *train, "-d", home / "refs.txt"], str(home / "refs.txt")),
        "missing data": (["train", home / "none.tsv", "-o", out / "m"], "none.tsv: cannot read: no such file"),
        "missing dev": (["train", *train, "-d", home / "none.tsv"], "none.tsv: cannot read: no such file"),
        "a folder as data": (["train", home, "-o", out / "m"], f"{home}: cannot read: is a directory"),
        "missing folder": (["train", train[0], "-o", out / "no" / "m", *FAST], "no/m: cannot write: no such f"),
        "a folder as model": (["train", train[0], "-o", out, *FAST], f"{out}: is a folder, name a file"),
        "missing gold": (["evaluate", model, home / "none.tsv"], "none.tsv: cannot read: no such file"),
        "gold without labels": (["evaluate", model, home / "refs.txt"], f"{home / 'refs.txt'}: nothing to score"),
        "missing input": (["predict", model, home / "none.txt", "-o", out / "x"], "none.txt: cannot read: no such"),
        "second input missing": (["predict", model, home / "refs.txt", home / "none.txt", "-o", out / "x"], "none.txt"),
        "unknown target": (["predict", model, home / "refs.txt", "--to", "xml", "-o", out / "x"], "'xml'"),
        "output folder": (["predict", model, home / "refs.txt", "-o", out / "no" / "x"], "no/x: cannot write: no such"),
        "output is a folder": (
            ["predict", model, home / "refs.txt", "-o", out],
            f"{out}: cannot write: is a directory",
        ),
        "corpus, nearly": (["data", "make", "citation", "-o", out / "x"], "'citation'; did you mean 'citations'?"),
        "unknown corpus": (["data", "make", "nonesuch", "-o", out / "x"], "'nonesuch'; there are citations"),
        "corpus folder": (["data", "make", "citations", "-n", 2, "-o", out / "no" / "x"], "no/x: cannot write"),
        "corpus format": (["data", "make", "citations", "-n", 2, "--to", "xml", "-o", out / "x"], "'xml'"),
        "demo on a file": (["demo", "-o", home / "refs.txt"], f"{home / 'refs.txt'}: cannot write: file exists"),
    }


@pytest.mark.parametrize("case", bad_options(Path("home"), Path("out")))
def test_bad_options(rejected, home, tmp_path, case):
    args, message = bad_options(home, tmp_path)[case]
    assert message in rejected(tmp_path, *args)


UNSEEN = {
    "new.tsv": ("A\tauthor\n\nB\tauthor\nC\tsurprise\n", "new.tsv:4: "),
    "new.conll": ("-DOCSTART- O\n\nA author\n\nB author\nC surprise\n", "new.conll:6: "),
    "new.jsonl": ('{"tokens": ["A", "B"], "labels": ["author", "surprise"]}\n', "new.jsonl:1, token 2: "),
    "new.transposed": ("author author\nA B\n\nauthor surprise author\nA B C\n", "new.transposed:4, token 2: "),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_label_the_model_has_never_seen(rejected, home, tmp_path, name):
    content, where = UNSEEN[name]
    path = write(tmp_path, name, content)
    format = () if name == "new.jsonl" else ("--format", path.suffix[1:])
    err = rejected(tmp_path, "evaluate", home / "refs.model", path, *format)
    assert str(tmp_path / where) in err
    assert re.search(r"'surprise'.*--unseen-labels", err)


@pytest.mark.filterwarnings("default:.*no labelled sequence has")
def test_a_label_that_only_dev_data_has_is_told(run, good, home, tmp_path):
    path = write(tmp_path, "dev.tsv", "A\tauthor\nB\tautor\n\nC\tautor\nD\tdate\n")
    (tmp_path / "r.yaml").write_text("labels: [author, autor]\nrules:\n  - starts_with: author\n")
    train = ["train", home / "train.tsv", "-d", path, "-o", tmp_path / "m", "-f", "lower", *FAST]
    code, _, err = run(*train)
    assert code == 0
    told = "labels that no labelled sequence has, and that are errors on dev data"
    assert err == f"semistruct: warning: {told}: 'autor' ({path}:2)\n"
    good(*train, "-r", tmp_path / "r.yaml")


def test_an_old_output_survives_bad_input(rejected, home, tmp_path):
    out, bad = write(tmp_path, "out", "precious"), write(tmp_path, "bad.tsv", "a\tx\nb\n")
    rejected(tmp_path, "predict", home / "refs.model", bad, "-o", out)
    rejected(tmp_path, "train", bad, "-o", out)
    rejected(tmp_path, "predict", home / "refs.model", home / "test.tsv", bad, "-o", out)
    assert out.read_text() == "precious"


def overwriting(home, folder):
    """Commands whose output is one of their inputs, in several spellings of its path."""
    data, model = home / "train.tsv", home / "refs.model"
    twin, rules, plot = folder / ".." / folder.name / "x.tsv", folder / "r.yaml", folder / "x.svg"
    return {
        "train": ["train", folder / "x.tsv", "-o", folder / "x.tsv"],
        "train, another spelling": ["train", folder / "x.tsv", "-o", twin],
        "train, a link": ["train", folder / "x.tsv", "-o", folder / "link.tsv"],
        "pool": ["train", data, "-u", data, "-u", folder / "x.tsv", "-o", twin],
        "dev": ["train", data, "-d", folder / "x.tsv", "-o", twin],
        "rules of train": ["train", data, "-r", rules, "-o", rules],
        "plot of train": ["train", data, "-u", plot, "-o", folder / "m", "--plot", plot],
        "model and plot": ["train", data, "-u", data, "-o", folder / "new.svg", "--plot", folder / "new.svg"],
        "predict": ["predict", model, data, folder / "x.tsv", "-o", twin],
        "model of predict": ["predict", folder / "copy.model", data, "-o", folder / "copy.model"],
        "rules of predict": ["predict", model, data, "-r", rules, "-o", rules],
        "pick": ["pick", plot, "-o", plot],
        "rules of pick": ["pick", data, "-r", plot, "-o", plot],
        "curve": ["curve", plot, "-o", plot],
        "names of labels": ["train", data, "--label-names", plot, "-o", plot],
        "names of labels for predict": ["predict", model, data, "--label-names", plot, "-o", plot],
        "names of labels for evaluate": ["evaluate", model, data, "--label-names", plot, "--html", plot],
        "names of labels for pick": ["pick", data, "--label-names", plot, "-o", plot],
        "names of labels for curve": ["curve", data, "--label-names", plot, "-o", plot],
        "names of labels for suggest": ["suggest", data, "--label-names", plot, "-o", plot],
        "lexicon": ["train", data, "-f", "word", "-f", f"lexicon({plot})[-1..1]", "-o", plot],
        "lexicon of curve": ["curve", data, "-f", f"lexicon({plot})", "-o", plot],
        "lexicon of pick": ["pick", data, "-f", f"lexicon({plot})", "-o", plot],
        "rules of curve": ["curve", data, "-r", plot, "-o", plot],
    }


@pytest.mark.parametrize("case", overwriting(Path("home"), Path("out")))
def test_an_input_is_not_overwritten(rejected, home, tmp_path, case):
    for name, source in (("x.tsv", "test.tsv"), ("x.svg", "test.tsv"), ("copy.model", "refs.model")):
        write(tmp_path, name, (home / source).read_bytes())
    write(tmp_path, "r.yaml", "rules:\n  - starts_with: author\n")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "x.tsv")
    wanted = "both the model and the plot" if case == "model and plot" else "is also an input and would be overwritten"
    assert wanted in rejected(tmp_path, *overwriting(home, tmp_path)[case])


@pytest.mark.parametrize("args", [["nonesuch"], ["train"], ["train", "x"], ["dump", "x", "-k", "0"], ["data", "mkae"]])
def test_wrong_usage_exits_with_2(run, args):
    code, out, err = run(*args)
    assert code == 2
    assert out == ""
    assert "Usage" in err
    assert "Traceback" not in err


# ---- help

COMMANDS = [
    [],
    ["train"],
    ["methods"],
    ["predict"],
    ["evaluate"],
    ["dump"],
    ["rules"],
    ["suggest"],
    ["pick"],
    ["curve"],
    ["demo"],
    ["data"],
]
COMMANDS += [["data", name] for name in ("list", "get", "make")]


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
