"""The pool: sequences by number, cut into tokens when they are looked at; and files and texts that are added to it."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semistruct.app.work.folder import line_of
from semistruct.app.work.limits import LONGEST_SEQUENCE
from semistruct.app.work.warned import collected_warnings
from semistruct.base.errors import DataError, SemistructError
from semistruct.data.corpus import Example, Token, word_of
from semistruct.data.formats import read, stream
from semistruct.data.formats.marked import text_of
from semistruct.data.tokens import tokenize

Row = str | list[Token]
"""A running text, or tokens of a file that has tokens."""
Offsets = list[tuple[int, int]]


@dataclass(frozen=True)
class Cut:
    """A sequence: its text, the tokens, and where each is in the text, in code points."""

    text: str
    tokens: list[Token]
    offsets: Offsets

    @property
    def words(self) -> list[str]:
        return [word_of(token) for token in self.tokens]

    def along(self, offsets: Offsets) -> Cut:
        """The same text cut at other places, which must split tokens of this one and nothing else."""
        problem = None
        if not isinstance(self.tokens[0], str):
            problem = "tokens with columns cannot be split"
        elif _joined(offsets, self.offsets) != self.offsets:
            problem = "the tokens are not those of the text, nor parts of them"
        if problem:
            raise DataError(problem)
        return Cut(self.text, [self.text[a:b] for a, b in offsets], offsets)


def _joined(parts: Offsets, whole: Offsets) -> Offsets:
    """The parts put together that begin inside the same stretch of `whole`; not `whole` if they do not fill it."""
    out: Offsets = []
    at = 0
    for a, b in whole:
        edge = a
        while at < len(parts) and parts[at][0] == edge and edge < parts[at][1] <= b:
            edge, at = parts[at][1], at + 1
        out.append((a, edge))
    return out if at == len(parts) else []


class Pool:
    """The sequences of a folder; numbers never change, as sequences are only added."""

    def __init__(self, rows: Iterable[Row] = (), tokens: str = "words") -> None:
        self.rows: list[Row] = list(rows)
        self.tokens = tokens
        self._folded: list[str] = []

    def __len__(self) -> int:
        return len(self.rows)

    def cut(self, number: int) -> Cut:
        row = self.rows[number]
        if isinstance(row, str):
            words, places = tokenize(row, self.tokens)
            return Cut(row, [*words], places)
        text, offsets = text_of(Example(row))
        return Cut(text, row, offsets)

    def check_number(self, number: int) -> None:
        """Refuse the number of a sequence that is not there."""
        if not 0 <= number < len(self):
            raise DataError(f"the pool has no sequence {number}; it has {len(self)}")

    def text(self, number: int) -> str:
        row = self.rows[number]
        return row if isinstance(row, str) else text_of(Example(row))[0]

    def sample(self, most: int, without: set[int], seed: int) -> list[int]:
        """Some numbers at random, in order: all of the pool if it is small."""
        n = len(self.rows)
        if n <= most + len(without):
            return [i for i in range(n) if i not in without][:most]
        drawn = random.Random(seed).sample(range(n), min(n, most + len(without)))
        return sorted([i for i in drawn if i not in without][:most])

    def matching(self, words: str) -> list[bool]:
        """For each sequence, whether its text contains the words, whatever their case."""
        for i in range(len(self._folded), len(self.rows)):
            self._folded.append(self.text(i).casefold())
        wanted = words.casefold()
        return [wanted in text for text in self._folded]

    def readings(self) -> dict[str, int]:
        """The first number of each text, without its blanks."""
        return {reading(self.text(i)): i for i in reversed(range(len(self.rows)))}

    def content(self) -> str:
        """The file of the pool."""
        return "".join(line_of({"text": row} if isinstance(row, str) else {"tokens": row}) for row in self.rows)


def reading(text: str) -> str:
    """What a text reads, however it is spaced."""
    return "".join(text.split())


def read_pool(path: Path, tokens: str) -> Pool:
    """The pool in a file; what we wrote ourselves is read without looking twice."""
    rows = _our_rows(path) if path.name == "pool.jsonl" else None
    if rows is None:
        rows = [row_of(example) for example in read(path, tokens=tokens)]
    if not rows:
        raise DataError.at(path, None, "the pool has no sequences")
    return Pool(rows, tokens)


def row_of(example: Example) -> Row:
    return example.text if example.text is not None and example.cut_by is not None else example.tokens


def _our_rows(path: Path) -> list[Row] | None:
    rows: list[Row] = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                record: dict[str, Any] = json.loads(line)
                text = record.get("text")
                if len(record) != 1 or not isinstance(text, str) or not text.strip():
                    return None
                rows.append(text)
    except (ValueError, AttributeError, OSError):
        return None
    return rows


@dataclass(frozen=True)
class Upload:
    """Sequences of a file, with their labels if it has some; its format, and what the person should know."""

    examples: list[Example]
    format: str = "text"
    notices: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """The sequences for the pool."""
        return [row_of(example) for example in self.examples]


def read_upload(data: bytes, name: str, tokens: str, format: str | None = None) -> Upload:
    """The sequences of a file with this content; `name` is what messages call it."""
    is_spacy = name.lower().endswith(".spacy")
    text, notices = decoded(data)
    if not is_spacy:
        refuse_binary(data, text, name)
    empty = 0
    if format == "text":
        lines = text.removesuffix("\n").split("\n")
        text = "\n".join(line for line in lines if line.strip())
        empty = sum(not line.strip() for line in lines)
    if not text.strip():
        raise DataError.at(name, None, "there is no text in it")
    with tempfile.TemporaryDirectory() as folder, collected_warnings() as warned:
        path = Path(folder) / f"upload{'.spacy' if is_spacy else '.txt'}"
        path.write_bytes(data if is_spacy else text.encode("utf-8"))
        try:
            found = stream(path, tokens=tokens, format=format)
            every = list(found)
        except SemistructError as err:
            raise DataError(str(err).replace(os.fspath(path), name)) from None
    notices += [words.replace(os.fspath(path), name) for words in warned]
    refuse_half_characters([[example.tokens, example.text, example.labels] for example in every])
    examples = [example for example in every if _size(example) <= LONGEST_SEQUENCE]
    if long := len(every) - len(examples):
        notices.append(f"{counted(long, 'sequence')} longer than {LONGEST_SEQUENCE:,} characters left out")
    if empty:
        notices.append(f"{counted(empty, 'empty line')} left out")
    if not examples:
        raise DataError.at(name, None, "nothing is left of it: " + "; ".join(notices))
    return Upload(examples, found.format, notices)


def decoded(data: bytes) -> tuple[str, list[str]]:
    """Text in UTF-8, in UTF-16, or else in the encoding of Windows; and notices about that."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _clean(data.decode("utf-16", "replace")), []
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = data[first:2000:2].count(0)
        if zeros > 0.4 * len(data[:2000]):
            return _clean(data.decode(encoding, "replace")), ["read as UTF-16"]
    try:
        return _clean(data.decode("utf-8-sig")), []
    except UnicodeDecodeError:
        return _clean(data.decode("cp1252", "replace")), ["not UTF-8: read as Windows-1252 (Latin-1)"]


BINARY = {
    b"PK\3\4": "a zip file, such as a model or a spreadsheet", b"%PDF": "a PDF", b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture", b"GIF8": "a picture", b"\x7fELF": "a program", b"\x1f\x8b": "a compressed file",
}  # fmt: skip
"""What files are that begin with these bytes."""


def refuse_binary(data: bytes, text: str, name: str) -> None:
    """Refuse what is no text: known kinds of files, and what is full of control characters."""
    kind = next((kind for start, kind in BINARY.items() if data.startswith(start)), None)
    control = sum(letter < " " and letter not in "\t\n\f" for letter in text[:2000])
    if kind or control * 20 > len(text[:2000]):
        raise DataError.at(name, None, f"this is {kind or 'binary data'}, not text")


def refuse_half_characters(value: Any) -> None:
    """Refuse data that cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as err:
        code = ord(err.object[err.start])
        raise DataError(f"\\u{code:04x} is half of a character (a lone surrogate), which no text can hold") from None


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _clean(text: str) -> str:
    """Without characters that no file of text has."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _size(example: Example) -> int:
    if example.text is not None:
        return len(example.text)
    return sum(len(token if isinstance(token, str) else token[0]) + 1 for token in example.tokens)
