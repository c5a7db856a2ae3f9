"""How text was cut is found from training tokens, kept in the model and used for text; data unlike it is noticed."""

import json
import os
import re
from pathlib import Path

import pytest

import semistruct
from semistruct import SSVM, make_citations, read
from semistruct.app import cli
from semistruct.base.errors import DataError, DataWarning, ModelError, ParameterError
from semistruct.data.tokens import tokenize
from semistruct.features.text_style import Look, probable_cut

TEXTS = [e.text for e in make_citations(40)]
WORDS = [tokenize(text)[0] for text in TEXTS]
AT_BLANKS = [text.split() for text in TEXTS]
TREEBANK = [["Rockwell", "Corp.", "'s", "unit", ",", "in", "the", "U.S.", "."]] * 5

CORPORA = Path(os.environ.get("SEMISTRUCT_DATA") or Path(__file__).parents[2] / "shared" / "data")
needs_corpora = pytest.mark.skipif(not CORPORA.is_dir(), reason="the corpora are not here (SEMISTRUCT_DATA)")


def main(arguments):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    return caught.value.code


# ---------------------------------------------------------------- how the text was cut


@pytest.mark.parametrize(
    ("tokens", "cut"),
    [
        (WORDS, "words"),
        (AT_BLANKS, "whitespace"),
        (TREEBANK, "given"),
        ([["no", "sign", "at", "all"]], "words"),
        ([["(CNA)", "of", "Illinois"]], "whitespace"),
        ([["two words", "Inc."]], "given"),
        ([["#tag", "C++"]], "given"),
        ([[("A.", "NNP"), ("Turing,", "NNP")]], "whitespace"),
    ],
)
def test_the_tokens_tell_how_text_was_cut(tokens, cut):
    assert probable_cut(tokens) == cut


@needs_corpora
def test_the_tokens_of_corpora_tell_how_text_was_cut():
    files = {"citations/train.tsv": "words", "headers/train.tsv": "words", "names/train.tsv": "whitespace"}
    files["conll2000/train.txt"] = "given"
    assert {file: probable_cut(read(CORPORA / file).tokens) for file in files} == files


# ---------------------------------------------------------------- in the model


def labelled(tokens):
    return [["date" if re.search(r"\d", token) else "other" for token in x] for x in tokens]


def fitted(tokens):
    return SSVM(C=0.5, features=["word", "shape"]).fit(tokens, labelled(tokens))


@pytest.mark.parametrize(("tokens", "cut"), [(WORDS, "words"), (AT_BLANKS, "whitespace"), (TREEBANK, "given")])
def test_a_model_keeps_how_to_cut(tmp_path, tokens, cut):
    model = fitted(tokens)
    assert model.tokens_ == cut
    model.save(tmp_path / "a.model")
    again = semistruct.load(tmp_path / "a.model")
    assert (again.tokens_, again.look_) == (cut, model.look_)


