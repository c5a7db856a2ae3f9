"""Files in every format: what is read, detection by content, and each message about a bad file."""

import io
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from semistruct.corpus import Corpus, Example
from semistruct.errors import DataError, DataWarning
from semistruct.formats import FORMATS, detect, read, stream, write
from semistruct.formats.text import CUTS_ANEW

# ---------------------------------------------------------------- what is read


@pytest.fixture
def file(tmp_path):
    """Make a file of the given text or bytes."""

    def make(content, name="data"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


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
    assert [t for t, y in zip(example.tokens, example.labels, strict=True) if y == "author"] == [
        "A",
        ".",
        "Turing",
    ]
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
    assert written(Example(["a", "b"], ["x", None]), "transposed") == "x ?\na b\n\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x x\na b\n\nx y y\na b\n", "data:5: 2 fields, expected 3 as on line 4; a blank line separates sequences"),
        ("x x\na b\n\n\nx y\n", "data:5: a sequence of 1 lines, expected 2 as on line 1"),
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
    with pytest.warns(DataWarning) if FORMATS[name].recutting == CUTS_ANEW else nullcontext():
        write([example], tmp_path / "x", name)
    assert stream(tmp_path / "x").format == name
    corpus = read(tmp_path / "x", outside="O")
    assert corpus.label_set == ([] if name == "text" else ["O", "author", "title"])
    assert corpus.tokens[0][-1] == "Numbers"


# ---------------------------------------------------------------- what is written


def written(example, name, **options):
    out = io.StringIO()
    write([example], out, name, **options)
    return out.getvalue()


def test_each_format_by_hand():
    plain = Example([("A", "NN"), ("<b", "X"), ("c", "Y")], ["B-x", "I-x", None])
    assert written(plain, "tsv") == "A\tNN\tB-x\n<b\tX\tI-x\nc\tY\t?\n\n"
    assert written(plain, "conll", scheme="plain") == "A NN x\n<b X x\nc Y ?\n\n"
    with pytest.warns(DataWarning, match="1 of 1 .* inline keeps the first column of a token only; use jsonl"):
        assert written(plain, "inline") == "<x> A &lt;b </x> c\n"
    with pytest.warns(DataWarning, match="text keeps the first column of a token only"):
        assert written(plain, "text") == "A <b c\n"
    assert json.loads(written(plain, "jsonl")) == {
        "tokens": [["A", "NN"], ["<b", "X"], ["c", "Y"]],
        "labels": ["B-x", "I-x", None],
    }
    text = Example(["a", "b", "c"], ["B-x", "B-x", "O"], "a\nb c", [(0, 1), (2, 3), (4, 5)], cut_by="words")
    assert written(text, "inline") == "<x>a</x> <x>b</x> c\n"
    assert written(text, "text") == "a b c\n"
    spans = [{"start": 0, "end": 1, "label": "x"}, {"start": 2, "end": 3, "label": "x"}]
    assert json.loads(written(text, "jsonl")) == {"text": "a\nb c", "spans": spans}
    assert written(Example(["é"]), "jsonl") == '{"tokens": ["é"]}\n'


@pytest.mark.parametrize(
    ("name", "example", "message"),
    [
        ("inline", Example(["a"], ["two words"]), "'two words' cannot be the name of a tag"),
        ("conll", Example(["a b"], ["x"]), "'a b' cannot be written in a column"),
        ("tsv", Example(["a"], ["x\ty"]), "cannot be written in a column; use jsonl"),
        ("tsv", Example(["a"], ["?"]), "'\\?' would be read as unknown"),
        ("tsv", Example(["-DOCSTART-"]), "would be read as a separator"),
        ("tsv", Example(["a", ("b", "c")]), "different numbers of columns"),
        ("conll", Example([("b", "c")]), "2 columns, but the sequences before it have 1; use jsonl"),
        ("tsv", Example(["a\0"]), "NUL character cannot be written in this format; use jsonl"),
        ("text", Example(["a\0"]), "NUL character cannot be written in this format; use jsonl"),
        ("transposed", Example(["a"], ["-DOCSTART-"]), "would be read as a separator; use jsonl"),
        ("inline", Example(["a"], ["I-B-a"]), "'B-a' of a span would be read as a label of the scheme bio"),
        ("tsv", Example(["x y\t" * 100_000]), r"'x y.{50,70}\.\.\. cannot be written"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, name, example, message):
    with pytest.raises(DataError, match=f"^sequence 1: .*{message}"):
        write([Example(["fine"]), example], tmp_path / "out", name)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_column_is_refused_between_blanks():
    with pytest.raises(DataError, match=r"^sequence 0: '' cannot be written in a column"):
        written(Example([("a", "")], ["x"]), "conll")


def test_a_column_of_white_space_is_refused_in_rows(tmp_path):
    with pytest.raises(DataError, match=r"^sequence 0: .* cannot be written in a column; use jsonl"):
        write([Example([("a", "\u2028")])], tmp_path / "out", "transposed")
    (tmp_path / "in").write_text("x\na\n\u2028\n", encoding="utf-8")
    with pytest.raises(DataError, match=":3: a field is only white space"):
        read(tmp_path / "in", format="transposed")


@pytest.mark.parametrize("token", ["", " ", ("", "x"), ()])
def test_tokens_are_not_empty(token):
    with pytest.raises(DataError, match="a token is empty or only white space"):
        Example([token])


@pytest.mark.parametrize("label", ["", "\u2028"])
def test_labels_are_not_empty(label):
    with pytest.raises(DataError, match="empty"):
        Example(["a"], [label])


def test_a_complete_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    done = []
    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append("fsync"), fsync(f)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), rename(a, b)))
    write([Example(["a"])], tmp_path / "x", "tsv")
    assert done == ["fsync", "rename", "fsync"]


