"""Tests of words and of runs of words, and where the words that pass are in some sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal

import numpy as np

from semistruct.base.errors import DataError
from semistruct.base.patterns import is_match, matching
from semistruct.core.batch import starts
from semistruct.data.tokens import tokenize
from semistruct.features.encoder import form_of
from semistruct.features.words import LINE_BREAKS, core_of, is_punctuation, word_of

CLASSES: dict[str, Callable[[str], bool]] = {"punctuation": is_punctuation, "newline": LINE_BREAKS.__contains__}

Case = Literal["exact", "any"]


@dataclass(frozen=True)
class WordTest:
    """Is a word one of `words`, does it match one of `patterns` as a whole, or is it of one of `classes`?

    A word written in lower case stands for any case: `pp` also finds `PP`, but `CA` finds `CA` only.

    exact  every word stands for itself only
    bare   what counts is the word without the punctuation around it
    """

    words: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()
    exact: bool = False
    bare: bool = False

    @classmethod
    def of(cls, marks: Iterable[str]) -> WordTest:
        """From a list of class names and patterns."""
        marks = list(marks)
        patterns = tuple(mark for mark in marks if mark not in CLASSES)
        return cls(patterns=patterns, classes=frozenset(marks) & frozenset(CLASSES))

    def __call__(self, word: str) -> bool:
        word = core_of(word) if self.bare else word
        if word in self.words or (not self.exact and word.lower() in self.words):
            return True
        return any(CLASSES[name](word) for name in self.classes) or any(is_match(p, word) for p in self.patterns)


@dataclass(frozen=True)
class RunTest:
    """Do words in a row pass one test each?"""

    tests: tuple[WordTest, ...]

    @property
    def head(self) -> WordTest:
        """The test of the first word of a run."""
        return self.tests[0]

    def ends(self, words: Sequence[str], a: int) -> list[int]:
        """Where the runs end that begin with word a."""
        some = words[a : a + len(self.tests)]
        whole = len(some) == len(self.tests) and all(test(word) for test, word in zip(self.tests, some, strict=True))
        return [a + len(some)] if whole else []


@dataclass(frozen=True)
class PhraseTest:
    """Is a run of words one of `phrases`, each of its words tested as in `WordTest`?"""

    phrases: frozenset[tuple[str, ...]]
    exact: bool = False
    bare: bool = False

    @cached_property
    def head(self) -> WordTest:
        return self._test(self._by_head)

    @cached_property
    def _by_head(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], []).append(phrase)
        return found

    def _test(self, words: Iterable[str]) -> WordTest:
        return WordTest(frozenset(words), exact=self.exact, bare=self.bare)

    def beginning(self, word: str) -> list[RunTest]:
        """The tests for the phrases that begin with this word."""
        word = core_of(word) if self.bare else word
        phrases = [p for form in ({word} if self.exact else {word, word.lower()}) for p in self._by_head.get(form, ())]
        return [RunTest(tuple(self._test([part]) for part in phrase)) for phrase in phrases]

    def ends(self, words: Sequence[str], a: int) -> list[int]:
        return sorted({end for run in self.beginning(words[a]) for end in run.ends(words, a)})


@dataclass(frozen=True)
class Wanted:
    """What a rule looks for in a text: single words that pass `word`, and runs of several that pass `run`."""

    word: WordTest | None = None
    run: PhraseTest | RunTest | None = None


@lru_cache(maxsize=256)
def wanted_words(words: tuple[str, ...], case: Case | None = None, bare: bool = False) -> Wanted:
    """The test for a list of words and phrases.

    A phrase is looked for as it is cut at blanks, and as it is cut into words and signs.
    """
    exact = case == "exact"
    single: set[str] = set()
    phrases: set[tuple[str, ...]] = set()
    for word in words:
        cut = (word.lower() if case == "any" else word).split()
        single.add(cut[0]) if len(cut) == 1 else phrases.add(tuple(cut))
    phrases |= {tuple(tokenize(" ".join(cut))[0]) for cut in phrases if not "".join(cut).isalnum()}
    if bare:
        single, phrases = set(map(core_of, single)), {tuple(map(core_of, phrase)) for phrase in phrases}
    return Wanted(
        WordTest(frozenset(single), exact=exact, bare=bare) if single else None,
        PhraseTest(frozenset(phrases), exact, bare) if phrases else None,
    )


def wanted_patterns(patterns: str | tuple[str, ...], case: Case | None = None, bare: bool = False) -> Wanted:
    """The test for a pattern, or for patterns of words in a row."""
    listed = (patterns,) if isinstance(patterns, str) else patterns
    tests = tuple(WordTest(patterns=(in_any_case(p) if case == "any" else p,), bare=bare) for p in listed)
    return Wanted(word=tests[0]) if len(tests) == 1 else Wanted(run=RunTest(tests))


def in_any_case(pattern: str) -> str:
    return f"(?i:{pattern})"


class WordIndex:
    """Distinct words, numbered from 0 in the order given."""

    def __init__(self, words: Iterable[str]) -> None:
        self.number = {word: i for i, word in enumerate(words)}
        self._passing: dict[WordTest, list[int]] = {}
        self._spelt: dict[bool, dict[str, list[int]]] = {}
        self._lower: dict[bool, dict[str, list[str]]] = {}

    def passing(self, test: WordTest) -> list[int]:
        """The numbers of the words that pass."""
        if test not in self._passing:
            spelt, lower = self._spellings(test.bare)
            found = {spelling for name in test.classes for spelling in filter(CLASSES[name], spelt)}
            for pattern in test.patterns:
                found.update(matching(pattern, spelt))
            found |= test.words & spelt.keys()
            if not test.exact:
                found.update(*(lower[word] for word in test.words & lower.keys()))
            self._passing[test] = sorted(i for spelling in found for i in spelt[spelling])
        return self._passing[test]

    def _spellings(self, bare: bool) -> tuple[dict[str, list[int]], dict[str, list[str]]]:
        """The words by their spelling, without the punctuation around them if bare; these in lower case."""
        if bare not in self._spelt:
            self._spelt[bare], self._lower[bare] = {}, {}
            for word, i in self.number.items():
                self._spelt[bare].setdefault(core_of(word) if bare else word, []).append(i)
            for spelling in self._spelt[bare]:
                self._lower[bare].setdefault(spelling.lower(), []).append(spelling)
        return self._spelt[bare], self._lower[bare]


def ranges(first: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The numbers from each of `first` on, as many as `length` says, end to end."""
    begin = starts(length)
    return np.repeat(first - begin[:-1], length) + np.arange(begin[-1])


