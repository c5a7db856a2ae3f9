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
from semistruct.errors import DataError, meant
from semistruct.files import PathLike, read_lines, replacing, source_name
from semistruct.formats import columns, inline, jsonl, text, transposed
from semistruct.formats.columns import UNKNOWN_MARK
from semistruct.formats.detection import detect
from semistruct.labels import convert

__all__ = ["FORMATS", "UNKNOWN_MARK", "Format", "detect", "read", "stream", "write"]

SAMPLE_LINES = 2000  # enough to meet the end of a long sequence

LabelColumn = int | str | None


class Format(NamedTuple):
    """parse(lines, source, label_column, outside) gives the examples; render(example) their text."""

    parse: Callable[[Iterable[str], str, LabelColumn, str | None], Iterator[Example]]
    render: Callable[[Example], str]


def _columns(split: Callable[[str], list[str]], separator: str) -> Format:
    def parse(lines: Iterable[str], source: str, label_column: LabelColumn, outside: str | None) -> Iterator[Example]:
        return columns.parse(lines, source, split, label_column)

    return Format(parse, partial(columns.render, separator=separator))


def _transposed() -> Format:
    def parse(lines: Iterable[str], source: str, label_column: LabelColumn, outside: str | None) -> Iterator[Example]:
        return transposed.parse(lines, source, label_column)

    return Format(parse, transposed.render)


def _by_line(parse_line: Callable[[str, int, str | None], Example], render: Callable[[Example], str]) -> Format:
    """A format with one sequence per line; the file and line are added to the errors of `parse_line`."""

    def parse(lines: Iterable[str], source: str, label_column: LabelColumn, outside: str | None) -> Iterator[Example]:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                example = parse_line(line.rstrip("\n"), number, outside)
            except DataError as err:
                raise DataError.at(source, number, str(err)) from None
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

    format        a name in FORMATS; default: recognised by the content
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
    lines, source = read_lines(path, encoding), source_name(path)
    if format is None:
        sample = list(islice(lines, SAMPLE_LINES))
        format, lines = detect("".join(sample)), chain(sample, lines)
    examples = _named(format).parse(lines, source, label_column, outside)
    first = list(islice(examples, 1))
    if not first and not may_be_empty:
        raise DataError.at(source, None, "the file is empty: it has no sequences")
    for example in chain(first, examples):
        yield _converted(example, scheme)


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
    render = _named(format).render
    with _opened(target, encoding) as out:
        for i, example in enumerate(examples):
            try:
                out.write(render(_converted(example, scheme)))
            except DataError as err:
                raise DataError(f"sequence {i}: {err}") from None
            except UnicodeEncodeError as err:
                problem = f"{err.object[err.start]!r} cannot be written in the encoding {err.encoding}"
                raise DataError(f"sequence {i}: {problem}") from None


def _named(format: str) -> Format:
    if format not in FORMATS:
        raise DataError(f"there is no format {format!r}; {meant(format, FORMATS)}")
    return FORMATS[format]


def _converted(example: Example, scheme: str | None) -> Example:
    if scheme is None or example.labels is None:
        return example
    return replace(example, labels=convert(example.labels, scheme))


def _opened(target: PathLike | TextIO | None, encoding: str) -> AbstractContextManager[IO[str]]:
    if target is None or target == "-":
        return nullcontext(sys.stdout)
    return replacing(target, encoding) if isinstance(target, str | os.PathLike) else nullcontext(target)
