"""A table with one token per row, and a column that tells the sequences apart:

    sequence,token,label
    1,A.,author
    1,Turing,author
    2,On,title

A cell of that column that is empty stands for the one above; without such a column, blank rows separate sequences.
Further columns are columns of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from semistruct.corpus import Example
from semistruct.errors import DataError
from semistruct.formats.base import Format, Sample, naming_sequence
from semistruct.formats.columns import example_of
from semistruct.formats.columns import rows_of as rows_of_tokens
from semistruct.formats.marked import Reader
from semistruct.formats.tables import LABELS, SEQUENCES, TOKENS, Header, header_of, missing, row_text, rows_of


class CsvTokens(Format):
    name = "csv"
    rank = 30
    end_to_end = False
    in_columns = True

    def looks_like(self, sample: Sample) -> bool:
        header = header_of(sample)
        if header is None or header.find(TOKENS) is None:
            return False
        return header.find(SEQUENCES) is not None or header.find(LABELS) is not None

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        for first, layout, rows in _sequences(lines, reader):
            yield example_of([layout.columns(row) for row in rows], layout.label, reader.source, first)

    def render(self, example: Example) -> str:
        raise NotImplementedError  # a row needs the number of its sequence, see `pieces`

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        for i, example in enumerate(examples):
            with naming_sequence(i):
                rows = rows_of_tokens(example, r"[\r\0]")
                further = [f"column {k}" for k in range(1, len(rows[0]) - 1)]
                head = row_text(["sequence", "token", *further, "label"]) if i == 0 else ""
                text = head + "".join(row_text([str(i + 1), *row]) for row in rows)
            yield text


class _Layout:
    """Which column is what: the sequence is left out, the word comes first, the label last if there is one."""

    def __init__(self, header: Header, reader: Reader) -> None:
        word, label = header.find(TOKENS), header.find(LABELS)
        if word is None:
            raise DataError(missing(header))
        self.sequence = header.find(SEQUENCES)
        if isinstance(reader.label_column, int):
            label = range(len(header.names))[reader.label_column] if self._has(header, reader.label_column) else -1
            if label in (-1, word, self.sequence):
                raise DataError(f"there is no label column {reader.label_column} beside token and sequence")
        elif reader.label_column is not None:
            label = None
        further = [k for k, name in enumerate(header.names) if name and k not in (word, label, self.sequence)]
        self._order = [word, *further, *([] if label is None else [label])]
        self.label = None if label is None else len(self._order) - 1

    @staticmethod
    def _has(header: Header, column: int) -> bool:
        return -len(header.names) <= column < len(header.names)

    def columns(self, row: list[str]) -> list[str]:
        return [row[k] for k in self._order]


def _sequences(lines: Iterable[str], reader: Reader) -> Iterator[tuple[int, _Layout, list[list[str]]]]:
    """(number of the first line, the layout, the rows) of each sequence."""
    layout: _Layout | None = None
    rows: list[list[str]] = []
    first, last = 0, ""
    for number, header, row in rows_of(lines, reader.source):
        if layout is None:
            try:
                layout = _Layout(header, reader)
            except DataError as err:
                raise DataError.at(reader.source, number - 1, str(err)) from None
        blank = not any(cell.strip() for cell in row)
        key = last if blank or layout.sequence is None else row[layout.sequence] or last
        if rows and (blank or key != last):
            yield first, layout, rows
            rows = []
        first, last = first if rows else number, key
        if not blank:
            rows.append(row)
    if rows and layout is not None:
        yield first, layout, rows
