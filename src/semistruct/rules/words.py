"""Tests of single words: the tokens to which a rule applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import regex

from semistruct.errors import ParameterError
from semistruct.features.steps import LINE_BREAKS
from semistruct.features.words import is_punctuation

PATIENCE = 1.0  # seconds a pattern may take on one word
CLASSES: dict[str, Callable[[str], bool]] = {"punctuation": is_punctuation, "newline": LINE_BREAKS.__contains__}


@dataclass(frozen=True)
class WordTest:
    """Is a word one of `words`, does it match one of `patterns` as a whole, or is it of one of `classes`?

    A word written in lower case stands for any case: `pp` also finds `PP`, but `CA` finds `CA` only.
    """

    words: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, marks: Iterable[str]) -> WordTest:
        """From a list of class names and patterns."""
        marks = list(marks)
        patterns = tuple(mark for mark in marks if mark not in CLASSES)
        return cls(patterns=patterns, classes=frozenset(marks) & frozenset(CLASSES))

    def __call__(self, word: str) -> bool:
        if word in self.words or word.lower() in self.words or any(CLASSES[name](word) for name in self.classes):
            return True
        return any(_matches(pattern, word) for pattern in self.patterns)


_compiled = cache(regex.compile)


def _matches(pattern: str, word: str) -> bool:
    try:
        return _compiled(pattern).fullmatch(word, timeout=PATIENCE) is not None
    except TimeoutError:
        raise ParameterError(
            f"the pattern {pattern!r} takes more than {PATIENCE:g} s on the word {word!r:.40}; simplify it"
        ) from None
