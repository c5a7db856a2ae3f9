"""The tokeniser against the one regular expression that says what tokens are, and on long texts."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semistruct import make_apartments, make_citations
from semistruct.base import patterns
from semistruct.base.errors import DataError, ParameterError
from semistruct.data.formats import detect
from semistruct.data.formats.texts import NAME
from semistruct.data.tokens import tokenize

SLOW = re.compile(
    r"""
      (?:https?|ftp)://[^\s<>"]*[\w/]
    | www\.[^\s<>"]*[\w/]
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | \*(?:NEWLINE|MONEY|phone|email|url|time)\*
    | \w+(?:[-'’/&_]\w+)*
    | ``|''|\.\.\.|--+
    | \S
    """,
    re.VERBOSE,
)
PIECES = [*"@.+-a_'’/&* \n<>\"é?\u2028", "b1", "http://", "https://", "ftp:", "www.", "www", "*email*"]
PIECES += ["``", "''", "...", "x.y@z.w"]


def slow(text):
    found = list(SLOW.finditer(text))
    return [m.group() for m in found], [m.span() for m in found]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=30))
@example("x'a@b.c@d.e")
@example("http://q/,a@b.c")
@example("AT&T.x@y.z a@b.c, www.a@b.c")
def test_tokens_are_those_of_one_regular_expression(text):
    assert tokenize(text) == slow(text)


@pytest.mark.parametrize("make", [make_citations, make_apartments])
def test_ordinary_texts(make):
    for e in make(200, seed=5):
        assert tokenize(e.text) == slow(e.text)


LONG = 500_000


LETTERS = ["a.", ".", "a-", "a+b.", "a@", "a.b@c", "a@b.c,", "-", "a'", "@", "x.@y"]


@pytest.mark.parametrize("piece", [*LETTERS, "www.", "http://.", "http://,<", "*email"])
def test_the_time_for_a_line_grows_with_its_length(piece):
    """Quadratic time would take many minutes here."""
    text = piece * (LONG // len(piece))
    tokens, spans = tokenize(text)
    assert "".join(tokens) == text
    assert spans[-1][1] == len(text)


TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=30)


@settings(max_examples=500, deadline=None)
@given(
    TEXTS,
    st.sampled_from(["words", "whitespace", r"pattern:\S+", r"pattern:\w+|[^\w\s]", "pattern:a*", r"pattern:a |\s"]),
)
def test_tokens_are_where_they_are_said_to_be(text, how):
    tokens, spans = tokenize(text, how)
    assert [text[a:b] for a, b in spans] == tokens
    assert all(token.strip() for token in tokens)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    if how not in ("pattern:a*", r"pattern:a |\s"):
        covered = {i for a, b in spans for i in range(a, b)}
        assert all(c.isspace() for i, c in enumerate(text) if i not in covered)


@given(TEXTS)
def test_whitespace_is_what_split_gives(text):
    assert tokenize(text, "whitespace")[0] == text.split()


def test_every_match_of_a_pattern_is_a_token():
    assert tokenize("ab, c1", r"pattern:[a-z]\d?") == (["a", "b", "c1"], [(0, 1), (1, 2), (4, 6)])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("word", "there is no way 'word' to cut text .* expected words, whitespace, given or pattern:REGEX"),
        (None, "there is no way None"),
        ("pattern:(", "the pattern '\\(' does not compile"),
        ("pattern:a(?R)?b", "calls itself or a group"),
    ],
)
def test_ways_to_cut_that_are_none(how, message):
    with pytest.raises(ParameterError, match=message):
        tokenize("a", how)


def test_text_is_not_cut_where_nothing_says_how():
    with pytest.raises(DataError, match=r"nothing says how to cut it .* --tokens"):
        tokenize("a", "given")


def test_a_pattern_that_takes_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr(patterns, "PATIENCE", 0.05)
    with pytest.raises(ParameterError, match=r"'\(a\|aa\)\+\$' takes more than 0.05 s on the text 'aaa"):
        tokenize("a" * 60 + "!", "pattern:(a|aa)+$")


@pytest.mark.parametrize("how", ["whitespace", r"pattern:\w+|\W"])
def test_long_lines_in_other_ways(how):
    text = "a. " * (LONG // 3)
    assert "".join(tokenize(text, how)[0]) == text.replace(" ", "")


@pytest.mark.parametrize("piece", ["<a>", "<a", "</a>", "<", "[", " [", "a"])
def test_detection_of_long_lines(piece):
    detect(piece * (LONG // len(piece)))


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "</", "<", "x", "\n"]), max_size=12).map("".join))
def test_a_pair_of_tags_is_detected(text):
    paired = re.search(rf"<({NAME})>.*?</\1>", text) is not None
    assert (detect(text) == "inline") == paired
