"""Sequences as arrays of words, so that templates can be applied to all tokens at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from semistruct.batch import ranges, starts
from semistruct.corpus import Token
from semistruct.errors import DataError

Out = TypeVar("Out")
Fast = TypeVar("Fast")


class Values(NamedTuple):
    """The values that a template has at the tokens: token t has sizes[t] of them; `which` says which of the texts."""

    sizes: np.ndarray
    which: np.ndarray
    texts: list[str]

    @classmethod
    def of(cls, found: Sequence[Sequence[str]]) -> Values:
        """From the values of each token."""
        number: dict[str, int] = {}
        which = [number.setdefault(value, len(number)) for value in chain.from_iterable(found)]
        sizes = np.fromiter(map(len, found), np.int32, len(found))
        return cls(sizes, np.array(which, np.int64), list(number))

    @classmethod
    def coded(cls, sizes: np.ndarray, codes: np.ndarray, text: Callable[[int], str]) -> Values:
        """From numbers that stand for the values; `text` tells which.  Texts come in the order of their first token."""
        known, first, which = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(sizes, place[which], [text(code) for code in known[order].tolist()])

    @classmethod
    def where(cls, there: np.ndarray, text: str) -> Values:
        """One value, which the marked tokens have."""
        return cls(there.astype(np.int32), np.zeros(int(there.sum()), np.int64), [text])


@dataclass(frozen=True)
class Template(Generic[Out, Fast]):
    """A template with a faster way to the same result.

    one  what it gives for the tokens of one sequence
    all  the same for a whole text
    """

    one: Callable[[list[Token]], Out]
    all: Callable[[Text], Fast]

    def __call__(self, tokens: list[Token]) -> Out:
        return self.one(tokens)


@dataclass(frozen=True)
class Words:
    """The distinct tokens of a text, and what was asked about them."""

    distinct: list[Any]
    _asked: dict[Any, tuple[np.ndarray, list[Any]]] = field(default_factory=dict, repr=False)

    def number(self, ask: Callable[[Token], Any]) -> tuple[np.ndarray, list[Any]]:
        """For each distinct token the number of its answer, and the answers."""
        if ask not in self._asked:
            number: dict[Any, int] = {}
            which = [number.setdefault(ask(token), len(number)) for token in self.distinct]
            self._asked[ask] = np.array(which, np.int64), list(number)
        return self._asked[ask]


@dataclass(frozen=True)
class Text:
    """Sequences X, end to end; word[t] says which distinct token t is."""

    X: Sequence[Sequence[Any]]
    lengths: np.ndarray
    word: np.ndarray
    words: Words

    @classmethod
    def of(cls, X: Sequence[Sequence[Any]]) -> Text:
        number = {token: i for i, token in enumerate(dict.fromkeys(chain.from_iterable(X)))}
        lengths = np.fromiter(map(len, X), np.int64, len(X))
        word = np.fromiter(map(number.__getitem__, chain.from_iterable(X)), np.int32, int(lengths.sum()))
        return cls(X, lengths, word, Words(list(number)))

    def blocks(self, size: int) -> Iterator[Text]:
        """Some sequences at a time."""
        first = starts(self.lengths)
        for a in range(0, len(self.X), size):
            b = min(a + size, len(self.X))
            yield Text(self.X[a:b], self.lengths[a:b], self.word[first[a] : first[b]], self.words)

    @cached_property
    def before(self) -> np.ndarray:
        """(n_tokens,) how many tokens come before each in its sequence."""
        return ranges(np.zeros(len(self.lengths), np.int64), self.lengths)

    @cached_property
    def behind(self) -> np.ndarray:
        """(n_tokens,) how many tokens come behind each in its sequence."""
        return np.repeat(self.lengths, self.lengths) - self.before - 1

    def ask(self, ask: Callable[[Token], Any]) -> tuple[np.ndarray, list[Any]]:
        """For each token the number of an answer that depends on its word alone, and the answers."""
        which, answers = self.words.number(ask)
        return which[self.word], answers

    def tell(self, ask: Callable[[Token], bool]) -> np.ndarray:
        """(n_tokens,) the tokens for which it is so."""
        which, answers = self.ask(ask)
        return np.array(answers, np.bool_)[which]

    def beside(self, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that have another one so far to their right, and the words of these."""
        token = np.flatnonzero((self.before >= -offset) & (self.behind >= offset))
        return token, self.word[token + offset]

    def last(self, there: np.ndarray) -> np.ndarray:
        """(n_tokens,) the last marked token of the sequence up to each, -1 where there is none."""
        token = np.arange(len(there))
        last = np.maximum.accumulate(np.where(there, token, -1))
        return np.where(last >= token - self.before, last, -1)

    def next(self, there: np.ndarray) -> np.ndarray:
        """(n_tokens,) the first marked token of the sequence from each on, -1 where there is none."""
        token = np.arange(len(there))
        following = np.minimum.accumulate(np.where(there, token, len(there))[::-1])[::-1]
        return np.where(following <= token + self.behind, following, -1)


def values_of(label: str, template: Any, text: Text) -> Values:
    """The values of a template of sequences at the tokens of a text."""
    if isinstance(template, Template):
        return template.all(text)
    found: list[Sequence[str]] = []
    for x in text.X:
        values = template(list(x))
        if len(values) != len(x):
            raise DataError(f"feature {label} gives values for {len(values)} tokens of a sequence that has {len(x)}")
        found += values
    return Values.of(found)
