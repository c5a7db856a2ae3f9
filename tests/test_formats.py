"""Files in every format: what is read, detection by content, and each message about a bad file."""

import io
import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from semistruct.base.errors import DataError, DataWarning
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, detect, read, stream, write
from semistruct.data.formats.base import LineFormat

# ---------------------------------------------------------------- what is read


def parts(examples):
    return [(e.tokens, e.labels, e.text, e.offsets) for e in examples]


def test_columns_and_lines(file):
    path = file("\na\tx\nb\t?\n\n\n# c\ty\n")
    corpus = read(path)
    assert corpus.tokens == [["a", "b"], ["# c"]]
    assert corpus.labels == [["x", None], ["y"]]
    assert [e.line for e in corpus] == [2, 6]
    assert corpus.source == str(path)
    assert corpus.where(1) == f"{path}:6"


@pytest.mark.parametrize(
    ("column", "token", "label"),
    [
        (None, ("dog", "NN"), "B-NP"),
        (-1, ("dog", "NN"), "B-NP"),
        (1, ("dog", "B-NP"), "NN"),
        (0, ("NN", "B-NP"), "dog"),
        (-2, ("dog", "B-NP"), "NN"),
    ],
)
def test_any_column_may_be_the_label(file, column, token, label):
    (example,) = read(file("dog NN B-NP\n\n"), label_column=column)
    assert (example.tokens, example.labels) == ([token], [label])


def test_columns_without_label(file):
    (example,) = read(file("dog NN B-NP\n\n"), label_column="none")
    assert (example.tokens, example.labels) == ([("dog", "NN", "B-NP")], None)
    (example,) = read(file("the\ndog\n\n"))
    assert (example.tokens, example.labels) == (["the", "dog"], None)
    (example,) = read(file("dog\t?\nran\t?\n"))
    assert example.labels is None


def test_docstart_separates(file):
    corpus = read(file("-DOCSTART- -X- O\n\na b O\n-DOCSTART- O\nc d I-x\n\n"))
    assert corpus.tokens == [[("a", "b")], [("c", "d")]]


def test_byte_order_mark_and_windows_line_ends(file):
    corpus = read(file(b"\xef\xbb\xbfa\tx\r\nb\ty\r\n\r\nc\tz\r\n"))
    assert corpus.tokens == [["a", "b"], ["c"]]
    assert corpus.labels == [["x", "y"], ["z"]]
    assert read(file("\ufeff" + '{"tokens": ["a"]}')).tokens == [["a"]]


def test_rare_white_space_does_not_part_columns(file):
    assert read(file("5\xa0000 NUM\nx\x85y Z\n\n")).tokens == [["5\xa0000", "x\x85y"]]


def test_other_encodings(file):
    assert read(file("é\tx\n".encode("latin-1")), encoding="latin-1").tokens == [["é"]]
    assert read(file("é\tx\n\nb\ty\n".encode("utf-16")), encoding="utf-16").tokens == [["é"], ["b"]]


def test_spans_cut_tokens(file):
    record = {"text": "foobar, baz", "spans": [{"start": 3, "end": 7, "label": "x"}, [8, 11, "y"]], "id": 7}
    (example,) = read(file(json.dumps(record)))
    assert example.tokens == ["foo", "bar", ",", "baz"]
    assert example.labels == [None, "x", "x", "y"]
    assert example.offsets == [(0, 3), (3, 6), (6, 7), (8, 11)]
    (example,) = read(file(json.dumps(record)), outside="O", scheme="bio")
    assert example.labels == ["O", "B-x", "I-x", "B-y"]


def test_outside_of_spans(file):
    assert read(file('{"text": "a b"}'), outside="O").labels == [None]
    assert read(file('{"text": "a b", "spans": []}'), outside="O").labels == [["O", "O"]]
    assert read(file('{"text": "a b", "spans": []}')).labels == [None]
    assert read(file("<t>a</t> b"), outside="O").labels == [["t", "O"]]


@pytest.mark.parametrize(
    "content",
    ['{"text": "Anna Bob x", "spans": [[0, 4, "PER"], [5, 8, "PER"]]}', "<PER>Anna</PER> <PER>Bob</PER> x"],
)
def test_spans_that_touch_stay_apart_in_a_scheme(file, content):
    path = file(content + "\n" + content)
    assert read(path, scheme="bio", outside="O").labels == [["B-PER", "B-PER", "O"]] * 2
    assert read(path, scheme="bioes").labels == [["S-PER", "S-PER", None]] * 2
    assert read(path, scheme="iob1", outside="O").labels == [["I-PER", "B-PER", "O"]] * 2
    with pytest.warns(DataWarning, match=f"^{path}:1: two spans of 'PER' touch and are read as one") as caught:
        assert read(path).labels == [["PER", "PER", None]] * 2
    assert len(caught) == 1


