"""Data written and read back: tokens, labels, texts and offsets are as they were, as far as a format can hold them."""

import warnings

from hypothesis import strategies as st

from fuzz.campaign import Part
from semistruct.base.errors import SemistructError
from semistruct.data.corpus import Example
from semistruct.data.formats import FORMATS, read, write
from semistruct.data.formats.docbin import load_spacy

PIECES = [
    "a", "B", "1936", ".", ",", "--", "&", "<", ">", "&lt;", "<x>", "</x>", "?", "O", "-DOCSTART-", "B-x", "I-x", "x y",
    "\t", "\n", "\r", "\0", "\ufeff", "\u2028", "\x85", "\x0b", "\x1c", "\xa0", "\u3000", "\ud800", "é", "e\u0301",
    "💩", "\\", '"', "{", "[", "#", "http://a.b", "a@b", "_", "-", "'", "|", " | ",
]  # fmt: skip
USUAL = 5  # of the pieces, and of the labels
LABELS = [
    "author",
    "Title",
    "X",
    "a.b",
    "é",
    "1",
    "?",
    "x y",
    "\t",
    "<",
    "\ufeff",
    "\ud800",
    "-DOCSTART-",
    "text",
    "id",
]
PREFIXED = ["B-x", "I-x", "E-x", "S-y", "B-"]
GAPS = ["", " ", " ", " ", "  ", "\n", "\t"]
WORDS_ONLY = {"doccano", "label-studio", "prodigy", "csv-texts", "inline", "text", "spacy"}
"""Formats of texts and spans: a token has one column, and labels of a scheme are spans."""
TEXTS = {*WORDS_ONLY, "jsonl", "json"}
ON_ONE_LINE = {"inline", "text"}
UNKNOWN_IF_UNMARKED = {"jsonl", "json", "inline"}


def mostly(values):
    """The first ones, or any."""
    return st.sampled_from(values[:USUAL]) | st.sampled_from(values)


@st.composite
def corpora(draw):
    """{"format", "scheme", "rows"}, a row being {"tokens", "labels", "gaps"}; gaps: of a text, around its tokens."""
    name = draw(st.sampled_from(list(FORMATS)))
    scheme = draw(st.sampled_from(["plain", "plain", "bio", "bioes"]))
    width = draw(st.sampled_from([1, 1, 1, 2, 3]))
    names = [*LABELS, *PREFIXED] if scheme == "plain" and name not in TEXTS else LABELS
    names = names if scheme == "plain" else [name for name in names if name.strip()]
    word = st.lists(mostly(PIECES), min_size=1, max_size=3).map("".join).filter(str.strip)
    known = draw(st.booleans())  # whether all labels are
    label = mostly(names) | st.just("O") | (st.just("O") if known else st.none())
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        blocks = draw(st.lists(st.tuples(label, st.integers(1, 3)), min_size=1, max_size=3))
        labels = [y for kind, n in blocks for y in coded(kind, n, scheme)]
        token = word if width == 1 else st.tuples(*[word] * width)
        tokens = draw(st.lists(token, min_size=len(labels), max_size=len(labels)))
        if name == "text" or not any(labels) or not draw(st.integers(0, 4)):
            labels = None
        has_text = width == 1 and draw(st.booleans())
        gaps = draw(st.lists(st.sampled_from(GAPS), min_size=len(tokens) + 1, max_size=len(tokens) + 1))
        rows.append({"tokens": tokens, "labels": labels, "gaps": gaps if has_text else None})
    return {"format": name, "scheme": scheme, "rows": rows}


def coded(kind, n, scheme):
    """The labels of a block of n tokens."""
    if kind in (None, "O") or scheme == "plain":
        return [kind] * n
    prefixes = "B" + "I" * (n - 1) if scheme == "bio" else "S" if n == 1 else "B" + "I" * (n - 2) + "E"
    return [f"{prefix}-{kind}" for prefix in prefixes]


def example_of(row):
    tokens, gaps = row["tokens"], row["gaps"]
    if gaps is None:
        return Example(tokens, row["labels"])
    text, offsets = gaps[0], []
    for token, gap in zip(tokens, gaps[1:], strict=True):
        offsets.append((len(text), len(text) + len(token)))
        text += token + gap
    return Example(tokens, row["labels"], text, offsets)


class RoundTrips(Part):
    """What a format agrees to write is read back as it was, or the writer warns that it cuts text into other tokens."""

    name = "round trips"
    share = 2.0

    def warm(self, folder):
        super().warm(folder)
        load_spacy()

    def inputs(self):
        return corpora()

    def run(self, given):
        name, scheme = given["format"], given["scheme"]
        examples = [example_of(row) for row in given["rows"]]
        before, path = {*self.folder.iterdir()}, self.folder / "written"
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                write(examples, path, name)
        finally:
            left = {*self.folder.iterdir()} - before - {path}
            assert not left, f"left behind: {left}"
        every = [example.labels for example in examples]
        unknown = any(row is None or None in row for row in every)
        options = {"scheme": scheme} if name in TEXTS and scheme != "plain" else {}
        options |= {"outside": "O"} if name in UNKNOWN_IF_UNMARKED and not unknown else {}
        try:
            found = read(path, format=name, **options)
        except SemistructError as err:
            raise AssertionError(f"{name}: what was written is refused: {err}") from err
        assert len(found) == len(examples), f"{name}: {len(examples)} sequences became {len(found)}"
        for wanted, got in zip(examples, found, strict=True):
            compare(name, scheme, wanted, got, bool(warned), unknown)


def compare(name, scheme, wanted, got, warned, unknown):
    labels, tokens = wanted.labels, wanted.tokens
    if name in WORDS_ONLY:
        tokens = [token if isinstance(token, str) else token[0] for token in tokens]
    unmarked = name in UNKNOWN_IF_UNMARKED and (wanted.text is not None or name == "inline")
    if labels and unmarked and unknown and None not in labels:  # all that is outside of spans
        labels = [None if y == "O" else y for y in labels]
    labels = labels if labels and any(labels) else None
    if warned or name == "text":  # which has no tokens
        one, two = by_character(tokens, labels, scheme), by_character(got.tokens, got.labels, scheme)
        assert one == two, f"{name}, by characters: {tokens} {labels} became {got.tokens} {got.labels}"
        return
    assert got.tokens == tokens, f"{name}, tokens: {tokens} became {got.tokens}"
    assert got.labels == labels, f"{name}, labels: {labels} became {got.labels}"
    if name in TEXTS and wanted.text is not None:
        text = wanted.text.replace("\n", " ").replace("\r", " ") if name in ON_ONE_LINE else wanted.text
        assert (got.text, got.offsets) == (text, wanted.offsets), f"{name}, text: {text!r} became {got.text!r}"
    if got.text is not None:
        words = [got.text[a:b] for a, b in got.offsets]
        assert words == got.tokens, f"{name}, offsets: {words} are not {got.tokens}"


def by_character(tokens, labels, scheme):
    """Every character that is not blank with its label, without the prefix of a scheme."""
    names = [y if y is None or y == "O" or scheme == "plain" else y[2:] for y in labels or [None] * len(tokens)]
    return [(c, name) for token, name in zip(tokens, names, strict=True) for c in token if not c.isspace()]
