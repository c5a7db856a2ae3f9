"""Files there and back in every format: what is read is what was written, or writing refuses it."""

import json
import warnings
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semistruct.base.errors import DataError, DataWarning
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, marked, read, stream, write
from semistruct.data.labels import Span, encode, scheme_of
from semistruct.data.tokens import tokenize

# ---------------------------------------------------------------- there and back

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")
WORDS = st.text(CHARACTERS, min_size=1, max_size=6).filter(str.strip)
FIELDS = WORDS.filter(lambda w: not set(w) & set(" \t\r\n") and w != "?")
TAG_NAMES = st.sampled_from(["author", "title", "B.x", "naïve_1"])


@st.composite
def marked_lines(draw):
    """(label or None, text) pieces of a line in which neighbours differ in label."""
    pieces = draw(st.lists(st.tuples(st.none() | TAG_NAMES, st.text(CHARACTERS, max_size=8)), max_size=6))
    pieces = [(label, text.replace("\r", "").replace("\n", "")) for label, text in pieces]
    pieces = [piece for piece in pieces if piece[1].strip()]
    assume(pieces and all(a[0] != b[0] for a, b in pairwise(pieces)))
    return pieces


def there_and_back(folder, examples, name, **options):
    path = folder / f"x.{name}"
    write(examples, path, name)
    return read(path, format=name, **options)


def parts(examples):
    return [(e.tokens, e.labels, e.text, e.offsets) for e in examples]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