def test_spans_of_labels_with_prefixes_are_in_a_scheme_already(file):
    path = file("<B-PER>Anna</B-PER> <I-PER>Bob</I-PER> <B-PER>Cid</B-PER> <B-PER>Dan</B-PER>")
    for scheme in (None, "bio"):
        assert read(path, scheme=scheme).labels == [["B-PER", "I-PER", "B-PER", "B-PER"]]


def test_inline_keeps_the_text(file):
    line = "<author> A. Turing </author> 1 < 2 &amp;lt; <title>On &lt;b&gt; <i/></title>"
    (example,) = read(file(line))
    assert example.text == " A. Turing  1 < 2 &lt; On <b> <i/>"
    assert example.tokens[:3] == ["A", ".", "Turing"]
    assert example.labels[:4] == ["author"] * 3 + [None]
    assert example.tokens[-7:] == ["<", "b", ">", "<", "i", "/", ">"]
    out = io.StringIO()
    write([example], out, "inline")
    assert out.getvalue().startswith(" <author>A. Turing</author>  1 &lt; 2 &amp;lt; <title>On &lt;b&gt;")


def test_standard_input_and_output(monkeypatch, capsys):
    stdin = io.BytesIO(b"a\tx\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    corpus = read("-")
    assert not stdin.closed
    assert (corpus.source, corpus.tokens) == ("<stdin>", [["a"]])
    write(corpus, "-", "conll")
    write(corpus, None, "jsonl")
    assert capsys.readouterr().out == 'a x\n\n{"tokens": ["a"], "labels": ["x"]}\n'


def test_stream_is_lazy(tmp_path):
    """The first sequences come before a fault that is far behind them; reading everything meets it."""
    path = tmp_path / "long.tsv"
    path.write_text("a\tx\n\n" * 5000 + "ragged\n")
    examples = stream(path)
    assert [next(examples).line for _ in range(4000)] == list(range(1, 8000, 2))
    with pytest.raises(DataError, match=r"long\.tsv:10001: no TAB on the line: 1 columns, expected 2 as on line 1"):
        list(examples)


def test_transposed_lines(file):
    path = file("x x ?\na b c\n\n\ny\nd\n")
    corpus = read(path, format="transposed")
    assert parts(corpus) == parts([Example(["a", "b", "c"], ["x", "x", None]), Example(["d"], ["y"])])
    assert [e.line for e in corpus] == [1, 5]
    last = read(file("a  b\nN\tV\nx y\n"), format="transposed", label_column=-1)
    assert parts(last) == parts([Example([("a", "N"), ("b", "V")], ["x", "y"])])
    assert read(file("a b\n\nc\n"), format="transposed").tokens == [["a", "b"], ["c"]]
    assert read(file("y\nd\n"), format="transposed", label_column="none").tokens == [[("y", "d")]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x x\na b\n\nx y y\na b\n", "data:5: 2 fields, expected 3 as on line 4; a blank line separates sequences"),
        ("x x\na b\n\n\nx y\n", "data:5: a sequence of 1 lines, expected 2 as on line 1"),
        ("x\na\n\u2028\n", "data:3: a field is only white space"),
        ("x\na\n\nx x\nb \u2003\n", "data:5: a field is only white space"),
    ],
)
def test_bad_transposed_files(file, content, message):
    with pytest.raises(DataError, match=message):
        read(file(content), format="transposed")


