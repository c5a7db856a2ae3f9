"""Cutting text into tokens, keeping where each one was.

Time grows with the length of the text, whatever it holds.  Hence the possessive quantifiers, and hence e-mail addresses
are not a part of TOKEN: trying one at every token would read the rest of a long `a.b.c.d` again and again.
"""

from __future__ import annotations

import re

from semistruct.errors import DataError, quoted

TOKEN = re.compile(
    r"""
      (?P<page>(?:(?:https?|ftp)://|www\.)[^\s<>"]*[\w/])  # an address of a page, without closing punctuation
    | \*(?:NEWLINE|MONEY|phone|email|url|time)\*  # a class of words that stands for one of them, as in some corpora
    | \w++(?:[-'’/&_]\w++)*+                     # a word: Moto-oka, don't, and/or, AT&T
    | ``|''|\.\.\.|--++                          # signs made of several characters
    | \S                                         # any other sign on its own
    """,
    re.VERBOSE,
)
EMAIL = re.compile(r"(?<![\w.+-])(?=([\w.+-]++)@([\w-]++(?:\.[\w-]++)++))")
"""Where the part before the @ of an e-mail address begins; it is looked for, not consumed, as two may overlap."""


def tokenize(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of `text` and the character span of each: text[a:b] is the token.

    >>> tokenize("A. Turing, 1936.")[0]
    ['A', '.', 'Turing', ',', '1936', '.']
    """
    if not isinstance(text, str):
        raise DataError(f"{quoted(text)} is not a text")
    found = _spans(text)
    return [text[a:b] for a, b in found], found


def _spans(text: str) -> list[tuple[int, int]]:
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
        if at < sign and match["page"] is None:
            found.append((at, end))
            at = end
    found += [match.span() for match in TOKEN.finditer(text, at)]
    return found
