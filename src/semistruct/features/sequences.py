"""Templates that look at whole sequences: each gives the values of its feature at all tokens of many sequences.

Kinds of steps are found in the same way: they say which table of transition weights is in force between two
neighbouring tokens.  A model always has one table for all steps; each further kind adds a table of its own, so that
changing the label after a full stop, say, can be learned apart from changing it in the middle of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from semistruct.base.errors import DataError
from semistruct.base.files import all_lines
from semistruct.core.batch import ranges, starts
from semistruct.data.corpus import Token, word_of
from semistruct.features.registry import SEQUENCES, template
from semistruct.features.words import LINE_BREAKS, is_punctuation, shape_of

NOTHING = "^"  # where there is no word
OPENING, CLOSING, QUOTES = set("([{"), set(")]}"), {'"', "``", "''", "“", "”"}
FARTHEST = 4  # of `places`


@dataclass(frozen=True)
class Text:
    """Sequences X, end to end; word[t] says which of the distinct tokens token t is."""

    X: Sequence[Sequence[Any]]
    lengths: np.ndarray
    word: np.ndarray
    distinct: list[Any]
    _answers: dict[Any, tuple[np.ndarray, list[Any]]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: Sequence[Sequence[Any]]) -> Text:
        number = {token: i for i, token in enumerate(dict.fromkeys(chain.from_iterable(X)))}
        lengths = np.fromiter(map(len, X), np.int64, len(X))
        word = np.fromiter(map(number.__getitem__, chain.from_iterable(X)), np.int32, int(lengths.sum()))
        return cls(X, lengths, word, list(number))

    def blocks(self, size: int) -> Iterator[Text]:
        """Some sequences at a time; they share the distinct tokens."""
        first = starts(self.lengths)
        for a in range(0, len(self.X), size):
            b = min(a + size, len(self.X))
            yield Text(self.X[a:b], self.lengths[a:b], self.word[first[a] : first[b]], self.distinct, self._answers)

    @cached_property
    def before(self) -> np.ndarray:
        """(n_tokens,) how many tokens come before each in its sequence."""
        return ranges(np.zeros(len(self.lengths), np.int64), self.lengths)

    @cached_property
    def behind(self) -> np.ndarray:
        """(n_tokens,) how many tokens come behind each in its sequence."""
        return np.repeat(self.lengths, self.lengths) - self.before - 1

    def ask(self, question: Callable[[Token], Any]) -> tuple[np.ndarray, list[Any]]:
        """For each token the number of the answer, which depends on the token alone, and the answers."""
        if question not in self._answers:
            number: dict[Any, int] = {}
            which = [number.setdefault(question(token), len(number)) for token in self.distinct]
            self._answers[question] = np.array(which, np.int64), list(number)
        which_answer, answers = self._answers[question]
        return which_answer[self.word], answers

    def where(self, test: Callable[[Token], bool]) -> np.ndarray:
        """(n_tokens,) whether the test is true of each token."""
        which, answers = self.ask(test)
        return np.array(answers, np.bool_)[which]

    def previous(self, values: np.ndarray, first: int) -> np.ndarray:
        """(n_tokens,) the value of the token before each, `first` where there is none."""
        return np.where(self.before == 0, first, np.roll(values, 1))

    def last(self, marked: np.ndarray) -> np.ndarray:
        """(n_tokens,) the last marked token of the sequence up to each, -1 where there is none."""
        token = np.arange(len(marked))
        last = np.maximum.accumulate(np.where(marked, token, -1))
        return np.where(last >= token - self.before, last, -1)

    def next(self, marked: np.ndarray) -> np.ndarray:
        """(n_tokens,) the first marked token of the sequence from each on, -1 where there is none."""
        token = np.arange(len(marked))
        following = np.minimum.accumulate(np.where(marked, token, len(marked))[::-1])[::-1]
        return np.where(following <= token + self.behind, following, -1)


class Values(NamedTuple):
    """The values of a template: token t has sizes[t] of them; `which` says which of the texts, token by token."""

    sizes: np.ndarray
    which: np.ndarray
    texts: list[str]

    @classmethod
    def of(cls, found: Sequence[Sequence[str]]) -> Values:
        """From the values of each token."""
        number: dict[str, int] = {}
        which = [number.setdefault(value, len(number)) for value in chain.from_iterable(found)]
        return cls(np.fromiter(map(len, found), np.int32, len(found)), np.array(which, np.int64), list(number))

    @classmethod
    def coded(cls, sizes: np.ndarray, codes: np.ndarray, text: Callable[[int], str]) -> Values:
        """From numbers that stand for the values; `text` tells which.  Texts come in the order of their first token."""
        known, first, which = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(sizes, place[which], [text(code) for code in known[order].tolist()])

    @classmethod
    def yes(cls, marked: np.ndarray) -> Values:
        """The value "yes" at the marked tokens."""
        return cls(marked.astype(np.int32), np.zeros(int(marked.sum()), np.int64), ["yes"])

    @classmethod
    def two_sided(cls, left: np.ndarray, right: np.ndarray, text: Callable[[int], str]) -> Values:
        """Two values at each token, given as numbers: `<` with the text of the left one, `>` with that of the right."""
        codes = np.stack([2 * left, 2 * right + 1], axis=1).ravel()
        sizes = np.full(len(left), 2, np.int32)
        return cls.coded(sizes, codes, lambda code: f"{'<>'[code % 2]}{text(code // 2)}")


SequenceFunction = Callable[[Text], Values]


def by_sequence(values: Callable[[list[Token]], Sequence[Sequence[str]]]) -> SequenceFunction:
    """A template from a function that gives the values at each token of one sequence."""

    def over(text: Text) -> Values:
        found: list[Sequence[str]] = []
        for x in text.X:
            own = values(list(x))
            if len(own) != len(x):
                problem = f"values for {len(own)} tokens of a sequence that has {len(x)}"
                raise DataError(f"feature {values.__name__} gives {problem}")
            found += own
        return Values.of(found)

    over.__name__ = values.__name__
    return over


@template(SEQUENCES)
def begin(text: Text) -> Values:
    return Values.yes(text.before == 0)


@template(SEQUENCES)
def end(text: Text) -> Values:
    return Values.yes(text.behind == 0)


@template(SEQUENCES)
def bigram(text: Text) -> Values:
    """The lower-cased word with the one before it."""
    return _pairs(text, _lower)


@template(SEQUENCES)
def shapes(text: Text) -> Values:
    """The shape of the word with the one before it."""
    return _pairs(text, _shape)


def _lower(token: Token) -> str:
    return word_of(token).lower()


def _shape(token: Token) -> str:
    return shape_of(word_of(token))


def _pairs(text: Text, look: Callable[[Token], str]) -> Values:
    which, looks = text.ask(look)
    named = [*looks, NOTHING]
    n = len(named)
    codes = text.previous(which, len(looks)) * n + which
    return Values.coded(np.ones(len(which), np.int32), codes, lambda code: f"{named[code // n]} {named[code % n]}")


@template(SEQUENCES)
def position(text: Text) -> Values:
    """How far the beginning and the end are, on a scale that doubles: 0, 1, 2-3, 4-7, ..."""
    return Values.two_sided(np.frexp(text.before)[1], np.frexp(text.behind)[1], str)


@template(SEQUENCES)
def places(text: Text) -> Values:
    """The number of tokens before and behind, 4 standing for more."""
    return Values.two_sided(np.minimum(text.before, FARTHEST), np.minimum(text.behind, FARTHEST), str)


@template(SEQUENCES)
def enclosed(text: Text) -> Values:
    """Whether the token is inside brackets or quotation marks."""
    opened, closed = text.last(text.where(_opens)), text.last(text.where(_closes))
    seen = np.cumsum(text.where(_quotes))
    seen_before = np.append(0, seen)[np.arange(len(seen)) - text.before]
    inside = np.stack([opened > text.previous(closed, -1), (seen - seen_before) % 2 == 1], axis=1)
    return Values.coded(inside.sum(axis=1, dtype=np.int32), np.nonzero(inside)[1], ("brackets", "quotes").__getitem__)


def _opens(token: Token) -> bool:
    return word_of(token) in OPENING


def _closes(token: Token) -> bool:
    return word_of(token) in CLOSING


def _quotes(token: Token) -> bool:
    return word_of(token) in QUOTES


@template(SEQUENCES)
def signs(text: Text) -> Values:
    """The nearest punctuation on the left and on the right."""
    marked = text.where(is_punctuation)
    left = text.previous(text.last(marked), -1)
    right = np.where(text.behind == 0, -1, np.roll(text.next(marked), -1))
    which, texts = text.ask(word_of)
    named = [*texts, NOTHING]
    codes = [np.where(sign < 0, len(texts), which[sign]) for sign in (left, right)]
    return Values.two_sided(codes[0], codes[1], named.__getitem__)


def read_lexicon(file: str) -> dict[str, str]:
    """One phrase per line, tokens separated by blanks, case ignored."""
    return {" ".join(line.lower().split()): "" for line in all_lines(file) if line.strip()}


@template(SEQUENCES, read_lexicon, "a file", "names.txt", kept=True)
def lexicon(phrases: dict[str, str]) -> SequenceFunction:
    """Longest matches of a list of phrases: B where one begins, I inside it."""
    longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)

    @by_sequence
    def values(tokens: list[Token]) -> list[list[str]]:
        words = [word_of(token).lower() for token in tokens]
        out: list[list[str]] = [[] for _ in words]
        t = 0
        while t < len(words):
            sizes = range(min(longest, len(words) - t), 0, -1)
            size = next((k for k in sizes if " ".join(words[t : t + k]) in phrases), 0)
            out[t : t + size] = [["B" if s == 0 else "I"] for s in range(size)]
            t += max(size, 1)
        return out

    return values


class Steps(NamedTuple):
    """Kinds of steps: `kinds` gives that of the step into each token, a number below n_kinds."""

    kinds: Callable[[Text], np.ndarray]
    n_kinds: int


def _by_punctuation(text: Text) -> np.ndarray:
    """By the token before the step: a word, a full stop, a comma, other punctuation, a line break."""
    which, kinds = text.ask(_kind_after)
    return text.previous(np.array(kinds, np.int16)[which], 0)


def _kind_after(token: Token) -> int:
    text = word_of(token)
    if text in LINE_BREAKS:
        return 4
    if text in (".", ","):
        return 1 if text == "." else 2
    return 3 if is_punctuation(token) else 0


STEPS = {
    "plain": Steps(lambda text: np.zeros(len(text.word), np.int16), 1),
    "punctuation": Steps(_by_punctuation, 5),
}
"""The arguments of steps(...)."""
