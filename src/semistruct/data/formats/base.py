"""What a file format is, the list of all formats, and how one is recognised."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, ClassVar, TextIO

from semistruct.base.errors import DataError, DataWarning, meant, quoted
from semistruct.base.files import PathLike, checked_encoding, read_lines, replacing, source_name
from semistruct.data.corpus import Example, Token
from semistruct.data.formats.marked import Reader, words_of

DOCSTART = "-DOCSTART-"
JSON_START = re.compile(r'\s*(\[\s*)?\{\s*["}]')


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, from which formats recognise themselves."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.removeprefix("\ufeff").removesuffix("\n").split("\n")

    @cached_property
    def filled(self) -> list[str]:
        """The lines that are not blank."""
        return [line for line in self.lines if line.strip() and not line.startswith(DOCSTART)]

    @cached_property
    def is_json(self) -> bool:
        """Whether it begins with a JSON object, or an array of them."""
        return JSON_START.match(self.text.removeprefix("\ufeff")) is not None

    @cached_property
    def is_array(self) -> bool:
        return self.is_json and self.text.removeprefix("\ufeff").lstrip().startswith("[")

    @cached_property
    def record(self) -> dict[str, Any]:
        """The first JSON object; empty if there is none, or if it does not end within the sample."""
        if not self.is_json:
            return {}
        try:
            found, _ = json.JSONDecoder().raw_decode(self.text, self.text.index("{"))
        except (ValueError, RecursionError):
            return {}
        return found


FORMATS: dict[str, Format] = {}
"""The formats by name, in the order in which they are asked whether they recognise a file."""


class Format:
    """A file format; a subclass with a `name` is listed in FORMATS.

    rank         when it is asked whether a file looks like it: before those of higher rank
    in_columns   whether all tokens of a file have equally many columns
    ending       files whose names end so are in this format, whatever they contain
    answer       the format in which labels are given back for files of this one, None for the same
    outside      the label of text in no mark, unless an option says so; None if it is unknown
    end_to_end   whether the text of a file is that of its sequences, so that more can be written behind them
    words_only   whether further columns of tokens are lost
    recutting    why reading may give other tokens than were written, with the name of the format before it
    """

    name: ClassVar[str]
    rank: ClassVar[int]
    in_columns: ClassVar[bool] = False
    ending: ClassVar[str | None] = None
    answer: ClassVar[str | None] = None
    outside: ClassVar[str | None] = None
    end_to_end: ClassVar[bool] = True
    words_only: ClassVar[bool] = False
    recutting: ClassVar[str] = "keeps the first column of a token only"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            FORMATS[cls.name] = cls()
            for name in sorted(FORMATS, key=lambda name: FORMATS[name].rank):
                FORMATS[name] = FORMATS.pop(name)

    def looks_like(self, sample: Sample) -> bool:
        """Whether a file that begins like this is probably in this format."""
        raise NotImplementedError

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        """The sequences of a file."""
        raise NotImplementedError

    def render(self, example: Example) -> str:
        """The text of one sequence."""
        raise NotImplementedError

    def tokens_back(self, example: Example) -> Sequence[Token]:
        """The tokens that reading will give for a sequence."""
        return words_of(example) if self.words_only else example.tokens

    def pieces(self, examples: Iterable[Example]) -> Iterator[str]:
        """The text of a file: a piece for each sequence, and perhaps one more for the end."""
        for i, example in enumerate(examples):
            with naming_sequence(i):
                text = self.render(example)
            yield text

    def read(self, path: PathLike, encoding: str, reader: Reader) -> Iterator[Example]:
        """The sequences of a file that is known to be in this format."""
        return self.parse(read_lines(path, encoding), reader)

    def write(self, examples: Iterable[Example], target: PathLike | TextIO | None, encoding: str) -> None:
        """Write sequences to a path, an open stream, or standard output ("-" or None)."""
        with _opened(target, encoding) as out:
            for i, text in enumerate(self.pieces(examples)):
                put(text, i, out, encoding)


class LineFormat(Format):
    """A format with one sequence per line; empty lines have none, which is told."""

    recutting = "keeps text, which is cut anew when it is read"

    def parse(self, lines: Iterable[str], reader: Reader) -> Iterator[Example]:
        empty = number = 0
        for number, line in enumerate(lines, 1):
            if line.isspace():
                empty += 1
                continue
            with naming_line(reader.source, number):
                example = self.parse_line(line.rstrip("\n"), number, reader)
            yield example
        if 0 < empty < number:
            told = "1 empty line is" if empty == 1 else f"{empty} empty lines are"
            warnings.warn(f"{reader.source}: {told} left out", DataWarning, stacklevel=2)

    def parse_line(self, line: str, number: int, reader: Reader) -> Example:
        """The sequence on a line; its errors need not say where."""
        raise NotImplementedError


def detect(sample: str) -> str:
    """The name of the format that `sample`, the beginning of a file, is most likely written in."""
    beginning = Sample(sample)
    return next(name for name, form in FORMATS.items() if form.looks_like(beginning))


def named_after(path: PathLike) -> str | None:
    """The name of the format that the ending of a file's name tells, None if that tells nothing."""
    name = source_name(path)
    return next((form.name for form in FORMATS.values() if form.ending and name.endswith(form.ending)), None)


def form_named(format: str) -> Format:
    """The format of that name."""
    if not isinstance(format, str) or format not in FORMATS:
        raise DataError(f"there is no format {quoted(format)}; {meant(format, FORMATS)}")
    return FORMATS[format]


def put(text: str, i: int, out: IO[str], encoding: str) -> None:
    """Write the text of sequence i of a file."""
    # Reading takes the first of these for a byte order mark, and skips it.
    if i == 0 and text.startswith("\ufeff") and checked_encoding(encoding) == "utf-8":
        text = "\ufeff" + text
    if "\0" in text:
        problem = "the NUL character cannot be written in this format; use jsonl instead"
        raise DataError(f"sequence {i}: {problem}")
    try:
        out.write(text)
    except UnicodeEncodeError as err:
        problem = f"{quoted(err.object[err.start])} cannot be written in the encoding {err.encoding}"
        raise DataError(f"sequence {i}: {problem}") from None


@contextmanager
def naming_sequence(i: int) -> Iterator[None]:
    """Errors in data say that they are about sequence i."""
    try:
        yield
    except DataError as err:
        raise DataError(f"sequence {i}: {err}") from None


@contextmanager
def naming_line(source: str, number: int, record: str = "") -> Iterator[None]:
    """Errors in data say in which line of a file they are, and in which record if there may be several in a line."""
    try:
        yield
    except DataError as err:
        raise DataError.at(source, number, f"{record}{err}") from None


def _opened(target: PathLike | TextIO | None, encoding: str) -> AbstractContextManager[IO[str]]:
    if target is None or target == "-":
        return nullcontext(sys.stdout)
    return replacing(target, encoding) if isinstance(target, str | os.PathLike) else nullcontext(target)