# ---------------------------------------------------------------- detection


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ('{"tokens": []}\n', "jsonl"),
        ('\ufeff\n {"tokens": [broken\n', "jsonl"),
        ('[{"tokens": ["a"]}]\n', "json"),
        ("plain words\n<a> x </a> y\n", "inline"),
        ("a < b\n<a> never closed\n", "text"),
        ("a\tx\nb\ty\n", "tsv"),
        ("a\tx\nb y\n", "tsv"),
        ("<b>\tO\nx\tO\n</b>\tO\n", "tsv"),
        ("a x\nb y\n\nc z\n", "conll"),
        ("a x\n\n", "conll"),
        ("Maas Edward, cook\n\nWall Bob, mason\n", "text"),
        ("a\nb\n\nc\n", "conll"),
        ("a  x\r\nb x\r\n\r\nb y\r\n", "conll"),
        ("-DOCSTART-\n\n" + "a NN x\n" * 20 + "b y\n\n", "conll"),
        ("a x\nb y\nc z\n", "text"),
        ("\na x\nb y\n", "text"),
        ("One line here.\n\nAnother of other length here.\n", "text"),
        ("", "text"),
        ("x x y\na b c\n\ny y\na d\n", "transposed"),
        ("x y\na b\n\ny y\na d\n", "conll"),
        ("One line\nand more\n\nall of other words\nare of even length\n", "text"),
        ("x x\n\ny y y\n", "text"),
        ("Smith, John\nDoe, Jane\nRoe, Richard\n", "text"),
        ("One, two.\nThree, four, five.\nSix.\n", "text"),
        ("text\tO\nword\tx\n\na\tO\n", "tsv"),
        ("word,tag\na,x\n", "csv"),
        ("text\tyear\nin 1936\t1936\n", "csv-texts"),
        ('{"tokens": ["a"], "labels": ["x"], "id": 1}', "jsonl"),
        ('{"text": "a", "spans": []}', "jsonl"),
    ],
)
def test_detection(sample, name):
    assert detect(sample) == name


@pytest.mark.parametrize(
    "name", [name for name, form in FORMATS.items() if form.ending is None and name != "transposed"]
)  # which looks like columns if it is alone
def test_what_is_written_is_detected(tmp_path, name):
    labels = ["author", "author", "O", "title"]
    example = Example(["A.", "Turing", ",", "Numbers"], labels)
    with pytest.warns(DataWarning) if FORMATS[name].recutting == LineFormat.recutting else nullcontext():
        write([example], tmp_path / "x", name)
    assert stream(tmp_path / "x").format == name
    corpus = read(tmp_path / "x", outside="O")
    assert corpus.label_set == ([] if name == "text" else ["O", "author", "title"])
    assert corpus.tokens[0][-1] == "Numbers"


# ---------------------------------------------------------------- what is refused

BAD = [
    ("tsv", "", None, "the file is empty"),
    ("text", "\n  \n", None, "the file is empty"),
    ("conll", "-DOCSTART- O\n\n", None, "the file is empty"),
    (None, "a\tx\n\nb\ty\tz\n", 3, "3 columns, expected 2 as on line 1"),
    (None, "\na\tx\nb\ty\nc\n", 4, "1 columns, expected 2 as on line 2"),
    ("tsv", "a\tx\n \ty\n", 2, "the token is empty or only white space"),
    ("tsv", "a\tx\nb\t\n", 2, "the label is empty or only white space"),
    (None, b"a\tx\n\xe9\ty\n", 2, "not UTF-8 text; .*--encoding"),
    (None, b"a\tx\n" * 5000 + b"\xe9\ty\n", 5001, "not UTF-8 text; .*--encoding"),
    (None, b"a\tx\r\nb\0\tx\r\n", 2, "a NUL byte: a binary file"),
    (None, '{"tokens": ["a"]}\n{"tokens": [}\n', 2, r"not JSON: .*column 13"),
    (None, '[{"tokens": ["a"]}, 5]', 1, "record 2: expected a JSON object, not 5"),
    (None, '[{"tokens": ["a"]}\n', 1, "expected , or \\] after record 1 of the array"),
    (None, '[{"tokens": ["a"]}] x', 1, "more after the end of the array"),
    (None, '[\n{"tokens": ["a"]},\n{"tokens": []}]', 3, "record 2: .*no tokens"),
    (None, '{"tokens": ["a"]} x', 1, "more after the end of the record"),
    ("jsonl", '{"tokens": ["a"], "id": ' + "1" * 5000 + "}", 1, "a number has too many digits"),
    ("jsonl", '{"tokens": ["a", ' + "1" * 4000 + "]}", 1, "a token must be a string .*, not 1{60}\\.\\.\\.$"),
    (
        "jsonl",
        '{"text": "abc", "spans": [[0, ' + "1" * 4000 + ', "x"]]}',
        1,
        "span 0-1{50,60}\\.\\.\\. is empty or outside",
    ),
    ("inline", "<" + "a" * 5000 + "> x", 1, "<a{60}\\.\\.\\.> is not closed"),
    ("jsonl", '{"words": ["a"]}', 1, 'with "tokens" or "text"'),
    ("jsonl", "[" * 200_000, 1, "not"),
    (None, '{"tokens": []}', 1, "no tokens"),
    (None, '{"text": " "}', 1, "no tokens"),
    (None, '{"text": 5}', 1, '"text" must be a string'),
    (None, '{"tokens": "a"}', 1, '"tokens" must be a list'),
    (None, '{"tokens": ["a", 5]}', 1, "a token must be a string or a list of strings, not 5"),
    (None, '{"tokens": ["a", " "]}', 1, "token is empty or only white space"),
    (None, '\n{"tokens": ["a", "b"], "labels": ["x"]}', 2, "2 tokens but 1 labels"),
    (None, '{"tokens": ["a"], "labels": "x"}', 1, '"labels" must be a list or null'),
    (None, '{"tokens": ["a"], "labels": [3]}', 1, "a label must be a non-empty string, not 3"),
    (None, '{"text": "abc", "spans": [[0, 2, "x"], [1, 3, "y"]]}', 1, "spans 0-2 and 1-3 overlap"),
    (None, '{"text": "abc", "spans": [[0, 4, "x"]]}', 1, "span 0-4 is empty or outside the text, which has 3 char"),
    (None, '{"text": "abc", "spans": [[1, 1, "x"]]}', 1, "span 1-1 is empty"),
    (None, '{"text": "abc", "spans": {"a": 1}}', 1, '"spans" must be a list or null'),
    (None, '{"text": "abc", "spans": [{"start": 0}]}', 1, "a span must have start, end and label"),
    (None, '{"text": "abc", "spans": [[0, true, "x"]]}', 1, "a span must have start, end and label"),
    ("inline", "<a> x </a>\n<a> x <b> y </b> </a>\n", 2, "<b> inside <a>: tags do not nest"),
    ("inline", "<a> x\n", 1, "<a> is not closed"),
    ("inline", "<a> x </b>\n", 1, "</b> closes <a>"),
    ("inline", "x </b>\n", 1, "</b> closes a tag that is not open"),
    ("inline", "<a> </a>\n", 1, "no tokens"),
]