class Texts:
    """Sequences X of tokens, end to end: N tokens, numbered from 0 on, and where their words are.

    offsets (n + 1,)    where the sequences begin
    first, last (N,)    the first and the last tokens of the sequences
    """

    def __init__(self, X: Sequence[Any]) -> None:
        self.X = X
        lengths = np.array([len(x) for x in X], np.int64)
        if not lengths.all():
            raise DataError(f"sequence {int(np.argmin(lengths))} has no tokens")
        self.offsets = starts(lengths)
        self.first = np.zeros(self.offsets[-1], bool)
        self.first[self.offsets[:-1]] = True
        self.last = np.roll(self.first, -1)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def _words(self) -> tuple[WordIndex, np.ndarray]:
        """The distinct words, and the number of the word of each token (N,)."""
        if len(self.X) and form_of(self.X) != "tokens":
            hint = "give each token as (word, features)"
            raise DataError(f"rules about words need tokens, but this data holds {form_of(self.X)}; {hint}")
        words = list(map(word_of, chain.from_iterable(self.X)))
        codes = {word: i for i, word in enumerate(dict.fromkeys(words))}
        return WordIndex(codes), np.fromiter(map(codes.__getitem__, words), np.int32, len(words))

    @cached_property
    def _by_word(self) -> tuple[np.ndarray, np.ndarray]:
        """The tokens sorted by word, and where those of each distinct word begin."""
        index, code = self._words
        return np.argsort(code, kind="stable"), starts(np.bincount(code, minlength=len(index.number)))

    def _having(self, words: Sequence[int]) -> np.ndarray:
        """The tokens that have one of some distinct words."""
        order, begin = self._by_word
        which = np.asarray(words, np.int64)
        return order[ranges(begin[which], begin[which + 1] - begin[which])]

    def passing(self, test: WordTest) -> np.ndarray:
        """The tokens whose word passes, in order."""
        return np.sort(self._having(self._words[0].passing(test)))

    def passes(self, test: WordTest) -> np.ndarray:
        """(N,): whether the word of a token passes."""
        return self._passed(test)[self._words[1]]

    def _passed(self, test: WordTest) -> np.ndarray:
        """(n_words,): whether a distinct word passes."""
        words, _ = self._words
        passed = np.zeros(len(words.number), bool)
        passed[words.passing(test)] = True
        return passed

    def runs(self, test: PhraseTest | RunTest) -> tuple[np.ndarray, np.ndarray]:
        """The first tokens, and those after the last, of all runs of words that pass."""
        words, nothing = self._words[0], np.zeros(0, np.int64)
        if isinstance(test, RunTest):
            return self._following(self.passing(test.head), test)
        spelling, found = list(words.number), [(nothing, nothing)]
        for head in words.passing(test.head):
            found += [self._following(self._having([head]), run) for run in test.beginning(spelling[head])]
        start, end = (np.concatenate(part) for part in zip(*found, strict=True))
        return start, end

    def _following(self, begin: np.ndarray, run: RunTest) -> tuple[np.ndarray, np.ndarray]:
        """The runs that begin at these tokens, whose words pass the tests after the first."""
        tests = run.tests
        ends = self.offsets[np.searchsorted(self.offsets, begin, "right")]
        begin, (_, code) = begin[begin + len(tests) <= ends], self._words
        for k, test in enumerate(tests[1:] if len(begin) else (), 1):
            begin = begin[self._passed(test)[code[begin + k]]]
        return begin, begin + len(tests)

    def spots(self, tokens: np.ndarray) -> list[tuple[int, int]]:
        """The sequence, and the place in it, of each token."""
        i = np.searchsorted(self.offsets, tokens, "right") - 1
        return list(zip(i.tolist(), (tokens - self.offsets[i]).tolist(), strict=True))
