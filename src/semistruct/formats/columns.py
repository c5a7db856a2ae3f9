"""One token per line in columns, a blank line after each sequence; the CoNLL family of formats.

The first column that is not the label is the word; a token with further columns is a tuple.  `?` stands for
an unknown label.  A `-DOCSTART-` line separates sequences as a blank line does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from semistruct.corpus import Example, Token
from semistruct.errors import DataError, quoted, shortened
from semistruct.formats.marked import known

UNKNOWN_MARK = "?"
DOCSTART = "-DOCSTART-"
FIELDS = re.compile(r"[^ \t\n]+")

Row = list[str]


def by_tab(line: str) -> Row:
    """The columns of a TAB-separated line; they may hold blanks."""
    return line.rstrip("\n").split("\t")


def by_blank(line: str) -> Row:
    """The columns of a line separated by blanks or TABs (not by the rarer white space of Unicode)."""
    return FIELDS.findall(line)


def parse(
    lines: Iterable[str], source: str, split: Callable[[str], Row], label_column: int | str | None
) -> Iterator[Example]:
    """The sequences of a file; `label_column` counts from 0, negative from the right, "none" for no label.

    By default the last of two or more columns is the label.
    """
    head = width = 0
    label: int | None = None
    for first, rows in blocks(lines, split):
        if not head:
            head, width = first, len(rows[0])
            label = label_index(width, label_column, source, head)
        for t, row in enumerate(rows):
            if len(row) != width:
                problem = f"{len(row)} columns, expected {width} as on line {head}"
                raise DataError.at(source, first + t, problem)
        yield replace(example_of(rows, label, source, first), token_lines=True)


def render(example: Example, separator: str) -> str:
    """One line per token with the label in the last column, `?` where it is unknown, and a blank line."""
    rows = rows_of(example, r"[\t\n\r]" if separator == "\t" else r"[ \t\n\r]|^$")
    return "\n".join(map(separator.join, rows)) + "\n\n"


def rows_of(example: Example, bad: str) -> list[tuple[str, ...]]:
    """The fields of every token, the label last; `bad` is a pattern that no field may contain."""
    labels = example.labels or [None] * len(example)
    rows = [(*_fields(x), _mark(y)) for x, y in zip(example.tokens, labels, strict=True)]
    if len({len(row) for row in rows}) > 1:
        raise DataError("tokens with different numbers of columns; use jsonl instead")
    search = re.compile(bad).search
    for field in chain.from_iterable(rows):
        if search(field):
            raise DataError(f"{quoted(field)} cannot be written in a column; use jsonl instead")
    return rows


def blocks(
    lines: Iterable[str], split: Callable[[str], Row], blank: Callable[[str], bool] = str.isspace
) -> Iterator[tuple[int, list[Row]]]:
    """The rows between separating lines, which are `blank`, with the number of the first one."""
    first = 0
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        row = [] if blank(line) else split(line)
        if row and row[0] != DOCSTART:
            first = first if rows else number
            rows.append(row)
        elif rows:
            yield first, rows
            rows = []
    if rows:
        yield first, rows


def label_index(width: int, label_column: int | str | None, source: str, line: int) -> int | None:
    """Which of `width` columns is the label, None if there is none."""
    index = -1 if label_column is None else label_column
    if (isinstance(index, str) and index == "none") or (label_column is None and width == 1):
        return None
    if not isinstance(index, int) or not -width <= index < width:
        raise DataError.at(source, line, f"there is no label column {shortened(str(index))}, only {width} columns")
    if width == 1:
        raise DataError.at(source, line, "the only column cannot be the label: there would be no word")
    return index


def example_of(rows: list[Row], label: int | None, source: str, first: int) -> Example:
    """The sequence whose tokens are `rows`."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    marks = None if label is None else columns.pop(label)
    _check_filled(columns[0], "token", source, first)
    tokens: list[Token] = [*columns[0]] if len(columns) == 1 else [*zip(*columns, strict=True)]
    if marks is None:
        return Example(tokens, line=first)
    _check_filled(marks, "label", source, first)
    return Example(tokens, known(None if y == UNKNOWN_MARK else y for y in marks), line=first)


def _check_filled(column: list[str], what: str, source: str, first: int) -> None:
    for t, field in enumerate(column):
        if not field or field.isspace():
            raise DataError.at(source, first + t, f"the {what} is empty or only white space")


def _fields(token: Token) -> tuple[str, ...]:
    fields = (token,) if isinstance(token, str) else token
    if fields[0] == DOCSTART:
        raise DataError(f"the token {DOCSTART} would be read as a separator; use jsonl instead")
    return fields


def _mark(label: str | None) -> str:
    if label == UNKNOWN_MARK:
        raise DataError(f"the label {quoted(label)} would be read as unknown; use jsonl instead")
    return UNKNOWN_MARK if label is None else label
