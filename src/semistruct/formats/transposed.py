"""One line per column, so that a sequence is a few lines with equally many fields, and a blank line after it:

    author author author title title
    A      .      Turing On    numbers

The first line has the labels; a single line has words only.  Further lines are further columns of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from semistruct.corpus import Example
from semistruct.errors import DataError
from semistruct.formats import columns
from semistruct.formats.base import DOCSTART, Format, Sample
from semistruct.formats.marked import Reader

FIRST = 0  # the line of the labels, where `columns` has the last


class Transposed(Format):
    name = "transposed"
    rank = 60
    in_columns = True

    def looks_like(self, sample: Sample) -> bool:
        """Whether all lines of a sequence have equally many fields, which differ by sequence, and labels come first.

        One sequence alone, or several of one length, might as well be columns.
        """
        found = [rows for _, rows in columns.blocks([line + "\n" for line in sample.lines], columns.by_blank)]
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
        for first, rows in columns.blocks(lines, columns.by_blank, _is_blank):
            if not head:
                head, height = first, len(rows)
                default = FIRST if label_column is None and height > 1 else label_column
                label = columns.label_index(height, default, source, head)
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
            yield columns.example_of([*map(list, zip(*rows, strict=True))], label, source, first)

    def render(self, example: Example) -> str:
        """The labels, `?` where unknown, the words and any further columns, and a blank line."""
        *tokens, labels = zip(*columns.rows_of(example, r"[ \t\n\r]|^\s*$"), strict=True)
        if any(line[0] == DOCSTART for line in (labels, *tokens)):
            raise DataError(f"a line that begins with {DOCSTART} would be read as a separator; use jsonl instead")
        return "\n".join(map(" ".join, (labels, *tokens))) + "\n\n"


def _is_blank(line: str) -> bool:
    """Whether a line has no fields; the rarer white space of Unicode is a field."""
    return not columns.by_blank(line)
