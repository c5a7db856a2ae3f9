"""Files that are written: each format by hand, what a format cannot hold, and files that are whole or not there."""

import io
import json
import os
from pathlib import Path

import pytest

from semistruct.base.errors import DataError, DataWarning
from semistruct.data.corpus import Example
from semistruct.data.formats import stream, write


def written(example, name, **options):
    out = io.StringIO()
    write([example], out, name, **options)
    return out.getvalue()


def test_each_format_by_hand():
    assert written(Example(["a", "b"], ["x", None]), "transposed") == "x ?\na b\n\n"
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
    spans = [{"start": 0, "end": 1, "label": "x", "text": "a"}, {"start": 2, "end": 3, "label": "x", "text": "b"}]
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


@pytest.mark.parametrize(("name", "column"), [("conll", ""), ("transposed", "\u2028")])
def test_columns_of_nothing_are_refused(name, column):
    with pytest.raises(DataError, match=r"^sequence 0: .* cannot be written in a column; use jsonl"):
        written(Example([("a", column)], ["x"]), name)


@pytest.mark.parametrize(
    ("token", "label"), [("", "x"), (" ", "x"), (("", "x"), "x"), ((), "x"), ("a", ""), ("a", "\u2028")]
)
def test_tokens_and_labels_are_not_empty(token, label):
    with pytest.raises(DataError, match="empty"):
        Example([token], [label])


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


def test_bad_names_are_noticed_before_writing(tmp_path):
    for options in ({"format": "tsvv"}, {"format": "tsv", "encoding": "utf-9"}):
        with pytest.raises(DataError, match="there is no"):
            write([Example(["a"])], tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []
