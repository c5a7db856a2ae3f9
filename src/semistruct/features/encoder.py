"""Numbering features: from sequences, in any of the forms that users have, to a SequenceBatch.

A sequence is a list of tokens (strings, or tuples of columns), of feature lists, or of feature dictionaries; the
latter two are taken as they are.  The last column of a tuple may be such features, which stand beside the word.

Every feature is a *name* such as `lower=proceedings` and owns one row of weights per offset its template looks at; if
it is a vector, one for each of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from semistruct.base.errors import DataError, quoted
from semistruct.core.batch import Growing, SequenceBatch, starts
from semistruct.features.sources import Found, Given, Rows, Templated, split_name
from semistruct.features.templates import Features, FeatureSet
from semistruct.features.user_features import LISTS
from semistruct.features.vocabulary import Lookup, Vocabulary

FORMS = (((str, tuple), "tokens"), ((list, set), "feature lists"), (dict, "feature dictionaries"))


class Encoder:
    """Learns the feature names of some data (`fit`) and numbers those of other data (`transform`).

    features    the templates to apply to tokens; None for sequences that already are features
    vocabulary  the names
    """

    def __init__(
        self, features: Features | None, names: Iterable[str] = (), widths: Mapping[str, int] | None = None
    ) -> None:
        self.features = features
        self.vocabulary = Vocabulary(names, widths)
        self._source = Templated(features) if features else Given()
        self._rows = self._numbered()

    def __reduce__(self) -> tuple[type[Encoder], tuple[Features | None, list[str], dict[str, int]]]:
        """Only the feature set and the names are pickled: the templates are functions, made again from them."""
        return Encoder, (self.features, list(self.vocabulary), self.vocabulary.widths)

    @classmethod
    def for_data(cls, X: Sequence[Any], features: FeatureSet) -> Encoder:
        """An encoder for data of the form of its first sequence: templates apply to tokens only."""
        return cls(Features.of(features) if form_of(X[:1]) == "tokens" else None)

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
            width = self.vocabulary.widths.get(name)
            for o in self._source.window(name):
                at = name if o == 0 else f"{label}[{o:+d}]={value}"
                out += [at] if width is None else [f"{at}:{k}" for k in range(width)]
        return out

    def fit(self, X: Sequence[Any]) -> SequenceBatch:
        """Add the features of X to the vocabulary and encode X."""
        self._source.forget()

        def rows() -> Rows:
            self._rows = self._numbered()
            return self._rows

        return self._encode(X, Lookup(self.vocabulary, grow=True), rows)

    def transform(self, X: Sequence[Any]) -> SequenceBatch:
        """Encode X; features that were never seen are left out."""
        return self._encode(X, Lookup(self.vocabulary, grow=False), lambda: self._rows)

    def without(self, rows: np.ndarray) -> tuple[Encoder, np.ndarray]:
        """An encoder without the names whose rows are all marked in `rows` (n_features,), and the rows it keeps."""
        first = self._rows.first
        marked = np.add.reduceat(rows, first[:-1]) == np.diff(first) if len(self.vocabulary) else rows
        names = [name for name, gone in zip(self.vocabulary, marked, strict=True) if not gone]
        widths = {name: self.vocabulary.widths[name] for name in names if name in self.vocabulary.widths}
        return Encoder(self.features, names, widths), np.flatnonzero(np.repeat(~marked, np.diff(first)))

    def _numbered(self) -> Rows:
        windows = [self._source.window(name) for name in self.vocabulary]
        widths = [self.vocabulary.widths.get(name, 1) for name in self.vocabulary]
        sizes = np.array([len(window) for window in windows], np.int64) * np.array(widths, np.int64)
        return Rows(starts(sizes), np.array([window.start for window in windows], np.int64))

    def _encode(self, X: Sequence[Any], look: Lookup, rows: Callable[[], Rows]) -> SequenceBatch:
        form = form_of(X)
        if (form == "tokens") != (self.features is not None):
            wanted = "tokens" if self.features else "features"
            raise DataError(f"the model was trained on {wanted}, but this data holds {form}")
        lengths = np.array([len(x) for x in X], np.int64)
        found = self._source.entries(X, look, rows)
        n_features = max(self.n_features, 1)
        indptr, indices, values = _entries(found, (int(lengths.sum()), n_features))
        return SequenceBatch(
            indptr=indptr.astype(np.int64, copy=False),
            indices=indices.astype(np.int32, copy=False),
            values=np.ones(1) if (values == 1).all() else values,
            offsets=starts(lengths),
            kind=found.kinds,
            n_features=n_features,
            n_kinds=self.n_kinds,
        )


def _entries(found: Found, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, values) of all features (columns) of all tokens."""
    sizes, rows = Growing(np.int32), Growing(np.int32)
    for block in found.once:
        sizes.add(block.sizes)
        rows.add(block.rows)
    size, indices = sizes.whole(), rows.whole()
    indptr = starts(size if len(size) else np.zeros(shape[0], np.int64))
    token, columns, value = found.valued
    dense = list(found.dense)
    if not len(token) and not dense:
        return indptr, indices, np.ones(1)
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    matrix += csr_array((value, (token, columns)), shape=shape)  # the rows of each kind are different ones
    for tokens, first, vectors in dense:
        n, width = vectors.shape
        columns = np.tile(np.arange(first, first + width, dtype=np.int32), n)
        ends = starts(width * np.bincount(tokens, minlength=shape[0])).astype(
            np.int32 if n * width < 2**31 else np.int64
        )
        matrix += csr_array((vectors.astype(float).ravel(), columns, ends), shape=shape)
    return matrix.indptr, matrix.indices, matrix.data


def form_of(X: Sequence[Any], name: str = "", like: str | None = None) -> str:
    """How the sequences of X are held: "tokens", "feature lists" or "feature dictionaries".

    name  of the data, for messages
    like  how they should be held
    """
    where = f"{name} data: " if name else ""
    if not len(X):
        raise DataError(f"{where}there are no sequences")
    usual = {*map(type, X)} <= {list, tuple} and all(X)  # which is found out faster for all at once
    for i, x in () if usual else enumerate(X):
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
            if isinstance(token, tuple) and not _is_token(token):
                wanted = "a tuple of strings, whose last part may be a list or dictionary of features"
                raise DataError(f"{where}sequence {i} holds the token {quoted(token)}, expected {wanted}")
            if isinstance(token, tuple) and not token[0]:
                raise DataError(f"{where}sequence {i} has an empty token")


def _is_token(token: tuple[Any, ...]) -> bool:
    columns = token[:-1] if len(token) > 1 and isinstance(token[-1], (dict, *LISTS)) else token
    return len(columns) > 0 and all(isinstance(column, str) for column in columns)


def _form(kind: type) -> str | None:
    return next((form for kinds, form in FORMS if issubclass(kind, kinds)), None)
