"""Running text in which some stretches of characters have a label: the content of `jsonl` and `inline` files.

Spans count characters here, not tokens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise

from semistruct.corpus import Example, Labels, Token
from semistruct.errors import DataError
from semistruct.labels import Span, spans
from semistruct.tokens import tokenize


def example(text: str, marks: Iterable[Span] | None, outside: str | None, line: int) -> Example:
    """The tokens of `text`, cut also where a mark begins or ends, so that each has one label.

    Tokens in no mark are labelled `outside`; marks=None means that nothing is labelled.
    """
    _, offsets = tokenize(text)
    if not offsets:
        raise DataError("the sequence has no tokens")
    labels = None
    if marks is not None:
        marks = sorted(marks, key=lambda m: m.start)
        _check(marks, len(text))
        offsets = _cut(offsets, [edge for m in marks for edge in (m.start, m.end)])
        labels = known(_label(marks, a, outside) for a, _ in offsets)
    return Example([text[a:b] for a, b in offsets], labels, text, offsets, line)


def known(labels: Iterable[str | None]) -> Labels | None:
    """`labels` as a list, or None when not one of them is known."""
    listed = list(labels)
    return None if all(y is None for y in listed) else listed


def text_of(example: Example) -> tuple[str, list[tuple[int, int]]]:
    """The text of an example and where its tokens are: the original, or the tokens joined by blanks."""
    if example.text is not None and example.offsets is not None:
        return example.text, example.offsets
    words = [word_of(token) for token in example.tokens]
    offsets, at = [], 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return " ".join(words), offsets


def marks_of(example: Example) -> list[Span]:
    """The labelled spans of an example as stretches of its text; "O" and unknown tokens are in none."""
    _, offsets = text_of(example)
    return [Span(s.label, offsets[s.start][0], offsets[s.end - 1][1]) for s in spans(example.labels or [])]


def word_of(token: Token) -> str:
    """The token without its further columns."""
    return token if isinstance(token, str) else token[0]


def _check(marks: list[Span], length: int) -> None:
    for m in marks:
        if not 0 <= m.start < m.end <= length:
            raise DataError(f"span {m.start}-{m.end} is empty or outside the text, which has {length} characters")
    for m, n in pairwise(marks):
        if n.start < m.end:
            raise DataError(f"spans {m.start}-{m.end} and {n.start}-{n.end} overlap")


def _cut(offsets: list[tuple[int, int]], edges: list[int]) -> list[tuple[int, int]]:
    """The same stretches, split wherever one of the sorted edges falls inside."""
    pieces: list[tuple[int, int]] = []
    for a, b in offsets:
        inner = sorted(set(edges[bisect_right(edges, a) : bisect_left(edges, b)]))
        pieces += pairwise([a, *inner, b])
    return pieces


def _label(marks: list[Span], position: int, outside: str | None) -> str | None:
    i = bisect_right(marks, position, key=lambda m: m.start) - 1
    return marks[i].label if i >= 0 and position < marks[i].end else outside
