"""Numbering features: from sequences, in any of the forms users hold them, to a SequenceBatch.

A sequence is a list of tokens (strings, or tuples of columns), of feature lists, or of feature dictionaries; the
latter two are taken as they are.  Every feature is a *name* such as `lower=proceedings` and owns one row of
weights per offset its template looks at.  Names of word templates are worked out once per distinct token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from semistruct.batch import SequenceBatch, ranges, starts
from semistruct.errors import DataError
from semistruct.features.templates import Features

FORMS = (((str, tuple), "tokens"), ((list, set), "feature lists"), (dict, "feature dictionaries"))


class Vocabulary(dict[str, int]):
    """Names to numbers: an unseen name gets the next number while growing, and -1 afterwards."""

    growing = False

    def __missing__(self, name: str) -> int:
        if not self.growing:
            return -1
        number = self[name] = len(self)
        return number


class Encoder:
    """Learns the feature names of some data (`fit`) and numbers those of other data (`transform`).

    features  the templates to apply to tokens; None for sequences that already are features
    names     the vocabulary; name number v owns the rows first[v] .. first[v + 1] - 1 of the weights
    """

    def __init__(self, features: Features | None, names: Iterable[str] = ()) -> None:
        self.features = features
        self.vocabulary = Vocabulary((name, v) for v, name in enumerate(names))
        self._templates = features.compile() if features else None
        self._number_rows()

    @classmethod
    def for_data(cls, X: Sequence[Any], features: str | Iterable[str]) -> Encoder:
        """An encoder for data of this form: templates apply to tokens only."""
        return cls(Features.of(features) if form_of(X) == "tokens" else None)

    @property
    def n_features(self) -> int:
        return int(self.first[-1])

    @property
    def n_kinds(self) -> int:
        return self._templates.n_kinds if self._templates else 1

    def feature_names(self) -> list[str]:
        """One readable name per row: `lower[-1]=proceedings`."""
        out = []
        for name in self.vocabulary:
            label, _, value = name.partition("=")
            for offset in self._window(name):
                out.append(name if offset == 0 else f"{label}[{offset:+d}]={value}")
        return out

    def fit(self, X: Sequence[Any]) -> SequenceBatch:
        """Add the features of X to the vocabulary and encode X."""
        self.vocabulary.growing = True
        try:
            self._names_of(X)
        finally:
            self.vocabulary.growing = False
        self._number_rows()
        return self.transform(X)

    def without(self, rows: np.ndarray) -> tuple[Encoder, np.ndarray]:
        """An encoder without the names all of whose rows are marked in `rows` (n_features,), and the rows it keeps."""
        marked = np.add.reduceat(rows, self.first[:-1]) == np.diff(self.first) if len(self.vocabulary) else rows
        names = [name for name, gone in zip(self.vocabulary, marked, strict=True) if not gone]
        return Encoder(self.features, names), np.flatnonzero(np.repeat(~marked, np.diff(self.first)))

    def transform(self, X: Sequence[Any]) -> SequenceBatch:
        """Encode X; features that were never seen are left out."""
        form = form_of(X)
        if (form == "tokens") != (self._templates is not None):
            wanted = "tokens" if self._templates else "features"
            raise DataError(f"the model was trained on {wanted}, this data holds {form}")
        lengths = np.array([len(x) for x in X], np.int64)
        if not lengths.all():
            raise DataError(f"sequence {int(np.argmin(lengths))} has no tokens")
        tokens, rows, values = self._entries(X)
        matrix = csr_array((values, (tokens, rows)), shape=(lengths.sum(), max(self.n_features, 1)))
        matrix.sum_duplicates()
        binary = self._templates is not None or bool((matrix.data == 1).all())
        return SequenceBatch(
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int32),
            values=np.ones(1) if binary else matrix.data,
            offsets=starts(lengths),
            kind=self._kinds(X),
            n_features=max(self.n_features, 1),
            n_kinds=self.n_kinds,
        )

    def _window(self, name: str) -> range:
        return self._windows.get(name.partition("=")[0], range(1))

    def _number_rows(self) -> None:
        self._windows = {label: w for label, w, _ in self._templates.words} if self._templates else {}
        windows = [self._window(name) for name in self.vocabulary]
        self.first = starts(np.array([len(w) for w in windows], np.int64))
        self._low = np.array([w.start for w in windows], np.int64)

    def _names_of(self, X: Sequence[Any]) -> None:
        """Look up every name of X, so that a growing vocabulary learns it."""
        if self._templates is None:
            for _ in self._given(X):
                pass
            return
        for token in dict.fromkeys(chain.from_iterable(X)):
            self._word_names(token)
        for x in X:
            for _ in self._sequence_names(x):
                pass

    def _entries(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(token, row, value) of every feature of X that has a row."""
        if self._templates is None:
            given = list(self._given(X))
            tokens = np.repeat(np.arange(len(given)), [len(names) for names, _ in given])
            names = np.fromiter(chain.from_iterable(names for names, _ in given), np.int64, len(tokens))
            values = np.fromiter(chain.from_iterable(values for _, values in given), float, len(tokens))
            known = names >= 0
            return tokens[known], self.first[names[known]], values[known]
        parts = [*self._word_entries(X), self._sequence_entries(X)]
        tokens = np.concatenate([tokens for tokens, _ in parts])
        return tokens, np.concatenate([rows for _, rows in parts]), np.ones(len(tokens))

    def _word_entries(self, X: Sequence[Any]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(token, row) pairs of the word templates, one offset at a time."""
        numbers = {token: i for i, token in enumerate(dict.fromkeys(chain.from_iterable(X)))}
        kinds = np.fromiter((numbers[token] for token in chain.from_iterable(X)), np.int64)
        found = [self._word_names(token) for token in numbers]
        owner = np.repeat(np.arange(len(found)), [len(names) for names in found])
        names = np.fromiter(chain.from_iterable(found), np.int64, len(owner))
        lengths = np.array([len(x) for x in X])
        inside = ranges(np.zeros(len(X), np.int64), lengths)
        left = np.repeat(lengths, lengths) - inside
        width = np.diff(self.first)
        for offset in sorted({o for window in self._windows.values() for o in window}):
            place = offset - self._low[names]
            has = (names >= 0) & (place >= 0) & (place < width[names])
            first = starts(np.bincount(owner[has], minlength=len(found)))
            rows = (self.first[names] + place)[has]
            here = np.flatnonzero((inside + offset >= 0) & (offset < left))
            seen = kinds[here + offset]
            size = np.diff(first)[seen]
            yield np.repeat(here, size), rows[ranges(first[seen], size)]

    def _sequence_entries(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        found = [names for x in X for names in self._sequence_names(x)]
        tokens = np.repeat(np.arange(len(found)), [len(names) for names in found])
        names = np.fromiter(chain.from_iterable(found), np.int64, len(tokens))
        return tokens[names >= 0], self.first[names[names >= 0]]

    def _word_names(self, token: Any) -> list[int]:
        look = self.vocabulary
        assert self._templates is not None
        return [look[f"{label}={v}"] for label, _, values in self._templates.words for v in values(token)]

    def _sequence_names(self, x: Sequence[Any]) -> list[list[int]]:
        look = self.vocabulary
        out: list[list[int]] = [[] for _ in x]
        assert self._templates is not None
        for label, template in self._templates.sequences:
            for names, values in zip(out, template(list(x)), strict=True):
                names.extend(look[f"{label}={v}"] for v in values)
        return out

    def _kinds(self, X: Sequence[Any]) -> np.ndarray:
        if self._templates is None:
            return np.zeros(sum(map(len, X)), np.int16)
        return np.fromiter(chain.from_iterable(self._templates.step(list(x)) for x in X), np.int16)

    def _given(self, X: Sequence[Any]) -> Iterable[tuple[list[int], Sequence[float]]]:
        """The name numbers and values of each token that is already a list or dictionary of features."""
        look = self.vocabulary.__getitem__
        for i, x in enumerate(X):
            for t, features in enumerate(x):
                if not isinstance(features, dict):
                    yield list(map(look, features)), (1.0,) * len(features)
                    continue
                pairs = [_name_and_value(key, value, i, t) for key, value in features.items()]
                yield [look(name) for name, value in pairs if value], [v for _, v in pairs if v]


def form_of(X: Sequence[Any]) -> str:
    """How the sequences of X are held: "tokens", "feature lists" or "feature dictionaries"."""
    for i, x in enumerate(X):
        if isinstance(x, str) or not hasattr(x, "__len__"):
            raise DataError(f"sequence {i} is {x!r:.40}, expected a list of tokens or of features")
        for item in x:
            for kind, form in FORMS:
                if isinstance(item, kind):
                    return form
            raise DataError(f"sequence {i} holds {item!r:.40}, expected tokens, feature lists or dictionaries")
    raise DataError("there are no tokens in the data")


def _name_and_value(key: str, value: Any, i: int, t: int) -> tuple[str, float]:
    """A text makes a binary feature `key:text`, a number or truth value the feature `key` with that value."""
    if isinstance(value, str):
        return f"{key}:{value}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise DataError(f"sequence {i}, token {t}: feature {key!r} is {value!r}, expected a text or a finite number")
    return key, number
