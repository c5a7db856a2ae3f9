"""Text, a sequence per line: plain, or with tags.

    <author> A. Turing </author> <title> On computable numbers </title>

Tags do not nest.  `<`, `>` and `&` of a text with tags are written `&lt;`, `&gt;` and `&amp;`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from semistruct.base.errors import DataError, quoted, shortened
from semistruct.data.corpus import Example, Token
from semistruct.data.formats.base import LineFormat, Sample
from semistruct.data.formats.marked import Reader, check_length, cut_anew, marks_of, text_of
from semistruct.data.labels import Span
from semistruct.data.tokens import WORDS, tokenize

NAME = r"[^\W\d][\w.:-]*"
TAG = re.compile(rf"<(/?)({NAME})>")


class Text(LineFormat):
    """Text without labels; a line break within a text is written as a blank."""

    name = "text"
    rank = 99  # everything is text
    answer = "inline"

    def looks_like(self, sample: Sample) -> bool:
        return True

    def parse_line(self, line: str, number: int, reader: Reader) -> Example:
        return reader.example(line, None, number)

    def render(self, example: Example) -> str:
        return one_line(check_length(text_of(example)[0])) + "\n"

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return tokenize(one_line(text_of(example)[0]), example.cut_by or WORDS)[0]


class Inline(LineFormat):
    """Text with tags."""

    name = "inline"
    rank = 50

    def looks_like(self, sample: Sample) -> bool:
        return any(map(has_tags, sample.filled))

    def parse_line(self, line: str, number: int, reader: Reader) -> Example:
        """The line without its tags, and the labels that the tags give."""
        parts: list[str] = []
        marks, open_tag, start, end, at = [], "", 0, 0, 0  # start and end count characters of the text
        for tag in TAG.finditer(line):
            parts.append(unescape(line[at : tag.start()]))
            end += len(parts[-1])
            at = tag.end()
            closing, name = tag.groups()
            if not closing and open_tag:
                raise DataError(f"<{shortened(name)}> inside <{shortened(open_tag)}>: tags do not nest")
            if closing and name != open_tag:
                other = f"<{shortened(open_tag)}>" if open_tag else "a tag that is not open"
                raise DataError(f"</{shortened(name)}> closes {other}")
            if closing and start < end:
                marks.append(Span(name, start, end))
            open_tag, start = ("" if closing else name), end
        if open_tag:
            raise DataError(f"<{shortened(open_tag)}> is not closed on its line")
        parts.append(unescape(line[at:]))
        return reader.example("".join(parts), marks, number)

    def render(self, example: Example) -> str:
        """The text on one line with a pair of tags around each labelled span.

        Nothing but tags is added to an original text, so that reading the line gives the same text again.
        """
        text = check_length(text_of(example)[0])
        gap = "" if example.text is not None else " "
        parts, at = [], 0
        for label, start, end in marks_of(example):
            opening, closing = _tags(label)
            parts += [escape(text[at:start]), opening, gap, escape(text[start:end]), gap, closing]
            at = end
        parts.append(escape(text[at:]))
        return one_line("".join(parts)) + "\n"

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return cut_anew(example, one_line(text_of(example)[0]))


def has_tags(line: str) -> bool:
    """Whether a tag is opened, and later closed, on the line."""
    opened = set()
    for closing, name in TAG.findall(line):
        if not closing:
            opened.add(name)
        elif name in opened:
            return True
    return False


@cache
def _tags(label: str) -> tuple[str, str]:
    if not re.fullmatch(NAME, label):
        raise DataError(f"label {quoted(label)} cannot be the name of a tag")
    return f"<{label}>", f"</{label}>"


def one_line(text: str) -> str:
    """`text` with blanks for line breaks; every character keeps its place."""
    return text.replace("\n", " ").replace("\r", " ")


def escape(text: str) -> str:
    """Escape the characters that tags are made of."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The inverse of `escape`; other entities are left alone."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
