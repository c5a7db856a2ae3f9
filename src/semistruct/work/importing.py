"""Sequences from files and pasted text, in whatever encoding: what can be read is read, what is left out is told."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semistruct.corpus import Example, Labels
from semistruct.errors import DataError, SemistructError
from semistruct.formats import read
from semistruct.work.hearing import hearing
from semistruct.work.pool import Row, row_of

LONGEST = 20_000  # characters of a sequence: longer ones cannot be labelled by hand


@dataclass
class Found:
    """Sequences of a file: rows for the pool, the examples with their labels, and what the person should know."""

    rows: list[Row] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def labels(self) -> list[Labels | None]:
        return [example.labels for example in self.examples]


def found_in(data: bytes, name: str, tokens: str, format: str | None = None) -> Found:
    """The sequences of a file with this content; `name` is what messages call it."""
    text, told = decoded(data)
    empty = 0
    if format == "text":
        lines = text.removesuffix("\n").split("\n")
        text = "\n".join(line for line in lines if line.strip())
        empty = sum(not line.strip() for line in lines)
    if not text.strip():
        raise DataError.at(name, None, "there is no text in it")
    out = Found(told=told)
    with tempfile.TemporaryDirectory() as folder, hearing() as said:
        path = Path(folder) / f"upload{_ending(name)}"
        path.write_bytes(data if _ending(name) == ".spacy" else text.encode("utf-8"))
        try:
            examples = read(path, tokens=tokens, format=format).examples
        except SemistructError as err:
            raise DataError(str(err).replace(os.fspath(path), name)) from None
    out.told += [words.replace(os.fspath(path), name) for words in said]
    refuse_half([[example.tokens, example.text, example.labels] for example in examples])
    out.examples = [example for example in examples if _size(example) <= LONGEST]
    out.rows = [row_of(example) for example in out.examples]
    if long := len(examples) - len(out.examples):
        out.told.append(f"{sequences(long)} longer than {LONGEST:,} characters left out")
    if empty:
        out.told.append(f"{empty} empty line{'' if empty == 1 else 's'} left out")
    if not out.rows:
        raise DataError.at(name, None, "nothing is left of it: " + "; ".join(out.told))
    return out


def decoded(data: bytes) -> tuple[str, list[str]]:
    """Text in UTF-8, in UTF-16, or else in the encoding of Windows; and what is to be told about that."""
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


def refuse_half(value: Any) -> None:
    """Refuse data that cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as err:
        code = ord(err.object[err.start])
        raise DataError(f"\\u{code:04x} is half of a character (a lone surrogate), which no text can hold") from None


def _clean(text: str) -> str:
    """Without characters that no file of text has."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _ending(name: str) -> str:
    return ".spacy" if name.lower().endswith(".spacy") else ".txt"


def _size(example: Example) -> int:
    if example.text is not None:
        return len(example.text)
    return sum(len(token if isinstance(token, str) else token[0]) + 1 for token in example.tokens)


def sequences(n: int) -> str:
    return f"{n} sequence{'' if n == 1 else 's'}"
