"""The tokeniser against the one regular expression that says what tokens are, and on long texts."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semistruct import make_apartments, make_citations
from semistruct.formats import detect
from semistruct.formats.inline import NAME
from semistruct.tokens import tokenize

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
PIECES = [
    "http://",
    "https://",
    "ftp:",
    "www.",
    "www",
    "@",
    ".",
    "+",
    "-",
    "a",
    "b1",
    "_",
    "'",
    "’",
    "/",
    "&",
    "*email*",
]
PIECES += ["*", " ", "\n", "<", ">", '"', "``", "''", "...", "é", "?", "\u2028", "x.y@z.w"]


def slow(text):
    found = list(SLOW.finditer(text))
    return [m.group() for m in found], [m.span() for m in found]


@settings(max_examples=2000, deadline=None)
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


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        ".",
        "a-",
        "a+b.",
        "a@",
        "a.b@c",
        "a@b.c,",
        "www.",
        "http://.",
        "http://,<",
        "-",
        "a'",
        "@",
        "x.@y",
        "*email",
    ],
)
def test_the_time_for_a_line_grows_with_its_length(piece):
    """Quadratic time would take many minutes here."""
    text = piece * (LONG // len(piece))
    tokens, spans = tokenize(text)
    assert "".join(tokens) == text
    assert spans[-1][1] == len(text)


@pytest.mark.parametrize("piece", ["<a>", "<a", "</a>", "<", "[", " [", "a"])
def test_detection_of_long_lines(piece):
    detect(piece * (LONG // len(piece)))


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "</", "<", "x", "\n"]), max_size=12).map("".join))
def test_a_pair_of_tags_is_detected(text):
    paired = re.search(rf"<({NAME})>.*?</\1>", text) is not None
    assert (detect(text) == "inline") == paired
