"""Files as other programs write them: recognised, read, learned from, and given back with labels."""

import io
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

import semistruct
from semistruct.base.errors import DataError, DataWarning
from semistruct.data.formats import read, stream, write

SAMPLES = Path(__file__).parent / "samples"
NAMES = SAMPLES / "huggingface-names.txt"
ADA = ["Ada", "Lovelace", "lived", "in", "London", "."]
PEOPLE = ["PER", "PER", "O", "O", "LOC", "O"]

FILES = {
    "doccano.jsonl": ("doccano", ADA, PEOPLE),
    "doccano-relations.jsonl": ("doccano", ADA, PEOPLE),
    "label-studio.json": ("label-studio", ADA, PEOPLE),
    "label-studio.conll": ("conll", [*ADA[:4], "London."], ["B-PER", "I-PER", "O", "O", "B-LOC"]),
    "prodigy.jsonl": ("prodigy", ADA, PEOPLE),
    "huggingface.jsonl": ("huggingface", ADA, ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    "tokens.tsv": ("csv", ADA[:3], ["B-PER", "I-PER", "O"]),
    "records.json": ("json", ADA[:3], PEOPLE[:3]),
}
TOLD = {
    "doccano-relations.jsonl": "'relations'",
    "prodigy.jsonl": "answer is not accept, such as this one, are left out",
}


def options(name):
    return {"label_names": NAMES.read_text().split()} if name == "huggingface.jsonl" else {}


def tolerant(name):
    return pytest.warns(DataWarning, match=TOLD[name]) if name in TOLD else nullcontext([])


@pytest.mark.parametrize("name", FILES)
def test_samples(name):
    format, tokens, labels = FILES[name]
    with tolerant(name) as told:
        found = stream(SAMPLES / name, **options(name))
        first, *more = found
    assert (found.format, first.tokens, first.labels) == (format, tokens, labels)
    assert more
    assert len(told) == (name in TOLD)


@pytest.mark.parametrize("name", [*FILES, "tokens.csv", "texts.csv"])
@pytest.mark.filterwarnings("ignore::semistruct.base.errors.DataWarning")
def test_learned_from_and_given_back(tmp_path, name, run):
    """The whole way: a file in, a model, the labels of the model in the same format."""
    source = SAMPLES / name
    if name == "huggingface.jsonl":
        source = tmp_path / name
        names = json.dumps({"label_names": NAMES.read_text().split()})
        source.write_text(f"{names}\n{(SAMPLES / name).read_text()}")
    model, out = tmp_path / "a.model", tmp_path / "out"
    assert run("train", source, "-o", model, "-C", "1", "-q", "-f", "word")[0] == 0
    assert run("predict", model, source, "-o", out)[0] == 0
    before, after = stream(SAMPLES / name, **options(name)), stream(out)
    assert after.format == before.format
    before, after = [*before], [*after]
    assert [e.labels for e in after] == semistruct.load(model).predict([e.tokens for e in before])
    assert [e.tokens for e in after] == [e.tokens for e in before]
    assert [e.text for e in after] == [e.text for e in before]


# ---------------------------------------------------------------- each of them


def test_doccano_without_labels_is_unlabelled(file):
    corpus = read(file('{"text": "a b", "label": []}\n{"text": "a b"}\n{"text": "a b", "label": [[0, 1, "x"]]}'))
    assert corpus.labels == [["O", "O"], None, ["x", "O"]]
    assert read(file('{"text": "a b", "label": [[0, 1, "x"]]}'), outside="?").labels == [["x", None]]
    assert written(corpus.examples, "doccano").splitlines()[1] == '{"text": "a b"}'


RECORDS = {  # with a place for where tokens are
    "doccano": lambda offsets, spans: {"text": "A. Turing, 1936", "token_offsets": offsets, "label": spans},
    "jsonl": lambda offsets, spans: {"text": "A. Turing, 1936", "token_offsets": offsets, "spans": spans},
    "label-studio": lambda offsets, spans: {
        "data": {"text": "A. Turing, 1936", "token_offsets": offsets},
        "annotations": [{"result": [{"type": "labels", "value": _value(*span)} for span in spans]}],
    },
}


def _value(start, end, label):
    return {"start": start, "end": end, "labels": [label]}


@pytest.mark.parametrize("name", RECORDS)
def test_tokens_that_the_program_knows_nothing_of(file, name):
    """They come back from the program as they were, with spans that people have made since."""

    def found(offsets, spans):
        (example,) = read(file(json.dumps([RECORDS[name](offsets, spans)])), format=name, outside="O")
        return example.tokens, example.labels, example.cut_by

    offsets = [[0, 2], [3, 10], [11, 15]]
    assert found(offsets, [[0, 10, "a"]]) == (["A.", "Turing,", "1936"], ["a", "a", "O"], None)
    assert found(offsets, [[0, 9, "a"]]) == (["A.", "Turing", ",", "1936"], ["a", "a", "O", "O"], None)
    words = ["A", ".", "Turing", ",", "1936"]
    assert found(None, [[0, 10, "a"]]) == (words, ["a"] * 4 + ["O"], "words")


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ([[0, 2], [3, 99]], "must be pairs of start and end in the text, .* not \\[3, 99\\]"),
        ([[3, 9], [0, 2]], "each after the one before it, not \\[0, 2\\]"),
        ([[0, True]], "not \\[0, true\\]"),
        ([7], "not 7"),
        ([[2, 3]], "there is no token at 2-3, only ' '"),
        ([], "the sequence has no tokens"),
        ("x", "must be a list or null"),
    ],
)
def test_damaged_places_of_tokens_are_refused(file, name, offsets, problem):
    with pytest.raises(DataError, match=f":1: .*{problem}"):
        read(file(json.dumps([RECORDS[name](offsets, [])])), format=name)