def test_characters_outside_of_the_encoding(tmp_path):
    with pytest.raises(DataError, match="sequence 0: 'π' cannot be written in the encoding latin-1"):
        write([Example(["π"])], tmp_path / "out", "tsv", encoding="latin-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_file_leaves_the_old_one(tmp_path, fault):
    def examples():
        yield Example(["new"])
        raise fault

    path = tmp_path / "out.tsv"
    path.write_text("old")
    with pytest.raises(fault):
        write(examples(), path, "tsv")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_followed_and_devices_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write([Example(["a"])], link, "text")
    assert link.is_symlink()
    assert real.read_text() == "a\n"
    write([Example(["a"])], os.devnull, "text")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("name", ["missing/out.tsv", "file/out.tsv", "."])
def test_unwritable_paths(tmp_path, name):
    (tmp_path / "file").write_text("")
    path = os.path.join(tmp_path, name)
    with pytest.raises(DataError, match=f"^{path}: cannot write: [a-z ]+$"):
        write([Example(["a"])], path, "tsv")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_faults_of_the_input_are_not_blamed_on_the_output(tmp_path):
    source = tmp_path / "in.tsv"
    source.write_text("a\tx\nb\n")
    with pytest.raises(DataError, match=r"^\S+in.tsv:2: no TAB on the line: 1 columns"):
        write(stream(source), tmp_path / "out.tsv", "jsonl")


# ---------------------------------------------------------------- what is refused

BAD = [
    ("tsv", "", None, "the file is empty"),
    ("text", "\n  \n", None, "the file is empty"),
    ("conll", "-DOCSTART- O\n\n", None, "the file is empty"),
    (None, "a\tx\n\nb\ty\tz\n", 3, "3 columns, expected 2 as on line 1"),
    (None, "\na\tx\nb\ty\nc\n", 4, "1 columns, expected 2 as on line 2"),
    ("tsv", "a\tx\n \ty\n", 2, "the token is empty or only white space"),
    ("tsv", "a\tx\n\ty\n", 2, "the token is empty or only white space"),
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
    (None, '{"tokens": ["a", []]}', 1, "a token must be a string"),
    (None, '{"tokens": ["a", " "]}', 1, "token is empty or only white space"),
    (None, '\n{"tokens": ["a", "b"], "labels": ["x"]}', 2, "2 tokens but 1 labels"),
    (None, '{"tokens": ["a"], "labels": "x"}', 1, '"labels" must be a list or null'),
    (None, '{"tokens": ["a"], "labels": [""]}', 1, "a label must be a non-empty string"),
    (None, '{"tokens": ["a"], "labels": [3]}', 1, "a label must be a non-empty string, not 3"),
    (None, '{"text": "abc", "spans": [[0, 2, "x"], [1, 3, "y"]]}', 1, "spans 0-2 and 1-3 overlap"),
    (None, '{"text": "abc", "spans": [[0, 4, "x"]]}', 1, "span 0-4 is empty or outside the text, which has 3 char"),
    (None, '{"text": "abc", "spans": [[-1, 2, "x"]]}', 1, "span -1-2 is empty or outside"),
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
        read(file("a\tx\n"), **options)


def test_the_only_column_is_the_word(file):
    with pytest.raises(DataError, match=":1: the only column cannot be the label"):
        read(file("a\nb\n\n"), label_column=0)


def test_bad_names_are_noticed_before_writing(tmp_path):
    for options in ({"format": "tsvv"}, {"format": "tsv", "encoding": "utf-9"}):
        with pytest.raises(DataError, match="there is no"):
            write([Example(["a"])], tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.tsv: cannot read: no such file"):
        read(tmp_path / "nowhere.tsv")
    with pytest.raises(DataError, match=f"^{tmp_path}: cannot read: is a directory"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions(tmp_path, file):
    path = file("a\tx\n")
    path.chmod(0)
    with pytest.raises(DataError, match="cannot read: permission denied"):
        read(path)
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="cannot write: permission denied"):
        write(Corpus.of([["a"]]), tmp_path / "out", "tsv")
    tmp_path.chmod(0o700)


def test_equal_tokens_of_a_file_are_one_object(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("one long word\nanother long word\n")
    one, two = read(file).tokens
    assert (one, two) == (["one", "long", "word"], ["another", "long", "word"])
    assert all(a is b for a, b in zip(one[1:], two[1:], strict=True))
