"""What sequences have in common: words, pairs of word shapes, and rules that say something about a word.

A trait that many sequences have is worth seeing once with its labels; a trait that one sequence has is worth nothing.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from semistruct.base.errors import shortened
from semistruct.core.batch import starts
from semistruct.features.encoder import form_of
from semistruct.features.words import shape_of, word_of
from semistruct.rules import Rules

DIGITS = re.compile(r"\d")
RULE_WORTH = 2.0  # of seeing a word that a rule is about, beside that of seeing another word


@dataclass(frozen=True)
class Traits:
    """Traits that at least two sequences of a pool have.

    tokens  (N, F)  1 where a token has a trait; the tokens of the n sequences of the pool, and of labelled ones
    counts  (m, F)  how many tokens of a sequence have it; m > n if there are labelled ones
    names           what each trait is, in words
    worth   (F,)    of a trait of this kind
    lengths (m,)
    copies  (n,)    how many sequences of the pool read the same
    """

    tokens: csr_array
    counts: csr_array
    names: list[str]
    worth: np.ndarray
    lengths: np.ndarray
    copies: np.ndarray

    @classmethod
    def of(cls, pool: Sequence[Any], copies: np.ndarray, labelled: Sequence[Any], rules: Rules | None) -> Traits:
        """Of sequences of which `copies` (n,) are in the pool, and of labelled ones."""
        X, n = [*pool, *labelled], len(pool)
        lengths = np.array([len(x) for x in X])
        tokens, names = _own(X)
        ruled, texts = _ruled(X, n, rules)
        tokens = csr_array(hstack([tokens, ruled], format="csr"))
        worth = np.repeat([1.0, RULE_WORTH], [len(names), len(texts)])
        counts = csr_array(_sums(lengths, np.ones(tokens.shape[0])) @ tokens)
        often = copies @ (counts[:n] > 0)
        kept = np.flatnonzero(often > 1)
        names = [*names, *texts]
        return cls(tokens[:, kept], counts[:, kept], [names[f] for f in kept], worth[kept], lengths, copies)

    def frequent(self, weight: np.ndarray | None = None) -> np.ndarray:
        """(F,): the share of the pool's sequences that have each trait, times its worth.

        With a weight per token of the pool, a sequence counts as much as its tokens with the trait do on average.
        """
        n = len(self.copies)
        share = csr_array(self.counts[:n] > 0, dtype=float)
        if weight is not None:
            lengths = self.lengths[:n]
            sums = _sums(lengths, weight) @ self.tokens[: lengths.sum()]
            share = csr_array(sums * _inverse(self.counts[:n]))
        return self.worth * (self.copies @ share) / max(float(self.copies.sum()), 1.0)

    def directions(self) -> csr_array:
        """(n, F): the sequences of the pool as vectors of length 1, in which rare traits weigh more."""
        has = csr_array(self.counts[: len(self.copies)] > 0, dtype=float)
        share = (self.copies @ has) / max(float(self.copies.sum()), 1.0)
        scaled = csr_array(has * np.log1p(1 / np.maximum(share, 1e-9)))
        length = np.sqrt(np.asarray((scaled * scaled).sum(axis=1)).ravel())
        scaled.data /= np.repeat(np.maximum(length, 1e-9), np.diff(scaled.indptr))
        return scaled


def _sums(lengths: np.ndarray, weight: np.ndarray) -> csr_array:
    """(sequences, tokens): adds up the tokens of each sequence, weighed."""
    return csr_array((weight, np.arange(len(weight)), starts(lengths)), shape=(len(lengths), len(weight)))


def _inverse(counts: csr_array) -> csr_array:
    return csr_array((1 / counts.data, counts.indices, counts.indptr), shape=counts.shape)


def _own(X: Sequence[Any]) -> tuple[csr_array, list[str]]:
    """The words and pairs of shapes of each token, or its features: (N, F), and the names of the F."""
    number: dict[Hashable, int] = {}
    rows: list[list[int]] = []
    if form_of(X) != "tokens":
        for x in X:
            rows += [[number.setdefault(str(feature), len(number)) for feature in token] for token in x]
        return _table(rows, len(number)), [f'"{shortened(str(name), 20)}"' for name in number]
    words = {word_of(token) for x in X for token in x}
    plain, shape = {word: DIGITS.sub("0", word.lower()) for word in words}, {word: shape_of(word) for word in words}
    for x in X:
        own = [word_of(token) for token in x]
        shapes = ["", *(shape[word] for word in own), ""]
        pairs = [number.setdefault(pair, len(number)) for pair in pairwise(shapes)]
        rows += [
            [number.setdefault(plain[word], len(number)), *around]
            for word, around in zip(own, pairwise(pairs), strict=True)
        ]
    return _table(rows, len(number)), list(map(_name, number))


def _table(rows: list[list[int]], width: int) -> csr_array:
    indices = np.array([f for row in rows for f in row], np.int64)
    indptr = starts(np.array([len(row) for row in rows], np.int64))
    table = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), width))
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def _name(trait: Any) -> str:
    if isinstance(trait, str):
        return f'"{shortened(trait, 20)}"'
    first, second = (shortened(shape, 20) for shape in trait)
    if first and second:
        return f"words of the shapes {first} {second}"
    return f"a first word of the shape {second}" if second else f"a last word of the shape {first}"


def _ruled(X: Sequence[Any], n: int, rules: Rules | None) -> tuple[csr_array, list[str]]:
    """The rules about each token, without those about every token, or about some in each of the first n sequences."""
    n_tokens = sum(map(len, X))
    labels = (
        set() if rules is None else {*(rules.labels or ()), *(label for rule in rules for label in rule.mentioned())}
    )
    if rules is None or not labels or form_of(X) != "tokens":
        return csr_array((n_tokens, 0)), []
    tables = rules.compile(X, sorted(labels))
    tested = tables.token_tests[:, : len(tables.terms)]
    texts = sorted({rule.text for rule in tables.rules})
    of_rules = np.zeros((len(tested), len(texts)), bool)
    for k in np.flatnonzero(~tested.all(axis=0)):
        of_rules[:, texts.index(tables.rules[tables.rule_of[k]].text)] |= tested[:, k]
    about = csr_array(of_rules, dtype=float)[tables.token_class]
    sums = _sums(np.array([len(x) for x in X]), np.ones(n_tokens)) @ about
    everywhere = (sums[:n] > 0).sum(axis=0) == n
    some = np.flatnonzero(~np.asarray(everywhere).ravel())
    return csr_array(about[:, some]), [f"the rule {shortened(texts[f], 50)}" for f in some]