def test_label_studio_annotations(file):
    def task(*annotations, **data):
        return {"data": data or {"content": "a b"}, "annotations": [*annotations]}

    label = {"type": "labels", "value": {"start": 0, "end": 1, "text": "a", "labels": ["x"]}}
    choice = {"type": "choices", "value": {"choices": ["good"]}}
    tasks = [task({"result": [], "was_cancelled": True}, {"result": [label]}), task({"result": [label, choice]})]
    tasks += [task(), task({"result": []}, {"result": [label]})]
    with pytest.warns(DataWarning) as caught:
        corpus = read(file(json.dumps(tasks)))
    assert corpus.labels == [["x", "O"], ["x", "O"], None, ["O", "O"]]
    told = [str(warning.message).partition(":1: ")[2] for warning in caught]
    assert told == ["not read, here and below: 'choices'", "a task has several annotations; the first one counts"]


def test_prodigy_keeps_its_tokens(file):
    record = {"text": "(b) c", "tokens": [{"start": 0, "end": 3}, {"start": 4, "end": 5}], "answer": "accept"}
    (example,) = read(file(json.dumps(record)))
    assert (example.tokens, example.labels, example.cut_by) == (["(b)", "c"], ["O", "O"], None)
    back = json.loads(written([example], "prodigy"))
    assert back["tokens"][0] == {"text": "(b)", "start": 0, "end": 3, "id": 0, "ws": True}
    assert back["tokens"][1]["ws"] is False
    del record["answer"]
    assert read(file(json.dumps(record))).labels == [None]


def test_spans_split_tokens(file):
    tokens = [{"start": 0, "end": 7}, {"start": 8, "end": 11}]
    record = {"text": "London. Now", "tokens": tokens, "spans": [{"start": 0, "end": 6, "label": "LOC"}]}
    with pytest.warns(DataWarning, match=":1: a span begins or ends inside a token, which is split there$"):
        (example,) = read(file(json.dumps(record)))
    assert (example.tokens, example.labels) == (["London", ".", "Now"], ["LOC", "O", "O"])
    assert read(file('{"text": "foobar baz", "spans": [[3, 8, "x"]]}')).tokens == [["foo", "bar", "b", "az"]]