@settings(deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", ["tsv", "conll", "transposed", "csv"])
def test_columns_there_and_back(folder, name, data):
    width = data.draw(st.integers(1, 3))
    token = FIELDS if width == 1 else st.tuples(*[FIELDS] * width)
    pairs = st.lists(st.tuples(token, st.none() | FIELDS), min_size=1, max_size=4)
    rows = data.draw(st.lists(pairs, min_size=1, max_size=3))
    examples = [Example([x for x, _ in row], [y for _, y in row]) for row in rows]
    found = there_and_back(folder, examples, name)
    assert found.tokens == [e.tokens for e in examples]
    assert found.labels == [e.labels if any(e.labels) else None for e in examples]
    assert list(stream(folder / f"x.{name}", format=name)) == found.examples


@settings(deadline=None)
@given(marked_lines())
@pytest.mark.parametrize("name", ["jsonl", "inline"])
def test_marked_text_there_and_back(folder, name, pieces):
    """A record made by hand from the pieces is read as they say, and again after writing."""
    text, spans = "", []
    for label, piece in pieces:
        if label:
            spans.append([len(text), len(text) + len(piece), label])
        text += piece
    (folder / "hand.jsonl").write_text(json.dumps({"text": text, "spans": spans}), encoding="utf-8")
    (example,) = read(folder / "hand.jsonl", format="jsonl")
    labels = example.labels or [None] * len(example)
    of_character = [label for label, piece in pieces for _ in piece]
    for (a, b), label, token in zip(example.offsets, labels, example.tokens, strict=True):
        assert token == text[a:b]
        assert set(of_character[a:b]) == {label}
    covered = {i for a, b in example.offsets for i in range(a, b)}
    assert all(c.isspace() for i, c in enumerate(text) if i not in covered)
    assert parts(there_and_back(folder, [example], name)) == parts([example])


# ---------------------------------------------------------------- read as it was, or refused


@contextmanager
def refusing():
    """Gives a list that is filled if writing refuses a sequence; no other error passes."""
    refused = []
    try:
        yield refused
    except DataError as err:
        refused.append(str(err))
    assert all(problem.startswith("sequence ") for problem in refused)


ANY = st.characters() | st.sampled_from([*"\0\ufeff\u2028\u2003\ud800\r\n\t ?<>&-", "-DOCSTART-", "B-", "I-a", "O"])
ANYTHING = st.lists(ANY, min_size=1, max_size=4).map("".join)
SURELY = st.sampled_from(["a", "b", "PER", "\ufeffx", "O", "B-a", "I-B-a"])


@st.composite
def any_examples(draw):
    """Sequences of anything that may be a token, with one number of columns or several."""
    width = draw(st.integers(1, 3))
    words = ANYTHING.filter(lambda w: not w.isspace())
    fields = ANYTHING | st.just("")
    token = words if width == 1 else st.tuples(words, *[fields] * (width - 1))
    if draw(st.integers(0, 9)) == 0:
        token = words | st.tuples(words, fields)
    tokens = draw(st.lists(token, min_size=1, max_size=4))
    label = st.none() | SURELY | words
    labels = draw(st.none() | st.lists(label, min_size=len(tokens), max_size=len(tokens)))
    return Example(tokens, labels if labels and set(labels) != {None} else None)


@settings(deadline=None, max_examples=80)
@given(st.lists(any_examples(), min_size=1, max_size=3))
@pytest.mark.parametrize("name", ["tsv", "conll", "transposed", "csv", "jsonl", "json", "huggingface"])
def test_tokens_come_back_as_they_were_or_are_refused(folder, name, examples):
    with refusing() as refused:
        found = there_and_back(folder, examples, name)
    if refused:
        return
    assert parts(found) == parts(examples)


@st.composite
def marked_examples(draw, scheme):
    """Texts with labelled spans, all else unknown or all else outside; (the example, the label outside)."""
    text = draw(st.lists(ANY | st.sampled_from("ab .@"), min_size=1, max_size=12).map("".join))
    words, offsets = tokenize(text)
    assume(words)
    edges = sorted(draw(st.sets(st.integers(0, len(words)), max_size=6)))
    kinds = st.sampled_from(["a", "b", "PER", "B-a", "naïve", "two words"])
    found = [Span(draw(kinds), a, b) for a, b in pairwise(edges) if draw(st.booleans())]
    outside = draw(st.sampled_from([None, "O"]))
    labels = encode(found, len(words), scheme)
    assume((scheme_of(labels) == "plain") == (scheme == "plain" or not found))
    if outside is None:
        covered = {t for span in found for t in range(span.start, span.end)}
        labels = [y if t in covered or draw(st.booleans()) else None for t, y in enumerate(labels)]
        # without an unknown token, "O" is told only by `outside`
        outside = None if None in labels else "O"
    return Example(words, labels if set(labels) != {None} else None, text, offsets), outside


@settings(deadline=None, max_examples=80)
@given(st.data())
@pytest.mark.parametrize("scheme", ["plain", "bio", "bioes", "iob1"])
@pytest.mark.parametrize("name", ["jsonl", "inline", "doccano", "prodigy", "label-studio", "csv-texts"])
def test_marked_texts_come_back_as_they_were_or_are_refused(folder, name, scheme, data):
    example, outside = data.draw(marked_examples(scheme))
    options = {"scheme": None if scheme == "plain" else scheme, "outside": outside if example.labels else None}
    with refusing() as refused:
        found = there_and_back(folder, [example], name, **options)
    if refused:
        return
    text = example.text if name != "inline" else example.text.replace("\r", " ").replace("\n", " ")
    assert parts(found) == parts([replace(example, text=text)])


@settings(deadline=None, max_examples=80)
@given(marked_examples("plain"))
def test_texts_come_back_as_they_were_or_are_refused(folder, case):
    example = replace(case[0], labels=None)
    with refusing() as refused:
        found = there_and_back(folder, [example], "text")
    if refused:
        return
    assert parts(found) == parts([replace(example, text=example.text.replace("\r", " ").replace("\n", " "))])


@st.composite
def any_corpora(draw):
    """(examples, how text was cut, the label outside): sequences of tokens alone, or of tokens in a text."""
    cut_by = draw(st.sampled_from([None, "words", "whitespace"]))
    pieces = st.sampled_from(["A.", "Turing,", "On", "a b", "x@y.z", ".", "--", "(", "'s"]) | ANYTHING.filter(str.strip)
    known = draw(st.sampled_from(["all", "some", "none"]))
    out = []
    for _ in range(draw(st.integers(1, 3))):
        words = draw(st.lists(pieces, min_size=1, max_size=5))
        text, offsets = "", []
        for word in words:
            text += draw(st.sampled_from(["", " ", " ", "  ", "\n", "\u2003"]))
            offsets.append((len(text), len(text) + len(word)))
            text += word
        if cut_by is not None:
            words, offsets = tokenize(text, cut_by)
        elif draw(st.booleans()):
            text = offsets = None
            if draw(st.integers(0, 5)) == 0:
                words = [(word, "NN") for word in words]
        label = st.sampled_from(["a", "b", "O"] + [None] * (known == "some"))
        labels = draw(st.lists(label, min_size=len(words), max_size=len(words)))
        assume(known != "some" or (None in labels and set(labels) != {None}))
        out.append(Example(words, None if known == "none" else labels, text, offsets, cut_by=cut_by))
    return out, cut_by or "words", "O" if known == "all" else None


@settings(deadline=None, max_examples=80)
@given(any_corpora())
@pytest.mark.parametrize("name", FORMATS)
def test_tokens_and_labels_come_back_or_the_writer_says_so(folder, name, case):
    examples, tokens, outside = case
    path = folder / f"x.{name}"
    with refusing() as refused, warnings.catch_warnings(record=True, action="always") as told:
        write(examples, path, name)
    if refused:
        return
    found = read(path, format=name, tokens=tokens, outside=outside)
    assert len(found) == len(examples)
    other = [(a, b) for a, b in zip(examples, found, strict=True) if a.tokens != b.tokens]
    start = f"{len(other)} of {len(examples)} sequences will be read with other tokens than they have: {name} "
    assert [str(one.message).startswith(start) for one in told] == [True] * bool(other)
    for a, b in zip(examples, found, strict=True):
        assert a.tokens != b.tokens or name == "text" or a.labels == b.labels
    if name not in ("inline", "text", "csv-texts", "spacy"):
        assert all(isinstance(a.tokens[0], tuple) for a, _ in other)


@pytest.mark.parametrize("name", ["inline", "text", "csv-texts"])
def test_a_writer_that_keeps_text_says_what_will_be_cut_anew(folder, name):
    examples = [Example(["A.", "Turing,"], ["a", "a"]), Example(["On", "numbers"], ["b", "O"])]
    with pytest.warns(DataWarning) as told:
        write(examples, folder / "x", name)
    problem = f"{name} keeps text, which is cut anew when it is read; use jsonl to keep them"
    assert [str(one.message) for one in told] == [
        f"1 of 2 sequences will be read with other tokens than they have: {problem}"
    ]


@pytest.mark.parametrize("name", ["inline", "text", "csv-texts", "doccano", "label-studio", "prodigy", "jsonl"])
def test_a_text_that_is_too_long_to_be_read_is_not_written(folder, name, monkeypatch):
    monkeypatch.setattr(marked, "LONGEST_TEXT", 8)
    there_and_back(folder, [Example(["12345678"], ["a"], "12345678", [(0, 8)])], name)
    with pytest.raises(DataError, match=r"^sequence 0: the text has 9 characters, but a sequence can have at most 8"):
        write([Example(["123456789"], ["a"], "123456789", [(0, 9)])], folder / "x", name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_long_text_comes_back(folder, name):
    """Cells of a table may be long too."""
    words = ["word"] * 40_000 + ["".join(map(str, range(30_000)))]
    text, offsets = marked.text_of(Example(words))
    example = Example(words, ["O"] * 40_000 + ["a"], text, offsets, cut_by="words")
    assert there_and_back(folder, [example], name, outside="O").tokens == [words]


@pytest.mark.parametrize("name", ["tsv", "conll", "transposed", "text", "inline"])
def test_a_first_character_that_looks_like_a_byte_order_mark_stays(folder, name):
    example = read_text(folder, "\ufeff\ufeffx") if name in ("text", "inline") else Example(["\ufeffx"], ["\ufeffy"])
    assert parts(there_and_back(folder, [example, example], name)) == parts([example, example])


def read_text(folder, content):
    (folder / "mark.txt").write_text(content, encoding="utf-8")
    (example,) = read(folder / "mark.txt", format="text")
    return example
