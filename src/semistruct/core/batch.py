"""Encoded sequences: what the kernels and solvers see of a corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from semistruct.base.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNKNOWN = -1
"""The code of a label that is not known."""


@dataclass(frozen=True, eq=False)
class SequenceBatch:
    """Sequences stored end to end; tokens offsets[i]:offsets[i+1] are sequence i.  A batch equals only itself.

    indptr   int64 (n_tokens + 1,)     features of token t are indices[indptr[t]:indptr[t+1]], increasing; the first of
                                       them need not be at 0
    indices  int32 (n_entries,)        feature numbers, all < n_features
    values   float64 (n_entries,)      their values, or (1,) when every value is the same
    offsets  int64 (n_sequences + 1,)
    kind     int16 (n_tokens,)         which step table leads into the token, all < n_kinds
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    kind: np.ndarray
    n_features: int
    n_kinds: int

    def __post_init__(self) -> None:
        n = len(self.indptr) - 1
        if self.offsets[0] != 0 or self.offsets[-1] != n or len(self.kind) != n:
            raise DataError(f"{n} tokens, offsets end at {self.offsets[-1]}, kind has {len(self.kind)}")
        if np.any(np.diff(self.offsets) < 1):
            raise DataError(f"sequence {int(np.argmin(np.diff(self.offsets)))} has no tokens")
        if not np.isfinite(self.values).all():
            raise DataError("a feature value is not finite")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        return len(self.kind)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """One array per sequence from an array over all tokens."""
        return np.split(flat, self.offsets[1:-1])

    def after(self, n: int) -> SequenceBatch:
        """The sequences but for the first n; their features are not copied."""
        token = self.offsets[n]
        return replace(self, indptr=self.indptr[token:], offsets=self.offsets[n:] - token, kind=self.kind[token:])

    @property
    def table(self) -> csr_array:
        """(n_tokens, n_features): the values of the features of all tokens."""
        from scipy.sparse import csr_array

        first, end = self.indptr[[0, -1]]
        shared = len(self.values) == 1
        values = np.full(end - first, self.values[0]) if shared else self.values[first:end]
        parts = values, self.indices[first:end], self.indptr - first
        return csr_array(parts, shape=(self.n_tokens, self.n_features))

    def tokens_of(self, which: np.ndarray) -> np.ndarray:
        """The numbers of the tokens of the sequences `which`, in that order."""
        return ranges(self.offsets[which], self.lengths[which])

    def take(self, which: np.ndarray) -> SequenceBatch:
        """The sequences `which`, in that order."""
        tokens = self.tokens_of(which)
        entries = ranges(self.indptr[tokens], np.diff(self.indptr)[tokens])
        return SequenceBatch(
            indptr=starts(np.diff(self.indptr)[tokens]),
            indices=self.indices[entries],
            values=self.values if len(self.values) == 1 else self.values[entries],
            offsets=starts(self.lengths[which]),
            kind=self.kind[tokens],
            n_features=self.n_features,
            n_kinds=self.n_kinds,
        )


class Growing:
    """An array that grows at its end in place: pieces that are put together later would need twice the room."""

    def __init__(self, dtype: type) -> None:
        self._array: np.ndarray = np.empty(0, dtype)
        self._size = 0

    def add(self, piece: np.ndarray) -> None:
        end = self._size + len(piece)
        if end > len(self._array):
            self._array.resize(end + end // 4, refcheck=False)
        self._array[self._size : end] = piece
        self._size = end

    def whole(self) -> np.ndarray:
        """The array, which grows no more."""
        self._array.resize(self._size, refcheck=False)
        return self._array


def starts(lengths: np.ndarray) -> np.ndarray:
    """Offsets of pieces of these lengths laid end to end: [0, l0, l0 + l1, ...]."""
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def ranges(first: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The indices first[i] .. first[i] + length[i] - 1 of every piece i, end to end."""
    out = np.repeat(first - np.cumsum(length) + length, length)
    out += np.arange(len(out))
    return out
