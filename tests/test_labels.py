"""Label schemes against conlleval's two tables of chunk starts and ends, and spans there and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistruct.base.errors import DataError, ParameterError
from semistruct.data.labels import Span, convert, encode, scheme_of, spans

# conlleval, entry by entry: pairs (tag before, tag) at which a chunk ends or starts whatever the types.
ENDS = {*("BB", "BS", "BO", "IB", "IS", "IO"), *("EB", "EI", "EE", "ES", "EO", "SB", "SI", "SE", "SS", "SO")}
STARTS = {a + b for a in "BIESO" for b in "BS"} | {"EE", "EI", "SE", "SI", "OE", "OI"}


def conlleval_spans(labels):
    """Chunks by walking over the labels with the two tables; an unknown label is outside."""
    tags = [("O", "") if y in (None, "O") else tuple(y.split("-", 1)) for y in labels] + [("O", "")]
    found, open_at, before = [], None, ("O", "")
    for t, now in enumerate(tags):
        other = before[1] != now[1]
        if open_at is not None and (before[0] + now[0] in ENDS or (before[0] != "O" and other)):
            found.append((before[1], open_at, t))
            open_at = None
        if before[0] + now[0] in STARTS or (now[0] != "O" and other):
            open_at = t
        before = now
    return found


def chunk_labels(prefixes):
    some = [f"{p}-{kind}" for p in prefixes for kind in ("x", "y", "x-y")]
    return st.lists(st.sampled_from([*some, "O", None]), max_size=12)


@st.composite
def span_lists(draw):
    """Spans that do not overlap, and the length of their sequence."""
    found, at = [], 0
    for gap, size, label in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from("xyz")), max_size=5)
    ):
        found.append(Span(label, at + gap, at + gap + size))
        at += gap + size
    return found, at + draw(st.integers(0, 2))


@settings(deadline=None)
@given(chunk_labels("BI") | chunk_labels("BIES"))
def test_spans_follow_conlleval(labels):
    assert spans(labels) == conlleval_spans(labels)
    assert spans(labels, "bioes") == conlleval_spans(labels)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["x", "y", "O", None]), max_size=12))
def test_plain_spans_are_maximal_runs(labels):
    runs = spans(labels)
    covered = {t: s.label for s in runs for t in range(s.start, s.end)}
    assert [covered.get(t) for t in range(len(labels))] == [None if y == "O" else y for y in labels]
    touching = [(a, b) for a in runs for b in runs if a.end == b.start]
    assert all(a.label != b.label for a, b in touching)


@settings(deadline=None)
@given(span_lists(), st.sampled_from(["bio", "bioes", "iob1"]))
def test_spans_survive_encoding(case, scheme):
    found, length = case
    labels = encode(found, length, scheme)
    assert len(labels) == length
    assert spans(labels) == found


@settings(deadline=None)
@given(chunk_labels("BI") | chunk_labels("BIES"), st.sampled_from(["bio", "bioes", "iob1"]))
def test_conversion_keeps_spans_and_unknown_labels(labels, to):
    new = convert(labels, to)
    assert spans(new) == spans(labels)
    assert [y is None for y in new] == [y is None for y in labels]
    assert convert(new, to) == new


def test_each_scheme_by_hand():
    found = [Span("a", 0, 2), Span("a", 2, 3), Span("b", 4, 7)]
    assert encode(found, 7, "bio") == ["B-a", "I-a", "B-a", "O", "B-b", "I-b", "I-b"]
    assert encode(found, 7, "bioes") == ["B-a", "E-a", "S-a", "O", "B-b", "I-b", "E-b"]
    assert encode(found, 7, "iob1") == ["I-a", "I-a", "B-a", "O", "I-b", "I-b", "I-b"]
    assert encode(found, 7, "plain") == ["a", "a", "a", "O", "b", "b", "b"]
    assert convert(["I-a", "B-a", None, "O", "I-b-c"], "plain") == ["a", "a", None, "O", "b-c"]
    assert convert(["a", "a", "b", None, "O"], "bio") == ["B-a", "I-a", "B-b", None, "O"]


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ([], "plain"),
        (["O", None], "plain"),
        (["author", "title"], "plain"),
        (["B-x", "title"], "plain"),
        (["B-", "I-x"], "plain"),
        (["B-x", "O"], "bio"),
        (["I-x", None], "bio"),
        (["S-x", "O"], "bioes"),
        (["B-x", "I-x", "E-x"], "bioes"),
    ],
)
def test_scheme_is_recognised(labels, scheme):
    assert scheme_of(labels) == scheme


def test_what_cannot_be_coded_is_refused():
    with pytest.raises(DataError, match="'title' is neither O nor prefixed"):
        spans(["title"], "bio")
    with pytest.raises(ParameterError, match=r"no label scheme 'iob3'; did you mean 'iob1'"):
        convert(["x"], "iob3")
    for bad in ([Span("x", 0, 4)], [Span("x", 1, 1)], [Span("x", 0, 2), Span("y", 1, 3)]):
        with pytest.raises(DataError, match="overlaps"):
            encode(bad, 3, "bio")
