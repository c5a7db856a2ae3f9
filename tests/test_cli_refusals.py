"""What commands refuse: bad files, bad models, options that do not fit, and outputs that are inputs."""

import json
import re
import zipfile
from pathlib import Path

import pytest

FAST = ("-C", "0.5", "-p", "tol=0.1", "--quiet")


@pytest.fixture
def home(refs):
    return refs


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
    "ragged columns": ("bad.tsv", "a\tx\nb\tx\n\nc\tx\ty\n", "bad.tsv:4: 3 columns"),
    "wrong encoding": ("bad.tsv", "a\tx\nGödel\tx\n".encode("latin-1"), "bad.tsv:2: not UTF-8"),
    "not JSON": ("bad.jsonl", '{"tokens": ["a"], "labels": ["x"]}\n{"tokens": \n', "bad.jsonl:2: not JSON"),
    "tag left open": ("bad.txt", "<a> b </a>\n<a> b\n", "bad.txt:2: "),
}


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
    assert str(tmp_path / message) in rejected(*args[command], folder=tmp_path)


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
    err = rejected(command, path, *args[command], folder=tmp_path)
    assert err.count(str(path)) == 1
    assert case != "newer" or "99" in err
    assert case != "missing" or "no such file" in err


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_model_and_data_in_the_wrong_order(rejected, home, tmp_path, command):
    model, data = home / "refs.model", home / "test.tsv"
    assert f"{model}: this is a model, not data; the model comes first" in rejected(
        command, data, model, folder=tmp_path
    )
    assert f"{data}: not a semistruct model; the model comes first" in rejected(command, data, data, folder=tmp_path)


def bad_options(home, out):
    train, model = [home / "train.tsv", "-o", out / "m"], home / "refs.model"
    return {
        "C = 0": (["train", *train, "-C", "0"], "C=0)"),
        "C = abc": (["train", *train, "-C", "abc"], "C='abc'"),
        "unknown method": (["train", *train, "-m", "magic"], "'magic'; there are annealed, "),
        "unknown template": (["train", *train, "-f", "sufix(2-4)"], "'sufix'; did you mean 'suffix'?"),
        "missing lexicon": (["train", *train, "-f", "lexicon(none.txt)"], "none.txt"),
        "unknown format": (["train", *train, "--format", "tvs"], "'tvs'"),
        "unknown encoding": (["train", *train, "--encoding", "utf-99"], "utf-99"),
        "label column out of range": (
            ["train", *train, "--label-column", "5"],
            "train.tsv:1: there is no label column 5",
        ),
        "label column in words": (["train", *train, "--label-column", "last"], "'last'"),
        "no labels": (["train", home / "refs.txt", "-o", out / "m"], str(home / "refs.txt")),
        "missing data": (["train", home / "none.tsv", "-o", out / "m"], "none.tsv: cannot read: no such file"),
        "missing folder": (["train", train[0], "-o", out / "no" / "m", *FAST], "no/m: cannot write: no such f"),
        "a folder as model": (["train", train[0], "-o", out, *FAST], f"{out}: is a folder, name a file"),
        "gold without labels": (["evaluate", model, home / "refs.txt"], f"{home / 'refs.txt'}: nothing to score"),
        "missing input": (["predict", model, home / "none.txt", "-o", out / "x"], "none.txt: cannot read: no such"),
        "unknown target": (["predict", model, home / "refs.txt", "--to", "xml", "-o", out / "x"], "'xml'"),
        "output folder": (["predict", model, home / "refs.txt", "-o", out / "no" / "x"], "no/x: cannot write: no such"),
        "output is a folder": (
            ["predict", model, home / "refs.txt", "-o", out],
            f"{out}: is a folder, name a file",
        ),
        "corpus, nearly": (["data", "make", "citation", "-o", out / "x"], "'citation'; did you mean 'citations'?"),
        "demo on a file": (["demo", "-o", home / "refs.txt"], f"{home / 'refs.txt'}: cannot write: file exists"),
    }


@pytest.mark.parametrize("case", bad_options(Path("home"), Path("out")))
def test_bad_options(rejected, home, tmp_path, case):
    args, message = bad_options(home, tmp_path)[case]
    assert message in rejected(*args, folder=tmp_path)


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
    err = rejected("evaluate", home / "refs.model", path, *format, folder=tmp_path)
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
    rejected("predict", home / "refs.model", bad, "-o", out, folder=tmp_path)
    rejected("train", bad, "-o", out, folder=tmp_path)
    rejected("predict", home / "refs.model", home / "test.tsv", bad, "-o", out, folder=tmp_path)
    assert out.read_text() == "precious"


def overwriting(home, folder):
    """Commands whose output is one of their inputs, in several spellings of its path."""
    data, model = home / "train.tsv", home / "refs.model"
    twin, rules, plot = folder / ".." / folder.name / "x.tsv", folder / "r.yaml", folder / "x.svg"
    return {
        "train": ["train", folder / "x.tsv", "-o", folder / "x.tsv"],
        "train, a link": ["train", folder / "x.tsv", "-o", folder / "link.tsv"],
        "pool": ["train", data, "-u", data, "-u", folder / "x.tsv", "-o", twin],
        "rules of train": ["train", data, "-r", rules, "-o", rules],
        "plot of train": ["train", data, "-u", plot, "-o", folder / "m", "--plot", plot],
        "model and plot": ["train", data, "-u", data, "-o", folder / "new.svg", "--plot", folder / "new.svg"],
        "predict": ["predict", model, data, folder / "x.tsv", "-o", twin],
        "model of predict": ["predict", folder / "copy.model", data, "-o", folder / "copy.model"],
        "pick": ["pick", plot, "-o", plot],
        "curve": ["curve", plot, "-o", plot],
        "lexicon": ["train", data, "-f", "word", "-f", f"lexicon({plot})[-1..1]", "-o", plot],
    }


@pytest.mark.parametrize("case", overwriting(Path("home"), Path("out")))
def test_an_input_is_not_overwritten(rejected, home, tmp_path, case):
    for name, source in (("x.tsv", "test.tsv"), ("x.svg", "test.tsv"), ("copy.model", "refs.model")):
        write(tmp_path, name, (home / source).read_bytes())
    write(tmp_path, "r.yaml", "rules:\n  - starts_with: author\n")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "x.tsv")
    wanted = "both the model and the plot" if case == "model and plot" else "is also an input and would be overwritten"
    assert wanted in rejected(*overwriting(home, tmp_path)[case], folder=tmp_path)


WRONG_CHOICES = [
    ["train", "x", "-o", "y", "--scheme", "BIO"],
    ["curve", "x", "--metric", "f1"],
    ["predict", "x", "--accept-by", "word"],
]


@pytest.mark.parametrize(
    "args", [["nonesuch"], ["train"], ["train", "x"], ["dump", "x", "-k", "0"], ["data", "mkae"], *WRONG_CHOICES]
)
def test_wrong_usage_exits_with_2(run, args):
    code, out, err = run(*args)
    assert code == 2
    assert out == ""
    assert re.fullmatch(r"semistruct: .* (see|See) `semistruct.* --help`\n", err)
    assert "Traceback" not in err
