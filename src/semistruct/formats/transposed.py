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

FIRST = 0  # the line of the labels, where `columns` has the last


def parse(lines: Iterable[str], source: str, label_column: int | str | None) -> Iterator[Example]:
    """The sequences of a file; `label_column` is the line of the labels, from 0, negative from below."""
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


def render(example: Example) -> str:
    """The labels, `?` where unknown, the words and any further columns, and a blank line."""
    *tokens, labels = zip(*columns.rows_of(example, r"[ \t\n\r]|^\s*$"), strict=True)
    if any(line[0] == columns.DOCSTART for line in (labels, *tokens)):
        raise DataError(f"a line that begins with {columns.DOCSTART} would be read as a separator; use jsonl instead")
    return "\n".join(map(" ".join, (labels, *tokens))) + "\n\n"


def _is_blank(line: str) -> bool:
    """Whether a line has no fields; the rarer white space of Unicode is a field."""
    return not columns.by_blank(line)
