"""What the kernels read of bits, as in `core/bits.hpp`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

UNLIMITED = 2**31 - 1


class BitTables(NamedTuple):
    """Where the bits are.

    start (n+1,)      the bits of each sequence
    events            of the rules about tokens and steps, as in `rules.tables`
    token_bits, step_bits (n_tokens,)   how many bits a token, and the step into it, have
    bit                                 for every entry of events, which of these bits it makes 0
    label, low, high  (B,) the blocks of `label` should be low to high in number
    track, widths     the rules about blocks, for the search
    """

    start: np.ndarray
    events: NamedTuple
    token_bits: np.ndarray
    step_bits: np.ndarray
    bit: np.ndarray
    label: np.ndarray
    low: np.ndarray
    high: np.ndarray
    track: NamedTuple
    widths: np.ndarray
