"""Tables that are written row by row: CSV, sheets of .xlsx by openpyxl, .parquet by pyarrow.

A table appears only when it is complete, and memory does not grow with it.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from semistruct.base.errors import DataError, ParameterError
from semistruct.base.files import replacing
from semistruct.data.rows import is_number

CELL = 32_767  # characters of a cell in a sheet
SHEET = 1_048_576  # rows of a sheet
BATCH = 5_000  # rows that are written to a .parquet file at a time
ILLEGAL = re.compile(r"[\0-\10\13\14\16-\37\ufffe\uffff]")  # characters that a sheet cannot hold

Put = Callable[[Sequence[Any], set[int]], None]
"""Writes a row of texts and numbers; the last cell is its note, and the cells in the set come from a model."""


def as_text(cell: str) -> str:
    """A cell of a CSV file that no spreadsheet runs as a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number(cell) else cell


def encodable(cell: str) -> str:
    """The text with question marks for halves of characters, which no file can hold."""
    return cell.encode("utf-8", "replace").decode()


def _noted(row: list[Any], note: str) -> None:
    row[-1] = "; ".join(filter(None, (row[-1], note)))


def _csv(file: IO[str]) -> Put:
    usual = csv.writer(file, lineterminator="\n")
    quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)  # for line ends of other systems

    def put(row: Sequence[Any], made: set[int]) -> None:
        cells = [as_text(cell) if k in made and isinstance(cell, str) else cell for k, cell in enumerate(row)]
        odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoting if odd else usual).writerow(cells)

    return put


@contextmanager
def _xlsx(path: str, names: Sequence[str]) -> Iterator[Put]:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise ParameterError("an .xlsx file needs openpyxl: pip install 'semistruct[tables]'") from None
    book = Workbook(write_only=True)
    sheet, written = book.create_sheet("fields"), 0

    def cell_of(value: Any) -> Any:
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            cell.data_type = "s"  # a text, whatever it begins with
        return cell

    def put(row: Sequence[Any], made: set[int]) -> None:
        nonlocal written
        written += 1
        if written > SHEET:
            raise DataError.at(path, None, f"a sheet has at most {SHEET:,} rows; write .csv or .parquet")
        cells = list(row)
        for k, cell in enumerate(row):
            if isinstance(cell, str) and (len(cell) > CELL or ILLEGAL.search(cell)):
                cells[k] = ILLEGAL.sub("\ufffd", cell)[:CELL]
                _noted(cells, f"{names[k]}: cut, or without characters that a sheet cannot hold")
        sheet.append([cell_of(cell) for cell in cells])

    put(names, set())
    with replacing(path) as file:
        yield put
        book.save(file)


@contextmanager
def _parquet(path: str, names: Sequence[str], numbers: dict[int, str]) -> Iterator[Put]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ParameterError("a .parquet file needs pyarrow: pip install 'semistruct[tables]'") from None
    unique: list[str] = []
    for name in names:
        unique.append(another(name, unique))
    types = [numbers.get(k, "string") for k in range(len(names))]
    schema = pyarrow.schema([(name, kind) for name, kind in zip(unique, types, strict=True)])
    batch: list[Sequence[Any]] = []

    def flush() -> None:
        columns = list(zip(*batch, strict=True))
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
        batch.clear()

    def put(row: Sequence[Any], made: set[int]) -> None:
        batch.append(row)
        if len(batch) >= BATCH:
            flush()

    with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        yield put
        if batch:
            flush()


def another(name: str, taken: Sequence[str]) -> str:
    """The name, with a number behind it if it is taken."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name} {number}"
    return free


@contextmanager
def _csv_file(path: str, names: Sequence[str]) -> Iterator[Put]:
    opened: AbstractContextManager[Any] = nullcontext(sys.stdout) if path == "-" else replacing(path, "utf-8")
    with opened as file:
        put = _csv(file)
        put(names, set())
        yield put


def table(path: str, names: Sequence[str], numbers: dict[int, str]) -> AbstractContextManager[Put]:
    """A table with columns of these names, CSV unless the ending says otherwise.

    numbers  the types of those columns that are no texts
    """
    ending = Path(path).suffix.lower()
    if ending == ".xlsx":
        return _xlsx(path, names)
    if ending == ".parquet":
        return _parquet(path, names, numbers)
    return _csv_file(path, names)
