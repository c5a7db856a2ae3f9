"""The arrays of the sequential dual method, as the kernels read them (`core/working_sets.hpp` and `core/dual.hpp`)."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from semistruct.base.threads import spread
from semistruct.core.batch import SequenceBatch, starts
from semistruct.core.kernels import kernels

PRODUCT_LIMIT = 1 << 24  # products of tokens held in memory


class Sequences(NamedTuple):
    """The sequences, as in SequenceBatch, with the products of their tokens where these fit into memory.

    product[product_start[i] + t * T_i + s] = x_t . x_s for the tokens t, s of sequence i
    """

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    product_start: np.ndarray
    product: np.ndarray


class Goal(NamedTuple):
    """What is to be learned: target and cost (n_tokens,), weight C_i (n,); violators are found at margin * cost."""

    target: np.ndarray
    cost: np.ndarray
    weight: np.ndarray
    margin: float = 1.0


class Sets(NamedTuple):
    """The working sets, with room for room[i] slots of which used[i] are in use.

    alpha, loss  slot s of example i at slot_start[i] + s
    labels       its labelling at label_start[i] + s * T_i, T_i labels
    gram         psi_s . psi_r at gram_start[i] + s * room[i] + r
    """

    room: np.ndarray
    used: np.ndarray
    slot_start: np.ndarray
    label_start: np.ndarray
    gram_start: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    labels: np.ndarray
    gram: np.ndarray


class W(NamedTuple):
    """tokens (F, Y); trans (K, Y, Y); step (K, Y, Y), the effective tables trans[0] and trans[0] + trans[k]."""

    tokens: np.ndarray
    trans: np.ndarray
    step: np.ndarray


def empty_sets(room: np.ndarray, lengths: np.ndarray, type_of_gram: np.dtype[Any]) -> Sets:
    """Working sets with this room (n,), for examples of these lengths."""
    room = room.astype(np.int64)
    slot_start, label_start, gram_start = starts(room), starts(room * lengths), starts(room**2)
    alpha, loss = np.zeros(slot_start[-1]), np.zeros(slot_start[-1])
    labels, gram = np.zeros(label_start[-1], np.int16), np.zeros(gram_start[-1], type_of_gram)
    return Sets(room, np.zeros_like(room), slot_start, label_start, gram_start, alpha, loss, labels, gram)


def type_of_gram(batch: SequenceBatch) -> np.dtype[Any]:
    """32 bits where they are exact: products of labellings of T tokens are at most 2 T (features + 2 T)."""
    tokens, features = batch.lengths, np.diff(batch.indptr[batch.offsets])
    exact = (2 * tokens * (features + 2 * tokens)).max(initial=0) <= 2**24
    return _type_of_products(batch) if exact else np.dtype(np.float64)


def _type_of_products(batch: SequenceBatch) -> np.dtype[Any]:
    """If all values are 1, products of tokens are whole numbers, which 32 bits hold exactly."""
    return np.dtype(np.float32 if len(batch.values) == 1 and batch.values[0] == 1 else np.float64)


_making = Lock()
_made: WeakKeyDictionary[SequenceBatch, Sequences] = WeakKeyDictionary()


def sequences_of(batch: SequenceBatch, n_jobs: int | None) -> Sequences:
    """The sequences with the products of their tokens, which are kept for as long as the batch is."""
    with _making:
        if batch not in _made:
            size = batch.lengths**2
            first = starts(size if size.sum() <= PRODUCT_LIMIT else np.zeros_like(size))
            product = np.empty(first[-1], _type_of_products(batch))
            made = Sequences(batch.offsets, batch.indptr, batch.indices, batch.values, batch.kind, first, product)
            if len(product):
                spread(kernels.token_products, np.arange(len(batch)), made, n_jobs=n_jobs)
            _made[batch] = made
        return _made[batch]
