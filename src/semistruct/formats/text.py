"""Plain text: one sequence per line, no labels."""

from __future__ import annotations

from collections.abc import Sequence

from semistruct.corpus import Example, Token
from semistruct.formats import marked
from semistruct.formats.base import LineFormat, Sample
from semistruct.formats.marked import Reader
from semistruct.tokens import WORDS, tokenize

CUTS_ANEW = "keeps text, which is cut anew when it is read"


class Text(LineFormat):
    name = "text"
    rank = 99  # everything is text
    answer = "inline"
    recutting = CUTS_ANEW

    def looks_like(self, sample: Sample) -> bool:
        return True

    def parse_line(self, line: str, number: int, reader: Reader) -> Example:
        return reader.example(line, None, number)

    def render(self, example: Example) -> str:
        """The text on one line; a line break within the text becomes a blank."""
        text, _ = marked.text_to_write(example)
        return one_line(text) + "\n"

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return tokenize(one_line(marked.text_of(example)[0]), example.cut_by or WORDS)[0]


def one_line(text: str) -> str:
    """`text` with blanks for line breaks; every character keeps its place."""
    return text.replace("\n", " ").replace("\r", " ")
