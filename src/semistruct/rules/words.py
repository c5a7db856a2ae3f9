"""Tests of single words: the tokens to which a rule applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from semistruct.errors import ParameterError, quoted, shortened
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


class WordIndex:
    """Distinct words, numbered from 0 in the order given."""

    def __init__(self, words: Iterable[str]) -> None:
        self.number = {word: i for i, word in enumerate(words)}
        self._lower: dict[str, list[int]] = {}
        for word, i in self.number.items():
            self._lower.setdefault(word.lower(), []).append(i)
        self._passing: dict[WordTest, list[int]] = {}

    def passing(self, test: WordTest) -> list[int]:
        """The numbers of the words that pass; each word, or each word of the test if these are fewer, is tried once."""
        if test not in self._passing:
            if test.patterns or test.classes or len(test.words) > len(self.number):
                found = [i for word, i in self.number.items() if test(word)]
            else:
                exact = {self.number[word] for word in test.words if word in self.number}
                found = sorted(exact.union(*(self._lower.get(word, ()) for word in test.words)))
            self._passing[test] = found
        return self._passing[test]


def _matches(pattern: str, word: str) -> bool:
    try:
        return compiled(pattern).fullmatch(word, timeout=PATIENCE) is not None
    except TimeoutError:
        raise ParameterError(
            f"the pattern {quoted(pattern)} takes more than {PATIENCE:g} s on the word {quoted(word)}; simplify it"
        ) from None
    except MemoryError:
        problem = f"the pattern {quoted(pattern)} takes too much memory on the word {quoted(word)}; simplify it"
        raise ParameterError(problem) from None
