"""What commands say, once, about data that looks wrong; and files given in the place of others."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from semistruct import SSVM, Corpus, Example, make_citations, read, write
from semistruct.app.cli.files import kind_of
from semistruct.app.cli.notices import alike, of_evaluation, of_training
from semistruct.base.errors import DataError, DataWarning
from semistruct.rules import Rules
from semistruct.rules.files import SHIPPED, shipped

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TRAIN, OTHER, THIRD = make_citations(10), make_citations(10, seed=1), make_citations(10, seed=2)
FAST = ("-C", "0.5", "-f", "word", "-p", "tol=0.1", "-q")

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with train.tsv, dev.tsv, pool.txt, rules.yaml and a model."""
    folder = tmp_path_factory.mktemp("home")
    write(TRAIN, folder / "train.tsv", "tsv")
    write(OTHER, folder / "dev.tsv", "tsv")
    write(THIRD, folder / "pool.txt", "text")
    (folder / "rules.yaml").write_text("labels: [author, title]\nrules:\n\n  # first\n  - starts_with: author\n")
    model = SSVM(features="identity", tol=0.1).fit(TRAIN.tokens, TRAIN.labels, dev=(OTHER.tokens, OTHER.labels))
    model.save(folder / "refs.model")
    return folder


def told(run, *args):
    """The lines on standard error of a command that works."""
    code, _, err = run(*args)
    assert code == 0, err
    return [line.removeprefix("semistruct: warning: ") for line in err.splitlines()]


def corpus(*rows, source="x"):
    """Sequences of "token/label" words."""
    pairs = [[word.rpartition("/") for word in row.split()] for row in rows]
    return Corpus([Example([w for w, _, _ in row], [y.replace("_", " ") for *_, y in row]) for row in pairs], source)


# ---- labels


def test_labels_that_differ_only_in_case_or_outer_blanks():
    assert list(alike(["author", "title", "B-x", "I-x"])) == []
    what = "labels that differ only in case or outer blanks"
    assert list(alike(["author", "Author", "date ", "date", "x"])) == [
        f"{what}: 'Author' and 'author', 'date' and 'date '; are they meant to be the same?"
    ]


def test_such_labels_are_told_once(run, home, tmp_path):
    write(corpus("A/author 1/Date 2/date", "B/Author 3/date"), tmp_path / "x.tsv", "tsv")
    lines = told(run, "train", tmp_path / "x.tsv", "-o", tmp_path / "m", *FAST)
    assert len(lines) == 1
    assert "'Author' and 'author', 'Date' and 'date'" in lines[0]
    write(corpus("A/AUTHOR"), tmp_path / "y.tsv", "tsv")
    lines = told(run, "evaluate", home / "refs.model", tmp_path / "y.tsv", "--unseen-labels")
    assert len(lines) == 1
    assert "'AUTHOR' and 'author'" in lines[0]


def test_labels_that_only_dev_data_has_are_one_line():
    labelled = corpus("A/author 1/date")
    dev = corpus("B/author 2/year", "C/editor 3/month 4/day", source="dev")
    what = "labels that no labelled sequence has, and that are errors on dev data"
    (line,) = of_training(labelled, [], dev, None)
    assert line == f"{what}: 'year' (dev, token 2), 'editor' (dev, token 1), 'month' (dev, token 2) and 1 more"
    assert list(of_training(labelled, [], dev, Rules([], labels=["year", "editor", "month", "day"]))) == []


# ---- sequences that are in two places


@pytest.mark.parametrize("method", ["ssvm", "annealed"])
def test_labelled_sequences_in_the_pool_or_dev_data(run, home, tmp_path, method):
    mixed = Corpus([*TRAIN.examples[:3], *OTHER.examples])
    write(mixed, tmp_path / "dev.tsv", "tsv")
    write(mixed, tmp_path / "pool.txt", "text")
    args = ["train", home / "train.tsv", "-m", method, "-d", tmp_path / "dev.tsv", "-o", tmp_path / "m", *FAST]
    wanted = [f"{tmp_path / 'dev.tsv'}: 3 of 13 dev sequences are also in the training data"]
    if method == "annealed":
        args += ["-u", tmp_path / "pool.txt", "-p", "schedule=1,10", "-p", "rounds=1"]
        wanted = [f"{tmp_path / 'pool.txt'}: 3 of 13 pool sequences are also in the training data", *wanted]
    assert told(run, *args) == wanted


