"""Reading and writing labelled sequences: every module of this package that holds a format is found and listed."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain, islice
from typing import Any, TextIO

from semistruct.base.errors import DataError, DataWarning, quoted
from semistruct.base.files import PathLike, checked_encoding, read_lines, source_name
from semistruct.data.corpus import Corpus, Example, Token
from semistruct.data.formats.base import FORMATS, Format, detect, form_named, named_after, naming_sequence, put
from semistruct.data.formats.marked import UNKNOWN_MARK, Reader
from semistruct.data.formats.texts import has_tags
from semistruct.data.labels import convert
from semistruct.data.tokens import WORDS

__all__ = [
    "FORMATS", "UNKNOWN_MARK", "Format", "Stream", "Written", "detect", "form_named", "named_after", "read", "stream",
    "write",
]  # fmt: skip

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

SAMPLE_LINES = 2000  # enough to meet the end of a long sequence
SAMPLE_CHARACTERS = 4_000_000
FEW_TAGS = 0.1  # the share of lines with tags below which a file may as well be plain text


class Stream(Iterator[Example]):
    """The sequences of a file one at a time; format is the name of what it is written in."""

    def __init__(self, examples: Iterator[Example], format: str) -> None:
        self._examples, self.format = examples, format

    def __next__(self) -> Example:
        return next(self._examples)


def read(
    path: PathLike,
    *,
    format: str | None = None,
    label_column: int | str | None = None,
    label_names: Sequence[str] | None = None,
    scheme: str | None = None,
    outside: str | None = None,
    tokens: str = WORDS,
    encoding: str = "utf-8",
    **more: Any,
) -> Corpus:
    """All sequences of a file, or of standard input for "-".  A span that begins or ends inside a token splits it.

    format        a name in FORMATS; default: recognised by the content, or by a name that ends in .spacy
    label_column  in columns: which one is the label, from 0, negative from the right; "none" if there is none;
                  in transposed: which line
    label_names   the names of labels that are numbers in the file, from 0
    scheme        convert the labels to "plain", "bio", "bioes" or "iob1"
    outside       where spans or tags have labels: the label of text in none, "?" for unknown; by default unknown in
                  jsonl, json and inline, "O" in the formats of other programs
    tokens        how running text is cut: "words", "whitespace", or "pattern:" with a regular expression of a token
    text_column   in a table of texts: the name of their column
    """
    examples = stream(
        path, format=format, encoding=encoding, label_column=label_column, label_names=label_names, scheme=scheme,
        outside=outside, tokens=tokens, **more,
    )  # fmt: skip
    return Corpus(list(sharing_words(examples)), source_name(path), examples.format)


def sharing_words(examples: Iterable[Example]) -> Iterator[Example]:
    """The same examples, in which equal tokens are one object: a large file has few distinct ones."""
    known: dict[Token, Token] = {}
    for example in examples:
        example.tokens[:] = [known.setdefault(token, token) for token in example.tokens]
        yield example


def stream(
    path: PathLike, *, format: str | None = None, encoding: str = "utf-8", may_be_empty: bool = False, **options: Any
) -> Stream:
    """The sequences of a file one at a time, so that it may be larger than memory; options as in `read`.

    may_be_empty  a file without sequences is no error
    """
    source = source_name(path)
    reader, lines = Reader(source, **options), None
    if format is None:
        format = named_after(path) if reader.text_column is None else "csv-texts"
    if format is None:
        format, lines = _recognised(path, encoding)
    form = form_named(format)
    reader.outside = reader.outside or form.outside
    examples = form.read(path, encoding, reader) if lines is None else form.parse(lines, reader)
    first = list(islice(examples, 1))
    if not first and not may_be_empty:
        raise DataError.at(source, None, "the file is empty: it has no sequences")
    return Stream((_converted(example, reader.scheme) for example in chain(first, examples)), format)


def _recognised(path: PathLike, encoding: str) -> tuple[str, Iterator[str]]:
    """The format of a text file by its content, and its lines."""
    lines = read_lines(path, encoding)
    sample = list(islice(lines, SAMPLE_LINES))
    text, left = [], SAMPLE_CHARACTERS
    for line in sample:
        text.append(line[:left])
        left -= len(text[-1])
    format = detect("".join(text))
    if format == "inline":
        _warn_of_few_tags(source_name(path), [line for line in sample if line.strip()])
    return format, chain(sample, lines)


def _warn_of_few_tags(source: str, lines: list[str]) -> None:
    tagged = sum(map(has_tags, lines))
    if tagged < FEW_TAGS * len(lines):
        which = f"which {tagged} of {len(lines)} lines {'has' if tagged == 1 else 'have'}"
        warnings.warn(f"{source}: read as text with tags, {which}; or is it --format text?", DataWarning, stacklevel=4)


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
    if not isinstance(examples, Iterable):
        raise DataError(f"{quoted(examples)} is not a corpus, nor a list of examples")
    form = form_named(format)
    checked_encoding(encoding)
    written = Written(form, scheme)
    form.write(written.prepared(examples), target, encoding)
    written.tell()


@dataclass
class Written:
    """A file that is being written, and how far it is.

    sequences  how many it has
    width      the number of columns of its tokens, 0 if it has none
    recut      how many sequences will be read with other tokens
    """

    form: Format
    scheme: str | None = None
    sequences: int = 0
    width: int = 0
    recut: int = 0

    def prepared(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The examples with labels in the scheme; refuses tokens with other numbers of columns than those before."""
        for i, example in enumerate(examples, self.sequences):
            if not isinstance(example, Example):
                raise DataError(f"sequence {i} is {quoted(example)}, expected an Example")
            own = 1 if isinstance(example.tokens[0], str) else len(example.tokens[0])
            self.width = self.width or own
            with naming_sequence(i):
                if self.form.in_columns and own != self.width:
                    problem = f"{own} columns, but the sequences before it have {self.width}; use jsonl instead"
                    raise DataError(problem)
                example = _converted(example, self.scheme)
                self.recut += list(self.form.tokens_back(example)) != list(example.tokens)
            self.sequences = i + 1
            yield example

    def add(self, examples: Iterable[Example], out: TextIO) -> None:
        """Write more sequences, in UTF-8, behind those of a file whose format is end to end."""
        for i, example in enumerate(self.prepared(examples), self.sequences):
            with naming_sequence(i):
                text = self.form.render(example)
            put(text, i, out, "utf-8")

    def tell(self) -> None:
        """Warn of sequences whose tokens the file does not keep."""
        if not self.recut:
            return
        why = Format.recutting if self.width > 1 else self.form.recutting
        which = f"{self.recut} of {self.sequences} sequences will be read with other tokens than they have"
        warnings.warn(f"{which}: {self.form.name} {why}; use jsonl to keep them", DataWarning, stacklevel=3)


def _converted(example: Example, scheme: str | None) -> Example:
    if scheme is None or example.labels is None:
        return example
    return replace(example, labels=convert(example.labels, scheme))
