"""Numbering features: from sequences, in any of the forms that users have, to a SequenceBatch.

A sequence is a list of tokens (strings, or tuples of columns), of feature lists, or of feature dictionaries; the
latter two are taken as they are.  Every feature is a *name* such as `lower=proceedings` and owns one row of
weights per offset its template looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain, repeat
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from semistruct.batch import SequenceBatch, starts
from semistruct.errors import DataError, quoted
from semistruct.features.sources import Given, Look, Rows, Templated, split_name
from semistruct.features.templates import Features

FORMS = (((str, tuple), "tokens"), ((list, set), "feature lists"), (dict, "feature dictionaries"))


class Vocabulary(dict[str, int]):
    """Names to numbers, in the order in which they were first seen."""

    def grow(self, names: Iterable[str]) -> np.ndarray:
        """The numbers of names; a new name gets the next free number."""
        return np.fromiter(map(self.__getitem__, names), np.int64)

    def look(self, names: Iterable[str]) -> np.ndarray:
        """The numbers of names, -1 for those that are not known."""
        return np.fromiter(map(self.get, names, repeat(-1)), np.int64)

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise DataError(f"a feature is {quoted(name)}, expected a string")
        number = self[name] = len(self)
        return number


class Encoder:
    """Learns the feature names of some data (`fit`) and numbers those of other data (`transform`).

    features    the templates to apply to tokens; None for sequences that already are features
    vocabulary  the names
    """

    def __init__(self, features: Features | None, names: Iterable[str] = ()) -> None:
        self.features = features
        self.vocabulary = Vocabulary((name, v) for v, name in enumerate(names))
        self._source = Templated(features) if features else Given()
        self._rows = self._numbered()

    def __reduce__(self) -> tuple[type[Encoder], tuple[Features | None, list[str]]]:
        """Only the feature set and the names are pickled: the templates are functions, made again from them."""
        return Encoder, (self.features, list(self.vocabulary))

    @classmethod
    def for_data(cls, X: Sequence[Any], features: str | Iterable[str]) -> Encoder:
        """An encoder for data of this form: templates apply to tokens only."""
        return cls(Features.of(features) if form_of(X) == "tokens" else None)

    @property
    def n_features(self) -> int:
        return int(self._rows.first[-1])

    @property
    def n_kinds(self) -> int:
        return self._source.n_kinds

    def feature_names(self) -> list[str]:
        """One readable name per row: `lower[-1]=proceedings`."""
        out = []
        for name in self.vocabulary:
            label, value = split_name(name)
            out += [name if o == 0 else f"{label}[{o:+d}]={value}" for o in self._source.window(name)]
        return out

    def fit(self, X: Sequence[Any]) -> SequenceBatch:
        """Add the features of X to the vocabulary and encode X."""

        def rows() -> Rows:
            self._rows = self._numbered()
            return self._rows

        return self._encode(X, self.vocabulary.grow, rows)

    def transform(self, X: Sequence[Any]) -> SequenceBatch:
        """Encode X; features that were never seen are left out."""
        return self._encode(X, self.vocabulary.look, lambda: self._rows)

    def without(self, rows: np.ndarray) -> tuple[Encoder, np.ndarray]:
        """An encoder without the names whose rows are all marked in `rows` (n_features,), and the rows it keeps."""
        first = self._rows.first
        marked = np.add.reduceat(rows, first[:-1]) == np.diff(first) if len(self.vocabulary) else rows
        names = [name for name, gone in zip(self.vocabulary, marked, strict=True) if not gone]
        return Encoder(self.features, names), np.flatnonzero(np.repeat(~marked, np.diff(first)))

    def _numbered(self) -> Rows:
        windows = [self._source.window(name) for name in self.vocabulary]
        sizes = np.array([len(window) for window in windows], np.int64)
        return Rows(starts(sizes), np.array([window.start for window in windows], np.int64))

    def _encode(self, X: Sequence[Any], look: Look, rows: Callable[[], Rows]) -> SequenceBatch:
        form = form_of(X)
        if (form == "tokens") != (self.features is not None):
            wanted = "tokens" if self.features else "features"
            raise DataError(f"the model was trained on {wanted}, but this data holds {form}")
        lengths = np.array([len(x) for x in X], np.int64)
        tokens, found, values = self._source.entries(X, look, rows)
        n_features = max(self.n_features, 1)
        matrix = csr_array((values, (tokens, found)), shape=(lengths.sum(), n_features))
        matrix.sum_duplicates()
        binary = self.features is not None or bool((matrix.data == 1).all())
        return SequenceBatch(
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int32),
            values=np.ones(1) if binary else matrix.data,
            offsets=starts(lengths),
            kind=self._source.kinds(X),
            n_features=n_features,
            n_kinds=self.n_kinds,
        )


def form_of(X: Sequence[Any], name: str = "", like: str | None = None) -> str:
    """How the sequences of X are held: "tokens", "feature lists" or "feature dictionaries".

    name  of the data, for messages
    like  how they should be held
    """
    where = f"{name} data: " if name else ""
    if not len(X):
        raise DataError(f"{where}there are no sequences")
    for i, x in enumerate(X):
        if isinstance(x, str | Mapping | Set) or not (hasattr(x, "__len__") and hasattr(x, "__iter__")):
            raise DataError(f"{where}sequence {i} is {quoted(x)}, expected a list of tokens or of features")
        if not len(x):
            raise DataError(f"{where}sequence {i} has no tokens")
    kinds = set(map(type, chain.from_iterable(X)))
    if str in kinds and (empty := next((i for i, x in enumerate(X) if "" in x), None)) is not None:
        raise DataError(f"{where}sequence {empty} has an empty token")
    if any(issubclass(kind, tuple) for kind in kinds):
        _check_columns(X, where)
    found = {_form(kind) for kind in kinds}
    if len(found) == 1 and (form := next(iter(found))) and like in (None, form):
        return form
    expected = like or _form(type(next(chain.from_iterable(X)))) or "tokens, feature lists or dictionaries"
    i, item = next((i, item) for i, x in enumerate(X) for item in x if _form(type(item)) != expected)
    raise DataError(f"{where}sequence {i} holds {quoted(item)}, expected {expected} as before it")


def _check_columns(X: Sequence[Any], where: str) -> None:
    for i, x in enumerate(X):
        for token in x:
            if isinstance(token, tuple) and not (token and all(isinstance(column, str) for column in token)):
                raise DataError(f"{where}sequence {i} holds the token {quoted(token)}, expected a tuple of strings")
            if isinstance(token, tuple) and not token[0]:
                raise DataError(f"{where}sequence {i} has an empty token")


def _form(kind: type) -> str | None:
    return next((form for kinds, form in FORMS if issubclass(kind, kinds)), None)