def test_a_few_in_common_may_be_chance():
    many = Corpus([Example([f"word{i}"], ["x"]) for i in range(200)], "many")
    some = Corpus([*many.examples[:2], *(Example([f"other{i}"], ["x"]) for i in range(198))], "some")
    assert list(of_training(many, [some], some, None)) == []
    more = Corpus([*many.examples[:3], *some.examples[3:]], "more")
    assert list(of_training(many, [more], None, None)) == [
        "more: 3 of 200 pool sequences are also in the training data"
    ]


def test_sequences_without_labels_may_be_in_the_pool_too():
    labelled = Corpus([Example(["a"], ["x"]), Example(["b"]), Example(["c"], [None])])
    assert list(of_training(labelled, [Corpus([Example(["b"]), Example(["c"])])], None, None)) == []


def test_dev_data_that_is_the_training_data(run, home, tmp_path):
    write(TRAIN, tmp_path / "same.jsonl", "jsonl")
    lines = told(run, "train", home / "train.tsv", "-d", tmp_path / "same.jsonl", "-o", tmp_path / "m", *FAST)
    same = tmp_path / "same.jsonl"
    assert lines == [f"{same}: the dev data is the training data, so what is chosen on it is chosen too well"]


def test_evaluating_on_data_that_the_model_has_seen(run, home, tmp_path):
    write(TRAIN, tmp_path / "same.jsonl", "jsonl")
    model = home / "refs.model"
    trained = "the model was trained on this data, so its scores tell little about other data"
    assert told(run, "evaluate", model, home / "train.tsv") == [f"{home / 'train.tsv'}: {trained}"]
    assert told(run, "evaluate", model, tmp_path / "same.jsonl") == [f"{tmp_path / 'same.jsonl'}: {trained}"]
    chosen = "parameters of the model were chosen on this data, so other data may score lower"
    assert told(run, "evaluate", model, home / "dev.tsv") == [f"{home / 'dev.tsv'}: {chosen}"]
    write(THIRD, tmp_path / "new.tsv", "tsv")
    assert told(run, "evaluate", model, tmp_path / "new.tsv", "--unseen-labels") == []
    some = tmp_path / "some.tsv"
    write([*THIRD, *TRAIN.examples[:3]], some, "tsv")
    n = len(THIRD) + 3
    line = f"{some}: 3 of {n} sequences are also in the data that the model was trained on"
    assert told(run, "evaluate", model, some, "--unseen-labels") == [line]


@pytest.mark.parametrize("card", [{}, {"data": "a text"}, {"data": {}}])
def test_a_card_may_tell_nothing_of_the_data(card):
    estimator = SimpleNamespace(card_=card, look_=None, model_=SimpleNamespace(labels=TRAIN.label_set))
    assert list(of_evaluation(estimator, TRAIN)) == []


# ---- text that looks like tags


