"""Cutting text into tokens, keeping where each one was."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""
      (?:https?|ftp)://[^\s<>"]*[\w/]            # an address of a page, without closing punctuation
    | www\.[^\s<>"]*[\w/]
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+               # an e-mail address
    | \*(?:NEWLINE|MONEY|phone|email|url|time)\*  # a class of words that stands for one of them, as in some corpora
    | \w+(?:[-'’/&_]\w+)*                        # a word: Moto-oka, don't, and/or, AT&T
    | ``|''|\.\.\.|--+                           # signs made of several characters
    | \S                                         # any other sign on its own
    """,
    re.VERBOSE,
)


def tokenize(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The tokens of `text` and the character span of each: text[a:b] is the token.

    >>> tokenize("A. Turing, 1936.")[0]
    ['A', '.', 'Turing', ',', '1936', '.']
    """
    found = list(TOKEN.finditer(text))
    return [m.group() for m in found], [m.span() for m in found]
