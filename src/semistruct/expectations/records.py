"""What the kernels read of projections, as in `core/projection.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class InstanceRows(NamedTuple):
    """Row j speaks of sign[j] * the count of term[j], times scale[i, j] in sequence i (`expectations.rows`)."""

    term: np.ndarray
    sign: np.ndarray
    bound: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray


class Field(NamedTuple):
    """What scores the labels of all sequences:  scale * (score of the model - costs), scale being 1/T.

    known  (n_tokens,) labels that are fixed, or empty
    """

    scorer: NamedTuple
    costs: NamedTuple
    scale: float
    known: np.ndarray


class Problem(NamedTuple):
    """What the multipliers of every sequence solve, how exactly, and in how many steps at most."""

    events: NamedTuple
    rows: NamedTuple
    scale: float
    tol: float
    rounds: int


class Projected(NamedTuple):
    """What is known of all sequences after projection.

    multiplier (n, J), value (n,) of f, entropy (n,), residual (n,) how far from the solution, expected (n, K) counts,
    marginal (n_tokens, Y), steps (pieces, K, Y, Y) weighted
    """

    multiplier: np.ndarray
    value: np.ndarray
    entropy: np.ndarray
    residual: np.ndarray
    expected: np.ndarray
    marginal: np.ndarray
    steps: np.ndarray