def test_text_with_few_tags(run, home, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("<b>bold</b> words\n" + "plain words\n" * 30)
    line = f"{path}: read as text with tags, which 1 of 31 lines has; or is it --format text?"
    assert told(run, "predict", home / "refs.model", path, "-o", tmp_path / "out") == [line]
    assert told(run, "predict", home / "refs.model", path, "-o", tmp_path / "out", "--format", "text") == []
    assert told(run, "predict", home / "refs.model", path, "-o", tmp_path / "out", "--format", "inline") == []
    args = ["train", home / "train.tsv", "-u", path, "-p", "schedule=1,10", "-p", "rounds=1", "-o", tmp_path / "m"]
    assert told(run, *args, *FAST, "-p", "select=last") == [line]


def test_text_with_many_tags_is_what_it_looks_like(tmp_path):
    path = tmp_path / "x.txt"
    for content, format in (("<b>bold</b> words\n" * 3 + "plain words\n" * 20, "inline"), ("a < b\n" * 30, "text")):
        path.write_text(content)
        assert read(path).format == format  # without a warning


# ---- files in the place of others


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["train", "rules.yaml"], "rules.yaml: these are rules, not data; rules are given with --rules (-r)"),
        (["train", "refs.model"], "refs.model: this is a model, not data"),
        (["train", "train.tsv", "-d", "refs.model"], "refs.model: this is a model, not data"),
        (["train", "train.tsv", "-r", "dev.tsv"], "dev.tsv: this is data, not rules"),
        (["train", "train.tsv", "-r", "refs.model"], "refs.model: this is a model, not rules"),
        (["evaluate", "rules.yaml", "dev.tsv"], "rules.yaml: these are rules, not a model; the model comes first"),
        (["predict", "refs.model", "rules.yaml"], "rules.yaml: these are rules, not data"),
        (["rules", "rules.yaml", "--on", "refs.model"], "refs.model: this is a model, not data"),
    ],
)
def test_a_file_in_the_place_of_another(run, home, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(home)
    code, out, err = run(*args, *(["-o", tmp_path / "m"] if args[0] == "train" else []))
    assert (code, out) == (2, "")
    assert err.startswith(f"semistruct: {said}")
    assert err.count("\n") == 1


def test_what_a_file_is(home, tmp_path):
    kinds = {"train.tsv": "data", "pool.txt": None, "rules.yaml": "rules", "refs.model": "model", "none": None}
    assert {name: kind_of(home / name) for name in kinds} == kinds
    assert kind_of("-") is None
    assert kind_of(tmp_path) is None


@pytest.mark.parametrize("name", shipped())
def test_rules_that_come_with_semistruct_are_rules(name):
    assert kind_of(str(SHIPPED / f"{name}.yaml")) == "rules"


def test_whoever_names_the_format_means_it(home):
    assert read(home / "rules.yaml", format="text")


# ---- what is left out


def test_empty_lines_are_counted(run, home, tmp_path):
    (tmp_path / "new.txt").write_text("A. Turing. 1936.\n\nB. Post. 1943.\n \n\nA. Church.\n\n")
    said = told(run, "predict", home / "refs.model", tmp_path / "new.txt", "-o", tmp_path / "out.txt")
    assert said == [f"{tmp_path / 'new.txt'}: 4 empty lines are left out"]
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 3
    (tmp_path / "tags.txt").write_text("<author>A. Turing</author>\n\n<author>B. Post</author>\n")
    with pytest.warns(DataWarning, match="tags.txt: 1 empty line is left out"):
        assert len(read(tmp_path / "tags.txt")) == 2


def test_columns_that_are_not_used_are_named(run, home, tmp_path):
    (tmp_path / "new.csv").write_text('id,text,page\n7,"A. Turing, 1936",1936\n8,"B. Post, 1943",\n')
    command = ("predict", home / "refs.model", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert told(run, *command) == []  # the table has all columns
    assert told(run, *command, "--to", "csv-texts") == [
        f"{tmp_path / 'new.csv'}: the column 'id' is not read",
        f"{tmp_path / 'new.csv'}: the column 'page' is not in the answer, as the model has no such fields",
    ]
    (tmp_path / "new.csv").write_text('text,page\n"A. Turing, 1936",12\n')
    with pytest.raises(DataError, match=r"new.csv:2: .*'page' is not in the text; take out columns that are no fields"):
        read(tmp_path / "new.csv")


# ---- nothing about data that is all right


def test_nothing_is_said_about_good_data(run, home, tmp_path):
    write(make_citations(12, seed=9), tmp_path / "test.tsv", "tsv")
    args = ["train", home / "train.tsv", "-u", home / "pool.txt", "-d", tmp_path / "test.tsv"]
    assert told(run, *args, "-p", "schedule=1,10", "-p", "rounds=1", "-o", tmp_path / "m", *FAST) == []
    assert told(run, "predict", tmp_path / "m", home / "pool.txt", "-o", tmp_path / "out") == []


@pytest.mark.parametrize("name", ["citations", "headers", "names"])
def test_nothing_is_said_about_public_corpora(name):
    if not (DATA / name / "train.tsv").exists():
        pytest.skip("SEMISTRUCT_DATA names no folder with this corpus")
    labelled, dev, pool = (read(DATA / name / file) for file in ("train.tsv", "dev.tsv", "unlabeled.txt"))
    assert list(of_training(labelled, [pool], dev, None)) == []
    for file in ("train.tsv", "dev.tsv", "unlabeled.txt"):
        assert kind_of(DATA / name / file) in ("data", None)
