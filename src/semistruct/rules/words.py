"""Tests of words and of runs of words: the tokens to which a rule applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal

from semistruct.features.steps import LINE_BREAKS
from semistruct.features.words import core_of, is_punctuation
from semistruct.patterns import is_match, matching
from semistruct.tokens import tokenize

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
class PhraseTest:
    """Is a run of words one of `phrases`, each of its words tested as in `WordTest`?"""

    phrases: frozenset[tuple[str, ...]]
    exact: bool = False
    bare: bool = False

    @cached_property
    def head(self) -> WordTest:
        """The test of the first word of a run."""
        return WordTest(frozenset(self._by_head), exact=self.exact, bare=self.bare)

    @cached_property
    def _by_head(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], []).append(phrase)
        return found

    def tests(self, head: str) -> Iterator[tuple[WordTest, ...]]:
        """The tests, one for each word, of the phrases that begin with this word."""
        for phrase in self._beginning(head):
            yield tuple(WordTest(frozenset([word]), exact=self.exact, bare=self.bare) for word in phrase)

    def ends(self, words: Sequence[str], a: int) -> list[int]:
        """Where the runs end that begin with word a."""
        return sorted({a + len(phrase) for phrase in self._beginning(words[a]) if self._is(phrase, words, a)})

    def _beginning(self, word: str) -> list[tuple[str, ...]]:
        return [phrase for form in self._forms(word) for phrase in self._by_head.get(form, ())]

    def _is(self, phrase: tuple[str, ...], words: Sequence[str], a: int) -> bool:
        rest = words[a + 1 : a + len(phrase)]
        return len(rest) == len(phrase) - 1 and all(
            wanted in self._forms(word) for wanted, word in zip(phrase[1:], rest, strict=True)
        )

    def _forms(self, word: str) -> set[str]:
        word = core_of(word) if self.bare else word
        return {word} if self.exact else {word, word.lower()}


@dataclass(frozen=True)
class RunTest:
    """Do words in a row pass one test each?"""

    tests: tuple[WordTest, ...]

    @property
    def head(self) -> WordTest:
        return self.tests[0]

    def ends(self, words: Sequence[str], a: int) -> list[int]:
        """Where the run ends that begins with word a, if there is one."""
        some = words[a : a + len(self.tests)]
        whole = len(some) == len(self.tests) and all(test(word) for test, word in zip(self.tests, some, strict=True))
        return [a + len(some)] if whole else []


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
    phrases |= _in_words([" ".join(cut) for cut in phrases if not "".join(cut).isalnum()])
    if bare:
        single, phrases = set(map(core_of, single)), {tuple(map(core_of, phrase)) for phrase in phrases}
    return Wanted(
        WordTest(frozenset(single), exact=exact, bare=bare) if single else None,
        PhraseTest(frozenset(phrases), exact, bare) if phrases else None,
    )


def _in_words(phrases: list[str]) -> set[tuple[str, ...]]:
    """Phrases cut into words and signs, all at once since there may be many."""
    text = "\n".join(phrases)
    tokens, spans = tokenize(text)
    line, ends = 0, [*accumulate(len(phrase) + 1 for phrase in phrases)]
    found: list[list[str]] = [[] for _ in phrases]
    for token, (start, _) in zip(tokens, spans, strict=True):
        while start >= ends[line]:
            line += 1
        found[line].append(token)
    return set(map(tuple, found))


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

    def passing(self, test: WordTest) -> list[int]:
        """The numbers of the words that pass."""
        if test not in self._passing:
            spelt = self._bare if test.bare else self._spelt
            self._passing[test] = sorted(i for spelling in spelt.passing(test) for i in spelt.words[spelling])
        return self._passing[test]

    @cached_property
    def _spelt(self) -> _Spellings:
        return _Spellings({word: [i] for word, i in self.number.items()})

    @cached_property
    def _bare(self) -> _Spellings:
        """The words without the punctuation around them."""
        found: dict[str, list[int]] = {}
        for word, i in self.number.items():
            found.setdefault(core_of(word), []).append(i)
        return _Spellings(found)


@dataclass(frozen=True)
class _Spellings:
    """The numbers of the words that are spelt in each way."""

    words: dict[str, list[int]]

    @cached_property
    def _lower(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for spelling in self.words:
            found.setdefault(spelling.lower(), []).append(spelling)
        return found

    def passing(self, test: WordTest) -> set[str]:
        """Those that pass."""
        found = {spelling for name in test.classes for spelling in filter(CLASSES[name], self.words)}
        for pattern in test.patterns:
            found.update(matching(pattern, self.words))
        found |= test.words & self.words.keys()
        if not test.exact:
            found.update(*(self._lower[word] for word in test.words & self._lower.keys()))
        return found
