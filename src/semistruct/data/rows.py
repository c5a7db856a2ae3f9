"""The rows of an input, none missing: lines of text, or a table with a column of texts among others.

What makes no sequence (an empty line, a text that is too long) is a row all the same, with a note that says why.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, NoReturn

from semistruct.base.errors import DataError, meant, quoted, some_of
from semistruct.base.files import PathLike, read_lines
from semistruct.data.corpus import Example
from semistruct.data.formats import SAMPLE_CHARACTERS, SAMPLE_LINES
from semistruct.data.formats.base import Format, LineFormat, detect, form_named, named_after
from semistruct.data.formats.marked import Reader, text_of
from semistruct.data.formats.tables import LONGEST_CELL, TEXTS, plain
from semistruct.data.tokens import GIVEN, UNCUT

DELIMITERS = ",;\t|"
LONGEST_NAME = 40  # characters of a column's name; a longer first line is text
CLEARLY = 2.0  # times as long as the texts of any other column are those of the column that is taken


class Row(NamedTuple):
    """One row: the line on which it begins, from 1, its own cells, its text, and the sequence of this text, if any."""

    number: int
    cells: list[str]
    text: str
    example: Example | None
    note: str = ""


@dataclass
class Rows:
    """The rows of an input.

    columns  the names of its own columns
    text     which of them holds the texts, None for an input that has no columns
    guessed  whether neither a person nor its name says so
    """

    columns: list[str]
    text: int | None
    guessed: bool
    rows: Iterator[Row]


def read_rows(
    path: PathLike, reader: Reader, *, format: str | None = None, encoding: str = "utf-8",
    text_column: str | None = None,
) -> Rows:  # fmt: skip
    """The rows of a file, or of standard input; `text_column` is the name of the column with the texts."""
    if reader.tokens == GIVEN:
        raise DataError.at(path, None, UNCUT)
    format = format or (None if text_column else named_after(path))
    if format == "spacy":
        return _lines(_of_sequences(form_named(format).read(path, encoding, reader)))
    lines = read_lines(path, encoding, raw=True)
    sample = list(islice(lines, SAMPLE_LINES))
    lines = chain(sample, lines)
    if not any(map(str.strip, sample)) and Path(path).suffix.lower() == ".csv":
        raise DataError.at(path, None, "the file is empty: it has no header")
    if text_column is None and format is None:
        format = detect("".join(map(_unix, sample))[:SAMPLE_CHARACTERS])
        if format == "text" and Path(path).suffix.lower() == ".csv":
            format = "csv-texts" if has_header(sample) else ask_about(path)
    if text_column is not None or format == "csv-texts":
        return _table(lines, sample, reader, text_column)
    form = form_named(format or "text")
    reader.outside = reader.outside or form.outside
    if isinstance(form, LineFormat):
        return _lines(_of_lines(form, lines, reader))
    return _lines(_of_sequences(form.parse(map(_unix, lines), reader)))


def refuse_binary(path: PathLike) -> None:
    """Refuse a table that is no text, before its bytes are taken for something else."""
    if Path(path).suffix.lower() in (".xlsx", ".xls", ".ods", ".parquet"):
        raise DataError.at(path, None, "a spreadsheet or a binary table is not read; save the sheet as .csv")


def has_header(sample: list[str]) -> bool:
    """Whether the first line can be the header of a table: several short, different names, none of them a number."""
    first = next((line for line in sample if line.strip()), "")
    names = next(csv.reader([first], delimiter=_delimiter(first)), [])
    short = all(name.strip() and len(name) <= LONGEST_NAME and not is_number(name) for name in names)
    return len(names) > 1 and short and len(set(names)) == len(names)


def ask_about(path: PathLike) -> NoReturn:
    """Refuse to take a file that is called a table for lines of text."""
    problem = "a table without a header that is known; name the column of the texts with --text-column"
    raise DataError.at(path, None, f"{problem}, or say --format text if each line is a text")


def _lines(rows: Iterator[Row]) -> Rows:
    return Rows([], None, False, rows)


def _unix(line: str) -> str:
    return line.rstrip("\r\n") + "\n" if line.endswith(("\r", "\n")) else line


def _of_lines(form: LineFormat, lines: Iterable[str], reader: Reader) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        yield _row(number, [], text, reader, form)


def _of_sequences(examples: Iterable[Example]) -> Iterator[Row]:
    for i, example in enumerate(examples, 1):
        yield Row(example.line or i, [], text_of(example)[0], example)


def _row(number: int, cells: list[str], text: str, reader: Reader, form: Format | None = None, note: str = "") -> Row:
    """A row with the sequence of its text; with a note where it has none, unless it is empty."""
    if not text.strip():
        return Row(number, cells, text, None, note)
    try:
        if isinstance(form, LineFormat):
            example = form.parse_line(text, number, reader)
        else:
            example = reader.example(text, None, number)
    except DataError as err:
        return Row(number, cells, text, None, "; ".join(filter(None, (note, str(err)))))
    return Row(number, cells, example.text or text, example, note)


# ---- tables


def _table(lines: Iterator[str], sample: list[str], reader: Reader, text_column: str | None) -> Rows:
    csv.field_size_limit(LONGEST_CELL)  # of this process: by default, long texts are refused
    first = next((line for line in sample if line.strip()), "")
    delimiter = _delimiter(first)
    known = [cells for _, cells in _cells(iter(sample), delimiter) if cells]
    if not known:
        raise DataError.at(reader.source, None, "the file is empty: it has no header")
    names, below = known[0], known[1:]
    column = _column(names, below, text_column, reader.source)
    rows = _cells(lines, delimiter)
    next(1 for _, cells in rows if cells)  # the header
    guessed = text_column is None and plain(names[column]) not in TEXTS
    return Rows(names, column, guessed, _of_cells(rows, len(names), column, reader))


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)


def _cells(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line of each row, and its cells; none for a blank line."""
    reader, number = csv.reader(lines, delimiter=delimiter), 1
    for cells in reader:
        yield number, cells
        number = reader.line_num + 1


