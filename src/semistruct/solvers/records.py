"""What the kernels read of the sequential dual method, as in `core/working_sets.hpp` and `core/dual.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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
