"""Models as steps of a spaCy pipeline, and documents of spaCy as data."""

import gc
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from semistruct import SSVM, Corpus, Example, Rules, load, make_citations, read, tokenize, write
from semistruct.base.errors import DataError, DataWarning, ModelError, ParameterError, SemistructError
from semistruct.data.labels import spans
from semistruct.rules import StartsWith

spacy = pytest.importorskip("spacy")
from spacy.tokens import Doc, DocBin, Span  # noqa: E402

from semistruct.app.pipeline import NAME  # noqa: E402

ROOT = Path(__file__).parents[1]
TEXTS = ["R. Smith and B. Wang. Search in Fortran. 2003.", "  J. Lee,\n\n1999", "", "A"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "refs.model"
    train = make_citations(15)
    rules = Rules([StartsWith("date", weight="hard")])
    SSVM(tol=0.1, rules=rules).fit(train.tokens, train.labels).save(path)
    return path


def pipeline(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={"model": str(model), **config})
    return nlp


def marked(doc):
    return [(span.label_, span.start_char, span.end_char) for span in doc.spans["semistruct"]]


# ---- a step of a pipeline


@pytest.mark.parametrize("tokens", ["given", "words", None])
@pytest.mark.parametrize("rules", [True, False])
def test_spans_are_those_of_the_model(model, tokens, rules):
    nlp, estimator = pipeline(model, tokens=tokens, rules=rules), load(model)
    for text in TEXTS[:2]:
        doc = nlp(text)
        cut = [(t.idx, t.idx + len(t)) for t in doc if not t.is_space] if tokens == "given" else tokenize(text)[1]
        X = [[text[a:b] for a, b in cut]]
        labels = estimator.predict(X, rules=rules)
        sure = estimator.confidence(X, labels, rules=rules, by="block")[0]
        wanted = spans(labels[0])
        found = doc.spans["semistruct"]
        assert [span.label_ for span in found] == [span.label for span in wanted]
        for span, (_, start, end) in zip(found, wanted, strict=True):
            assert span.start_char < cut[start][1]
            assert span.end_char > cut[end - 1][0]
        assert found.attrs["scores"].tolist() == sure.tolist()
    assert (found[0].label_ == "date") == rules


@pytest.mark.parametrize("cut", ["whitespace", r"pattern:[A-Za-z]+|\S"])
def test_text_is_cut_as_the_model_learned_it(tmp_path, cut):
    """The labels of the step are those of `predict` for the same text."""
    X = [tokenize(text, cut)[0] for text in ("Kleene,S.C. 1952.", "Church,A. 1936.", "Post,E.L. 1943.")]
    estimator = SSVM(tol=0.1).fit(X, [["name" if token[0].isalpha() else "rest" for token in x] for x in X])
    estimator.tokens_ = cut
    estimator.save(tmp_path / "m")
    text = "Turing,A.M. 1936."
    wanted = [one.label for one in spans(estimator.predict([tokenize(text, cut)[0]])[0])]
    doc = pipeline(tmp_path / "m")(text)
    assert [span.label_ for span in doc.spans["semistruct"]] == wanted
    assert len(wanted) == (2 if cut == "whitespace" else 6)


@pytest.mark.parametrize(("edges", "wanted"), [
    ((0, 6), "Kleene"), ((0, 9), "Kleene,"), ((0, 10), "Kleene, S.C."), ((10, 17), "S.C. 1952"), ((8, 9), "S.C.")
])  # fmt: skip
def test_a_token_belongs_to_a_span_that_covers_half_of_it(model, edges, wanted):
    step = pipeline(model).get_pipe("semistruct")
    doc = Doc(spacy.blank("en").vocab, words=["Kleene", ",", "S.C.", "1952"], spaces=[False, True, True, False])
    step._mark(doc, [edges], ["a"], [1.0])
    assert [span.text for span in doc.spans["semistruct"]] == [wanted]


def test_functions_of_a_model_are_called_if_the_user_says_so(tmp_path, monkeypatch):
    """And not because a pipeline says so: what is trusted does not travel with it."""
    (tmp_path / "shouting.py").write_text("def loud(tokens, t):\n    return [str(tokens[t].isupper())]\n")
    monkeypatch.syspath_prepend(tmp_path)
    train = make_citations(5)
    import shouting

    SSVM(features=["word", shouting.loud], tol=0.1).fit(train.tokens, train.labels).save(tmp_path / "m")
    nlp = pipeline(tmp_path / "m")
    with pytest.raises(ModelError, match="trust"):
        nlp(TEXTS[0])
    nlp.get_pipe("semistruct").trust = ["shouting"]
    assert marked(nlp(TEXTS[0]))
    nlp.to_disk(tmp_path / "pipeline")
    with pytest.raises(ModelError, match="trust"):
        spacy.load(tmp_path / "pipeline")(TEXTS[0])


def test_many_documents_are_labelled_as_one_by_one(model):
    nlp = pipeline(model)
    one_by_one, many = [nlp(text) for text in TEXTS * 3], list(nlp.pipe(TEXTS * 3, batch_size=5))
    assert [marked(doc) for doc in many] == [marked(doc) for doc in one_by_one]
    assert marked(many[2]) == []
    assert many[2].spans["semistruct"].attrs["scores"].shape == (0,)


def test_entities_that_are_there_stay(model):
    nlp = pipeline(model, rules=False)
    nlp.add_pipe("entity_ruler", before="semistruct").add_patterns([{"label": "NAME", "pattern": "Smith"}])
    doc = nlp(TEXTS[0])
    assert ("NAME", "Smith") in [(ent.label_, ent.text) for ent in doc.ents]
    others = [span for span in doc.spans["semistruct"] if "Smith" not in span.text]
    assert [ent for ent in doc.ents if ent.label_ != "NAME"] == others
    assert len(others) == len(doc.spans["semistruct"]) - 1


def test_of_two_spans_that_overlap_the_first_is_an_entity(model):
    """Tokens of semistruct that are parts of one token of spaCy."""
    step = pipeline(model).get_pipe("semistruct")
    doc = Doc(spacy.blank("en").vocab, words=["12:34", "x"])
    step._mark(doc, [(0, 2), (2, 3), (3, 5), (6, 7)], ["a", "O", "b", "c"], [1.0, 0.2, 0.5])
    assert [(s.label_, s.text) for s in doc.spans["semistruct"]] == [("a", "12:34"), ("b", "12:34"), ("c", "x")]
    assert [(e.label_, e.text) for e in doc.ents] == [("a", "12:34"), ("c", "x")]
    assert doc.spans["semistruct"].attrs["scores"].tolist() == [1.0, 0.2, 0.5]


def test_entities_and_scores_can_be_left_out(model):
    doc = pipeline(model, ents=False, scores=False)(TEXTS[0])
    assert not doc.ents
    assert doc.spans["semistruct"]
    assert "scores" not in doc.spans["semistruct"].attrs


@pytest.mark.parametrize("way", ["disk", "bytes"])
def test_the_model_travels_with_the_pipeline(model, tmp_path, way):
    file = tmp_path / "moved.model"
    file.write_bytes(model.read_bytes())
    nlp = pipeline(file)
    if way == "disk":
        nlp.to_disk(tmp_path / "pipeline")
        file.unlink()
        again = spacy.load(tmp_path / "pipeline")
    else:
        content = nlp.to_bytes()
        file.unlink()
        again = spacy.blank("en")
        again.add_pipe("semistruct")
        again.from_bytes(content)
    assert [marked(doc) for doc in again.pipe(TEXTS)] == [marked(doc) for doc in pipeline(model).pipe(TEXTS)]
    assert again.get_pipe("semistruct").estimator.card_ == load(model).card_


def test_what_is_wrong_with_a_step_is_said(model, tmp_path):
    (tmp_path / "text").write_text("no model")
    for path, said in [
        (tmp_path / "none", f"^{tmp_path / 'none'}: cannot read: no such file"),
        (tmp_path / "text", f"^{tmp_path / 'text'}: not a semistruct model"),
    ]:
        with pytest.raises(ModelError, match=said):
            pipeline(path)("A")
    nlp = spacy.blank("en")
    nlp.add_pipe("semistruct")
    with pytest.raises(ModelError, match="the step 'semistruct' has no model"):
        nlp("A")
    with pytest.raises(ParameterError, match="there is no way 'doc' to cut text"):
        pipeline(model, tokens="doc")
    with pytest.raises(ModelError, match="cannot read"):
        nlp.get_pipe("semistruct").from_disk(tmp_path / "nowhere")


def test_spacy_finds_the_step_by_itself(model, tmp_path):
    """As installed: the entry point of pyproject.toml, and no import of ours."""
    about = tmp_path / "site" / "semistruct_here-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: semistruct-here\nVersion: 0\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = project["entry-points"]["spacy_factories"].items()
    (about / "entry_points.txt").write_text("[spacy_factories]\n" + "".join(f"{k} = {v}\n" for k, v in entries))
    code = "import spacy, sys; nlp = spacy.blank('en'); nlp.add_pipe('semistruct', config={'model': sys.argv[1]});"
    code += "print(len(nlp('J. Lee, 1999').spans['semistruct']) > 0)"
    path = os.pathsep.join([str(ROOT / "src"), str(tmp_path / "site")])
    done = subprocess.run(
        [sys.executable, "-c", code, str(model)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


# ---- documents as data


def stored(path, *docs):
    DocBin(docs=docs).to_disk(path)
    return path


def doc_of(words, **given):
    return Doc(spacy.blank("en").vocab, words=words, **given)


def test_entities_are_labels(tmp_path):
    doc = doc_of(["Call", "Ada", "\n", "Lovelace", "now"], spaces=[True, False, False, True, False])
    doc.set_ents([Span(doc, 1, 4, label="name")], missing=[Span(doc, 4, 5)])
    path = stored(tmp_path / "x.spacy", doc, doc_of(["no", "labels"]), doc_of([" "]))
    corpus = read(path)
    assert corpus.examples == [
        Example(
            ["Call", "Ada", "Lovelace", "now"], ["O", "name", "name", None], "Call Ada\nLovelace now",
            [(0, 4), (5, 8), (9, 17), (18, 21)], line=1,
        ),
        Example(["no", "labels"], None, "no labels ", [(0, 2), (3, 9)], line=2),
    ]  # fmt: skip
    assert read(path, outside="other").labels == [["other", "name", "name", "other"], None]
    assert read(path, scheme="bio").labels[0] == ["O", "B-name", "I-name", None]


def test_spans_are_labels_where_there_are_no_entities(tmp_path):
    doc = doc_of(["a", "b", "c"])
    doc.spans["any"] = [Span(doc, 1, 2, label="x")]
    assert read(stored(tmp_path / "x.spacy", doc)).labels == [[None, "x", None]]
    doc.spans["semistruct"] = [Span(doc, 0, 1, label="y")]
    assert read(stored(tmp_path / "x.spacy", doc)).labels == [["y", None, None]]
    del doc.spans["semistruct"]
    doc.spans["other"] = []
    with pytest.raises(DataError, match=r"x\.spacy:1: no entities, and spans called 'any', 'other'"):
        read(stored(tmp_path / "x.spacy", doc))
    doc.spans.clear()
    doc.spans["sc"] = [Span(doc, 0, 2, label="x"), Span(doc, 1, 3, label="y")]
    with pytest.raises(DataError, match=r"x\.spacy:1: two spans overlap"):
        read(stored(tmp_path / "x.spacy", doc))


def test_entities_that_touch(tmp_path):
    doc = doc_of(["a", "b"])
    doc.set_ents([Span(doc, 0, 1, label="x"), Span(doc, 1, 2, label="x")])
    path = stored(tmp_path / "x.spacy", doc)
    assert read(path, scheme="bio").labels == [["B-x", "B-x"]]
    with pytest.warns(DataWarning, match="two spans of 'x' touch"):
        assert read(path).labels == [["x", "x"]]


@pytest.mark.parametrize("scheme", [None, "bio"])
def test_what_is_written_comes_back(tmp_path, scheme):
    corpus = make_citations(10)
    write(corpus, tmp_path / "x.jsonl", "jsonl")
    write(corpus, tmp_path / "x.spacy", "spacy")
    again = read(tmp_path / "x.spacy", scheme=scheme)
    assert again.tokens == corpus.tokens
    assert again.labels == read(tmp_path / "x.jsonl", scheme=scheme).labels


def test_texts_come_back_with_all_their_white_space(tmp_path):
    texts = ["  A.  Turing\t1936", "x \n y ", "a b", "\u00a0q"]
    labels = [[None, "O", "author", "date"], ["x", "O"], None, ["q"]]
    examples = [
        Example([text[a:b] for a, b in tokenize(text)[1]], row, text, tokenize(text)[1])
        for text, row in zip(texts, labels, strict=True)
    ]
    write(examples, tmp_path / "x.spacy", "spacy")
    again = read(tmp_path / "x.spacy")
    assert [e.text for e in again] == texts
    assert [e.offsets for e in again] == [e.offsets for e in examples]
    assert again.labels == labels


@pytest.mark.filterwarnings("ignore:.* are also in the data that the model was trained on")
def test_commands_read_and_write_documents(good, run, model, tmp_path):
    good("data", "make", "citations", "-n", 4, "--to", "spacy", "-o", tmp_path / "x.spacy")
    good("predict", model, tmp_path / "x.spacy", "-o", tmp_path / "y.spacy")
    X = read(tmp_path / "x.spacy").tokens
    assert read(tmp_path / "y.spacy").labels == load(model).predict(X, rules=True)
    assert "token accuracy" in good("evaluate", model, tmp_path / "x.spacy")
    (tmp_path / "named").write_bytes((tmp_path / "x.spacy").read_bytes())
    assert "token accuracy" in good("evaluate", model, tmp_path / "named", "--format", "spacy")
    code, out, err = run("predict", model, tmp_path / "x.spacy", "--to", "spacy")
    assert (code, out) == (2, "")
    assert err == "semistruct: documents of spaCy are written to a file only; name one\n"


@pytest.mark.parametrize("content", [b"", b"text", b"x\x9c\x03\x00\x00\x00\x00\x01", "half"])
def test_damaged_files(run, tmp_path, content):
    path = stored(tmp_path / "x.spacy", doc_of(["a"]))
    path.write_bytes(path.read_bytes()[:-9] if content == "half" else content)
    code, _, err = run("train", path, "-o", tmp_path / "m")
    assert (code, err) == (2, f"semistruct: {path}: not a DocBin of spaCy, or damaged\n")
    assert gc.isenabled()


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"none\.spacy: cannot read: no such file"):
        read(tmp_path / "none.spacy")
    with pytest.raises(DataError, match="cannot be read from standard input"):
        read("-", format="spacy")
    with pytest.raises(DataError, match=r"x\.spacy: the file is empty"):
        read(stored(tmp_path / "x.spacy"))


def test_half_a_character_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="sequence 0: spaCy cannot hold it"):
        write(Corpus.of([["\ud800"]]), tmp_path / "x.spacy", "spacy")
    assert not (tmp_path / "x.spacy").exists()


def test_without_spacy_one_sentence_says_how_to_get_it(run, monkeypatch, tmp_path):
    path = stored(tmp_path / "x.spacy", doc_of(["a"]))
    monkeypatch.setitem(sys.modules, "spacy", None)
    said = "this needs spaCy, which is not installed: pip install 'semistruct[spacy]'"
    assert run("train", path, "-o", tmp_path / "m") == (2, "", f"semistruct: {said}\n")
    monkeypatch.delitem(sys.modules, "semistruct.app.pipeline")
    with pytest.raises(SemistructError, match="this needs spaCy"):
        __import__("semistruct.app.pipeline")
