"""Tables in CSV (commas, semicolons or TABs) with a header that names the columns: a token or a text per row.

    sequence,token,label               text,author,date
    1,A.,author                        "A. Turing, 1936",A. Turing,1936
    1,Turing,author
    2,On,title

With a token per row (`csv`), a cell of the column of sequences that is empty stands for the one above; without such a
column, blank rows separate sequences.  Further columns are columns of the tokens.

With a text per row (`csv-texts`), each further column is a field, whose value stands in the text.  A field that is not
there has an empty cell; several values of a field are separated by ` | `.  A value is looked for first where it begins
and ends with a token, from left to right, long values before short ones.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from semistruct.base.errors import DataError, DataWarning, quoted, shortened, some_of
from semistruct.data.corpus import Example, Token
from semistruct.data.formats.base import Format, LineFormat, Sample, naming_line, naming_sequence
from semistruct.data.formats.columns import example_of, fields_of
from semistruct.data.formats.marked import Offsets, Reader, check_length, cut_anew, marks_of, text_of
from semistruct.data.labels import OUTSIDE, Span
from semistruct.data.tokens import GIVEN, WORDS, tokenize

DELIMITERS = ",;\t"
NAME = re.compile(r"[^\W\d_][\w #.()/-]{0,29}|")  # of a column; the index that pandas writes has none
LONGEST_CELL = 2**31 - 1  # characters, the most that can be set everywhere
MIN_ROWS = 3  # from which a table can be recognised without knowing the names of its columns
BETWEEN = " | "

SEQUENCES = {"sentence", "sentenceid", "sentid", "sequence", "sequenceid", "seq", "seqid", "docid", "documentid"}
TOKENS = {"word", "words", "token", "tokens"}
LABELS = {"label", "labels", "tag", "tags", "ner", "nertag"}
TEXTS = {"text", "texts", "content"}
NO_FIELDS = {"id", "index"}


def plain(name: str) -> str:
    """The name of a column as it is compared: without case, blanks and signs."""
    return re.sub(r"[\W_]", "", name).lower()


@dataclass(frozen=True)
class Header:
    """The names of the columns."""

    names: list[str]
    delimiter: str

    @classmethod
    def of(cls, line: str) -> Header:
        delimiter = max(DELIMITERS, key=line.count)
        return cls(next(csv.reader([line], delimiter=delimiter), []), delimiter)

    def find(self, known: set[str]) -> int | None:
        """The first column with one of the names."""
        return next((i for i, name in enumerate(self.names) if plain(name) in known), None)

    def beside(self, text: int | None) -> dict[int, str]:
        """The columns that are fields where the texts are in the column `text`."""
        return {k: name for k, name in enumerate(self.names) if k != text and not self.is_ignored(name)}

    @cached_property
    def fields(self) -> dict[int, str]:
        """The columns of a table of texts that are fields."""
        return self.beside(self.find(TEXTS))

    @staticmethod
    def is_ignored(name: str) -> bool:
        """Whether a column is neither the text nor a field."""
        return not name or plain(name) in NO_FIELDS

    @property
    def is_likely(self) -> bool:
        """Whether these look like names, of at least two columns."""
        distinct = len({*self.names}) == len(self.names)
        return len(self.names) > 1 and distinct and all(NAME.fullmatch(name) for name in self.names)


class Row(NamedTuple):
    """A row below the header, and the number of its line; a blank line is a row of no cells."""

    number: int
    header: Header
    cells: list[str]


def csv_rows(lines: Iterable[str], source: str) -> Iterator[Row]:
    """The rows of a CSV file."""
    lines = iter(lines)
    before, first = next(((i, line) for i, line in enumerate(lines) if not line.isspace()), (0, ""))
    number = before + 1
    try:
        header = Header.of(first.rstrip("\n"))
        csv.field_size_limit(LONGEST_CELL)  # of this process: by default, long texts are refused
        reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
        number += 1
        for cells in reader:
            if cells and len(cells) != len(header.names):
                problem = f"{len(cells)} cells, but the header has {len(header.names)} columns"
                raise DataError.at(source, number, problem)
            if cells == header.names:
                raise DataError.at(source, number, "the header once more; a file has one header")
            yield Row(number, header, cells)
            number = before + 2 + reader.line_num
    except csv.Error as err:
        raise DataError.at(source, number, f"not CSV: {err}") from None


def csv_line(cells: Sequence[str]) -> str:
    """A line of CSV."""
    for cell in cells:
        if "\r" in cell:
            raise DataError(f"{quoted(cell)} cannot be written in a cell; use jsonl instead")
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def likely_header(sample: Sample) -> Header | None:
    """The header, if the file probably begins with one."""
    if not sample.filled or sample.is_json:
        return None
    try:
        header = Header.of(sample.filled[0])
    except csv.Error:
        return None
    return header if header.is_likely else None


def _missing(header: Header) -> str:
    """The sentence about a header without the column that is needed."""
    names = shortened(", ".join(map(quoted, header.names)))
    problem = f"the header has neither a column token (or word) nor a column text, only {names}"
    return f"{problem}; name the column of the texts with --text-column"


class CsvTokens(Format):
    """A table with a token per row."""

    name = "csv"
    rank = 30
    end_to_end = False
    in_columns = True

    def looks_like(self, sample: Sample) -> bool:
        header = likely_header(sample)
        if header is None or header.find(TOKENS) is None:
            return False
        return header.find(SEQUENCES) is not None or header.find(LABELS) is not None

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        return examples_of_tokens(csv_rows(lines, reader.source), reader)

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        for i, example in enumerate(examples):
            with naming_sequence(i):
                rows = fields_of(example, r"[\r\0]")
                further = [f"column {k}" for k in range(1, len(rows[0]) - 1)]
                head = csv_line(["sequence", "token", *further, "label"]) if i == 0 else ""
                text = head + "".join(csv_line([str(i + 1), *row]) for row in rows)
            yield text


def examples_of_tokens(rows: Iterable[Row], reader: Reader) -> Iterator[Example]:
    """The sequences of a table with a token per row."""
    layout: _Layout | None = None
    tokens: list[list[str]] = []
    first, last = 0, ""
    for number, header, cells in rows:
        if layout is None:
            with naming_line(reader.source, number - 1):
                layout = _Layout.of(header, reader.label_column)
        blank = not any(cell.strip() for cell in cells)
        key = last if blank or layout.sequence is None else cells[layout.sequence] or last
        if tokens and (blank or key != last):
            yield example_of(tokens, layout.label, reader.source, first)
            tokens = []
        first, last = first if tokens else number, key
        if not blank:
            tokens.append([cells[k] for k in layout.order])
    if tokens and layout is not None:
        yield example_of(tokens, layout.label, reader.source, first)


class _Layout(NamedTuple):
    """Which column is what: `order` has the word first, the label last if there is one, and not the sequence."""

    sequence: int | None
    order: list[int]
    label: int | None

    @classmethod
    def of(cls, header: Header, label_column: int | str | None) -> _Layout:
        word, label, sequence = header.find(TOKENS), header.find(LABELS), header.find(SEQUENCES)
        if word is None:
            raise DataError(_missing(header))
        if isinstance(label_column, int):
            n = len(header.names)
            label = label_column % n if -n <= label_column < n else None
            if label in (None, word, sequence):
                raise DataError(f"there is no label column {label_column} beside token and sequence")
        elif label_column is not None:
            label = None
        further = [k for k, name in enumerate(header.names) if name and k not in (word, label, sequence)]
        order = [word, *further, *([] if label is None else [label])]
        return cls(sequence, order, None if label is None else len(order) - 1)


class CsvTexts(Format):
    """A table with a text per row."""

    name = "csv-texts"
    rank = 31
    end_to_end = False
    outside = OUTSIDE
    recutting = LineFormat.recutting

    def looks_like(self, sample: Sample) -> bool:
        header = likely_header(sample)
        if header is None:
            return False
        column, delimiter = header.find(TEXTS), header.delimiter
        if column is not None:
            cells = [line.split("\t") for line in sample.filled[1:]] if delimiter == "\t" else []
            # columns of tokens may begin with the token "text"
            return delimiter != "\t" or any(" " in row[column] for row in cells if len(row) > column)
        if delimiter == "\t" or len(sample.filled) < MIN_ROWS:
            return False
        try:
            rows = [row for row in csv.reader(sample.filled, delimiter=delimiter) if row]
        except csv.Error:
            return False
        return all(len(row) == len(header.names) for row in rows)

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        return examples_of_texts(csv_rows(lines, reader.source), reader)

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        """All sequences are needed to know the columns."""
        found = []
        for i, example in enumerate(examples):
            with naming_sequence(i):
                marks = None if example.labels is None else marks_of(example, complete=True)
                found.append((check_length(text_of(example)[0]), marks, example.cut_by))
        names = list(dict.fromkeys(mark.label for _, marks, _ in found for mark in marks or ()))
        for i, (text, marks, cut_by) in enumerate(found):
            with naming_sequence(i):
                head = csv_line(["text", *map(_checked_name, names)]) if i == 0 else ""
                row = csv_line([text, *_cells(text, marks, names, cut_by or WORDS)])
            yield head + row

    def tokens_back(self, example: Example) -> Sequence[Token]:
        return cut_anew(example, text_of(example)[0])


def examples_of_texts(rows: Iterable[Row], reader: Reader) -> Iterator[Example]:
    """The sequences of a table with a text per row."""
    told = False
    for number, header, cells in rows:
        named = reader.text_column
        column = header.find(TEXTS if named is None else {plain(named)})
        if not told:
            _tell_of_ignored(header, reader.source)
            told = True
        if not cells:
            continue
        if column is None:
            raise DataError.at(reader.source, number - 1, _missing(header))
        with naming_line(reader.source, number):
            text = cells[column]
            fields = {name: cells[k] for k, name in header.beside(column).items() if cells[k].strip()}
            offsets = tokenize(text, WORDS if reader.tokens == GIVEN else reader.tokens)[1]
            example = reader.example(text, _placed(text, fields, offsets) or None, number)
        yield example


def _tell_of_ignored(header: Header, source: str) -> None:
    """Say which columns are neither the text nor fields."""
    others = [quoted(name) for name in header.names if header.is_ignored(name)]
    if others:
        told = f"the column {others[0]} is" if len(others) == 1 else f"the columns {some_of(others)} are"
        warnings.warn(f"{source}: {told} not read", DataWarning, stacklevel=2)


def _placed(text: str, fields: dict[str, str], offsets: Offsets) -> list[Span]:
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


def _checked_name(name: str) -> str:
    """The name of a column of a field."""
    if not name.strip() or plain(name) in TEXTS | NO_FIELDS:
        raise DataError(f"the label {quoted(name)} cannot be the name of a column; use jsonl instead")
    return name
