"""Regular expressions of other people: refused if they are dangerous, and given up on if they take too long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import regex

from semistruct.errors import ParameterError, quoted, shortened

PATIENCE = 1.0  # seconds a pattern may take, and once more for every LENGTH characters
LENGTH = 100_000

SKIPPED = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]", regex.DOTALL)  # escapes and sets of characters
CALL = regex.compile(r"\(\?(?:R\b|[+-]?\d|&|P>)")


@cache
def compiled(pattern: str) -> Any:
    """The pattern, or a ValueError that says why it cannot be one.

    Calls of groups are refused: without end they take all memory before they fail.
    """
    if CALL.search(SKIPPED.sub("", pattern)):
        raise ValueError(f"the pattern {quoted(pattern)} calls itself or a group, which a pattern here may not")
    try:
        return regex.compile(pattern)
    except regex.error as err:
        problem = shortened(str(err))
    except (RecursionError, MemoryError, OverflowError):
        problem = "it is nested too deeply or too large"
    raise ValueError(f"the pattern {quoted(pattern)} does not compile: {problem}") from None


def is_match(pattern: str, word: str) -> bool:
    """Whether the whole word matches."""
    with _patiently(pattern, word, "word") as timeout:
        return compiled(pattern).fullmatch(word, timeout=timeout) is not None


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Where the matches in `text` are, from left to right."""
    with _patiently(pattern, text, "text") as timeout:
        return [match.span() for match in compiled(pattern).finditer(text, timeout=timeout)]


@contextmanager
def _patiently(pattern: str, text: str, what: str) -> Iterator[float]:
    """Gives the seconds that the pattern may take on the text."""
    timeout = PATIENCE * (1 + len(text) // LENGTH)
    try:
        yield timeout
    except TimeoutError:
        problem = f"takes more than {timeout:g} s on the {what} {quoted(text)}; simplify it"
        raise ParameterError(f"the pattern {quoted(pattern)} {problem}") from None
    except MemoryError:
        problem = f"takes too much memory on the {what} {quoted(text)}; simplify it"
        raise ParameterError(f"the pattern {quoted(pattern)} {problem}") from None