def _of_cells(rows: Iterable[tuple[int, list[str]]], width: int, column: int, reader: Reader) -> Iterator[Row]:
    for number, found in rows:
        note, more = "", found[width:]
        cells = [*found[:width], *[""] * (width - len(found))]
        if more:
            note = f"more cells than columns: {some_of([quoted(cell) for cell in more])}"
        elif found and len(found) < width:
            note = f"{len(found)} cells, but the header has {width} columns"
        yield _row(number, cells, cells[column], reader, note=note)


def _column(names: list[str], rows: list[list[str]], wanted: str | None, source: str) -> int:
    """The column of the texts: the one that is wanted, one with a usual name, or the one that is clearly text."""
    listed = some_of([quoted(name) for name in names])
    if wanted is not None:
        same = [k for k, name in enumerate(names) if name == wanted]
        same = same or [k for k, name in enumerate(names) if name.strip().casefold() == wanted.strip().casefold()]
        if not same:
            raise DataError.at(source, None, f"there is no column {quoted(wanted)}; {meant(wanted, names)}")
        if len(same) > 1:
            raise DataError.at(source, None, f"{len(same)} columns are called {quoted(wanted)}; rename one of them")
        cells = [row[same[0]] for row in rows if len(row) > same[0] and row[same[0]].strip()]
        if cells and all(map(is_number, cells)):
            raise DataError.at(source, None, f"the column {quoted(wanted)} has numbers, not texts; there are {listed}")
        return same[0]
    usual = [k for k, name in enumerate(names) if plain(name) in TEXTS]
    sizes = {k: _length(rows, k) for k in range(len(names))}
    order = usual or sorted((k for k in sizes if sizes[k]), key=lambda k: -sizes[k])
    say = "say which with --text-column"
    if not order:
        raise DataError.at(source, None, f"no column looks like text; there are {listed}; {say}")
    if len(order) > 1 and (usual or sizes[order[0]] < CLEARLY * sizes[order[1]]):
        two = " and ".join(quoted(names[k]) for k in order[:2])
        raise DataError.at(source, None, f"the columns {two} may both be the text; {say}")
    return order[0]


def _length(rows: list[list[str]], k: int) -> float:
    """How long the texts of a column are on average; 0 if most of its cells are single words or numbers."""
    cells = [row[k].strip() for row in rows if len(row) > k and row[k].strip()]
    if 2 * sum(" " in cell and not is_number(cell) for cell in cells) < max(len(cells), 1):
        return 0.0
    return sum(map(len, cells)) / len(cells)


def is_number(cell: str) -> bool:
    """Whether a spreadsheet would read it as a number."""
    try:
        float(cell.strip().replace(",", ""))
    except ValueError:
        return False
    return True