@pytest.mark.parametrize("cut", ["words", "whitespace", r"pattern:[A-Z]\w*|\d+|\S"])
def test_text_is_labelled_as_its_tokens_are(tmp_path, cut):
    """The promise: raw text and ready-made tokens get the same labels, in Python and on the command line."""
    tokens = [tokenize(text, cut)[0] for text in TEXTS]
    model = fitted(tokens)
    model.tokens_ = cut
    model.save(tmp_path / "a.model")
    (tmp_path / "raw.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    corpus = read(tmp_path / "raw.txt", format="text", tokens=model.tokens_)
    assert corpus.tokens == tokens
    assert corpus.cut_by == cut
    semistruct.write(semistruct.Corpus.of(tokens), tmp_path / "cut.jsonl", "jsonl")
    found = []
    for name in ("raw.txt", "cut.jsonl"):
        out = str(tmp_path / "out.tsv")
        assert main(["predict", str(tmp_path / "a.model"), str(tmp_path / name), "--to", "tsv", "-o", out]) == 0
        found.append(read(out).labels)
    assert found[0] == found[1] == model.predict(tokens)


def test_features_say_nothing_about_text(tmp_path):
    model = SSVM(C=0.5).fit([[["a"], ["b"]]], [["x", "y"]])
    assert (model.tokens_, model.look_) == ("given", None)
    model.save(tmp_path / "a.model")
    assert semistruct.load(tmp_path / "a.model").look_ is None


def test_a_way_to_cut_that_is_none_is_not_saved(tmp_path):
    model = fitted(WORDS)
    model.tokens_ = "word"
    with pytest.raises(ParameterError, match="no way 'word'"):
        model.save(tmp_path / "a.model")


@pytest.mark.parametrize(
    "tokens",
    [
        {"cut": "word", "look": None},
        {"cut": "pattern:(", "look": None},
        {"cut": 3, "look": None},
        {"cut": "words"},
        "words",
        {"cut": "words", "look": {"tokens": -1, "attached": 0, "alone": 0, "shapes": []}},
        {"cut": "words", "look": {"tokens": 1, "attached": 0, "alone": 0, "shapes": [1]}},
        {"cut": "words", "look": {"tokens": 1}},
    ],
)
def test_models_that_are_damaged(tmp_path, tokens, monkeypatch):
    model = fitted(WORDS)
    monkeypatch.setattr(semistruct.model.store, "write_model", _writer(semistruct.model.store.write_model, tokens))
    model.save(tmp_path / "a.model")
    with pytest.raises(ModelError, match="the model is damaged"):
        semistruct.load(tmp_path / "a.model")


def _writer(write, tokens):
    return lambda path, model, description, card: write(path, model, {**description, "tokens": tokens}, card)


# ---------------------------------------------------------------- on the command line


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def columns(name, tokens):
    semistruct.write(semistruct.Corpus.of(tokens, labelled(tokens)), name, "jsonl")


def train(*more):
    return main(["train", "train.jsonl", "-o", "a.model", "-C", "0.5", "-q", *more])


@pytest.mark.filterwarnings("ignore:.*parameters of the model were chosen")
def test_pool_and_dev_text_is_cut_as_the_training_data(here, capsys):
    columns("train.jsonl", AT_BLANKS[:20])
    Path("pool.txt").write_text("\n".join(TEXTS[20:]) + "\n", encoding="utf-8")
    Path("dev.txt").write_text("<other>A. Turing,</other> <date>(1936).</date>\n")
    assert train("-u", "pool.txt", "-d", "dev.txt", "-p", "schedule=1,10") == 0
    assert "warning" not in capsys.readouterr().err
    assert semistruct.load("a.model").tokens_ == "whitespace"
    assert main(["evaluate", "a.model", "dev.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_tokens"] == 3


def test_the_choice_at_training_is_kept(here, capsys):
    columns("train.jsonl", WORDS)
    assert train("--tokens", r"pattern:\d+|\w+") == 0
    assert main(["dump", "a.model", "-k", "1"]) == 0
    assert r"tokens: pattern:\d+|\w+" in capsys.readouterr().out
    Path("raw.txt").write_text("Turing, 1936\n")
    assert main(["predict", "a.model", "raw.txt", "--to", "conll"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.split("\n") if line] == ["Turing", "1936"]
    assert main(["predict", "a.model", "raw.txt", "--to", "conll", "--tokens", "whitespace"]) == 0
    assert capsys.readouterr().out.startswith("Turing, ")


def test_marked_text_is_cut_again_as_it_was(here):
    Path("train.txt").write_text("<a>x.</a> <b>y</b>\n" * 3)
    assert main(["train", "train.txt", "-o", "a.model", "-C", "1", "-q", "--tokens", "whitespace"]) == 0
    assert semistruct.load("a.model").tokens_ == "whitespace"
    assert main(["train", "train.txt", "-o", "a.model", "-C", "1", "-q"]) == 0
    assert semistruct.load("a.model").tokens_ == "words"


def test_text_is_refused_where_it_is_not_clear_how_to_cut_it(here, capsys):
    columns("train.jsonl", TREEBANK)
    Path("raw.txt").write_text("He said so.\n")
    assert train() == 0
    assert main(["predict", "a.model", "raw.txt"]) == 2
    expected = (
        "raw.txt:1: running text, but nothing says how to cut it into tokens as in training; say so with --tokens"
    )
    assert expected in capsys.readouterr().err
    assert train("-u", "raw.txt") == 2
    told = "train.jsonl has tokens that are not words, such as 'Corp.'; use --tokens words, whitespace or pattern:REGEX"
    assert f"raw.txt:1: running text, but {told}" in capsys.readouterr().err
    assert main(["predict", "a.model", "raw.txt", "--tokens", "words"]) == 0
    with pytest.raises(DataError, match=expected):
        read("raw.txt", tokens=semistruct.load("a.model").tokens_)


@pytest.mark.parametrize(
    ("tokens", "advice"),
    [
        (["#tag", "C++"], "such as '#tag'; try --tokens whitespace"),
        (["two words", "Inc."], "such as 'two words'; use --tokens pattern:REGEX"),
    ],
)
def test_a_way_to_cut_is_proposed_if_it_gives_the_labelled_tokens(here, capsys, tokens, advice):
    columns("train.jsonl", [tokens] * 5)
    Path("raw.txt").write_text(" ".join(tokens) + "\n")
    assert train("-u", "raw.txt") == 2
    told = f"running text, but train.jsonl has tokens that are not words, {advice}\n"
    assert capsys.readouterr().err == f"semistruct: raw.txt:1: {told}"


# ---------------------------------------------------------------- data that looks otherwise


def difference(train, other):
    return Look.of(train).difference(other)


def test_tokens_that_were_cut_in_another_way():
    assert difference(WORDS[:20], WORDS[20:]) is None
    assert difference(AT_BLANKS[:20], AT_BLANKS[20:]) is None
    found = difference(WORDS[:20], AT_BLANKS[20:])
    assert re.match(r"\d+% of the punctuation is attached to words, in training 0%; \d+% have a shape .* '", found)
    assert re.match(
        r"0% of the punctuation is attached to words, in training \d+%", difference(AT_BLANKS[:20], WORDS[20:])
    )
    assert difference(WORDS[:20], AT_BLANKS[20:22]) is not None
    assert difference(WORDS, [["Smith,", "Inc."]]) is None  # too few to tell
    with pytest.warns(DataWarning, match=r"^x: the tokens look unlike"):
        Look.of(WORDS).warn_of_difference("x", AT_BLANKS)


def test_a_look_survives_json():
    look = Look.of(WORDS)
    assert Look.from_dict(json.loads(json.dumps(look.to_dict()))) == look


@needs_corpora
@pytest.mark.parametrize(
    ("train", "others"),
    [
        ("citations/train.tsv", ["citations/dev.tsv", "citations/unlabeled.txt"]),
        ("headers/train.tsv", ["headers/dev.tsv", "headers/unlabeled.txt"]),
        ("names/train.tsv", ["names/dev.tsv", "names/unlabeled.txt"]),
        ("conll2000/test.txt", ["conll2000/train.txt"]),
    ],
)
@pytest.mark.parametrize("size", [5, 20, None])
def test_corpora_look_like_themselves_and_unlike_what_is_cut_otherwise(train, others, size):
    look = Look.of(read(CORPORA / train).tokens[:size])
    for file in others:
        tokens = [[x if isinstance(x, str) else x[0] for x in row] for row in read(CORPORA / file).tokens]
        assert look.difference(tokens) is None
        otherwise = [tokenize(" ".join(x))[0] for x in tokens] if "names" in file else map(glued, tokens)
        assert look.difference([*otherwise]) is not None or (size, file[:5]) == (5, "names")


def glued(tokens):
    """The tokens of the text cut at blanks, as it may have been before the signs were cut off."""
    return re.sub(r" (?=[.,;:!?)\]])|(?<=[(\[]) ", "", " ".join(tokens)).split()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("command", ["train -u", "train -d", "predict", "evaluate"])
def test_one_warning_for_a_file_that_looks_otherwise(here, command, capsys):
    columns("train.jsonl", WORDS[:20])
    columns("other.jsonl", AT_BLANKS[20:])
    if command.startswith("train"):
        assert train(command[6:], "other.jsonl") == 0
    else:
        assert train() == 0
        assert main([command, "a.model", "other.jsonl"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "look unlike" in line]
    assert len(lines) == 1
    assert lines[0].startswith("semistruct: warning: other.jsonl: the tokens look unlike the training ones: ")
