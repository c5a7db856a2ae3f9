"""A table with one text per row, and one column for each field, whose value stands in the text:

    text,author,date
    "A. Turing, 1936",A. Turing,1936

A field that is not there has an empty cell; several values of a field are separated by ` | `.  A value is looked for
first where it begins and ends with a token, from left to right, long values before short ones.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from semistruct.corpus import Example, Token
from semistruct.errors import DataError, DataWarning, quoted, some_of
from semistruct.formats import marked
from semistruct.formats.base import Format, Sample, naming_line, naming_sequence
from semistruct.formats.marked import Reader
from semistruct.formats.tables import TEXTS, Header, header_of, is_table, missing, row_text, rows_of
from semistruct.formats.text import CUTS_ANEW
from semistruct.labels import Span
from semistruct.tokens import GIVEN, WORDS, tokenize

BETWEEN = " | "
UNMARKED = {"id", "index"}  # columns that are no fields


class CsvTexts(Format):
    name = "csv-texts"
    rank = 31
    end_to_end = False
    recutting = CUTS_ANEW

    def looks_like(self, sample: Sample) -> bool:
        header = header_of(sample)
        if header is None:
            return False
        if (column := header.find(TEXTS)) is None:
            return is_table(sample, header)
        cells = [line.split("\t") for line in sample.filled[1:]] if header.delimiter == "\t" else []
        # columns of tokens may begin with the token "text"
        return header.delimiter != "\t" or any(" " in row[column] for row in cells if len(row) > column)

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        reader, told = reader.by_default_outside(), False
        for number, header, row in rows_of(lines, reader.source):
            if not told:
                _tell_of_unmarked(header, reader.source)
                told = True
            if not row:
                continue
            column = header.find(TEXTS)
            if column is None:
                raise DataError.at(reader.source, number - 1, missing(header))
            with naming_line(reader.source, number):
                example = _example(header, column, row, number, reader)
            yield example

    def render(self, example: Example) -> str:
        raise NotImplementedError  # a row needs the names of all columns, see `pieces`

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        """All sequences are needed to know the columns."""
        found = []
        for i, example in enumerate(examples):
            with naming_sequence(i):
                marks = None if example.labels is None else marked.complete_marks_of(example)
                found.append((marked.text_to_write(example)[0], marks, example.cut_by))
        names = list(dict.fromkeys(mark.label for _, marks, _ in found for mark in marks or ()))
        for i, (text, marks, cut_by) in enumerate(found):
            with naming_sequence(i):
                head = row_text(["text", *map(_checked, names)]) if i == 0 else ""
                row = row_text([text, *_cells(text, marks, names, cut_by or WORDS)])
            yield head + row

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return marked.cut_anew(example, marked.text_of(example)[0])


def _tell_of_unmarked(header: Header, source: str) -> None:
    """Say which columns are neither the text nor fields."""
    others = [quoted(name) for name in header.names if Header([name], ",").find(UNMARKED) is not None or not name]
    if others:
        told = f"the column {others[0]} is" if len(others) == 1 else f"the columns {some_of(others)} are"
        warnings.warn(f"{source}: {told} not read", DataWarning, stacklevel=2)


def _example(header: Header, column: int, row: list[str], number: int, reader: Reader) -> Example:
    text = row[column]
    fields = {
        name: cell
        for k, (name, cell) in enumerate(zip(header.names, row, strict=True))
        if k != column and cell.strip() and Header([name], ",").find(UNMARKED) is None and name
    }
    cut = tokenize(text, WORDS if reader.tokens == GIVEN else reader.tokens)[1]
    return reader.example(text, _placed(text, fields, cut) or None, number)


def _placed(text: str, fields: dict[str, str], offsets: list[tuple[int, int]]) -> list[Span]:
    """Where the values of the fields are in a text with tokens at `offsets`."""
    wanted = [
        (name, value)
        for name, cell in fields.items()
        for value in ([cell] if cell in text else cell.split(BETWEEN))
        if value.strip()
    ]
    starts, ends = {a for a, _ in offsets}, {b for _, b in offsets}
    marks: list[Span] = []
    for name, value in sorted(wanted, key=lambda field: -len(field[1])):
        places = [m.start() for m in re.finditer(f"(?={re.escape(value)})", text)]
        free = [a for a in places if all(a + len(value) <= m.start or m.end <= a for m in marks)]
        if not free:
            where = "only where another field is" if places else "not in the text; take out columns that are no fields"
            raise DataError(f"the value {quoted(value)} of {quoted(name)} is {where}")
        whole = [a for a in free if a in starts and a + len(value) in ends]
        start = (whole or free)[0]
        marks.append(Span(name, start, start + len(value)))
    return sorted(marks, key=lambda mark: mark.start)


def _cells(text: str, marks: list[Span] | None, names: list[str], cut_by: str) -> list[str]:
    """The cells of the columns `names`; refuses marks that would not be read as they are."""
    if marks is None:
        return [""] * len(names)
    cells = [BETWEEN.join(text[mark.start : mark.end] for mark in marks if mark.label == name) for name in names]
    fields = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    if not marks or _placed(text, fields, tokenize(text, cut_by)[1]) != marks:
        problem = "would be looked for in another place" if marks else "is nowhere, which would be read as unknown"
        raise DataError(f"a field {problem}; use jsonl instead")
    return cells


def _checked(name: str) -> str:
    """The name of a column of a field."""
    if not name.strip() or Header([name], ",").find(TEXTS | UNMARKED) is not None:
        raise DataError(f"the label {quoted(name)} cannot be the name of a column; use jsonl instead")
    return name