def test_names_of_labels(file):
    rows = '{"tokens": ["a", "b", "c"], "ner_tags": [1, 0, -100]}'
    assert read(file(rows), label_names=["O", "B-x"]).labels == [["B-x", "O", None]]


def test_names_of_labels_in_the_file(file):
    corpus = read(file('{"label_names": ["O", "x"]}\n{"tokens": ["a"], "ner_tags": [1]}\n{"tokens": ["a"]}'))
    assert corpus.labels == [["x"], None]
    assert written(corpus.examples, "huggingface") == '{"tokens": ["a"], "ner_tags": ["x"]}\n{"tokens": ["a"]}\n'


def test_tokens_in_a_table():
    one, two = read(SAMPLES / "tokens.csv")
    assert one.tokens[0] == ("Ada", "NNP")
    assert one.tokens[-1] == (",", ",")
    assert one.labels == ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
    assert two.tokens[-1] == ('"', "``")
    assert (one.line, two.line) == (2, 8)
    unlabelled, _ = read(SAMPLES / "tokens.csv", label_column="none")
    assert (unlabelled.labels, unlabelled.tokens[0]) == (None, ("Ada", "NNP", "B-PER"))
    assert read(SAMPLES / "tokens.csv", label_column=2).labels[0][:2] == ["NNP", "NNP"]


def test_blank_rows_separate_where_no_column_does(file):
    corpus = read(file(",word;tag\n"[1:] + "a;x\nb;y\n\nc;x\n"))
    assert corpus.tokens == [["a", "b"], ["c"]]


def test_fields_in_a_table():
    with pytest.warns(DataWarning, match="texts.csv: the column 'id' is not read"):
        one, _, three = read(SAMPLES / "texts.csv")
    of = dict(zip(one.tokens, one.labels, strict=True))
    assert (of["Turing"], of["computable"], of["1936"], of[","]) == ("author", "title", "year", "O")
    assert [t for t, y in zip(three.tokens, three.labels, strict=True) if y == "author"] == [
        "Church", ",", "A", ".", "Rosser", ",", "J", ".",
    ]  # fmt: skip
    assert three.labels[-2:] == ["year", "O"]


def test_values_are_looked_for_where_tokens_end(file):
    (example,) = read(file('text,volume,year\n"1983, vol 1, p 3",1,1983\n'))
    assert example.labels == ["year", "O", "O", "volume", "O", "O", "O"]
    (example,) = read(file('text,volume\n"no 12, vol 1",1\n'))
    assert example.tokens == ["no", "12", ",", "vol", "1"]
    assert example.labels == ["O", "O", "O", "O", "volume"]


# ---------------------------------------------------------------- what is refused

