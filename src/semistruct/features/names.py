"""Names looked up many at a time, without a step of Python for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from semistruct.core import kernels

AT_ONCE = 2000  # tokens: their text stays in the cache of the processor
MOST = 1000  # names of a token: the time to sort them grows with the square of their number
END = "\0"
SLOT = np.dtype([("hash", np.uint64), ("number", np.int32), ("start", np.int32)])
"""Of the table: the number of a name, -1 if the slot is free, and where the name begins."""


class Block(NamedTuple):
    """How many features each of some tokens in a row has, and the features of all, increasing for each token."""

    sizes: np.ndarray
    rows: np.ndarray


class NameTable:
    """The numbers of names, in order: 0, 1, 2, ..."""

    def __init__(self, names: Collection[str]) -> None:
        self.n = len(names)
        self._known = _text(names)
        self._slots = np.zeros(1 << (2 * self.n).bit_length(), SLOT)
        self._slots["number"] = -1
        fits = len(self._known) < 2**31
        self._whole = fits and kernels.enter_names(self._known, self.n, self._slots) == len(self._known) - 8

    def blocks(self, tokens: Sequence[Collection[str]]) -> list[Block] | None:
        """The numbers of the known names of all tokens.

        None if it cannot tell: a name is there twice at a token, is not a string, or has a NUL in it; and where a token
        has very many.
        """
        out = []
        for first in range(0, len(tokens), AT_ONCE):
            own = tokens[first : first + AT_ONCE]
            sizes = np.fromiter(map(len, own), np.int32, len(own))
            if not self._whole or sizes.max() > MOST:
                return None
            try:
                text = _text(map(END.join, own))
            except TypeError:
                return None
            counts, rows = np.empty_like(sizes), np.empty(sizes.sum(), np.int32)
            n = kernels.look_up_names(text, sizes, self._slots, self._known, counts, rows)
            if n < 0:
                return None
            out.append(Block(counts, rows[:n]))
        return out


def _text(names: Iterable[str]) -> bytes:
    """The names as the kernels read them."""
    return (END.join(names) + 9 * END).encode("utf-8", "surrogatepass")
