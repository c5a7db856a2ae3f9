"""Tokens in columns, a blank line after each sequence; the CoNLL family of formats.

One token per line (tsv, conll), the last column being the label; or one line per column (transposed), the first being
the labels.  The first column that is not the label is the word; a token with further columns is a tuple.  `?` stands
for an unknown label.  A `-DOCSTART-` line separates sequences as a blank line does.  Two columns that hold `-X-` and
`_`, as in files of Label Studio, are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import ClassVar

from semistruct.base.errors import DataError, quoted, shortened
from semistruct.data.corpus import Example, Token
from semistruct.data.formats.base import DOCSTART, Format, Sample
from semistruct.data.formats.marked import UNKNOWN_MARK, Reader, known

FIELDS = re.compile(r"[^ \t\n]+")
ENOUGH = 20  # lines from which repeated labels can be expected
MOSTLY = 0.9  # a few malformed lines must not hide the format: its reader names them
UNUSED = ["-X-", "_"]  # two columns that Label Studio fills with nothing

Row = list[str]


def by_tab(line: str) -> Row:
    """The columns of a TAB-separated line; they may hold blanks."""
    return line.rstrip("\n").split("\t")


def by_blank(line: str) -> Row:
    """The columns of a line separated by blanks or TABs (not by the rarer white space of Unicode)."""
    return FIELDS.findall(line)


class Columns(Format):
    """One token per line; the last of two or more columns is the label by default."""

    in_columns = True
    separator: ClassVar[str]
    unwritable: ClassVar[str]  # a pattern that no field may contain

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        head = width = 0
        label: int | None = None
        source, unused = reader.source, False
        for first, rows in blocks(lines, by_tab if self.separator == "\t" else by_blank):
            if not head:
                head, width = first, len(rows[0])
                unused = all(row[1:-1] == UNUSED for row in rows)
                label = label_index(2 if unused else width, reader.label_column, source, head)
            for t, row in enumerate(rows):
                if len(row) != width:
                    missing = "no TAB on the line: " if self.separator == "\t" and len(row) == 1 else ""
                    problem = f"{missing}{len(row)} columns, expected {width} as on line {head}"
                    raise DataError.at(source, first + t, problem)
            rows = [[row[0], row[-1]] for row in rows] if unused else rows
            yield replace(example_of(rows, label, source, first), token_lines=True)

    def render(self, example: Example) -> str:
        """One line per token with the label in the last column, `?` where it is unknown, and a blank line."""
        return "\n".join(map(self.separator.join, fields_of(example, self.unwritable))) + "\n\n"


class Tsv(Columns):
    name = "tsv"
    rank = 40
    separator = "\t"
    unwritable = r"[\t\n\r]"

    def looks_like(self, sample: Sample) -> bool:
        return bool(sample.filled) and 2 * sum("\t" in line for line in sample.filled) >= len(sample.filled)


class Conll(Columns):
    name = "conll"
    rank = 70
    separator = " "
    unwritable = r"[ \t\n\r]|^$"

    def looks_like(self, sample: Sample) -> bool:
        """Whether blank lines separate the sequences, and all lines have equally many fields, the last of them a label.

        Labels repeat; the last words of lines of text hardly do, which shows when there are enough lines.  Lines that
        all stand alone are text.
        """
        if not sample.filled:
            return False
        fields = [by_blank(line) for line in sample.filled]
        parted = any(not line.strip() for line in sample.lines[sample.lines.index(sample.filled[0]) :])
        (width, count), *_ = Counter(map(len, fields)).most_common(1)
        last = Counter(row[-1] for row in fields if row)
        labelled = width == 1 or len(fields) < ENOUGH or 2 * len(last) <= len(fields)
        alone = len(fields) > 1 and not any(a.strip() and b.strip() for a, b in pairwise(sample.lines))
        return parted and (width == 1 or not alone) and count >= MOSTLY * len(fields) and labelled


class Transposed(Format):
    """One line per column: a sequence is a few lines with equally many fields, the labels first unless it has one line.

    author author author title title
    A      .      Turing On    numbers
    """

    name = "transposed"
    rank = 60
    in_columns = True

    def looks_like(self, sample: Sample) -> bool:
        """Whether all lines of a sequence have equally many fields, which differ by sequence, and labels come first.

        One sequence alone, or several of one length, might as well be columns.
        """
        found = [rows for _, rows in blocks([line + "\n" for line in sample.lines], by_blank)]
        complete = found[:-1] if len(found) > 2 else found  # the sample may end within the last one
        heights = {len(rows) for rows in complete}
        even = all(len({len(row) for row in rows}) == 1 for rows in complete)
        widths = {len(rows[0]) for rows in complete}
        if not even or len(widths) < 2 or len(heights) != 1 or heights == {1}:
            return False
        labels = [label for rows in complete for label in rows[0]]
        return 2 * len(set(labels)) <= len(labels)

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        """The sequences; the label column is the line of the labels, from 0, negative from below."""
        source, label_column = reader.source, reader.label_column
        head = height = 0
        label: int | None = None
        for first, rows in blocks(lines, by_blank, lambda line: not by_blank(line)):
            if not head:
                head, height = first, len(rows)
                default = 0 if label_column is None and height > 1 else label_column
                label = label_index(height, default, source, head)
            for number, row in enumerate(rows, first):
                if len(row) != len(rows[0]):
                    expected = f"expected {len(rows[0])} as on line {first}"
                    problem = f"{len(row)} fields, {expected}; a blank line separates sequences"
                    raise DataError.at(source, number, problem)
                if any(field.isspace() for field in row):
                    raise DataError.at(source, number, "a field is only white space")
            if len(rows) != height:
                problem = f"a sequence of {len(rows)} lines, expected {height} as on line {head}"
                raise DataError.at(source, first, problem)
            yield example_of([*map(list, zip(*rows, strict=True))], label, source, first)

    def render(self, example: Example) -> str:
        """The labels, `?` where unknown, the words and any further columns, and a blank line."""
        *tokens, labels = zip(*fields_of(example, r"[ \t\n\r]|^\s*$"), strict=True)
        if any(line[0] == DOCSTART for line in (labels, *tokens)):
            raise DataError(f"a line that begins with {DOCSTART} would be read as a separator; use jsonl instead")
        return "\n".join(map(" ".join, (labels, *tokens))) + "\n\n"


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
    for what, column in (("token", columns[0]), ("label", marks or ())):
        for t, field in enumerate(column):
            if not field or field.isspace():
                raise DataError.at(source, first + t, f"the {what} is empty or only white space")
    tokens: list[Token] = [*columns[0]] if len(columns) == 1 else [*zip(*columns, strict=True)]
    labels = None if marks is None else known(None if y == UNKNOWN_MARK else y for y in marks)
    return Example(tokens, labels, line=first)


def fields_of(example: Example, bad: str) -> list[tuple[str, ...]]:
    """The fields of every token, the label last; `bad` is a pattern that no field may contain."""
    labels = example.labels or [None] * len(example)
    rows = []
    for token, label in zip(example.tokens, labels, strict=True):
        columns = (token,) if isinstance(token, str) else token
        if columns[0] == DOCSTART:
            raise DataError(f"the token {DOCSTART} would be read as a separator; use jsonl instead")
        if label == UNKNOWN_MARK:
            raise DataError(f"the label {quoted(label)} would be read as unknown; use jsonl instead")
        rows.append((*columns, UNKNOWN_MARK if label is None else label))
    if len({len(row) for row in rows}) > 1:
        raise DataError("tokens with different numbers of columns; use jsonl instead")
    search = re.compile(bad).search
    for field in chain.from_iterable(rows):
        if search(field):
            raise DataError(f"{quoted(field)} cannot be written in a column; use jsonl instead")
    return rows
