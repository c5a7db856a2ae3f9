"""The names of features and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from semistruct.base.errors import DataError, quoted
from semistruct.core.kernels import kernels

AT_ONCE = 10_000  # tokens whose names are looked up before the next look for signals
REMEMBERED = 100_000  # answers of a `Memory`
END = "\0"
SLOT = np.dtype([("hash", np.uint64), ("number", np.int32), ("start", np.int32)])
"""Of the table: the number of a name, -1 if the slot is free, and where the name begins."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Block(NamedTuple):
    """How many features each of some tokens in a row has, and the features of all, increasing for each token."""

    sizes: np.ndarray
    rows: np.ndarray


class Vocabulary(dict[str, int]):
    """Names to numbers, in the order in which they were first seen.

    widths  how many numbers a name stands for, if it is a vector
    """

    def __init__(self, names: Iterable[str] = (), widths: Mapping[str, int] | None = None) -> None:
        super().__init__((name, v) for v, name in enumerate(names))
        self.widths = dict(widths or {})
        self._table: NameTable | None = None

    @property
    def table(self) -> NameTable:
        """The same names, to look up very many."""
        if self._table is None or self._table.n != len(self):
            self._table = NameTable(self)
        return self._table

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise DataError(f"a feature is {quoted(name)}, expected a string")
        number = self[name] = len(self)
        return number


@dataclass(frozen=True)
class Lookup:
    """The names of some data looked up in a vocabulary; if `grow`, a new name gets the next free number, else -1."""

    vocabulary: Vocabulary
    grow: bool

    def numbers(self, names: Iterable[str]) -> np.ndarray:
        look = map(self.vocabulary.__getitem__, names) if self.grow else map(self.vocabulary.get, names, repeat(-1))
        found = np.fromiter(look, np.int64)
        for name in self.vocabulary.widths:
            if (found == self.vocabulary[name]).any():
                raise DataError(f"the feature {quoted(name)} is a vector, but this data has it as a name or number")
        return found

    def blocks(self, tokens: list[Any]) -> list[Block] | None:
        """The known names of all tokens at once; None where only `numbers` can tell them."""
        return None if self.grow or self.vocabulary.widths else self.vocabulary.table.blocks(tokens)

    def vector(self, name: str, width: int, where: str) -> int:
        """The number of a feature that has `width` numbers at each token; `where` is the first one."""
        known = self.vocabulary
        if name in known and width != known.widths.get(name, 1):
            problem = f"{quoted(name)} has {width} numbers, expected {known.widths.get(name, 1)} as in other data"
            raise DataError(f"{where}: feature {problem}")
        if name not in known and self.grow:
            known.widths[name] = width
        return known[name] if self.grow else known.get(name, -1)


class NameTable:
    """The numbers of names, in order: 0, 1, 2, ...; looks up many at a time, without a step of Python for each."""

    def __init__(self, names: Collection[str]) -> None:
        self.n = len(names)
        self._known = _text(names)
        self._slots = np.zeros(1 << (2 * self.n).bit_length(), SLOT)
        self._slots["number"] = -1
        fits = len(self._known) < 2**31
        self._whole = fits and kernels.enter_names(self._known, self.n, self._slots) == len(self._known)

    def blocks(self, tokens: list[Any]) -> list[Block] | None:
        """The numbers of the known names of all tokens.

        None if it cannot tell: a name is there twice at a token or is no text, or a known name has a NUL in it.
        """
        out = []
        for first in range(0, len(tokens), AT_ONCE):
            own = tokens[first : first + AT_ONCE]
            found = kernels.look_up_names(own, self._slots, self._known) if self._whole else None
            if found is None:
                return None
            out.append(Block(*(np.frombuffer(part, np.int32) for part in found)))
        return out


def _text(names: Iterable[str]) -> bytes:
    """The names as the kernels read them."""
    return (END.join(names) + END).encode("utf-8", "surrogatepass")


class Memory(Generic[Key, Value]):
    """Answers by key, so that they are not found again for every part of a large file.  Several threads may ask."""

    def __init__(self) -> None:
        self._known: dict[Key, Value] = {}

    def of(self, keys: Collection[Key], find: Callable[[Collection[Key]], Iterable[Value]]) -> list[Value]:
        """The answers to these distinct keys; `find` gives the answers to new ones, in order."""
        known = self._known
        new: Collection[Key] = [key for key in keys if key not in known]
        if known and len(known) + len(new) > REMEMBERED:
            self._known = known = {}  # another one, as another thread may still read the former
            new = keys
        known.update(zip(new, find(new), strict=True))
        return [known[key] for key in keys]