@pytest.mark.parametrize(("name", "content", "line", "message"), BAD, ids=[b[3][:40] for b in BAD])
def test_bad_content(file, name, content, line, message):
    path = file(content)
    where = str(path) if line is None else f"{path}:{line}"
    with pytest.raises(DataError, match=f"^{where}: .*{message}") as caught:
        read(path, format=name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": 0, "format": "conll"}, ":1: the only column cannot be the label"),
        ({"label_column": 2}, ":1: there is no label column 2, only 2 columns"),
        ({"label_column": -3}, ":1: there is no label column -3"),
        ({"label_column": "last"}, ":1: there is no label column last"),
        ({"format": "jsnl"}, "there is no format 'jsnl'; did you mean 'jsonl'\\?"),
        ({"format": "@@"}, "there is no format '@@'; there are label-studio, .*tsv, inline, transposed, conll, text"),
        ({"encoding": "utf-9"}, "there is no text encoding 'utf-9'"),
        ({"encoding": "base64"}, "there is no text encoding 'base64'"),
        ({"scheme": "bilou"}, "no label scheme 'bilou'"),
    ],
)
def test_bad_options(file, options, message):
    with pytest.raises(ValueError, match=message):
        read(file("a\n" if "conll" in options.values() else "a\tx\n"), **options)


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.tsv: cannot read: no such file"):
        read(tmp_path / "nowhere.tsv")
    with pytest.raises(DataError, match=f"^{tmp_path}: cannot read: is a directory"):
        read(tmp_path)


def test_equal_tokens_of_a_file_are_one_object(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("one long word\nanother long word\n")
    one, two = read(file).tokens
    assert (one, two) == (["one", "long", "word"], ["another", "long", "word"])
    assert all(a is b for a, b in zip(one[1:], two[1:], strict=True))


def test_little_of_long_lines_is_looked_at(file, monkeypatch):
    looked_at = []
    monkeypatch.setattr("semistruct.data.formats.SAMPLE_CHARACTERS", 10)
    monkeypatch.setattr("semistruct.data.formats.detect", lambda text: looked_at.append(text) or "text")
    assert len(read(file("abc\ndefghijklm\nn\n"))) == 3
    assert looked_at == ["abc\ndefghi"]
