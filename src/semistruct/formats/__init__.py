"""Reading and writing labelled sequences, one module per file format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import IO, NamedTuple, TextIO

from semistruct.corpus import Corpus, Example
from semistruct.errors import DataError, meant, quoted
from semistruct.files import PathLike, checked_encoding, read_lines, replacing, source_name
from semistruct.formats import columns, docbin, inline, jsonl, text, transposed
from semistruct.formats.columns import UNKNOWN_MARK
from semistruct.formats.detection import detect
from semistruct.formats.marked import Reader
from semistruct.labels import convert

__all__ = ["FORMATS", "UNKNOWN_MARK", "Format", "detect", "read", "stream", "write"]

SAMPLE_LINES = 2000  # enough to meet the end of a long sequence

LabelColumn = int | str | None


class Format(NamedTuple):
    """parse(lines, label_column, reader) gives the examples; render(example) their text.

    in_columns  whether all tokens of a file have equally many columns
    """

    parse: Callable[[Iterable[str], LabelColumn, Reader], Iterator[Example]]
    render: Callable[[Example], str]
    in_columns: bool = False


def _columns(split: Callable[[str], list[str]], separator: str) -> Format:
    def parse(lines: Iterable[str], label_column: LabelColumn, reader: Reader) -> Iterator[Example]:
        return columns.parse(lines, reader.source, split, label_column)

    return Format(parse, partial(columns.render, separator=separator), in_columns=True)


def _transposed() -> Format:
    def parse(lines: Iterable[str], label_column: LabelColumn, reader: Reader) -> Iterator[Example]:
        return transposed.parse(lines, reader.source, label_column)

    return Format(parse, transposed.render, in_columns=True)


def _by_line(parse_line: Callable[[str, int, Reader], Example], render: Callable[[Example], str]) -> Format:
    """A format with one sequence per line; the file and line are added to the errors of `parse_line`."""

    def parse(lines: Iterable[str], label_column: LabelColumn, reader: Reader) -> Iterator[Example]:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                example = parse_line(line.rstrip("\n"), number, reader)
            except DataError as err:
                raise DataError.at(reader.source, number, str(err)) from None
            yield example

    return Format(parse, render)


FORMATS: dict[str, Format] = {
    "tsv": _columns(columns.by_tab, "\t"),
    "conll": _columns(columns.by_blank, " "),
    "transposed": _transposed(),
    "jsonl": _by_line(jsonl.parse, jsonl.render),
    "inline": _by_line(inline.parse, inline.render),
    "text": _by_line(text.parse, text.render),
}


def read(
    path: PathLike,
    *,
    format: str | None = None,
    label_column: LabelColumn = None,
    scheme: str | None = None,
    outside: str | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """All sequences of a file, or of standard input for "-".

    format        a name in FORMATS, or "spacy"; default: recognised by the content, or by a name that ends in .spacy
    label_column  in columns: which one is the label, from 0, negative from the right; "none" if there is none;
                  in transposed: which line
    scheme        convert the labels to "plain", "bio", "bioes" or "iob1"
    outside       in jsonl with spans and inline: the label of text in no span, by default unknown
    """
    examples = stream(path, format=format, label_column=label_column, scheme=scheme, outside=outside, encoding=encoding)
    return Corpus(list(examples), source_name(path))


def stream(
    path: PathLike,
    *,
    format: str | None = None,
    label_column: LabelColumn = None,
    scheme: str | None = None,
    outside: str | None = None,
    encoding: str = "utf-8",
    may_be_empty: bool = False,
) -> Iterator[Example]:
    """The sequences of a file one at a time, so that it may be larger than memory; options as in `read`.

    may_be_empty  a file without sequences is no error
    """
    source = source_name(path)
    reader = Reader(source, outside, scheme)
    if docbin.is_meant(path, format):
        examples = docbin.read(path, reader)
    else:
        examples = _parsed(path, format, label_column, reader, encoding)
    first = list(islice(examples, 1))
    if not first and not may_be_empty:
        raise DataError.at(source, None, "the file is empty: it has no sequences")
    for example in chain(first, examples):
        yield _converted(example, scheme)


def _parsed(
    path: PathLike, format: str | None, label_column: LabelColumn, reader: Reader, encoding: str
) -> Iterator[Example]:
    """The sequences of a text file."""
    lines = read_lines(path, encoding)
    if format is None:
        sample = list(islice(lines, SAMPLE_LINES))
        format, lines = detect("".join(sample)), chain(sample, lines)
    return _named(format).parse(lines, label_column, reader)


def write(
    examples: Iterable[Example],
    target: PathLike | TextIO | None,
    format: str,
    *,
    scheme: str | None = None,
    encoding: str = "utf-8",
) -> None:
    """Write sequences to a path, an open stream, or standard output ("-" or None).

    A file appears, or replaces the one of that name, only when it is complete.
    """
    if format == docbin.NAME:
        docbin.write((_converted(example, scheme) for example in examples), target)
        return
    form, width = _named(format), 0
    with _opened(target, encoding) as out:
        for i, example in enumerate(examples):
            width = width or _width(example)
            try:
                text = _rendered(_converted(example, scheme), form, width)
            except DataError as err:
                raise DataError(f"sequence {i}: {err}") from None
            # Reading takes the first of these for a byte order mark, and skips it.
            if i == 0 and text.startswith("\ufeff") and checked_encoding(encoding) == "utf-8":
                text = "\ufeff" + text
            try:
                out.write(text)
            except UnicodeEncodeError as err:
                problem = f"{quoted(err.object[err.start])} cannot be written in the encoding {err.encoding}"
                raise DataError(f"sequence {i}: {problem}") from None


def _rendered(example: Example, form: Format, width: int) -> str:
    """The text of an example in a file whose first token has `width` columns."""
    text = form.render(example)
    if form.in_columns and _width(example) != width:
        raise DataError(f"{_width(example)} columns, but the sequences before it have {width}; use jsonl instead")
    if "\0" in text:
        raise DataError("the NUL character cannot be written in this format; use jsonl instead")
    return text


def _width(example: Example) -> int:
    """The number of columns of the tokens."""
    return 1 if isinstance(example.tokens[0], str) else len(example.tokens[0])


def _named(format: str) -> Format:
    if format not in FORMATS:
        raise DataError(f"there is no format {quoted(format)}; {meant(format, [*FORMATS, docbin.NAME])}")
    return FORMATS[format]


def _converted(example: Example, scheme: str | None) -> Example:
    if scheme is None or example.labels is None:
        return example
    return replace(example, labels=convert(example.labels, scheme))


def _opened(target: PathLike | TextIO | None, encoding: str) -> AbstractContextManager[IO[str]]:
    if target is None or target == "-":
        return nullcontext(sys.stdout)
    return replacing(target, encoding) if isinstance(target, str | os.PathLike) else nullcontext(target)
