"""Cutting text into tokens, keeping where each one was.

How text is cut is said by a word, which options and model files hold:

    words          words and signs; every character that is not blank is in a token
    whitespace     what stands between blanks
    pattern:REGEX  every match of the regular expression that is not blank
    given          not at all: the files have tokens, and running text is refused

Time grows with the length of the text, whatever it holds.  Hence the possessive quantifiers, and hence e-mail addresses
are not a part of TOKEN: trying one at every token would read the rest of a long `a.b.c.d` again and again.
"""

from __future__ import annotations

import re
from itertools import accumulate

from semistruct.base import patterns
from semistruct.base.errors import DataError, ParameterError, quoted

WORDS, WHITESPACE, GIVEN, PATTERN = "words", "whitespace", "given", "pattern:"

PAGE = r"""(?:(?:https?|ftp)://|www\.)[^\s<>"]*[\w/]"""  # an address of a page, without closing punctuation
TOKEN = re.compile(
    rf"""
    ({PAGE}
    | \*(?:NEWLINE|MONEY|phone|email|url|time)\*  # a class of words that stands for one of them, as in some corpora
    | \w++(?:[-'’/&_]\w++)*+                     # a word: Moto-oka, don't, and/or, AT&T
    | ``|''|\.\.\.|--++                          # signs made of several characters
    | \S)                                        # any other sign on its own
    """,
    re.VERBOSE,
)
UNCUT = (
    "running text, but nothing says how to cut it into tokens as in training; "
    "say so with --tokens (tokens=): words, whitespace or pattern:REGEX"
)
BETWEEN_BLANKS = re.compile(r"(\S+)")
IS_PAGE = re.compile(PAGE)
EMAIL = re.compile(r"(?<![\w.+-])(?=([\w.+-]++)@([\w-]++(?:\.[\w-]++)++))")
"""Where the part before the @ of an e-mail address begins; it is looked for, not consumed, as two may overlap."""

Offsets = list[tuple[int, int]]
Pieces = tuple[list[str], Offsets]


def tokenize(text: str, tokens: str = WORDS) -> Pieces:
    """The tokens of `text` and the character span of each: text[a:b] is the token.

    tokens  how to cut: "words", "whitespace" or "pattern:" with a regular expression

    >>> tokenize("A. Turing, 1936.")[0]
    ['A', '.', 'Turing', ',', '1936', '.']
    >>> tokenize("A. Turing, 1936.", "whitespace")[0]
    ['A.', 'Turing,', '1936.']
    """
    if not isinstance(text, str):
        raise DataError(f"{quoted(text)} is not a text")
    if checked_tokens(tokens) == WORDS:
        return _words(text)
    if tokens == WHITESPACE:
        return _split(BETWEEN_BLANKS, text)
    if tokens == GIVEN:
        raise DataError(UNCUT)
    found = patterns.matches(tokens.removeprefix(PATTERN), text)
    spans = [(a, b) for a, b in found if text[a:b].strip()]
    return [text[a:b] for a, b in spans], spans


def checked_tokens(tokens: str) -> str:
    """A way to cut text; refuses a word that says none."""
    if isinstance(tokens, str) and tokens.startswith(PATTERN):
        try:
            patterns.compiled(tokens.removeprefix(PATTERN))
        except ValueError as err:
            raise ParameterError(f"tokens: {err}") from None
    elif not isinstance(tokens, str) or tokens not in (WORDS, WHITESPACE, GIVEN):
        expected = "expected words, whitespace, given or pattern:REGEX, such as 'pattern:\\\\w+'"
        raise ParameterError(f"there is no way {quoted(tokens)} to cut text into tokens; {expected}")
    return tokens


def _words(text: str) -> Pieces:
    """An e-mail address is taken from the first token on that begins before its @, unless that is a page."""
    found, at = [], 0
    for email in EMAIL.finditer(text) if "@" in text else ():
        (first, sign), end = email.span(1), email.end(2)
        if at >= sign:
            continue
        for match in TOKEN.finditer(text, at):
            at = match.start()
            if at >= first:
                break
            found.append(match.span())
            at = match.end()
        if at < sign and not IS_PAGE.match(text, at):
            found.append((at, end))
            at = end
    tokens, spans = _split(TOKEN, text, at)
    return [text[a:b] for a, b in found] + tokens, found + spans


def _split(token: re.Pattern[str], text: str, start: int = 0) -> Pieces:
    """The matches of `token`, which has one group, all of it; without a step of Python for each."""
    parts = token.split(text[start:])
    edges = accumulate(map(len, parts), initial=start)
    next(edges)
    return parts[1::2], list(zip(edges, edges, strict=False))
