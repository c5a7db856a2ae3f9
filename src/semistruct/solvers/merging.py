"""Fewer weights for the same problem: features that always occur together are made one.

m features of equal values and weight w are one feature of value sqrt(m) and weight w sqrt(m): that changes neither the
scores nor ||w||, and at the minimum such features have equal weights.  Features that do not occur have weight 0.  In
text this removes about half of all features: those of words that occur once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from semistruct.batch import SequenceBatch, starts

NONE = -1


@dataclass(frozen=True)
class Merged:
    """The batch with merged features; group (F,) has the number of the feature that each became, root (G,) sqrt(m)."""

    batch: SequenceBatch
    group: np.ndarray
    root: np.ndarray

    def shrink(self, tokens: np.ndarray) -> np.ndarray:
        """(G, Y): weights of the merged features, from those of all (F, Y); exact if merged ones are equal."""
        out = np.zeros((len(self.root), tokens.shape[1]))
        there = self.group != NONE
        np.add.at(out, self.group[there], tokens[there] / self.root[self.group[there]][:, None])
        return out

    def expand(self, tokens: np.ndarray) -> np.ndarray:
        """(F, Y): the weights of all features."""
        each = np.vstack([tokens / self.root[:, None], np.zeros((1, tokens.shape[1]))])
        return each[self.group]


_known: WeakKeyDictionary[SequenceBatch, Merged] = WeakKeyDictionary()


def merged(batch: SequenceBatch) -> Merged:
    """The batch with merged features; kept for as long as the batch is."""
    if batch not in _known:
        _known[batch] = _merge(batch)
    return _known[batch]


def _merge(batch: SequenceBatch) -> Merged:
    shared = len(batch.values) == 1
    rows = batch.table
    columns = rows.tocsc()
    number: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    group = np.full(batch.n_features, NONE)
    for f in np.flatnonzero(np.diff(columns.indptr)):
        piece = slice(columns.indptr[f], columns.indptr[f + 1])
        column = columns.indices[piece].tobytes(), b"" if shared else columns.data[piece].tobytes()
        group[f] = number.setdefault(column, len(number))
        if group[f] == len(first):
            first.append(int(f))
    root = np.sqrt(np.bincount(group[group != NONE], minlength=len(first)))
    kept = np.zeros(batch.n_features, bool)
    kept[first] = True
    entry = kept[rows.indices]
    indices = group[rows.indices[entry]].astype(np.int32)
    token = np.repeat(np.arange(batch.n_tokens), np.diff(rows.indptr))[entry]
    order = np.lexsort((indices, token))
    small = replace(
        batch,
        indptr=starts(np.bincount(token, minlength=batch.n_tokens)),
        indices=indices[order],
        values=(rows.data[entry] * root[indices])[order],
        n_features=max(len(first), 1),
    )
    return Merged(small, group, root if len(first) else np.ones(1))
