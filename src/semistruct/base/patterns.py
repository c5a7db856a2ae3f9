"""Regular expressions of other people: refused if they are dangerous, and given up on if they take too long."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import regex

from semistruct.base.errors import ParameterError, quoted, shortened

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
    return bool(matching(pattern, [word]))


def matching(pattern: str, words: Iterable[str]) -> list[str]:
    """The words that match as a whole."""
    fullmatch, short, found, word = compiled(pattern).fullmatch, PATIENCE, [], ""
    try:
        for word in words:
            if fullmatch(word, timeout=short if len(word) < LENGTH else _seconds(word)):
                found.append(word)
    except (TimeoutError, MemoryError) as err:
        raise _impatience(pattern, word, "word", err) from None
    return found


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """Where the matches in `text` are, from left to right."""
    try:
        return [match.span() for match in compiled(pattern).finditer(text, timeout=_seconds(text))]
    except (TimeoutError, MemoryError) as err:
        raise _impatience(pattern, text, "text", err) from None


def _seconds(text: str) -> float:
    """How long a pattern may take on a text."""
    return PATIENCE * (1 + len(text) // LENGTH)


def _impatience(pattern: str, text: str, what: str, err: TimeoutError | MemoryError) -> ParameterError:
    much = f"more than {_seconds(text):g} s" if isinstance(err, TimeoutError) else "too much memory"
    return ParameterError(f"the pattern {quoted(pattern)} takes {much} on the {what} {quoted(text)}; simplify it")
