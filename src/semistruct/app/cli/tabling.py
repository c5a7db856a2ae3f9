"""`semistruct predict -o FILE.csv`: a row for each line of the input, a column for each field."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from semistruct.app.cli import answers
from semistruct.app.cli.answers import Answering, Placed, answered
from semistruct.app.cli.files import SAMPLE, Reader
from semistruct.app.cli.options import Labelling, Writing
from semistruct.app.cli.output import show_count
from semistruct.base.errors import DataError, ParameterError, meant, quoted
from semistruct.base.files import source_name
from semistruct.data.corpus import Confidence, Labels
from semistruct.data.formats import detect
from semistruct.data.formats.marked import Reader as Marks
from semistruct.data.formats.marked import text_of
from semistruct.data.labels import OUTSIDE, scheme_of, spans
from semistruct.data.rows import Row, Rows, read_rows
from semistruct.data.table_files import another, encodable, table

DIGITS = 4  # of a confidence
TABLES = (".csv", ".xlsx", ".parquet")


def wanted(writing: Writing, first: str, format: str | None) -> bool:
    """Whether the output is a table of fields; a table of tokens stays one."""
    ending = Path(writing.output).suffix.lower()
    if writing.to is not None:
        return writing.to == "table"
    if ending == ".csv" and format is None and Path(first).is_file():
        with open(first, encoding="utf-8-sig", errors="replace") as file:
            format = detect(file.read(SAMPLE))
    return ending in TABLES and not (ending == ".csv" and format == "csv")


def check_together(writing: Writing) -> None:
    """Refuse options that a table cannot follow."""
    for name, value in (("--accept", writing.accept), ("--resume", writing.resume or None)):
        if value is not None:
            raise ParameterError(f"{name} cannot go with a table; use --to jsonl")


@dataclass(frozen=True)
class Layout:
    """The columns of the table, and how a row is made."""

    own: list[str]
    has_text: bool
    fields: list[str]
    scheme: str
    separator: str
    sure: bool
    each: bool

    @classmethod
    def of(cls, rows: Rows, labels: Sequence[str], writing: Writing) -> Layout:
        scheme = scheme_of(labels)
        found = [label if scheme == "plain" else label[2:] for label in labels if label != OUTSIDE]
        fields = list(dict.fromkeys(found))
        for label in writing.drop or ():
            if label not in fields:
                raise ParameterError(f"--drop: there is no field {quoted(label)}; {meant(label, fields)}")
        kept = [label for label in fields if label not in (writing.drop or ())]
        sure = writing.confidence is not False
        return cls(rows.columns, rows.text is not None, kept, scheme, writing.separator, sure, bool(writing.confidence))

    def names(self) -> list[str]:
        """The names of the columns: those of the input as they are, others with a number where a name is taken."""
        taken = [*self.own]

        def free(name: str) -> str:
            taken.append(another(name, taken))
            return taken[-1]

        texts = [] if self.has_text else ["text"]
        sure = ["confidence"] * self.sure + [f"confidence of {name}" for name in self.fields if self.each]
        made = [free(name) for name in ("line", *texts, *self.fields, *sure, "note")]
        return [made[0], *self.own, *made[1:]]

    @property
    def first_field(self) -> int:
        return 1 + len(self.own) + (not self.has_text)

    @property
    def made(self) -> set[int]:
        """The numbers of the columns of fields."""
        return {*range(self.first_field, self.first_field + len(self.fields))}

    @property
    def numbers(self) -> dict[int, str]:
        """The types of the columns that hold numbers."""
        start = self.first_field + len(self.fields)
        count = self.sure + len(self.fields) * self.each
        return {0: "int64", **{k: "float64" for k in range(start, start + count)}}

    def row(self, row: Row, labels: Labels | None, confidence: Confidence | None) -> list[Any]:
        """The cells of a row."""
        values: dict[str, list[str]] = {name: [] for name in self.fields}
        likely: dict[str, list[float]] = {name: [] for name in self.fields}
        if row.example is not None and labels is not None:
            text, offsets = text_of(row.example)
            found = spans(labels, self.scheme)
            for k, span in enumerate(found):
                if span.label in values:
                    values[span.label].append(text[offsets[span.start][0] : offsets[span.end - 1][1]])
                    likely[span.label] += [] if confidence is None else [confidence.blocks[k]]
        twice = [name for name, texts in values.items() if len(texts) > 1]
        unclear = [name for name in twice if any(self.separator in text for text in values[name])]
        notes = [row.note, *(f"{name}: a value holds the separator {quoted(self.separator)}" for name in unclear)]
        cells = [*row.cells, *([] if self.has_text else [row.text]), *map(self.separator.join, values.values())]
        clean = [encodable(cell) for cell in cells]
        if clean != cells:
            notes.append("characters that no file can hold are question marks")
        whole = [] if confidence is None else [confidence.sequence]
        each = [likely[name] for name in self.fields if self.each]
        sure = [round(min(found), DIGITS) if found else None for found in ([whole] * self.sure + each)]
        return [row.number, *clean, *sure, encodable("; ".join(filter(None, notes)))]


def write_table(
    estimator: Any, rules: Any, inputs: list[str], labelling: Labelling, writing: Writing, reader: Reader
) -> None:
    """Label the inputs chunk by chunk and write a row for each of their lines."""
    check_together(writing)
    options = reader.cutting(estimator.tokens_)
    opened = [_opened(inputs[0], options)]
    layout = Layout.of(opened[0], estimator.classes_, writing)
    for path in inputs[1:]:
        opened.append(_opened(path, options))
        if opened[-1].columns != layout.own:
            raise DataError.at(path, None, f"has other columns than {source_name(inputs[0])}; label it by itself")
    names = layout.names()
    if not writing.quiet:
        _tell(source_name(inputs[0]), opened[0], layout, names)
    waiting: deque[Row] = deque()
    examples = _examples(zip(inputs, opened, strict=True), waiting, estimator)
    ask = Answering(estimator, rules, layout.sure)
    hidden, made, done = writing.quiet or writing.output == "-", layout.made, 0
    with (
        table(writing.output, names, layout.numbers) as put,
        show_count(hidden) as show,
        closing(answered(ask, examples, labelling.jobs)) as chunks,
    ):
        for chunk in chunks:
            for example, answer in chunk:
                while waiting[0].example is not example:
                    put(layout.row(waiting.popleft(), None, None), made)
                put(layout.row(waiting.popleft(), *answer), made)
            done += len(chunk)
            show(done, 0)
        for row in waiting:
            put(layout.row(row, None, None), made)


def _opened(path: str, reader: Reader) -> Rows:
    options, name = reader.reading, source_name(path)
    marks = Marks(name, tokens=reader.tokens or "words", outside=options.outside, label_column=options.label_column)
    encoding, text_column = options.encoding, options.text_column
    return read_rows(path, marks, format=options.format, encoding=encoding, text_column=text_column)


def _examples(files: Iterable[tuple[str, Rows]], waiting: deque[Row], estimator: Any) -> Iterator[Placed]:
    """The sequences with the names of their files; all rows, in order, also those without one, go to `waiting`."""
    for path, rows in files:
        name = source_name(path)
        first = list(islice(rows.rows, answers.CHUNK))
        looked = [row.example.tokens for row in first if row.example is not None]
        if estimator.look_ is not None and looked:
            estimator.look_.warn_of_difference(name, looked)
        for row in chain(first, rows.rows):
            waiting.append(row)
            if row.example is not None:
                yield name, row.example


def _tell(source: str, rows: Rows, layout: Layout, names: list[str]) -> None:
    """Say which column was taken for the text, and which fields have another name than their label."""
    if rows.guessed and rows.text is not None:
        print(f"{source}: the texts are in the column {quoted(rows.columns[rows.text])}", file=sys.stderr)
    for k, label in enumerate(layout.fields, layout.first_field):
        if names[k] != label:
            print(f"the field {quoted(label)} is in the column {quoted(names[k])}", file=sys.stderr)
