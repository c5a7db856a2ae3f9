"""What the kernels read of chains, as in `core/chain.hpp` and `core/posterior.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Scorer(NamedTuple):
    """Sequences and the weights that score their labels, as in SequenceBatch and ChainWeights."""

    offsets: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    kind: np.ndarray
    tokens: np.ndarray
    step: np.ndarray


class Factors(NamedTuple):
    """Step tables as probabilities: exp(step[k]) = exp(top[k]) * factor[k], and back[k] is factor[k] transposed."""

    factor: np.ndarray
    back: np.ndarray
    top: np.ndarray
