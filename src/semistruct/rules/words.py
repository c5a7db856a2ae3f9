"""Tests of single words: the tokens to which a rule applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from semistruct.features.steps import LINE_BREAKS
from semistruct.features.words import is_punctuation
from semistruct.patterns import is_match

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
        return any(is_match(pattern, word) for pattern in self.patterns)


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
