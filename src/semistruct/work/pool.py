"""The pool: sequences by number, kept as they were given and cut into tokens when they are looked at."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semistruct.corpus import Example, Token
from semistruct.errors import DataError
from semistruct.formats import read
from semistruct.formats.marked import text_of, word_of
from semistruct.tokens import tokenize
from semistruct.work.writing import line_of

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
        out: dict[str, int] = {}
        for i in range(len(self.rows)):
            out.setdefault(reading(self.text(i)), i)
        return out

    def content(self) -> str:
        """What stands in the file of the pool."""
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
