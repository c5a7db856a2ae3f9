"""Labels that models propose for sequences of the pool, kept in little memory."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

DOUBTFUL, SURE = 0.7, 0.9
"""The probability of being right below which a label is doubtful, and from which on it is sure."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The labels of one sequence, as numbers of `names`; confidence of each; the rules that they break."""

    model: str
    names: tuple[str, ...]
    codes: bytes
    confidence: array[float]
    broken: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        return [self.names[code] for code in self.codes]

    @property
    def least(self) -> float:
        return min(self.confidence)


class Proposals:
    """The newest proposal for each sequence, by its number."""

    def __init__(self) -> None:
        self.found: dict[int, Proposal] = {}

    def put(self, number: int, row: dict[str, Any], model: str, names: tuple[str, ...]) -> None:
        code = {name: k for k, name in enumerate(names)}
        codes = bytes(code[label] for label in row["labels"])
        self.found[number] = Proposal(model, names, codes, array("f", row["confidence"]), tuple(row["broken"]))

    def get(self, number: int) -> Proposal | None:
        return self.found.get(number)

    def is_from(self, number: int, model: str) -> bool:
        found = self.found.get(number)
        return found is not None and found.model == model

    def clear(self) -> None:
        self.found = {}