DOCCANO = '{"text": "abc", "label": %s}'
PRODIGY = '{"text": "ab c", "tokens": %s, "answer": "accept"}'
STUDIO = '[{"data": {"text": "abc"}, "annotations": [{"result": [{"type": "labels", "value": %s}]}]}]'
BAD = [
    (DOCCANO % '[[0, 2, "x"], [1, 3, "y"]]', 1, "spans 0-2 and 1-3 overlap"),
    (DOCCANO % "[[0, 2]]", 1, "a span must have start, end and label"),
    (DOCCANO % '["PER"]', 1, "a span must have start, end and label"),
    ('{"text": "abc", "entities": [{"label": "x"}]}', 1, "a span must have start_offset, end_offset and label"),
    (PRODIGY % '[{"start": 0, "end": 2, "text": "xy"}]', 1, "the token 'xy' is not in its place: there is 'ab'"),
    (PRODIGY % '[{"start": 0, "end": 2}, {"start": 1, "end": 3}]', 1, "a token must have start and end in the text"),
    (PRODIGY % '["ab", "c"]', 1, "a token must have start and end"),
    (STUDIO % '{"start": 0, "end": 2, "text": "bc", "labels": ["x"]}', 1, "record 1: span 0-2 is 'bc', but .* 'ab'"),
    (STUDIO % '{"start": 0, "end": 2, "labels": ["x", "y"]}', 1, "record 1: a span must have one label"),
    ('[{"data": {"a": "x", "b": "y"}}]', 1, 'record 1: "data" must have a "text", or one string'),
    ('{"tokens": ["a"], "ner_tags": [1]}', 1, "the tag 1 is a number, and nothing names it; begin the file"),
    ('{"label_names": ["O"]}\n{"tokens": ["a"], "ner_tags": [1]}', 2, "no name for the tag 1: 1 are named"),
    ('{"tokens": ["a", "b"], "ner_tags": ["x"]}', 1, "2 tokens but 1 labels"),
    ("sentence_id,word,tag\n1,a,x\n1,b\n", 3, "2 cells, but the header has 3 columns"),
    ("sentence_id,word,tag\n1,a,x\nsentence_id,word,tag\n", 3, "the header once more"),
    ("sentence_id,word,tag\n1,,x\n", 2, "the token is empty"),
    ('sentence_id,word,tag\n1,"a,x\n', 2, "not CSV: unexpected end of data"),
    ("name,city,street\nx,y,z\nu,v,w\n", 1, "neither a column token .or word. nor a column text, only 'name', 'city'"),
    ("text,year\nabc,1936\n", 2, "the value '1936' of 'year' is not in the text"),
    ("text,a,b\nabc,abc,b\n", 2, "the value 'b' of 'b' is only where another field is"),
    ("a\tx\nb y\nc\tz\n", 2, "no TAB on the line"),
    ("a\tx\n".encode("utf-16"), 1, "use --encoding utf-16$"),
    ("a\tx\n".encode("utf-16-le"), 1, "use --encoding utf-16-le$"),
    ("a\tx\n".encode("utf-16-be"), 1, "use --encoding utf-16-be$"),
]


@pytest.mark.parametrize(("content", "line", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_content(file, content, line, message):
    path = file(content)
    with pytest.raises(DataError, match=f"^{path}:{line}: .*{message}") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["doccano", "prodigy", "label-studio", "csv-texts"])
def test_unknown_labels_are_refused(name):
    with pytest.raises(DataError, match="sequence 0: a label is unknown, which this format cannot tell from O"):
        written([semistruct.Example(["a", "b"], ["x", None])], name)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["O", "O", "x", "O"], "a field would be looked for in another place"),
        (["O"] * 4, "a field is nowhere"),
        (["text", "O", "O", "O"], "'text' cannot be the name of a column"),
    ],
)
def test_fields_that_would_not_be_found_again(labels, message):
    with pytest.raises(DataError, match=f"sequence 0: .*{message}"):
        written([semistruct.Example(["a", "b", "a", "c"], labels)], "csv-texts")


def test_fields_are_looked_for_in_the_order_of_the_columns():
    """The columns have the order of the first sequence, in which the same value may be found elsewhere."""
    examples = [semistruct.Example(["a"], ["x"]), semistruct.Example(["a", "a"], ["y", "x"])]
    with pytest.raises(DataError, match="sequence 1: a field would be looked for in another place"):
        written(examples, "csv-texts")


def test_other_keys_are_named_once(file):
    with pytest.warns(DataWarning, match=r":1: not read, here and below: 'stars'$") as caught:
        read(file('{"tokens": ["a"], "stars": 5, "id": 3}\n' * 3))
    assert len(caught) == 1


@pytest.mark.parametrize("name", ["jsonl", "json", "doccano", "prodigy", "label-studio", "huggingface"])
def test_what_is_not_read_of_a_record_is_written_back(name, tmp_path):
    example = semistruct.Example(["a"], ["x"], about={"id": 3, "meta": {"by": "me"}})
    write([example], tmp_path / "one", name)
    (found,) = read(tmp_path / "one", format=name, outside="?")
    assert found.about == {"id": 3, "meta": {"by": "me"}}
    assert (found.tokens, found.labels) == (["a"], ["x"])


def written(examples, name):
    out = io.StringIO()
    write(examples, out, name)
    return out.getvalue()
