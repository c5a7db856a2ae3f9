"""Plain text: one sequence per line, no labels."""

from __future__ import annotations

from semistruct.corpus import Example
from semistruct.formats import marked


def parse(line: str, number: int, reader: marked.Reader) -> Example:
    """The tokens of one line."""
    return reader.example(line, None, number)


def render(example: Example) -> str:
    """The text on one line; a line break within the text becomes a blank."""
    text, _ = marked.text_of(example)
    return one_line(text) + "\n"


def one_line(text: str) -> str:
    """`text` with blanks for line breaks; every character keeps its place."""
    return text.replace("\n", " ").replace("\r", " ")
