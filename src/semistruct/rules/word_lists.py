"""Lists of words and phrases: as entries of rules, and from files."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from semistruct.errors import DataError
from semistruct.files import source_name
from semistruct.patterns import compiled
from semistruct.rules.label_sets import as_list, as_texts

LONGEST = 50_000_000  # bytes of a file with words


def _not_blank(word: str) -> str:
    if not word or word.isspace():
        raise ValueError("a word is empty")
    return word


def _compiles(pattern: str) -> str:
    compiled(pattern)
    return pattern


WordList = Annotated[
    tuple[Annotated[str, AfterValidator(_not_blank)], ...],
    BeforeValidator(as_texts), BeforeValidator(as_list), Field(min_length=1, strict=False),
]  # fmt: skip
Pattern_ = Annotated[str, AfterValidator(_compiles)]
Patterns = Pattern_ | Annotated[tuple[Pattern_, ...], Field(min_length=1)]


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """The words and phrases of a file, one per line; empty lines and those that begin with # are skipped."""
    source = source_name(path)
    try:
        with open(source, "rb") as file:
            content = file.read(LONGEST + 1)
    except FileNotFoundError:
        raise DataError(f"there is no file {source}") from None
    except (OSError, ValueError) as err:
        reason = getattr(err, "strerror", None) or str(err)
        raise DataError.at(source, None, f"cannot read: {reason.lower()}") from None
    if len(content) > LONGEST:
        raise DataError.at(source, None, f"more than {LONGEST} bytes, too long for a list of words")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise DataError.at(source, line, "not UTF-8 text, which a list of words must be") from None
    words = [word for line in lines if (word := line.strip()) and not word.startswith("#")]
    if not words:
        raise DataError.at(source, None, "no words, expected one word or phrase per line")
    return list(dict.fromkeys(words))
