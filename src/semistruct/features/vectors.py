"""Vectors of words, as programs like word2vec and GloVe make them: real-valued features.

A file is text, one word and its numbers per line, perhaps after a line with the number of words and of numbers; or it
is a .safetensors file with one matrix and, in its metadata under "words", the words, one per line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from semistruct.base.errors import DataError, quoted
from semistruct.base.files import reason
from semistruct.data.corpus import Token, word_of
from semistruct.features.sequences import Text
from semistruct.features.user_features import LARGEST

BLANKS = re.compile(r"[ \t]+")  # not the rarer white space of Unicode, which words hold
HEADER = re.compile(r"\d+[ \t]+(\d+)\s*")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """words[i] has the vector matrix[i], float32; if a word is there twice, the first counts."""

    words: tuple[str, ...]
    matrix: np.ndarray

    def __post_init__(self) -> None:
        shape, kind = self.matrix.shape, self.matrix.dtype
        if len(shape) != 2 or shape[0] != len(self.words) or not self.matrix.size or kind != np.float32:
            found = f"{len(self.words)} words and a matrix of shape {shape} and type {kind}"
            raise ValueError(f"{found}, expected a row for each word")
        bad = np.flatnonzero(~(np.abs(self.matrix) <= LARGEST).all(axis=1))
        if len(bad):
            raise ValueError(f"the vector of {quoted(self.words[bad[0]])} holds a number that is not finite")

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: i for i, word in reversed(list(enumerate(self.words)))}

    def find(self, token: Token) -> int:
        """The row of a word as it is or in lower case, -1 if it has none."""
        word = word_of(token)
        number = self._number.get(word, -1)
        return number if number >= 0 else self._number.get(word.lower(), -1)

    def at(self, text: Text) -> tuple[np.ndarray, np.ndarray]:
        """(row, matrix): token t of the text has the vector matrix[row[t]], none if row[t] is -1."""
        rows = np.fromiter(map(self.find, text.distinct), np.int64, len(text.distinct))
        return rows[text.word], self.matrix

    @classmethod
    def read(cls, file: str) -> WordVectors:
        """From a file; each vector is made to have length 1, as any other feature has."""
        try:
            found = _from_arrays(file) if Path(file).suffix == ".safetensors" else _from_text(file)
            vectors = cls(*found)
        except OSError as err:
            raise DataError.at(file, None, f"cannot read: {reason(err)}") from None
        except UnicodeDecodeError:
            raise DataError.at(file, None, "not UTF-8; vectors are lines of text, or a .safetensors file") from None
        except DataError:
            raise
        except (SafetensorError, TypeError, ValueError) as err:
            raise DataError.at(file, None, f"cannot read vectors: {err}") from None
        length = np.linalg.norm(vectors.matrix.astype(float), axis=1, keepdims=True)
        return cls(vectors.words, (vectors.matrix / np.where(length > 0, length, 1)).astype(np.float32))


def _from_arrays(path: str) -> tuple[tuple[str, ...], np.ndarray]:
    with safe_open(path, framework="numpy") as file:
        names, words = list(file.keys()), (file.metadata() or {}).get("words")
        if len(names) != 1 or words is None:
            problem = f"{len(names)} arrays and {'no' if words is None else 'a'} list of words"
            raise ValueError(f'{problem}, expected one matrix, and metadata {{"words": "one\\nper\\nline"}}')
        return tuple(words.split("\n")), file.get_tensor(names[0]).astype(np.float32)


def _from_text(path: str) -> tuple[tuple[str, ...], np.ndarray]:
    words: list[str] = []
    rows: list[np.ndarray] = []
    width = first = 0
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        for line, text in enumerate(file, 1):
            if line == 1 and (header := HEADER.fullmatch(text)):
                width, first = int(header[1]), 1
            elif text := text.strip(" \t\r\n"):
                parts = BLANKS.split(text)
                if not width:
                    width, first = len(parts) - 1, line
                try:
                    rows.append(_numbers(parts, width, first))
                except ValueError as err:
                    raise DataError.at(path, line, str(err)) from None
                words.append(" ".join(parts[:-width]))
    if not rows:
        raise DataError.at(path, None, "there are no vectors")
    return tuple(words), np.stack(rows)


def _numbers(parts: list[str], width: int, first: int) -> np.ndarray:
    """The numbers at the end of a line; before them is the word, perhaps with blanks in it."""
    found = [_number(part) for part in parts[1:]]
    if not width or len(found) < width or np.isfinite(found[:-width]).any():
        wanted = f"{width} as on line {first}" if width else "at least one"
        raise ValueError(f"{len(found)} numbers after the word, expected {wanted}")
    row = np.array(found[-width:])
    bad = np.flatnonzero(~(np.abs(row) <= LARGEST))
    if len(bad):
        raise ValueError(f"found {quoted(parts[bad[0] - width])}, expected a finite number")
    return row.astype(np.float32)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
