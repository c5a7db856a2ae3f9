"""Tables: CSV with commas, semicolons or TABs, and a header that names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from semistruct.errors import DataError, quoted, shortened
from semistruct.formats.base import Sample

DELIMITERS = ",;\t"
NAME = re.compile(r"[^\W\d_][\w #.()/-]{0,29}|")  # of a column; the index that pandas writes has none
LONGEST_CELL = 2**31 - 1  # characters, the most that can be set everywhere
MIN_ROWS = 3  # from which a table can be recognised without knowing the names of its columns

SEQUENCES = {"sentence", "sentenceid", "sentid", "sequence", "sequenceid", "seq", "seqid", "docid", "documentid"}
TOKENS = {"word", "words", "token", "tokens"}
LABELS = {"label", "labels", "tag", "tags", "ner", "nertag"}
TEXTS = {"text", "texts", "content"}


@dataclass(frozen=True)
class Header:
    """The names of the columns, as they are written and as they are compared."""

    names: list[str]
    delimiter: str

    @classmethod
    def of(cls, line: str) -> Header:
        delimiter = max(DELIMITERS, key=line.count)
        return cls(next(csv.reader([line], delimiter=delimiter), []), delimiter)

    def find(self, known: set[str]) -> int | None:
        """The first column with one of the names, ignoring case, blanks and signs."""
        plain = [re.sub(r"[\W_]", "", name).lower() for name in self.names]
        return next((i for i, name in enumerate(plain) if name in known), None)

    @property
    def is_likely(self) -> bool:
        """Whether these look like names, of at least two columns."""
        distinct = len({*self.names}) == len(self.names)
        return len(self.names) > 1 and distinct and all(NAME.fullmatch(name) for name in self.names)


def header_of(sample: Sample) -> Header | None:
    """The header, if the file probably begins with one."""
    if not sample.filled or sample.is_json:
        return None
    try:
        header = Header.of(sample.filled[0])
    except csv.Error:
        return None
    return header if header.is_likely else None


def is_table(sample: Sample, header: Header) -> bool:
    """Whether all rows have as many cells as the header, which are not in TABs."""
    if header.delimiter == "\t" or len(sample.filled) < MIN_ROWS:
        return False
    try:
        rows = [row for row in csv.reader(sample.filled, delimiter=header.delimiter) if row]
    except csv.Error:
        return False
    return all(len(row) == len(header.names) for row in rows)


def rows_of(lines: Iterable[str], source: str) -> Iterator[tuple[int, Header, list[str]]]:
    """(number of the line, the header, the cells) of every row below the header; a blank line is a row of none."""
    lines = iter(lines)
    before, first = next(((i, line) for i, line in enumerate(lines) if not line.isspace()), (0, ""))
    number = before + 1
    try:
        header = Header.of(first.rstrip("\n"))
        csv.field_size_limit(LONGEST_CELL)  # of this process: by default, long texts are refused
        reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
        number += 1
        for row in reader:
            if row and len(row) != len(header.names):
                problem = f"{len(row)} cells, but the header has {len(header.names)} columns"
                raise DataError.at(source, number, problem)
            if row == header.names:
                raise DataError.at(source, number, "the header once more; a file has one header")
            yield number, header, row
            number = before + 2 + reader.line_num
    except csv.Error as err:
        raise DataError.at(source, number, f"not CSV: {err}") from None


def missing(header: Header) -> str:
    """The sentence about a header without the column that is needed."""
    names = shortened(", ".join(map(quoted, header.names)))
    return f"the header has neither a column token (or word) nor a column text, only {names}"


def row_text(cells: Iterable[str]) -> str:
    """A line of CSV."""
    listed = list(cells)
    for cell in listed:
        if "\r" in cell:
            raise DataError(f"{quoted(cell)} cannot be written in a cell; use jsonl instead")
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(listed)
    return out.getvalue()
